"""A whole game at a private table, of a person, two bots and a viewer: nothing secret is in anything that anybody is
sent, in streams and in answers, or in what is logged. The seed is secret until the game is over (Row 51).
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from omnipoly.client import choose
from omnipoly.rules import actions as act
from omnipoly.runtime.app import running
from omnipoly.wire import legal
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.gen.gateway.v1 import chat_pb2, lobby_pb2, play_pb2, watch_pb2
from omnipolyd.gateway import tokens
from tests.services.bots import stack as small
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Playing, unique_id

PIN = "48151623"
KEY = small.KEY.get_secret_value()


class Kept(Client):
    """A client that keeps the bytes of every answer."""

    def __init__(self, address: str, person: str, *, guest: bool) -> None:
        super().__init__(address, tokens.issue(KEY, person, person, guest=guest, lifetime_s=600))
        self.got: list[bytes] = []

    async def raw(self, method: str, data: bytes, timeout_s: float | None = 20) -> bytes:
        answer = await super().raw(method, data, timeout_s)
        self.got.append(answer)
        return answer


async def played(stream: Playing, table: str) -> None:
    """Answers every decision with what is listed first, to the end of the game."""
    while True:
        message = await stream.read()
        kind = message.WhichOneof("response")
        if kind == "prompt" and message.prompt.prompt_id:
            prompt, listed = legal.from_prompt(message.prompt)
            await stream.send_act(table, choose(listed[0]), prompt_id=prompt.prompt)
        elif kind == "commit" and any(event.HasField("game_ended") for event in message.commit.events):
            return


def of_before_the_end(message: Any) -> list[bytes]:
    """What was sent while the seed was a secret: the commit that reveals it is left out."""
    parts = [message, *message.along]
    del message.along[:]
    return [
        part.SerializeToString()
        for part in parts
        if not any(event.HasField("seed_revealed") for event in part.commit.events)
    ]


async def test_nothing_secret_is_sent_or_logged(
    make_database: MakeDatabase, nats_url: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    url = await make_database("omnipolyd.table.migrations")
    async with small.stack(url, nats_url) as up, running(small.bots(up)):
        address = up.gateway.address
        async with Kept(address, "guest:ann", guest=True) as ann, Kept(address, "oidc:vic", guest=False) as vic:
            options = actions_pb2.SetOptions(round_limit=5)
            table = await ann.create(pin=PIN, options=options)
            playing, watching = ann.play(), vic.watch(table, pin=PIN)
            await playing.follow(table)
            await watching.next("progress")
            for _ in range(2):
                await ann.act(table, act.AddBot())
            await ann.act(table, act.Start())
            (row,) = await up.table.database.fetch("SELECT seed FROM secrets WHERE table_id = $1", table)
            seed: bytes = row["seed"]
            async with asyncio.timeout(100):
                game = asyncio.create_task(played(playing, table))
                line = chat_pb2.SayRequest(table=table, command_id=unique_id(), text="Good luck!")
                await ann.call("Chat/Say", line)
                while not game.done():
                    for who in (ann, vic):
                        await who.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())
                        await who.call("Chat/Lines", chat_pb2.LinesRequest(table=table))
                    await ann.call("Play/Legal", play_pb2.LegalRequest(table=table))
                    await asyncio.wait({game}, timeout=1)
                meanwhile = {who: len(who.got) for who in (ann, vic)}
                await game
            version = (await vic.view(table)).version
            assert version > 20
            await watching.up_to(version)
            for who in (ann, vic):
                for after in range(0, version, 200):
                    await who.call("Watch/History", watch_pb2.HistoryRequest(table=table, after=after))
                await who.call("Watch/Record", watch_pb2.RecordRequest(table=table, page_size=500))
            held = (PIN.encode(), ann.token.encode(), vic.token.encode(), KEY.encode())
            hidden = (seed, seed.hex().encode(), seed.hex().upper().encode())
            for who, stream in ((ann, playing), (vic, watching)):
                everything = b"\n".join((*stream.heard, *who.got))
                assert seed.hex().encode() in everything  # once it is over: what was looked for would be found
                assert not any(secret in everything for secret in held)
                told = [part for data in stream.heard for part in of_before_the_end(stream.response.FromString(data))]
                assert not any(secret in data for data in (*told, *who.got[: meanwhile[who]]) for secret in hidden)
    logged = "".join((*capfd.readouterr(), caplog.text))
    assert "serving" in logged
    assert not any(secret.decode("latin-1") in logged for secret in (*held, *hidden))
