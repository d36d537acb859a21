"""Signing in with an issuer, and sessions that go on by themselves."""

from __future__ import annotations

import asyncio
import json
import math
import time
from pathlib import Path

import grpc
import pytest

from omnipoly.client import Client, Play, Refused, Session, connection
from omnipoly.client.connection import Tokens
from omnipoly.client.happenings import Pictured
from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.runtime.app import running
from omnipoly.wire.gen.gateway.v1 import sessions_pb2
from tests.services.bots.stack import Stack, gateway_of
from tests.services.issuer.running import REDIRECT, Issuer, browse
from tests.services.waiting import eventually


@pytest.fixture
def hasty(client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A client that renews its tokens, which live for ten minutes, every moment."""
    monkeypatch.setattr(connection, "EARLY_S", 86_400.0)
    monkeypatch.setattr(connection, "LEAST_LIFE", 0.0005)
    return client


async def renewed(session: Session, times: int) -> None:
    """Returns when the session has had so many more access tokens."""
    seen = {session.calls.tokens.session.access_token}

    def enough() -> bool:
        seen.add(session.calls.tokens.session.access_token)
        return len(seen) > times

    await eventually(enough)


async def test_with_an_issuer(platform: Stack, tmp_path: Path) -> None:
    async with Issuer(tmp_path / "issuer") as issuer:
        settings = {**platform.settings, "oidc": json.dumps([issuer.settings()])}
        async with (
            running(gateway_of(platform.table, **settings)) as gateway,
            await Client.connect(gateway.address) as client,
        ):
            assert [one.id for one in client.server.issuers] == ["club"]
            sign_in = await client.sign_in_oidc("club", REDIRECT)
            assert not sign_in.too_late
            session = await sign_in.finish(await browse(sign_in.url, "ann"))
            assert (session.name, session.guest) == ("ann", False)
            await session.lobby.create("tubbypoly")

            # begun here, ended elsewhere
            another = await client.sign_in_oidc("club", REDIRECT)
            redirected = await browse(another.url, "ann")
            async with await Client.connect(gateway.address) as elsewhere:
                assert (await elsewhere.finish_sign_in(another.kept, redirected)).person == session.person
            with pytest.raises(Refused) as refused:
                await another.finish(redirected)
            assert refused.value.known is Code.SIGN_IN_REQUIRED

            with pytest.raises(Refused, match="The issuer says: not today") as refused:
                await another.finish(f"{REDIRECT}?error=access_denied&error_description=not+today&state=s")
            assert refused.value.status is grpc.StatusCode.UNAUTHENTICATED
            with pytest.raises(Refused) as refused:
                await client.sign_in_oidc("nobody", REDIRECT)
            assert refused.value.known is Code.BAD_REQUEST


async def test_a_stream_for_playing_goes_on_under_new_tokens(hasty: Client) -> None:
    session = await hasty.sign_in_guest("Ann")
    table = await session.lobby.create("tubbypoly")
    async with session.play() as play:
        replica = await play.follow(table)
        await renewed(session, 3)
        await play.act(table, act.AddBot())
        assert replica.state.seats == 2
        assert play.streams == 1


async def test_a_stream_for_watching_is_opened_again_and_misses_nothing(hasty: Client) -> None:
    session = await hasty.sign_in_guest("Ann")
    table = await session.lobby.create("tubbypoly")
    async with session.watch(table) as watch:
        feed = aiter(watch)
        replica = await watch.replica()
        for seats in (2, 3, 4):
            await session.lobby.add_bot(table)
            await renewed(session, 1)
            await eventually(lambda seats=seats: replica.state.seats == seats)
        await watch.close()
        assert len([one async for one in feed if isinstance(one, Pictured)]) == 1


async def test_calls_renew_what_has_ended(hasty: Client) -> None:
    session = await hasty.sign_in_guest("Ann")
    first = session.refresh_token
    await eventually(lambda: session.calls.tokens.due_in_s == 0)
    await asyncio.gather(*(session.lobby.create("tubbypoly") for _ in range(4)))
    assert session.refresh_token != first
    await eventually(lambda: session.calls.tokens.due_in_s == 0)
    assert await session.revoke() == 1


async def test_a_session_kept_since_the_program_last_ran(client: Client) -> None:
    before = await client.sign_in_guest("Ann")
    session = client.with_refresh_token(before.refresh_token)
    await session.lobby.create("tubbypoly")
    assert (session.person, session.name) == (before.person, "Ann")
    # the token was good once
    with pytest.raises(Refused) as refused:
        await client.with_refresh_token(before.refresh_token + "x").lobby.create("tubbypoly")
    assert refused.value.known is Code.SIGN_IN_REQUIRED


async def test_a_ban_ends_the_connection(client: Client, platform: Stack) -> None:
    session = await client.sign_in_guest("Ann")
    table = await session.lobby.create("tubbypoly")
    async with session.play() as play:
        await play.follow(table)
        await platform.table.database.execute(
            "UPDATE persons SET banned_until = now() + interval '1 hour', changed_at = now() WHERE person = $1",
            session.person,
        )
        with pytest.raises(Refused) as refused:
            await ended(play)
        assert refused.value.known is Code.BANNED


async def ended(play: Play) -> None:
    async with asyncio.timeout(20):
        async for _ in play:
            continue


class Given(Tokens):
    """Tokens that can be renewed."""

    @property
    def renewable(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("left_s", "behind_s", "due_in_s"),
    [(600, 0, 540), (90, 0, 60), (-5, 0, 0), (600, -7200, 540), (600, 7200, 540), (600 + 86_400, 0, 540 + 86_400)],
)
def test_when_a_token_is_renewed(left_s: float, behind_s: float, due_in_s: float) -> None:
    """By the server's clock, whatever ours says: ``behind_s`` is by how much it is behind."""
    session = sessions_pb2.Session()
    session.expires.FromSeconds(round(time.time() + behind_s + left_s))
    assert abs(Given(session, behind_s).due_in_s - due_in_s) < 5


def test_a_token_without_an_end_is_not_renewed() -> None:
    assert math.isinf(Given(sessions_pb2.Session(), 0).due_in_s)
