"""What breaks in a cluster, done to a running game: a replica lost with its machine, a gateway cut off from NATS."""

from __future__ import annotations

from tests.load.chaos.load import token
from tests.services.waiting import eventually
from tests.system import games

from .stack import KEY, UP_S, Box, Stack

GAPS = "omnipoly_gateway_heads_gaps_total"


async def test_a_table_is_killed_in_mid_game(stack: Stack) -> None:
    first, second = (stack.boxes[name] for name in stack.of("table"))
    async with games.game(stack.gateways[0], rounds=16) as followed:
        await followed.reach(20)
        await first.kill()
        await followed.reach(40)
        await first.again()
        await second.kill()
        await followed.end()
        await games.require_fair_and_whole(followed)
    await second.again()


async def test_a_gateway_without_nats_still_shows_every_game(stack: Stack) -> None:
    """It plays through one gateway and is watched at the other, which hears nothing: the heads tell it what is new."""
    through, cut_off = stack.gateways
    box = stack.boxes[stack.of("gateway")[1]]
    assert await told_by_heads(box, through, cut_off) == 0
    await box.part("bus")
    assert await told_by_heads(box, through, cut_off) > 0
    await box.join("bus")

    async def hears_again() -> bool:
        return await told_by_heads(box, through, cut_off) == 0

    await eventually(hears_again, UP_S)


async def told_by_heads(box: Box, through: str, watched_at: str) -> float:
    """Plays a game and has it watched at another gateway to its end; how often that one had missed something."""
    before = await box.measured(GAPS)
    async with games.game(through, rounds=8) as followed, games.client(watched_at) as client:
        session = client.with_token(token(KEY, "oidc:onlooker", "Onlooker"))
        async with session.play() as play:
            other = games.Followed(session, play, followed.table, await play.follow(followed.table))
            await followed.end()
            await other.end()
            assert not games.differences(other.replica.state, followed.replica.state)
        await games.require_fair_and_whole(followed)
    return await box.measured(GAPS) - before
