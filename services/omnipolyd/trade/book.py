"""The offers of one table: the open ones in the engine's state, what was accepted lately, who closed the last ones."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from omnipoly.rules.events import Event, GameEnded, OfferClosed, OfferMade, PositionSet
from omnipoly.rules.state import OpenOffer
from omnipoly.runtime.following import Followed
from omnipoly.wire.commits import Commit
from omnipoly.wire.derive import Deriver
from omnipoly.wire.gen.game.v1 import trade_pb2, types_pb2

CLOSED_KEPT = 256
MADE_KEPT = 1024

Command = tuple[str, str]
"""(actor, command id)."""

_offer = Deriver().pair(OpenOffer, types_pb2.OpenOffer.DESCRIPTOR)


class TradeBook(Followed):
    """A followed table with its offers."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.since = 0.0
        """Since when every commit of the table was seen, by the event loop's clock."""
        self.made: OrderedDict[Command, float] = OrderedDict()
        """When the offers made since then were, by the command that did."""
        self.closed: OrderedDict[int, Command] = OrderedDict()
        """The command that closed an offer, of those seen to be closed: they are gone for ever."""

    def offers_of(self, person: str) -> list[trade_pb2.PersonalOffer]:
        """The open offers from and to a person, oldest first."""
        s = self.state
        if person not in s.holder:
            return []
        seat = s.holder.index(person)
        found = []
        for offer in s.offers:
            if seat in {offer.proposer, offer.receiver}:
                own = trade_pb2.PersonalOffer(table=self.table, version=self.version, own=seat == offer.proposer)
                _offer.write(offer, own.offer)
                found.append(own)
        return found

    # --- what happens

    def pictured(self) -> None:
        self.since = asyncio.get_running_loop().time()
        self.made.clear()
        self.closed.clear()

    def play(self, commit: Commit, event: Event) -> None:
        command = (commit.actor, commit.command_id)
        if isinstance(event, OfferMade):
            self.made[command] = asyncio.get_running_loop().time()
            if len(self.made) > MADE_KEPT:
                _, self.since = self.made.popitem(last=False)
        elif isinstance(event, OfferClosed):
            self._close(event.offer, command)
        elif isinstance(event, GameEnded):
            for offer in self.state.offers:
                self._close(offer.offer, command)
        event.apply(self.state)
        if isinstance(event, PositionSet):
            self.pictured()

    def _close(self, offer: int, command: Command) -> None:
        self.closed[offer] = command
        if len(self.closed) > CLOSED_KEPT:
            self.closed.popitem(last=False)
