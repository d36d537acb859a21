"""The Python client: connect, sign in, play, watch, and check what was played.

    async with await Client.connect("localhost:7100") as client:
        session = await client.sign_in_guest("Ann")
        table = await session.lobby.create("tubbypoly")
        async with session.play() as play:
            replica = await play.follow(table)
            await play.act(table, actions.Start())
            async for decision in play.decisions(table):
                await decision.attempt(choose(decision.actions[0]))

Actions and states are the engine's own (``omnipoly.rules``). What the server says no to raises ``Refused``.

    session     clients and sessions: the way in
    lobby       editions, and tables before their start
    play        one stream for any number of tables, and commands that are done once
    watch       the same for viewers
    games       games of the past, and who stands where by them
    wallet      credits
    admin       what those who run the site do
    decisions   one's open decisions, one after another
    happenings  what a follower hears
    replica     a followed table
    record      what happened, in sentences
    verify      checking a finished game from its log alone
"""

from __future__ import annotations

from omnipoly.client.decisions import Decision, choose
from omnipoly.client.lobby import Answer
from omnipoly.client.play import Play
from omnipoly.client.refused import Refused
from omnipoly.client.replica import TableReplica
from omnipoly.client.session import Client, Session
from omnipoly.client.watch import Watch

__all__ = ["Answer", "Client", "Decision", "Play", "Refused", "Session", "TableReplica", "Watch", "choose"]
