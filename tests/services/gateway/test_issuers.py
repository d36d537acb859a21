"""Issuers as operators name them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from omnipoly.runtime.errors import ConfigError
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.gateway.oidc import issuers
from omnipolyd.gateway.oidc.issuers import ALGORITHMS, Issuer
from tests.services.conftest import MakeDatabase
from tests.services.gateway.signing_in import finish, start, trusting
from tests.services.issuer.running import Issuer as Provider
from tests.services.issuer.running import browse

CLUB: dict[str, Any] = {
    "id": "club",
    "issuer": "https://id.club.example",
    "client_id": "omnipoly",
    "client_secret": "hush-hush",
    "redirect_uris": ["https://play.example/signed-in"],
}
TWITCH = {
    "preset": "twitch",
    "client_id": "abc",
    "client_secret": "hush-hush",
    "redirect_uris": ["https://play.example/"],
}


def read(*rows: Any) -> tuple[Issuer, ...]:
    return issuers.of(GatewaySettings(oidc=json.dumps(rows)))


def test_several_at_once() -> None:
    club, twitch = read(CLUB, TWITCH)
    assert (club.id, club.shown, club.client_secret.get_secret_value()) == ("club", "club", "hush-hush")
    assert (twitch.id, twitch.shown, twitch.issuer) == ("twitch", "Twitch", "https://id.twitch.tv/oauth2")
    assert "none" not in ALGORITHMS
    assert not [name for name in ALGORITHMS if name.startswith("HS")]


def test_none() -> None:
    assert issuers.of(GatewaySettings()) == ()
    assert read() == ()


def test_from_files(tmp_path: Path) -> None:
    secret, file = tmp_path / "secret", tmp_path / "issuers.json"
    secret.write_text("from a file\n")
    row = {**CLUB, "client_secret_file": str(secret)}
    file.write_text(json.dumps([row]))
    (club,) = issuers.of(GatewaySettings(oidc_file=str(file)))
    assert club.client_secret.get_secret_value() == "from a file"


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (
            [{**CLUB, "issuer": "http://id.club.example"}],
            "issuer 1: issuer is wrong: an address that begins with https",
        ),
        ([{**CLUB, "issuer": "ftp://id.club.example"}], "issuer is wrong"),
        ([{**CLUB, "id": "The Club"}], "issuer 1: id is wrong"),
        ([{**CLUB, "redirect_uris": []}], "redirect_uris is wrong"),
        ([{**CLUB, "redirect_uris": ["/signed-in"]}], "give whole addresses"),
        ([{**CLUB, "redirect_uris": ["https://play.example/#here"]}], "give whole addresses"),
        ([{**CLUB, "algorithms": ["HS256"]}], "algorithms is wrong: some of RS256"),
        ([{**CLUB, "algorithms": ["none"]}], "algorithms is wrong"),
        ([{**CLUB, "algorithms": []}], "algorithms is wrong"),
        ([{**CLUB, "scopes": ["profile"]}], "openid has to be one of them"),
        ([{**CLUB, "secret": "hush-hush"}], "issuer 1: secret is wrong"),
        ([{**CLUB, "client_secret": 7}], "client_secret is wrong"),
        ([{**CLUB, "client_secret_file": "/nowhere"}], "issuer 1: client_secret_file cannot be read"),
        ([CLUB, {**TWITCH, "preset": "switch"}], "issuer 2: there is no such preset; there are twitch"),
        ([CLUB, CLUB], "two issuers by the same id"),
        ([{**CLUB, "id": f"c{number}"} for number in range(17)], "at most 16"),
        (["club"], "no list"),
    ],
)
def test_what_is_wrong_is_one_line_without_a_secret(rows: list[Any], line: str) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        read(*rows)
    assert "hush-hush" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "line"), [({"oidc": "[{"}, "OMNIPOLY_OIDC is no JSON"), ({"oidc": "{}"}, "no list")]
)
def test_what_is_no_list(settings: dict[str, str], line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        issuers.of(GatewaySettings(**settings))


@pytest.mark.parametrize(
    ("allowed", "given", "taken"),
    [
        ("https://play.example/a?b=c", "https://play.example/a?b=c", True),
        ("https://play.example/a", "https://play.example/a/", False),
        ("https://play.example/a", "https://play.example:8443/a", False),
        ("https://play.example/a", "https://play.example/a?more", False),
        ("http://127.0.0.1/a", "http://127.0.0.1:8080/a", True),
        ("http://127.0.0.1/a", "http://127.0.0.1/a", True),
        ("http://[::1]/a", "http://[::1]:8080/a", True),
        ("http://127.0.0.1/a", "http://[::1]:8080/a", False),
        ("http://127.0.0.1/a", "http://127.0.0.1:8080/b", False),
        ("http://127.0.0.1/a", "http://127.0.0.1:8080/a?b", False),
        ("http://127.0.0.1/a", "http://me@127.0.0.1:8080/a", False),
        ("http://127.0.0.1/a", "https://127.0.0.1:8080/a", False),
        ("http://127.0.0.1:80/a", "http://127.0.0.1:8080/a", False),
        ("http://127.0.0.1/a", "http://127.0.0.1:port/a", False),
        ("http://play.example/a", "http://play.example:8080/a", False),
    ],
)
def test_where_a_browser_may_be_sent(allowed: str, given: str, taken: bool) -> None:
    (club,) = read({**CLUB, "redirect_uris": [allowed]})
    assert club.takes(given) is taken


async def test_twitch_has_ways_of_its_own(tmp_path: Path, make_database: MakeDatabase, nats_url: str) -> None:
    """At a provider that does what Twitch does: a name in the ID token because the claims parameter asks for it."""
    async with Provider(tmp_path / "twitch") as provider:
        provider.tweak(claims={"preferred_username": "ann_on_air", "nickname": "no", "name": "no"})
        given = provider.settings()
        row = {
            **TWITCH,
            "issuer": provider.url,
            "client_id": given["client_id"],
            "client_secret": given["client_secret"],
            "redirect_uris": ["https://play.example/signed-in"],
        }
        url = await make_database("omnipolyd.table.migrations")
        async with trusting([row], url, nats_url) as running:
            begun = await start(running, "twitch", "https://play.example/signed-in")
            query = parse_qs(urlsplit(begun.authorization_url).query)
            assert json.loads(query["claims"][0]) == {"id_token": {"preferred_username": None}}
            assert query["scope"] == ["openid"]
            session = await finish(running, begun.sign_in, await browse(begun.authorization_url))
        assert session.name == "ann_on_air"
        assert provider.asked("/token/") == ["POST /token/ "]  # the secret went in the form
