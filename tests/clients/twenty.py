"""A bot in twenty lines: opens a table with two others and plays it to its end, or sits down at the one it is given."""

from __future__ import annotations

import asyncio
import sys

from omnipoly.bots.strategy import Bot
from omnipoly.client import Client, choose
from omnipoly.rules.actions import AddBot, SetOptions, Start


async def bot(address: str, table: str = "") -> None:
    async with await Client.connect(address) as client:
        session = await client.sign_in_guest("Twenty")
        async with session.play() as play:
            if table:
                await session.lobby.join(table)
            else:
                table = await session.lobby.create("rugpull", options=SetOptions(round_limit=5))
                for action in (AddBot(), AddBot(), Start()):
                    await play.act(table, action)
            async for decision in play.decisions(table):
                seat, replica = decision.prompt.seat, decision.replica
                action = Bot(seat).decide(replica.state, seat, replica.now_ms())
                await decision.attempt(action or choose(decision.actions[0]))
            print(play.replicas[table].state.places)


asyncio.run(bot(*sys.argv[1:]))
