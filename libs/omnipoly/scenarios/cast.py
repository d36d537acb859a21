"""Who is who in a scenario: names, seats, persons and bots; the scenario's offers and the game's."""

from __future__ import annotations

import msgspec

from omnipoly.rules.actions import Accept, Action, Bid, Pass, Refuse, Withdraw, kind_of
from omnipoly.rules.codes import Code
from omnipoly.rules.state import BANK, CASINO, State

from .model import Act, Position
from .read_steps import ADMIN, HOST

ADMIN_ID = "admin:scenario"
"""The admin that acts as ``admin``."""
_BY_THE_PERSON = frozenset(
    ("connect", "disconnect", "leave", "propose_end", "vote", "take_seat", "replace_with_bot", "remove", "close_table")
)
"""What a person does even while a bot plays on their seat; everything else is then the bot's."""


class Cast:
    """The names of one scenario, and what its offers are called in the game."""

    def __init__(self, position: Position) -> None:
        self.players = position.players
        bots = position.given.bots if position.given is not None else ()
        self._host = next((name for name in position.players if name not in bots), position.players[0])
        self._offers: dict[str, int] = {}

    def seat(self, s: State, name: str) -> int:
        """The seat of a player, or of a viewer who took one."""
        if name in self.players:
            return self.players.index(name)
        return s.holder.index(name) if name in s.holder else -1

    def name(self, seat: int) -> str:
        """What a seat is called, or ``bank`` or ``casino``."""
        return {BANK: "bank", CASINO: "casino"}.get(seat) or self.players[seat]

    def actor(self, s: State, step: Act) -> str:
        """Whose action a step is, as an id.

        A step by a player whose seat a bot plays is the bot's ("bots act only by steps"), save for what only a person
        does, and where the step expects ``not_seated``, which a seat's holder is never told.
        """
        if step.by == ADMIN:
            return ADMIN_ID
        name = self._host if step.by == HOST else step.by
        if name in self.players and step.refused is not Code.NOT_SEATED and step.by != HOST:
            seat = self.players.index(name)
            if s.bot[seat] and kind_of(step.action) not in _BY_THE_PERSON:
                return s.holder[seat]
        return name

    def action(self, s: State, step: Act) -> Action:
        """A step's action with the game's own ids: the running auction, else the last one, and the offer meant."""
        action = step.action
        if isinstance(action, Bid | Pass):
            return msgspec.structs.replace(action, auction=s.auctions)
        if isinstance(action, Accept | Refuse | Withdraw):
            return msgspec.structs.replace(action, offer=self._offers.get(step.offer, 0))
        return action

    def offered(self, step: Act, s: State) -> None:
        """Remember what the game calls the offer that was just made."""
        if step.offer:
            self._offers[step.offer] = s.offers_n

    def offer(self, number: int) -> str:
        """What the scenario calls an offer of the game."""
        return next((name for name, known in self._offers.items() if known == number), f"number {number}")
