"""The bot: one decision from a state (TUB-BOTS, and every other edition's rules by the same calls).

``decide`` is a pure function of the state, the seat, the time and the bot's number. It remembers nothing, so a bot may
be started again at any moment, and two replicas that look at the same state do the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from omnipoly.rules import asking, engine, rent
from omnipoly.rules.actions import Accept, ClaimRent, EndTurn, Refuse, Roll
from omnipoly.rules.codes import Code
from omnipoly.rules.state import AUCTION, CHOICE, DEBT, FREE, LANDED, MOVED, ORDER, THROW, Away

from . import bidding, building, moving, owing, trading
from .character import Character
from .outlook import outlook

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import OpenOffer, State

_ROLL = Roll()
_END_TURN = EndTurn()
_CLAIM = ClaimRent()
_PATIENCE = 50
"""A bot waits for the answer to an offer that would lapse with its turn until so many percent of its clock are up."""


class Player(Protocol):
    """Whoever decides for a seat."""

    def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
        """What the seat does now; ``None`` for nothing."""
        ...


class Bot:
    """A bot that plays to win. ``number`` gives it its character (``character.Character.of``)."""

    __slots__ = ("character",)

    def __init__(self, number: int = 0) -> None:
        self.character = Character.of(number)

    def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
        """What the seat does now, or ``None`` when it has nothing to do or waits.

        To be asked after every commit for each seat of a bot, and at ``wakes_ms``. ``now_ms`` is the time on the
        table's clock; 0: that of the last commit.
        """
        if s.claims or s.offers:
            aside = self._aside(s, seat)
            if aside is not None:
                return aside
        if not s.prompt[seat] or s.rests:
            return None
        phase = s.phases[-1]
        if phase is THROW:
            return self._throw(s, seat, now_ms or s.now_ms)
        if phase is MOVED:
            return self._moved(s, seat, now_ms or s.now_ms)
        if phase is DEBT:
            return owing.answer(s, seat)
        if phase is LANDED:
            return moving.landed(s, seat, self.character)
        if phase is AUCTION:
            return bidding.answer(s, seat, self.character)
        if phase is CHOICE:
            return moving.choice(s, seat)
        return _ROLL if phase is ORDER else None

    def wakes_ms(self, s: State, seat: int) -> int:
        """When the seat should be asked again although nothing happens, on the table's clock; 0: no need."""
        if not s.prompt[seat]:
            return 0
        phase = s.phases[-1]
        if phase is THROW and s.claims:
            return max(claim.hold_until_ms for claim in s.claims)
        return _patient_until(s, seat) if phase is MOVED and _holds_turn_open(s, seat) else 0

    # --- one's own turn -----------------------------------------------------------------------------------------------

    def _throw(self, s: State, seat: int, now_ms: int) -> Action | None:
        if not s.doubles and not s.jail_throws and s.rules.choices.play.business == "before_throw":
            action = self._business(s, seat)
            if action is not None:
                return action
        if s.claims and rent.throw_waits(s, now_ms):
            return None
        return _ROLL if s.jailed[seat] == FREE else moving.in_jail(s, seat, self.character)

    def _moved(self, s: State, seat: int, now_ms: int) -> Action | None:
        if s.rules.choices.play.business != "before_throw":
            action = self._business(s, seat)
            if action is not None:
                return action
        if s.offers and _holds_turn_open(s, seat) and now_ms < _patient_until(s, seat):
            return None
        return _END_TURN

    def _business(self, s: State, seat: int) -> Action | None:
        """Build or lift, and in a trade round offer a trade."""
        look = outlook(s.rules)
        action = building.business(s, seat, self.character, look)
        if action is None and not (s.round + seat) % trading.EVERY:
            action = trading.propose(s, seat, self.character, look)
        if action is not None and engine.verify(s, s.holder[seat], action, s.now_ms) is not None:
            return None
        return action

    # --- offers of others ---------------------------------------------------------------------------------------------

    def _aside(self, s: State, seat: int) -> Action | None:
        """What needs no decision to be open: claim a rent (GLO-CLAIM), answer an offer."""
        for claim in s.claims:
            if claim.claimant == seat:
                return _CLAIM
        for offer in s.offers:
            if offer.receiver == seat:
                answer = self._answer(s, seat, offer)
                if answer is not None:
                    return answer
        return None

    def _answer(self, s: State, seat: int, offer: OpenOffer) -> Action | None:
        """Accept or refuse; ``None`` while it can be answered only later (LAS-SWAP, an auction, a debt)."""
        if not trading.wants(s, seat, offer, self.character):
            return Refuse(offer.offer)
        accept = Accept(offer.offer)
        code = engine.verify(s, s.holder[seat], accept, s.now_ms)
        if code is None:
            return accept
        if code in (Code.ASSET_CHANGED, Code.INSUFFICIENT_CASH, Code.ZERO_IS_BUST):
            return Refuse(offer.offer)
        return None


def _holds_turn_open(s: State, seat: int) -> bool:
    """Whether an offer of the seat waits for somebody there, and would lapse with the turn (RUG-TRADE, GLO-TRADE)."""
    if s.rules.choices.trade.lapses != "with_turn":
        return False
    return any(offer.proposer == seat and s.away[offer.receiver] == Away.NO for offer in s.offers)


def _patient_until(s: State, seat: int) -> int:
    """Until when the turn is held open for an answer."""
    return s.deadline_ms[seat] - asking.clock_ms(s, seat) * (100 - _PATIENCE) // 100
