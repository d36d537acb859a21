"""Signing in with a real OpenID provider, a process of its own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import grpc
import pytest

from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.gateway.v1 import sessions_pb2 as pb
from omnipolyd.gateway.oidc import begun as sign_ins
from omnipolyd.gateway.tokens import Keys
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import SECRET, Stack, unique_id
from tests.services.gateway.signing_in import (
    another,
    finish,
    of,
    oidc,
    refresh,
    sign_in,
    start,
    trusting,
)
from tests.services.issuer.running import CLIENT, REDIRECT, Issuer, browse
from tests.services.issuer.running import SECRET as CLIENT_SECRET

REFUSED = "This sign-in did not succeed; begin another."
TABLES = "omnipolyd.table.migrations"


@pytest.fixture(scope="module")
async def issuer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Issuer]:
    """The module's provider; each test finds it without a fault."""
    async with Issuer(tmp_path_factory.mktemp("issuer")) as issuer:
        yield issuer


@pytest.fixture(autouse=True)
def _faultless(issuer: Issuer) -> None:
    issuer.tweak()


@pytest.fixture(scope="module")
async def running(issuer: Issuer, make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:
    """A stack that trusts it: as a client with a secret, as one without, and as one whose tokens it signs by secret."""
    issuers = [
        issuer.settings(),
        issuer.settings(id="open", title="", client_id="public", client_secret=""),
        issuer.settings(id="shared", client_id="shared"),
        issuer.settings(id="wrong", client_secret="not the secret"),
        issuer.settings(id="form", token_auth="client_secret_post"),
    ]
    async with trusting(issuers, await make_module_database(TABLES), nats_url, oidc_keys_every_s=0) as running:
        yield running


async def refused(awaitable: Any) -> Failure:
    """The refusal: always the same, whatever is wrong."""
    with pytest.raises(Failure) as caught:
        await awaitable
    failure = caught.value
    assert (failure.status, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")
    assert (failure.sentence, failure.metadata) == (REFUSED, {})
    return failure


# --- What succeeds


async def test_somebody_signs_in(running: Stack) -> None:
    session = await sign_in(running, "ann")
    assert session.person.startswith("oidc:")
    assert (session.name, session.guest, list(session.roles)) == ("ann", False, [])
    assert 500 < session.expires.seconds - time.time() < 700
    assert session.session_expires.seconds > time.time() + 86_400 * 7
    async with of(running, session) as ann:
        table = await ann.create()
        async with of(running, await sign_in(running, "vic")) as viewer:
            await viewer.watch(table).next("progress")  # signed in, and so may watch (TUB-VIEWERS)


async def test_the_same_person_comes_back(running: Stack) -> None:
    first, second, other = await sign_in(running, "ann"), await sign_in(running, "ann"), await sign_in(running, "bob")
    assert first.person == second.person != other.person
    assert first.refresh_token != second.refresh_token


async def test_what_the_browser_sees(running: Stack, issuer: Issuer) -> None:
    begun = await start(running)
    address = urlsplit(begun.authorization_url)
    query = {name: values[0] for name, values in parse_qs(address.query).items()}
    assert f"{address.scheme}://{address.netloc}" == issuer.url
    sealed = sign_ins.resume(Keys([SECRET]), begun.sign_in)
    assert sealed is not None
    assert query == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": REDIRECT,
        "scope": "openid profile",
        "state": sealed.state,
        "nonce": sealed.nonce,
        "code_challenge": query["code_challenge"],
        "code_challenge_method": "S256",
    }
    assert len({sealed.state, sealed.nonce, sealed.verifier, query["code_challenge"]}) == 4
    assert all(len(secret) == 43 for secret in (sealed.state, sealed.nonce, sealed.verifier))
    for secret in (sealed.state, sealed.nonce, sealed.verifier):
        assert secret not in begun.sign_in
    assert len(begun.sign_in) <= 2048
    assert abs(begun.expires.seconds - time.time() - 600) < 60
    assert (await start(running)).authorization_url != begun.authorization_url


async def test_clients_of_every_kind(running: Stack, issuer: Issuer) -> None:
    for name, shown in (("club", "Basic"), ("open", ""), ("form", "")):
        assert (await sign_in(running, "ann", name)).name == "ann"
        assert issuer.asked("/token/")[-1] == f"POST /token/ {shown}"


async def test_whom_clients_may_choose_from(running: Stack) -> None:
    async with running.anonymous() as client:
        info = await client.call("Sessions/GetServerInfo", pb.GetServerInfoRequest())
    assert [(one.id, one.title) for one in info.issuers][:2] == [("club", "The club"), ("open", "open")]
    assert info.guests


async def test_a_name_may_be_asked_for(running: Stack, issuer: Issuer) -> None:
    issuer.tweak(shy=True, userinfo={"nickname": "Annie"})
    assert (await sign_in(running, "ann")).name == "Annie"
    # not of somebody else
    issuer.tweak(shy=True, userinfo={"nickname": "Annie", "sub": "4711"})
    assert (await sign_in(running, "ann")).name.startswith("Player ")


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"nickname": "  Zoë 🎲 "}, "Zoë 🎲"),
        ({"nickname": "x" * 50}, "x" * 40),
        ({"nickname": "right\u202eleft\n"}, "rightleft"),
        ({"nickname": "ann@example.com", "preferred_username": "ann@example.com", "given_name": "Ann"}, "Ann"),
        ({"nickname": "", "preferred_username": 7, "name": "Ann Other"}, "Ann Other"),
    ],
)
async def test_names_as_they_are_shown(running: Stack, issuer: Issuer, claims: dict[str, Any], name: str) -> None:
    issuer.tweak(claims=claims)
    assert (await sign_in(running, "ann")).name == name


async def test_clocks_may_differ_a_little(running: Stack, issuer: Issuer) -> None:
    now = int(time.time())
    for claims in ({"exp": now - 40}, {"nbf": now + 40}, {"iat": now + 40}):
        issuer.tweak(claims=claims)
        await sign_in(running)


async def test_a_token_for_several_that_names_us(running: Stack, issuer: Issuer) -> None:
    issuer.tweak(claims={"aud": [CLIENT, "another"], "azp": CLIENT})
    await sign_in(running)


async def test_a_token_that_names_no_key_is_checked_with_the_only_one(running: Stack, issuer: Issuer) -> None:
    issuer.tweak(signed="no key id")
    await sign_in(running)


# --- What does not


def _now(seconds: int) -> int:
    return int(time.time()) + seconds


WRONG: dict[str, dict[str, Any]] = {
    "for another client": {"claims": {"aud": "another"}},
    "for several, and who asked for it is not said": {"claims": {"aud": [CLIENT, "another"]}},
    "asked for by another": {"claims": {"azp": "another"}},
    "of another issuer": {"claims": {"iss": "https://elsewhere.example"}},
    "of an issuer with almost the same name": {"claims": {"iss": "$/"}},
    "of another sign-in": {"claims": {"nonce": "another"}},
    "of no sign-in": {"without": ["nonce"]},
    "a nonce that is none": {"claims": {"nonce": 7}},
    "expired": {"claims": {"exp": -90}},
    "never expires": {"without": ["exp"]},
    "not yet valid": {"claims": {"nbf": 90}},
    "of the future": {"claims": {"iat": 90}},
    "never issued": {"without": ["iat"]},
    "of nobody": {"without": ["sub"]},
    "of nobody at all": {"claims": {"sub": ""}},
    "of a name too long": {"claims": {"sub": "x" * 256}},
    "signed by another key under the same name": {"signed": "another key"},
    "signed by an unknown key": {"signed": "unknown key"},
    "changed after it was signed": {"signed": "other body"},
    "not signed": {"signed": "none"},
    "signed with the public key as a secret": {"signed": "public key as secret"},
    "cut off": {"signed": "cut off"},
    "garbage": {"instead": "sesame"},
    "empty": {"instead": ""},
    "no text": {"instead": {"sub": "1"}},
}


@pytest.mark.parametrize("what", WRONG)
async def test_a_wrong_id_token_is_refused_and_never_told_why(running: Stack, issuer: Issuer, what: str) -> None:
    wrong = dict(WRONG[what])
    claims = dict(wrong.get("claims", {}))
    for claim in ("exp", "nbf", "iat"):
        if claim in claims:
            claims[claim] = _now(claims[claim])
    if claims.get("iss") == "$/":
        claims["iss"] = f"{issuer.url}/"
    issuer.tweak(**{**wrong, "claims": claims})
    begun = await start(running)
    redirected = await browse(begun.authorization_url)
    await refused(finish(running, begun.sign_in, redirected))
    issuer.tweak()
    await sign_in(running)


async def test_a_token_signed_with_a_secret_is_refused(running: Stack) -> None:
    """The provider means it so: whoever knows the client's secret could make one."""
    await refused(sign_in(running, issuer="shared"))


async def test_a_redirect_is_good_once(running: Stack) -> None:
    begun = await start(running)
    redirected = await browse(begun.authorization_url)
    await finish(running, begun.sign_in, redirected)
    await refused(finish(running, begun.sign_in, redirected))


async def test_a_sign_in_is_good_once(running: Stack) -> None:
    """Whoever goes through the pages twice has two codes; the second leads nowhere."""
    begun = await start(running)
    first, second = await browse(begun.authorization_url), await browse(begun.authorization_url)
    await finish(running, begun.sign_in, first)
    with pytest.raises(Failure, match="That sign-in was used before") as caught:
        await finish(running, begun.sign_in, second)
    assert caught.value.reason == "sign_in_required"


async def test_of_two_at_once_one_succeeds(running: Stack) -> None:
    begun = await start(running)
    redirected = [await browse(begun.authorization_url) for _ in range(2)]
    outcomes = await asyncio.gather(
        *(finish(running, begun.sign_in, each) for each in redirected), return_exceptions=True
    )
    assert sorted(isinstance(one, Failure) for one in outcomes) == [False, True]


async def test_a_code_of_another_sign_in(running: Stack) -> None:
    mine, theirs = await start(running), await start(running)
    stolen = await browse(theirs.authorization_url)
    my_state = parse_qs(urlsplit(mine.authorization_url).query)["state"][0]
    await refused(finish(running, mine.sign_in, stolen))
    await refused(finish(running, mine.sign_in, stolen, state=my_state))


async def test_an_invented_code(running: Stack) -> None:
    begun = await start(running)
    state = parse_qs(urlsplit(begun.authorization_url).query)["state"][0]
    for code in ("", "sesame", "x" * 2000):
        await refused(finish(running, begun.sign_in, f"{REDIRECT}?code=c&state={state}&iss=", code=code))


async def test_sign_ins_that_are_none(running: Stack) -> None:
    begun = await start(running)
    redirected = await browse(begun.authorization_url)
    session = await sign_in(running)
    keys, number = Keys([SECRET]), "n" * 22
    sealed = {"aud": sign_ins.AUDIENCE, "jti": number, "iss": "club", "redirect": REDIRECT, "exp": _now(60)}
    for other in (
        "",
        "sesame",
        begun.sign_in[:-4],
        session.access_token,
        session.refresh_token,
        keys.seal(sealed | {"exp": _now(-1)}),
        keys.seal(sealed | {"aud": "omnipoly"}),
        keys.seal(sealed | {"iss": "nobody"}),
        keys.seal({name: value for name, value in sealed.items() if name != "redirect"}),
        Keys(["another secret of which nobody here knows"]).seal(sealed),
    ):
        await refused(finish(running, other, redirected))
    await refused(finish(running, keys.seal(sealed), redirected))  # ours, but the state is another's
    await finish(running, begun.sign_in, redirected)


async def test_a_sign_in_is_no_session(running: Stack) -> None:
    begun = await start(running)
    async with running.anonymous(begun.sign_in) as client:
        with pytest.raises(Failure, match="Sign in first"):
            await client.create()


async def test_a_redirect_of_another_issuer(running: Stack) -> None:
    for iss in ("https://elsewhere.example", ""):  # this one names itself, always
        begun = await start(running)
        await refused(finish(running, begun.sign_in, await browse(begun.authorization_url), iss=iss))


@pytest.mark.parametrize(
    "request_",
    [
        pb.StartOidcSignInRequest(issuer="nobody", redirect_uri=REDIRECT, request_id="r"),
        pb.StartOidcSignInRequest(issuer="club", redirect_uri="https://evil.example/signed-in", request_id="r"),
        pb.StartOidcSignInRequest(issuer="club", redirect_uri="http://127.0.0.1/signed-in/more", request_id="r"),
        pb.StartOidcSignInRequest(
            issuer="club", redirect_uri="http://127.0.0.1:1@evil.example/signed-in", request_id="r"
        ),
        pb.StartOidcSignInRequest(issuer="club", redirect_uri="https://127.0.0.1:1/signed-in", request_id="r"),
        pb.StartOidcSignInRequest(issuer="club", redirect_uri="http://127.0.0.1:99999/signed-in", request_id="r"),
        pb.StartOidcSignInRequest(issuer="club", redirect_uri="", request_id="r"),
        pb.StartOidcSignInRequest(issuer="club", redirect_uri="http://127.0.0.1:1/" + "x" * 600, request_id="r"),
        pb.StartOidcSignInRequest(issuer="club", redirect_uri=REDIRECT),
    ],
)
async def test_beginnings_that_are_none(running: Stack, request_: pb.StartOidcSignInRequest) -> None:
    async with running.anonymous() as client:
        with pytest.raises(Failure) as caught:
            await client.call("Sessions/StartOidcSignIn", request_)
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "bad_request")


async def test_fields_that_are_too_long(running: Stack) -> None:
    begun = await start(running)
    for field, most in (("code", 2048), ("state", 512), ("iss", 256)):
        with pytest.raises(Failure, match=f"{field}: at most {most} characters") as caught:
            await finish(running, begun.sign_in, f"{REDIRECT}?code=c&state=s", **{field: "x" * (most + 1)})
        assert caught.value.reason == "bad_request"


async def test_who_is_banned_does_not_sign_in(running: Stack, unique: str) -> None:
    session = await sign_in(running, unique)
    await running.table.database.execute(
        "UPDATE persons SET banned_until = now() + interval '1 hour' WHERE person = $1", session.person
    )
    with pytest.raises(Failure, match="You are banned until 20") as caught:
        await sign_in(running, unique)
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.PERMISSION_DENIED, "banned")


async def test_an_answer_without_end(running: Stack, issuer: Issuer) -> None:
    issuer.tweak(instead="x" * 300_000)
    with pytest.raises(Failure, match="The issuer cannot be asked now"):
        await sign_in(running)


async def test_a_client_that_the_issuer_does_not_know(running: Stack) -> None:
    with pytest.raises(Failure, match="The issuer cannot be asked now") as caught:
        await sign_in(running, issuer="wrong")
    assert caught.value.status is grpc.StatusCode.UNAVAILABLE


# --- Keys that change, providers that are away


async def test_keys_rotate_at_the_issuer(running: Stack, issuer: Issuer) -> None:
    await sign_in(running)
    await issuer.rotate(keep=True)
    assert (await sign_in(running)).name == "ann"
    await issuer.rotate(keep=False)
    assert (await sign_in(running)).name == "ann"


async def test_keys_are_fetched_again_but_not_for_everybody(running: Stack, issuer: Issuer, nats_url: str) -> None:
    path = "/.well-known/jwks.json"
    async with another(running, [issuer.settings()], nats_url, oidc_keys_every_s=3600) as patient:
        before = len(issuer.asked(path))
        await sign_in(patient)
        await sign_in(patient)
        assert len(issuer.asked(path)) == before + 1
        issuer.tweak(signed="unknown key")
        for _ in range(3):
            await refused(sign_in(patient))
        assert len(issuer.asked(path)) == before + 1
        # nor is a token that is known to be wrong a reason to ask
        issuer.tweak(signed="another key")
        await refused(sign_in(running))
    after = len(issuer.asked(path))
    issuer.tweak(signed="unknown key")
    await refused(sign_in(running))
    assert len(issuer.asked(path)) == after + 1


async def test_an_issuer_that_is_away(running: Stack, issuer: Issuer, nats_url: str) -> None:
    async with another(running, [issuer.settings()], nats_url) as fresh:
        begun = await start(running)
        redirected = await browse(begun.authorization_url)
        await issuer.stop()
        try:
            # one that has never told us what it is, and one that has
            for beginning in (start(fresh), finish(running, begun.sign_in, redirected)):
                with pytest.raises(Failure, match="The issuer cannot be asked now; try again") as caught:
                    await beginning
                assert caught.value.status is grpc.StatusCode.UNAVAILABLE
                assert caught.value.retry_after_s
            await start(running)
        finally:
            await issuer.start()
        # nothing was used up by it
        await finish(running, begun.sign_in, redirected)
        await sign_in(fresh)


async def test_an_issuer_under_another_name_is_not_believed(running: Stack, issuer: Issuer, nats_url: str) -> None:
    renamed = issuer.settings(issuer=issuer.url.replace("127.0.0.1", "localhost"))
    async with another(running, [renamed], nats_url) as other:
        with pytest.raises(Failure, match="The issuer cannot be asked now"):
            await start(other)


# --- Several gateways, several issuers


async def test_one_gateway_begins_and_another_ends(running: Stack, issuer: Issuer, nats_url: str) -> None:
    async with another(running, [issuer.settings()], nats_url) as other:
        begun = await start(running)
        session = await finish(other, begun.sign_in, await browse(begun.authorization_url))
        async with of(running, session) as client:
            await client.create()
        await refresh(running, session.refresh_token)


async def test_several_issuers_at_once(running: Stack, issuer: Issuer, tmp_path: Path, nats_url: str) -> None:
    async with Issuer(tmp_path / "second") as second:
        issuers = [issuer.settings(), second.settings(id="second")]
        async with another(running, issuers, nats_url) as both:
            first, other = await sign_in(both, "ann"), await sign_in(both, "ann", "second")
            assert first.person != other.person  # the same name, and the same number, of two issuers
            # what one gave does not do at the other
            begun = await start(both, "second")
            state = parse_qs(urlsplit(begun.authorization_url).query)["state"][0]
            stolen = await browse((await start(both)).authorization_url)
            await refused(finish(both, begun.sign_in, stolen, state=state, iss=second.url))
            await refused(finish(both, begun.sign_in, stolen, state=state))


# --- Secrets


async def test_no_secret_is_logged(
    running: Stack, issuer: Issuer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "grpc")
    begun = await start(running)
    redirected = await browse(begun.authorization_url)
    session = await finish(running, begun.sign_in, redirected)
    renewed = await refresh(running, session.refresh_token)
    secrets = [begun.sign_in, session.access_token, session.refresh_token, renewed.refresh_token, CLIENT_SECRET, SECRET]
    secrets += [parse_qs(urlsplit(redirected).query)[name][0] for name in ("code", "state")]
    sealed = sign_ins.resume(Keys([SECRET]), begun.sign_in)
    assert sealed is not None
    secrets += [sealed.verifier, sealed.nonce]
    for wrong in ("another key", "none", "cut off"):
        issuer.tweak(signed=wrong)
        again = await start(running)
        redirected = await browse(again.authorization_url)
        await refused(finish(running, again.sign_in, redirected))
        secrets += [again.sign_in, parse_qs(urlsplit(redirected).query)["code"][0]]
    with pytest.raises(Failure):
        await refresh(running, session.refresh_token)  # used before: that is logged, and ends the session
    with pytest.raises(Failure):
        await sign_in(running, issuer="wrong")
    written = capfd.readouterr()
    said = "".join((caplog.text, written.out, written.err, *(str(record.msg) for record in caplog.records)))
    assert "sign_in_refused" in said
    assert "refresh_token_reused" in said
    for secret in secrets:
        assert len(secret) > 20
        assert secret not in said
        assert not any(len(part) > 20 and part in said for part in secret.split(".")[1:])


async def test_refusals_carry_nothing_of_what_came(running: Stack) -> None:
    marker = "a-marker-that-nobody-else-has-4711"
    for fields in ({"sign_in": marker}, {"code": marker}, {"state": marker}, {"iss": marker}):
        async with running.anonymous() as client:
            request = pb.FinishOidcSignInRequest(
                **{"sign_in": (await start(running)).sign_in, "code": "c", "state": "s", **fields},
                request_id=unique_id("f"),
            )
            with pytest.raises(Failure) as caught:
                await client.call("Sessions/FinishOidcSignIn", request)
        assert marker not in f"{caught.value!s} {caught.value.metadata}"


def test_settings_of_issuers_are_no_secret_in_the_log(issuer: Issuer) -> None:
    from omnipolyd.gateway.config import GatewaySettings

    assert CLIENT_SECRET not in repr(GatewaySettings(**oidc([issuer.settings()])).describe())
