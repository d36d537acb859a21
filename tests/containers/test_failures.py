"""What breaks in a cluster, done to a running game: a replica lost with its machine, a gateway cut off from NATS."""

from __future__ import annotations

from tests.client import playing
from tests.load.chaos.load import token
from tests.services.waiting import eventually
from tests.system import games

from .persons import play_to_the_end
from .stack import KEY, UP_S, Box, Stack

GAPS = "omnipoly_gateway_heads_gaps_total"


async def test_a_table_is_killed_in_mid_game(stack: Stack) -> None:
    first, second = (stack.boxes[name] for name in stack.of("table"))
    async with games.game(stack.gateways[0], rounds=16) as followed:
        await followed.reach(20)
        await first.kill()
        try:
            await followed.reach(40)
        finally:
            await first.again()
        await second.kill()
        try:
            await followed.end()
            await games.require_fair_and_whole(followed)
        finally:
            await second.again()


async def test_a_gateway_without_nats_still_shows_every_game(stack: Stack) -> None:
    """Persons play through one gateway and are watched at the other, which hears nothing: the heads tell it."""
    through, cut_off = stack.gateways
    box = stack.boxes[stack.of("gateway")[1]]
    await box.part("bus")
    try:
        assert await told_by_heads(box, through, cut_off) > 0
    finally:
        await box.join("bus")

    async def hears_again() -> bool:
        return await told_by_heads(box, through, cut_off) == 0

    await eventually(hears_again, UP_S)


async def told_by_heads(box: Box, through: str, watched_at: str) -> float:
    """Plays a game and has it watched at another gateway to its end; how often that one had missed something.

    By persons: bots may have come in at the very gateway that is looked at, and it shows what its own streams are told.
    """
    before = await box.measured(GAPS)
    async with (
        games.client(through) as client,
        games.client(watched_at) as other,
        playing.seated(client, "tubbypoly", ["Ann", "Ben", "Cleo"]) as players,
    ):
        host = players[0]
        session = other.with_token(token(KEY, "oidc:onlooker", "Onlooker"))
        async with session.play() as play:
            table = host.replica.state.table
            watching = games.Followed(session, play, table, await play.follow(table))
            await play_to_the_end(players)
            await watching.end()
            assert not games.differences(watching.replica.state, host.replica.state)
        await games.require_fair_and_whole(games.Followed(host.session, host.play, table, host.replica))
    return await box.measured(GAPS) - before
