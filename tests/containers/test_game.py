"""A game through the published ports, with nothing of the platform on this side but the client."""

from __future__ import annotations

from omnipoly.client import Client
from tests.client import playing
from tests.load.chaos.load import token
from tests.system import games

from .persons import play_to_the_end
from .stack import KEY, UP_S, Stack


async def test_persons_play_from_outside(stack: Stack) -> None:
    first, _ = stack.gateways
    async with (
        await Client.connect(first, timeout_s=UP_S) as client,
        playing.seated(client, "tubbypoly", ["Ann", "Ben", "Cleo"]) as players,
    ):
        await play_to_the_end(players)
        assert players[0].replica.state.seed


async def test_bots_play_and_another_gateway_shows_it(stack: Stack) -> None:
    first, second = stack.gateways
    async with games.game(first) as followed, games.client(second) as client:
        session = client.with_token(token(KEY, "oidc:onlooker", "Onlooker"))
        async with session.play() as play:
            other = games.Followed(session, play, followed.table, await play.follow(followed.table))
            await followed.end()
            await other.end()
            assert not games.differences(other.replica.state, followed.replica.state)
        await games.require_fair_and_whole(followed)
