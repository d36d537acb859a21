"""B-BIDS: one auction with sixteen bidders, who each bid again when they are answered, through the auction service.

They play an edition of their own: the classic one, with a million for each, so that no auction ends for want of money.
Each bid is the least that is then due: it asks for ten more than the last one sent.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc.aio

from omnipoly.rules import actions as act
from omnipoly.runtime.link import Link
from omnipoly.wire.gen.gateway.v1 import play_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipolyd.gateway import tokens
from tests.load.along import each

from .games import acting, ask, open_tables, write_edition
from .playing import ACCEPTED, REFUSED
from .processes import PLAYING, SECRET, UNLIMITED, Platform
from .rows import Asked, Half, Row, median, paired, played

BIDDERS = 16
STEP = 10
"""The least that a bid rises by in the classic edition."""
EDITION = "bidding"
CASH = "1000000"
ANSWERS = (
    ("roll", act.Roll()),
    ("decline", act.Decline()),
    ("end_turn", act.EndTurn()),
    ("pay", act.Pay()),
    ("raise", act.Raise()),
    ("give_up", act.GiveUp()),
)
"""What leads to an auction: the first that is listed."""
TRIES = 400
EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]


class Auction:
    """A game of sixteen that is brought to an auction whenever bids are to be measured."""

    def __init__(self, address: str, gateway: str) -> None:
        self._link = Link(address)
        self._address = address
        self._gateway = gateway
        self._table = ""
        self._persons: list[str] = []
        self._names = itertools.count()
        self._games = itertools.count()

    async def bid(self, seconds: float) -> Half:
        """Bids for a while: how many were accepted a second."""
        async with grpc.aio.insecure_channel(self._gateway) as channel:
            return await self._bid(channel, seconds)

    async def _bid(self, channel: Any, seconds: float) -> Half:
        prompt, there = await self._open(channel)
        auction = next(action for action in prompt.actions if action.kind == "bid")
        amounts = itertools.count(auction.least, STEP)
        accepted = refused = 0
        began = time.perf_counter()
        until = began + seconds

        async def bidder(stream: Any) -> None:
            nonlocal accepted, refused
            while time.perf_counter() < until:
                bid = play_pb2.Act(table=self._table, command_id=f"b{next(self._names)}")
                bid.action.bid.auction, bid.action.bid.amount = auction.auction, next(amounts)
                await stream.write(play_pb2.PlayRequest(act=bid).SerializeToString())
                while (data := await stream.read()) is not EOF:
                    kinds = {one[0] for one in each(data)}
                    if ACCEPTED in kinds:
                        accepted += 1
                        break
                    if REFUSED in kinds:
                        refused += 1
                        break

        streams = [self._stream(channel, person) for person in self._persons]
        await asyncio.gather(*(bidder(stream) for stream in streams))
        took_s = time.perf_counter() - began
        for stream in (there, *streams):
            stream.cancel()
        return Half(max(accepted, 1) / took_s, {"refused": refused, "accepted": accepted})

    async def close(self) -> None:
        """Ends the link."""
        await self._link.close()

    def _stream(self, channel: Any, person: str) -> Any:
        token = tokens.issue(SECRET, person, person[:40], guest=True, lifetime_s=7200)
        open_ = channel.stream_stream("/omnipoly.gateway.v1.PlayService/Play", None, None)
        return open_(metadata=(("authorization", f"Bearer {token}"),))

    async def _open(self, channel: Any) -> tuple[Any, Any]:
        """A new game, played up to its first auction: the decision, and a stream of somebody who is there meanwhile.

        With nobody there a table stands still (TUB-PAUSE).
        """
        prefix = f"bid{next(self._games)}-"
        opened = await open_tables(self._address, 1, prefix, players=BIDDERS, start=True, edition=EDITION)
        self._table = next(iter(opened))
        self._persons = [f"guest:{prefix}0p{seat}" for seat in range(BIDDERS)]
        there = self._stream(channel, self._persons[0])
        await there.write(play_pb2.PlayRequest(follow=play_pb2.Follow(table=self._table)).SerializeToString())
        for _ in range(TRIES):
            acted = False
            for person in self._persons:
                request = table_pb2.LegalRequest(table=self._table, person=person)
                prompt = (await ask(self._link, "Legal", request)).prompt
                kinds = {action.kind for action in prompt.actions}
                if "bid" in kinds and prompt.prompt_id:
                    return prompt, there
                for kind, action in ANSWERS:
                    if kind in kinds:
                        await ask(self._link, "Act", acting(self._table, person, action))
                        acted = True
                        break
            if not acted:
                await asyncio.sleep(0.02)  # until it is heard that somebody is there
        raise RuntimeError("no auction was reached")


async def bids(running: Platform, asked: Asked) -> list[Row]:
    """B-BIDS."""
    with tempfile.TemporaryDirectory(prefix="omnipoly-bench-") as folder:
        write_edition(
            Path(folder), EDITION, {r"start_cash = .*": f"start_cash = {{ default = {CASH}, values = [{CASH}] }}"}
        )
        return await _bids(running, asked, folder)


async def _bids(running: Platform, asked: Asked, folder: str) -> list[Row]:
    asked.tell("B-BIDS")
    table = await running.table(await running.database(), OMNIPOLY_EDITIONS=folder)
    limits = {"OMNIPOLY_BIDS_PER_SECOND": "1000000", "OMNIPOLY_BIDS_BURST": "1000000"}
    way = await running.serve("auction", OMNIPOLY_TABLE_ADDR=table.address, **limits)
    gateway = await running.gateway([table], OMNIPOLY_AUCTION_ADDR=way.address, OMNIPOLY_EDITIONS=folder)
    generator = await running.generator(PLAYING, to="product", gateway=gateway.address, table=table.address, tables=1)
    auction = Auction(table.address, gateway.address)
    await auction.bid(0.3)
    ratio, ones, others = await paired(
        asked,
        lambda: played(running, generator, (table, gateway), asked.seconds),
        lambda: auction.bid(asked.seconds),
    )
    await auction.close()
    await running.clear()
    return [
        Row(
            "B-BIDS",
            f"bids/s, {BIDDERS} bidders",
            f"{median(others):.0f}/s",
            f"{median(ones):.0f}/s at one table",
            ratio,
            ">= 0.7",
            ratio >= 0.7,
            {"refused": sum(half.details["refused"] for half in others), "limits": sorted(UNLIMITED)},
        )
    ]
