from __future__ import annotations

import time
from types import SimpleNamespace

import grpc
import jwt
import pytest

from omnipoly.editions import loader
from omnipoly.runtime.errors import ConfigError
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, sessions_pb2
from omnipolyd.gateway import tokens
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.gateway.tokens import Claims, Keys
from tests.services.gateway.calling import SECRET, Client, Stack, unique_id

OTHER = "another secret of which nobody here knows"


async def sign_in(running: Stack, name: str) -> sessions_pb2.Session:
    async with running.anonymous() as client:
        request = sessions_pb2.SignInGuestRequest(name=name, request_id="r1")
        return (await client.call("Sessions/SignInGuest", request)).session


async def list_tables(running: Stack, token: str) -> None:
    async with running.anonymous(token) as client:
        await client.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())


async def test_a_guest_signs_in(running: Stack) -> None:
    session = await sign_in(running, "  Ann of the Hill ")
    assert session.name == "Ann of the Hill"
    assert session.guest
    assert session.person.startswith("guest:")
    assert 500 < session.expires.seconds - time.time() < 700
    assert session.session_expires.seconds > time.time() + 86_400
    assert session.refresh_token
    await list_tables(running, session.access_token)
    assert (await sign_in(running, "Ann")).person != session.person


@pytest.mark.parametrize(
    "name", ["", "   ", "x" * 41, "tab\there", "line\nbreak", "right\u202eleft", "zero\u200bwidth"]
)
async def test_a_name_is_printable_and_not_too_long(running: Stack, name: str) -> None:
    with pytest.raises(Failure, match="1 to 40 printable characters") as caught:
        await sign_in(running, name)
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "bad_request")


@pytest.mark.parametrize("name", ["Аня", "李", "Zoë 🎲", "x" * 40])
async def test_names_of_all_languages(running: Stack, name: str) -> None:
    assert (await sign_in(running, name)).name == name


async def test_what_this_server_is(running: Stack) -> None:
    async with running.anonymous() as client:
        info = await client.call("Sessions/GetServerInfo", sessions_pb2.GetServerInfoRequest())
    assert info.version
    assert abs(info.server_time.seconds - time.time()) < 60
    assert info.dev
    assert [edition.id for edition in info.editions] == sorted(loader.shipped())
    for edition in info.editions:
        assert edition.digest == loader.edition(edition.id).digest
    limits = info.limits
    assert (limits.message_in_bytes, limits.command_bytes, limits.stream_queue) == (65536, 4096, 256)
    assert (limits.streams_per_identity, limits.history_page, limits.open_tables_per_identity) == (8, 200, 5)


# --- Tokens


DAY_S = 86_400
"""How long these tokens live: they are made when the tests are collected."""


def signed(payload: dict[str, object], *, secret: str = SECRET, **header: object) -> str:
    now = int(time.time())
    whole = {"aud": "omnipoly", "sub": "oidc:ann", "name": "Ann", "iat": now, "exp": now + DAY_S} | payload
    kid = jwt.get_unverified_header(tokens.issue(secret, "a", "a", lifetime_s=1))["kid"]
    return jwt.encode(
        {k: v for k, v in whole.items() if v is not None}, secret, "HS256", headers={"kid": kid, **header}
    )


GOOD = signed({})
HEAD, BODY, MARK = GOOD.split(".")
BROKEN = {
    "none at all": "",
    "no token": "sesame",
    "cut off": GOOD[:-3],
    "other body": f"{HEAD}.{BODY[:-4]}AAAA.{MARK}",
    "no signature": f"{HEAD}.{BODY}.",
    "no algorithm": jwt.encode({"sub": "oidc:ann"}, "", "none", headers={"kid": "x"}),
    "another key": signed({}, secret=OTHER),
    "another key under the name of ours": signed({}, secret=OTHER, kid=jwt.get_unverified_header(GOOD)["kid"]),
    "unknown key": signed({}, kid="nobody's"),
    "for somebody else": signed({"aud": "elsewhere"}),
    "for nobody": signed({"aud": None}),
    "no person": signed({"sub": None}),
    "an empty person": signed({"sub": ""}),
    "a long person": signed({"sub": "x" * 65}),
    "no name": signed({"name": None}),
    "a name that is none": signed({"name": 7}),
    "roles that are none": signed({"roles": "bots"}),
    "never ends": signed({"exp": None}),
    "too long": signed({"more": "x" * 5000}),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_a_broken_token_is_refused_and_never_told_why(running: Stack, what: str) -> None:
    with pytest.raises(Failure) as caught:
        await list_tables(running, BROKEN[what])
    failure = caught.value
    assert (failure.status, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")
    assert failure.sentence == "Sign in first."
    assert not failure.metadata


async def test_another_scheme_is_no_session(running: Stack) -> None:
    async with running.anonymous() as client:
        client.metadata = (("authorization", f"Basic {GOOD}"),)
        with pytest.raises(Failure, match="Sign in first"):
            await client.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())
        client.metadata = (("authorization", f"bearer {GOOD}"),)
        await client.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())


async def test_a_token_that_has_ended(running: Stack) -> None:
    with pytest.raises(Failure) as caught:
        await list_tables(running, running.token(lifetime_s=-1))
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.UNAUTHENTICATED, "token_expired")


@pytest.mark.parametrize("stream", ["play", "watch"])
async def test_a_stream_without_a_session(running: Stack, stream: str) -> None:
    async with running.anonymous("sesame") as client:
        failure = await (client.play() if stream == "play" else client.watch("x")).ended()
    assert failure is not None
    assert failure.reason == "sign_in_required"


async def test_a_stream_ends_with_its_token(running: Stack, ann: Client) -> None:
    table = await ann.create()
    async with running.client("oidc:short", guest=False, lifetime_s=1) as short:
        playing, watching = short.play(), short.watch(table)
        await playing.follow(table)
        await playing.next("progress")
        await watching.next("progress")
        for stream in playing, watching:
            failure = await stream.ended()
            assert failure is not None
            assert (failure.status, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "token_expired")
    assert not running.hub.streams


def test_keys_rotate() -> None:
    old, new = "the old secret of at least 32 characters", "the new secret of at least 32 characters"
    claims = Claims("oidc:ann", "Ann", False, (), int(time.time()) + 60.0)
    token = Keys([old]).sign(claims)
    assert Keys([new, old]).verify(token) == claims
    assert Keys([old]).verify(Keys([old, new]).sign(claims)) == claims
    with pytest.raises(Failure, match="Sign in first"):
        Keys([new]).verify(token)


def test_a_token_that_is_remembered_ends_like_any_other(tmp_path, monkeypatch) -> None:
    """By its time, and with the key that has signed it."""
    old, new = "the-old-secret-of-at-least-32-characters", "the-new-secret-of-at-least-32-characters"
    file = tmp_path / "keys"
    file.write_text(old)
    keys = Keys.of(GatewaySettings(session_key_file=str(file)))
    claims = Claims("oidc:ann", "Ann", False, (), int(time.time()) + 60.0)
    token = keys.sign(claims)
    assert [keys.verify(token) for _ in range(2)] == [claims] * 2
    with monkeypatch.context() as later:
        later.setattr("omnipolyd.gateway.tokens.time", SimpleNamespace(time=lambda: claims.expires_s))
        with pytest.raises(Failure, match="The session has ended"):
            keys.verify(token)
    assert keys.verify(token) == claims
    file.write_text(f"{new}\n")
    keys.look()
    with pytest.raises(Failure, match="Sign in first"):
        keys.verify(token)


def test_where_keys_come_from(tmp_path) -> None:
    claims = Claims("oidc:ann", "Ann", True, ("bots",), int(time.time()) + 60.0)
    file = tmp_path / "keys"
    file.write_text(f"{SECRET}\n{OTHER}".replace(" ", "-"))
    from_file = Keys.of(GatewaySettings(session_key_file=str(file)))
    assert Keys([SECRET.replace(" ", "-")]).verify(from_file.sign(claims)) == claims
    assert Keys.of(GatewaySettings(session_key=f"{SECRET}, {OTHER}")).verify(Keys([OTHER]).sign(claims)) == claims
    made = Keys.of(GatewaySettings())
    assert made.verify(made.sign(claims)) == claims
    with pytest.raises(Failure, match="Sign in first"):
        Keys.of(GatewaySettings()).verify(made.sign(claims))


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"session_key": "short"}, "at least 32 characters"),
        ({"session_key_file": "/nowhere/at all"}, "OMNIPOLY_SESSION_KEY_FILE cannot be read"),
        ({"session_key_file": "/dev/null"}, "names no secret"),
    ],
)
def test_wrong_keys_are_one_line(settings: dict[str, str], line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        Keys.of(GatewaySettings(**settings))


async def test_the_same_call_again_signs_in_another_guest(running: Stack) -> None:
    """Whoever knows the name of somebody's call is not them for it."""
    async with running.anonymous() as client:
        request = sessions_pb2.SignInGuestRequest(request_id=unique_id("g"), name="Zoe")
        one, other = [(await client.call("Sessions/SignInGuest", request)).session for _ in range(2)]
    assert one.person != other.person
    assert one.refresh_token != other.refresh_token
