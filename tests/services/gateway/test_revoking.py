"""Sessions are renewed, end, and end at once: on every gateway, streams included."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.gateway.v1 import play_pb2, sessions_pb2
from omnipoly.wire.gen.table.v1 import accounts_pb2
from omnipolyd.gateway.tokens import Keys
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import SECRET, Client, Playing, Stack, gateway, stack, unique_id
from tests.services.gateway.signing_in import guest, of, refresh
from tests.services.table.accounts import Accounts
from tests.services.table.calling import Caller
from tests.services.waiting import eventually

ENDS_S = 5.0
"""Within it whatever is revoked has ended everywhere."""


@pytest.fixture(scope="module")
async def running(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url) as running:
        yield running


@pytest.fixture(scope="module")
async def other(running: Stack, nats_url: str) -> AsyncIterator[Stack]:
    """Another gateway."""
    async with gateway(running.table, nats_url) as other:
        yield other


@pytest.fixture(scope="module")
async def deaf(running: Stack, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """A third, to which no message of the table service ever comes."""
    with EmbeddedNats(tmp_path_factory.mktemp("nats")) as elsewhere:
        async with gateway(running.table, elsewhere.url) as deaf:
            yield deaf


@pytest.fixture
async def accounts(running: Stack) -> AsyncIterator[Accounts]:
    caller = Caller(running.table.address)
    yield Accounts(caller.link)
    await caller.close()


async def revoke(running: Stack, refresh_token: str, *, all_: bool = False) -> int:
    async with running.anonymous() as client:
        request = sessions_pb2.RevokeRequest(refresh_token=refresh_token, all=all_, request_id=unique_id("r"))
        return int((await client.call("Sessions/Revoke", request)).revoked)


async def following(client: Client, table: str) -> Playing:
    """A stream that has heard everything."""
    stream = client.play()
    await stream.follow(table)
    await stream.next("progress")
    return stream


async def refusal(awaitable: Any) -> Failure:
    with pytest.raises(Failure) as caught:
        await awaitable
    return caught.value


# --- Renewing


async def test_a_session_is_renewed_on_any_gateway(running: Stack, other: Stack) -> None:
    first = await guest(running, "Gus")
    second = await refresh(other, first.refresh_token)
    third = await refresh(running, second.refresh_token)
    assert first.person == second.person == third.person
    assert (third.name, third.guest) == ("Gus", True)
    assert len({one.refresh_token for one in (first, second, third)}) == 3
    async with of(other, third) as client:
        await client.create()


async def test_a_refresh_token_that_was_used_ends_the_session(running: Stack, other: Stack) -> None:
    first = await guest(running)
    second = await refresh(running, first.refresh_token)
    async with of(running, second) as client, of(other, second) as elsewhere:
        table = await client.create()
        streams = [await following(one, table) for one in (client, elsewhere)]
        began = time.monotonic()
        failure = await refusal(refresh(other, first.refresh_token))
        assert (failure.status, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")
        for stream in streams:
            ended = await stream.ended()
            assert ended is not None
            assert ended.reason == "sign_in_required"
        assert time.monotonic() - began < ENDS_S
    assert (await refusal(refresh(running, second.refresh_token))).reason == "sign_in_required"


async def test_a_renewal_whose_answer_was_lost(running: Stack, other: Stack) -> None:
    first = await guest(running)
    second = await refresh(running, first.refresh_token, "once")
    assert (await refresh(other, first.refresh_token, "once")).refresh_token == second.refresh_token
    await refresh(running, second.refresh_token)


@pytest.mark.parametrize("token", ["", "sesame", "a.1.b.c", "x" * 4096, "x" * 5000, "\N{SNOWMAN}"])
async def test_a_broken_refresh_token_tells_nothing(running: Stack, token: str) -> None:
    failure = await refusal(refresh(running, token))
    assert (failure.reason, failure.sentence) == ("sign_in_required", "Sign in first.")
    assert not failure.metadata


async def test_an_access_token_renews_nothing(running: Stack) -> None:
    session = await guest(running)
    assert (await refusal(refresh(running, session.access_token))).reason == "sign_in_required"
    async with running.anonymous(session.refresh_token) as client:
        assert (await refusal(client.create())).reason == "sign_in_required"


async def test_lives_as_the_operator_sets_them(running: Stack, nats_url: str) -> None:
    async with gateway(running.table, nats_url, access_s=100, guest_session_s=50) as short:
        session = await guest(short)
        now = time.time()
        assert 40 < session.session_expires.seconds - now < 60
        assert session.expires.seconds <= session.session_expires.seconds
        assert 40 < (await refresh(short, session.refresh_token)).session_expires.seconds - now < 60


async def test_guests_where_there_are_none(running: Stack, nats_url: str) -> None:
    async with gateway(running.table, nats_url, guests=False) as strict:
        failure = await refusal(guest(strict))
        assert failure.reason == "sign_in_required"
        assert "takes no guests" in failure.sentence
        async with strict.anonymous() as client:
            assert not (await client.call("Sessions/GetServerInfo", sessions_pb2.GetServerInfoRequest())).guests


async def test_sign_ins_from_one_address_are_limited(running: Stack, nats_url: str) -> None:
    limits = {"sign_ins_per_second": 0.001, "sign_ins_burst": 3, "client_address_header": "X-Forwarded-For"}
    async with gateway(running.table, nats_url, **limits) as strict, strict.anonymous() as client:

        async def sign_in(address: str) -> None:
            client.metadata = (("x-forwarded-for", address),) if address else ()
            request = sessions_pb2.SignInGuestRequest(name="Gus", request_id=unique_id("g"))
            await client.call("Sessions/SignInGuest", request)

        for address in ("", "10.1.1.1, 10.0.0.1", "10.9.9.9, 10.0.0.2"):
            for _ in range(3):
                await sign_in(address)
            failure = await refusal(sign_in(address))
            assert (failure.status, failure.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited")
            assert failure.retry_after_s
        # what a client puts before what the proxy says counts for nothing
        assert (await refusal(sign_in("10.7.7.7, 10.0.0.1"))).reason == "rate_limited"
        await client.call("Sessions/GetServerInfo", sessions_pb2.GetServerInfoRequest())


# --- Ending


async def test_whoever_leaves_is_gone_everywhere(running: Stack, other: Stack, deaf: Stack) -> None:
    session, stays = await guest(running), await guest(running)
    async with (
        of(running, session) as here,
        of(other, session) as there,
        of(deaf, session) as far,
        of(other, stays) as bystander,
    ):
        table = await here.create()
        streams = [await following(one, table) for one in (here, there, far)]
        watching = far.watch(table)
        await watching.next("progress")
        undisturbed = await following(bystander, await bystander.create())
        began = time.monotonic()
        assert await revoke(running, session.refresh_token) == 1
        for stream in (*streams, watching):
            failure = await stream.ended()
            assert failure is not None
            assert (failure.status, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")
        assert time.monotonic() - began < ENDS_S
        for client in (here, there, far):
            assert (await refusal(client.create())).sentence == "This session was ended; sign in again."
        await undisturbed.act(await bystander.create(), act.AddBot())
    assert await revoke(running, session.refresh_token) == 0


async def test_all_sessions_of_a_person(running: Stack, other: Stack, accounts: Accounts, unique: str) -> None:
    ann = await accounts.person(unique)
    first, second = [await refresh(running, (await accounts.open(ann.person)).refresh_token) for _ in range(2)]
    assert await revoke(running, first.refresh_token, all_=True) == 2
    for session in (first, second):
        async with of(other, session) as client:
            await eventually(lambda client=client: _refused(client), ENDS_S)


async def _refused(client: Client) -> bool:
    try:
        await client.create()
    except Failure as failure:
        return failure.reason == "sign_in_required"
    return False


async def test_a_ban_ends_streams_on_every_gateway(
    running: Stack, other: Stack, deaf: Stack, accounts: Accounts, unique: str
) -> None:
    ann = await accounts.person(unique)
    session = await refresh(running, (await accounts.open(ann.person)).refresh_token)
    made = running.token(ann.person)  # a token of nobody's session does not help either
    async with of(running, session) as here, of(deaf, session) as far, other.anonymous(made) as there:
        table = await here.create()
        streams = [await following(one, table) for one in (here, there, far)]
        began = time.monotonic()
        await accounts.ban(ann.person, reason="Spoils games")
        for stream in streams:
            failure = await stream.ended()
            assert failure is not None
            assert (failure.status, failure.reason) == (grpc.StatusCode.PERMISSION_DENIED, "banned")
        assert time.monotonic() - began < ENDS_S
        for client in (here, there, far):
            assert (await refusal(client.create())).reason == "banned"
        failure = await refusal(refresh(running, session.refresh_token))
        assert failure.sentence == "You are banned: Spoils games."
        await accounts.ban(ann.person, lift=True)
        await eventually(lambda: _lets_in(there), ENDS_S)
        # the session stays ended
        assert (await refusal(here.create())).reason == "sign_in_required"


async def _lets_in(client: Client) -> bool:
    try:
        await client.create()
    except Failure:
        return False
    return True


async def test_a_ban_that_was_lifted_since_does_not_come_back(running: Stack, accounts: Accounts, unique: str) -> None:
    """A table replica that NATS could not be reached from publishes what it gave when it can."""
    ann = await accounts.person(unique)
    late = accounts_pb2.Revocation(person=ann.person, stamp=ann.stamp)
    late.at.FromMilliseconds(round(time.time() * 1000) - 60_000)
    late.banned_until.FromMilliseconds(round(time.time() * 1000) + 3_600_000)
    after = accounts_pb2.Revocation(person=ann.person, session=unique)
    revocations = running.hub.revoked
    async with running.anonymous(running.token(ann.person)) as client:
        await client.create()
        await accounts.ban(ann.person)
        await eventually(lambda: revocations._banned.get(ann.person))
        await accounts.ban(ann.person, lift=True)
        await eventually(lambda: ann.person not in revocations._banned)
        for revocation in (late, after):
            running.table.bus.publish("omnipoly.accounts", revocation.SerializeToString())
        await eventually(lambda: unique in revocations._sessions)
        await client.create()


async def test_a_gateway_that_starts_knows_who_is_banned(
    running: Stack, nats_url: str, accounts: Accounts, unique: str
) -> None:
    ann, bob = await accounts.person(unique), await accounts.person(f"{unique}b")
    sessions = [await refresh(running, (await accounts.open(one.person)).refresh_token) for one in (ann, bob)]
    await accounts.ban(ann.person)
    await revoke(running, sessions[1].refresh_token)
    async with gateway(running.table, nats_url) as fresh:
        async with fresh.anonymous(running.token(ann.person)) as client:
            assert (await refusal(client.create())).reason == "banned"
        async with of(fresh, sessions[1]) as client:
            assert (await refusal(client.create())).reason == "sign_in_required"


async def test_a_gateway_that_knows_nothing_lets_nobody_in(nats_url: str, unused_tcp_port: int) -> None:
    from omnipoly.runtime import app
    from omnipolyd.gateway.config import GatewaySettings
    from omnipolyd.gateway.service import GatewayService

    address = f"127.0.0.1:{unused_tcp_port}"
    settings = GatewaySettings(port=0, nats_url=nats_url, table_addr=address, session_key=SECRET, reflection=False)
    async with app.running(GatewayService(settings)) as lonely, Client(lonely.address, "sesame") as client:
        failure = await refusal(client.create())
        assert (failure.status, failure.reason) == (grpc.StatusCode.UNAVAILABLE, "unavailable")


async def test_roles_that_are_taken_away_are_gone_at_once(
    running: Stack, other: Stack, accounts: Accounts, unique: str
) -> None:
    ann = await accounts.person(unique)
    await accounts.set_roles(ann.person, "admin")
    session = await refresh(running, (await accounts.open(ann.person)).refresh_token)
    assert list(session.roles) == ["admin"]
    async with of(running, session) as here, of(other, session) as there:
        table = await here.create()
        streams = [await following(one, table) for one in (here, there)]
        await accounts.set_roles(ann.person)
        for stream in streams:
            failure = await stream.ended()
            assert failure is not None
            assert failure.reason == "token_expired"  # there is a newer one
        assert (await refusal(there.create())).reason == "token_expired"
    renewed = await refresh(running, session.refresh_token)
    assert not renewed.roles
    async with of(other, renewed) as there:
        await there.create()


# --- On a stream


async def test_a_stream_goes_on_under_a_new_token(running: Stack, nats_url: str) -> None:
    async with gateway(running.table, nats_url, access_s=60) as short:
        session = await guest(short)
        async with of(short, session) as client:
            stream = await following(client, await client.create())
            (here,) = [one for one in short.hub.streams if one.caller.person == session.person]
            assert here._expiry.when() < asyncio.get_running_loop().time() + 70
            renewed = await refresh(running, session.refresh_token)  # there they live for ten minutes
            await stream.send(renew=play_pb2.Renew(access_token=renewed.access_token))
            answer = await stream.next("renewed", "refused")
            assert isinstance(answer, play_pb2.Renewed)
            assert answer.expires == renewed.expires
            assert here.caller.claims.expires_s == renewed.expires.seconds
            assert here._expiry.when() > asyncio.get_running_loop().time() + 500
            await stream.act(await client.create(), act.AddBot())


async def test_a_stream_is_renewed_with_nothing_else(running: Stack, accounts: Accounts) -> None:
    mine, theirs = await guest(running), await guest(running)
    over = await guest(running)
    await revoke(running, over.refresh_token)
    foreign = Keys(["another secret of which nobody here knows"])
    claims = Keys([SECRET]).verify(mine.access_token)
    broken = {
        "": "Sign in first.",
        "sesame": "Sign in first.",
        mine.refresh_token: "Sign in first.",
        foreign.sign(claims): "Sign in first.",
        Keys([SECRET]).sign(claims._replace(expires_s=time.time() - 5)): "The session has ended",
        theirs.access_token: "This stream is another person's.",
        over.access_token: "This session was ended; sign in again.",
        Keys([SECRET]).sign(claims._replace(guest=False)): "This stream is another person's.",
    }
    async with of(running, mine) as client:
        stream = await following(client, await client.create())
        for token, sentence in broken.items():
            await stream.send(renew=play_pb2.Renew(access_token=token))
            answer = await stream.next("renewed", "refused")
            assert isinstance(answer, play_pb2.Refused), sentence
            assert sentence in from_status(answer.status).sentence
        await stream.act(await client.create(), act.AddBot())  # it goes on under its own
        await revoke(running, mine.refresh_token)
        failure = await stream.ended()
        assert failure is not None
        assert failure.reason == "sign_in_required"


# --- Keys


async def test_keys_rotate_without_a_restart(running: Stack, nats_url: str, tmp_path: Path) -> None:
    old, new = "the-old-secret-of-at-least-32-characters", "the-new-secret-of-at-least-32-characters"
    file = tmp_path / "keys"

    def write(*secrets: str) -> None:
        (tmp_path / "next").write_text("\n".join(secrets))
        (tmp_path / "next").rename(file)

    def signed_by(session: sessions_pb2.Session, secret: str) -> bool:
        try:
            return bool(Keys([secret]).verify(session.access_token))
        except Failure:
            return False

    write(old)
    async with gateway(running.table, nats_url, session_key="", session_key_file=str(file)) as rotating:
        keys: Any = rotating.hub.known.__self__._keys
        session = await guest(rotating)
        assert signed_by(session, old)
        write(old, new)
        keys.look()
        write(new, old)
        keys.look()
        renewed = await refresh(rotating, session.refresh_token)
        assert signed_by(renewed, new)
        async with of(rotating, session) as before, of(rotating, renewed) as after:
            await before.create()
            await after.create()
            write("too short")
            keys.look()  # a mistake changes nothing
            file.unlink()
            keys.look()
            await before.create()
            write(new)
            keys.look()
            assert (await refusal(before.create())).reason == "sign_in_required"
            await after.create()
        await refresh(rotating, renewed.refresh_token)  # what renews is not signed with them


async def test_a_changed_file_of_keys_is_found(running: Stack, nats_url: str, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{SECRET}\n".replace(" ", "-"))
    async with gateway(running.table, nats_url, session_key="", session_key_file=str(file)) as rotating:
        keys: Any = rotating.hub.known.__self__._keys
        before = keys.signs
        file.write_text("another-secret-of-at-least-32-characters\n")
        async with asyncio.timeout(20):
            await eventually(lambda: keys.signs != before)
