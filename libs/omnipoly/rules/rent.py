"""What a landing costs (CORE-RENT and the editions' rents), and how it falls due (TUB-DEBT, RUG-DEBT, GLO-CLAIM)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .codes import Code
from .events import DiceThrown, Reason, RentClaimable, RentClaimed, RentLapsed
from .money import owe
from .ring import STREET, Kind
from .state import FACTORY, Away

if TYPE_CHECKING:
    from .actions import ClaimRent
    from .draft import Draft
    from .state import Claim, State


def street_rent(s: State, field: int) -> int:
    """TUB-RENT-STREET, TUB-RENT-PART, RUG-RENT, GLO-RENT, LAS-RENT: of an owned, unmortgaged street, in money units.

    "Bare" is said of the field itself, whatever stands in the rest of its set; mortgaged lots count as held
    (CORE-RENT-SET).
    """
    rules = s.rules
    level = s.level[field]
    if level == FACTORY:
        return 0
    if level:
        return rules.rents[field][level]
    group = rules.set_of[field]
    held = s.held[s.owner[field] * rules.sets_n + group]
    bare = rules.rents[field][0]
    if held == rules.set_size[group]:
        return bare * rules.choices.rent.bare_set_factor
    percent = rules.board.part_set_percent
    if percent and held > 1:
        return bare * (100 + percent * (held - 1)) // 100
    return bare


def transport_rent(s: State, field: int) -> int:
    """TUB-RENT-TRANSPORT, LAS-STATION: by how many are in one hand."""
    row = s.rules.choices.rent.transport
    return row[min(_held(s, field), len(row)) - 1]


def utility_factor(s: State, field: int) -> int:
    """TUB-RENT-UTILITY, LAS-ATTRACTION: what the throw is multiplied by, by how many are in one hand."""
    row = s.rules.choices.rent.utility
    return row[min(_held(s, field), len(row)) - 1]


def _held(s: State, field: int) -> int:
    rules = s.rules
    return s.held[s.owner[field] * rules.sets_n + rules.set_of[field]]


def fall_due(d: Draft, seat: int, field: int, by_card: bool, nearest: bool) -> None:
    """Somebody stands on another's unmortgaged lot: what they owe (CORE-RENT, CORE-RENT-CARD, CORE-RENT-UTILITY)."""
    s = d.state
    owner = s.owner[field]
    choices = s.rules.choices.rent
    kind = s.rules.kind[field]
    if kind is STREET:
        amount = street_rent(s, field)
    elif kind is Kind.TRANSPORT:
        amount = transport_rent(s, field)
        if nearest:
            amount *= choices.nearest_transport_factor
    else:
        factor = choices.nearest_utility_factor if nearest else utility_factor(s, field)
        amount = factor * (_fresh_throw(d, seat) if by_card else s.steps)
    if not amount:
        return
    if choices.due == "claimed":
        _offer_claim(d, owner, seat, field, amount)
    else:
        owe(d, seat, owner, amount, Reason.RENT)


def _fresh_throw(d: Draft, seat: int) -> int:
    number = d.state.thrown + 1
    dice = d.entropy.throw(number, "utility")
    d.emit(DiceThrown(seat, number, dice, "", "utility"))
    return dice[0] + dice[1]


def _offer_claim(d: Draft, owner: int, payer: int, field: int, amount: int) -> None:
    s = d.state
    hold = s.now_ms + s.rules.choices.rent.claim_hold_s * 1000
    d.emit(RentClaimable(owner, payer, field, amount, hold))
    if s.options.auto_claim:
        claim_rent(d, owner, None)


def _first_claim(s: State, seat: int) -> Claim | None:
    for claim in s.claims:
        if claim.claimant == seat:
            return claim
    return None


def verify_claim_rent(s: State, seat: int, action: ClaimRent, now_ms: int) -> Code | None:
    """GLO-CLAIM: always, while there is something to claim."""
    return None if _first_claim(s, seat) else Code.NOTHING_TO_CLAIM


def claim_rent(d: Draft, seat: int, action: ClaimRent | None) -> None:
    """The oldest claimable rent becomes a debt, due before the payer goes on (GLO-CLAIM)."""
    claim = _first_claim(d.state, seat)
    assert claim is not None
    d.emit(RentClaimed(seat, claim.payer, claim.field))
    owe(d, claim.payer, seat, claim.amount, Reason.RENT)


def throw_waits(s: State, now_ms: int) -> bool:
    """Whether a throw would take somebody's claim who is there and still has a moment (GLO-CLAIM)."""
    return any(now_ms < claim.hold_until_ms and s.away[claim.claimant] == Away.NO for claim in s.claims)


def lapse(d: Draft, seat: int | None = None) -> None:
    """Unclaimed rents lapse: all of them at a throw, those by or from a seat when it goes out."""
    for claim in d.state.claims:
        if seat is None or seat in (claim.claimant, claim.payer):
            d.emit(RentLapsed(claim.claimant, claim.payer, claim.field, claim.amount))
