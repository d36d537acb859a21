"""Trades: proposing one for a set of one's own every third round, and answering those of others (TUB-BOTS).

Nothing is remembered between two decisions. What keeps bots from offering the same again, or from swapping lots back
and forth, follows from the state:

- In a trade round a bot makes one offer, and the next trade round is three rounds later.
- The cash of an offer, counted from its proposer to its receiver, leaves 1 to 9 when divided by 20, by the number of
  the trade round. So within 27 rounds no two offers of a bot are equal, and no bot ever offers the mirror image of an
  offer of another (which would leave 11 to 19).
- What is offered rises with the rounds: at first a fair price, in the end most of what the proposer gains.
- A bot neither offers nor gives a lot of a set that it holds completely, and proposes only trades by which lots come
  together: the sum over seats and sets of the squares of lots held rises. Trades alone can therefore never lead back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from omnipoly.rules import trade
from omnipoly.rules.actions import Offer, Side
from omnipoly.rules.state import Out

from .outlook import outlook
from .valuation import danger, face, opponents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnipoly.rules.state import OpenOffer, State

    from .character import Character

EVERY = 3
"""A bot offers a trade in each round of that number."""
_STEP = 20
_MARKS = 9
"""The cash of an offer leaves 1 to 9 when divided by 20, by the number of the trade round."""
UNLIKE = EVERY * _MARKS
"""Within so many rounds no two offers of a bot are equal."""
_SPLIT = 35
_SPLIT_RISES = 2
_MOST_SPLIT = 85
"""The part of the proposer's gain that is given to the receiver, in percent: at first, more each round, at most."""
_JEALOUSY = 30
_JEALOUSY_SHARED = 50
_CALM_AFTER = 60
_LEAST_JEALOUSY = 10
"""How much another's gain counts as one's own loss, in percent: in any case, shared among opponents, until when."""
_MOST_SPARE = 4
"""So many lots at most are added to make an offer worth its while."""


class Terms(NamedTuple):
    """A trade being thought about: lots the proposer gives and takes."""

    other: int
    give: tuple[int, ...]
    take: tuple[int, ...]


# --- what a trade is worth ---------------------------------------------------------------------------------------------


def gains(s: State, seat: int, terms: Terms) -> tuple[int, int]:
    """What both sides gain by an exchange of lots, without the cash: (the proposer, the other), in money units."""
    other, give, take = terms
    rules = s.rules
    extra = outlook(rules).extra[opponents(s)]
    sets_n, set_of, held = rules.sets_n, rules.set_of, s.held
    faces = sum(face(s, at) for at in take) - sum(face(s, at) for at in give)
    shift: dict[int, int] = {}
    for at in take:
        shift[set_of[at]] = shift.get(set_of[at], 0) + 1
    for at in give:
        shift[set_of[at]] = shift.get(set_of[at], 0) - 1
    mine = theirs = 0
    for group, by in shift.items():
        row = extra[group]
        own, others = held[seat * sets_n + group], held[other * sets_n + group]
        mine += row[own + by] - row[own]
        theirs += row[others - by] - row[others]
    percent = _jealousy(s)
    return (
        faces + mine - max(theirs, 0) * percent // 100,
        -faces + theirs - max(mine, 0) * percent // 100,
    )


def _jealousy(s: State) -> int:
    """How much another's gain counts as one's own loss, in percent: less with more opponents, less as time goes on."""
    full = _JEALOUSY + _JEALOUSY_SHARED // opponents(s)
    return max(full * max(_CALM_AFTER - s.round, 0) // _CALM_AFTER, _LEAST_JEALOUSY)


def _gathers(s: State, seat: int, terms: Terms) -> bool:
    """Whether lots come together by it: the sum of the squares of lots held in a set rises."""
    sets_n, set_of, held = s.rules.sets_n, s.rules.set_of, s.held
    counts: dict[int, int] = {}
    before = 0
    for owner, by, fields in ((seat, -1, terms.give), (terms.other, -1, terms.take)):
        taker = terms.other if owner == seat else seat
        for at in fields:
            for row, change in ((owner * sets_n + set_of[at], by), (taker * sets_n + set_of[at], 1)):
                if row not in counts:
                    counts[row] = held[row]
                    before += held[row] ** 2
                counts[row] += change
    return sum(count**2 for count in counts.values()) > before


def _whole(s: State, seat: int, group: int) -> bool:
    """Whether the seat holds the set completely, or as far as it can be built on."""
    held = s.held[seat * s.rules.sets_n + group]
    if held == s.rules.set_size[group]:
        return True
    return held >= 2 and outlook(s.rules).two_are_enough and s.rules.street_set[group]


# --- proposing --------------------------------------------------------------------------------------------------------


def propose(s: State, seat: int, character: Character) -> Offer | None:
    """The offer of this trade round; ``None`` outside one, after it was made, or when nothing is worth proposing."""
    if (s.round + seat) % EVERY or s.offers_made[seat]:
        return None
    best: Offer | None = None
    most = 0
    for terms in _wishes(s, seat):
        offer, gain = _priced(s, seat, terms, character)
        if offer is not None and gain > most:
            best, most = offer, gain
    return best


def _wishes(s: State, seat: int) -> Iterator[Terms]:
    """Exchanges that complete a set for the seat, or at least bring its lots together in one hand."""
    rules = s.rules
    sets_n, held, n = rules.sets_n, s.held, s.seats
    own = seat * sets_n
    for group, size in enumerate(rules.set_size):
        mine = held[own + group]
        if not mine or mine == size:
            continue
        for other in range(n):
            theirs = held[other * sets_n + group]
            if not theirs or other == seat or theirs > mine + 1 or s.out[other] != Out.IN:
                continue
            if mine + theirs < size and (size == 2 or s.round < 2 * EVERY or mine < theirs):
                continue
            take = _movable(s, other, group)
            if take and not _whole(s, other, group):
                yield Terms(other, _in_return(s, seat, other, group), take)


def _movable(s: State, seat: int, group: int) -> tuple[int, ...]:
    """The seat's lots of a set, if all of them may change hands."""
    lots = tuple(at for at in s.rules.sets[group] if s.owner[at] == seat)
    return lots if all(trade.may_move(s, at) for at in lots) else ()


def _in_return(s: State, seat: int, other: int, wanted: int) -> tuple[int, ...]:
    """The seat's lots of the set that they complete for the other, if there is one: the least precious such set."""
    rules = s.rules
    extra = outlook(rules).extra[opponents(s)]
    sets_n, held = rules.sets_n, s.held
    best: tuple[int, ...] = ()
    least = 0
    for group, size in enumerate(rules.set_size):
        mine, theirs = held[seat * sets_n + group], held[other * sets_n + group]
        if group != wanted and mine and theirs and mine + theirs == size:
            gives = extra[group][size] - extra[group][mine]
            if not best or gives < least:
                lots = _movable(s, seat, group)
                if lots:
                    best, least = lots, gives
    return best


def _priced(s: State, seat: int, terms: Terms, character: Character) -> tuple[Offer | None, int]:
    """The offer with its cash, and what the proposer gains by it; no offer when there is none both can want."""
    offer, gain = _with_cash(s, seat, terms, character)
    if offer is not None or not terms.give:
        return (offer, gain) if offer is not None else _with_spare(s, seat, terms, character)
    return _with_spare(s, seat, Terms(terms.other, (), terms.take), character)


def _with_spare(s: State, seat: int, terms: Terms, character: Character) -> tuple[Offer | None, int]:
    """Lots of no use to oneself take the place of cash that one does not have."""
    spare = _spare(s, seat, terms)
    for number in range(len(spare) + 1):
        offer, gain = _with_cash(s, seat, Terms(terms.other, spare[:number], terms.take), character)
        if offer is not None:
            return offer, gain
    return None, 0


def _spare(s: State, seat: int, terms: Terms) -> tuple[int, ...]:
    """Lots that are alone of their set in the seat's hand, those first that the other holds more of."""
    rules = s.rules
    sets_n, held = rules.sets_n, s.held
    wanted = {rules.set_of[at] for at in terms.take}
    found = []
    for at in rules.lots:
        group = rules.set_of[at]
        if s.owner[at] == seat and group not in wanted and held[seat * sets_n + group] == 1 < rules.set_size[group]:
            theirs = held[terms.other * sets_n + group]
            if theirs + 1 < rules.set_size[group] and trade.may_move(s, at):
                found.append((-theirs, rules.price[at], at))
    return tuple(at for _, _, at in sorted(found)[:_MOST_SPARE])


def _with_cash(s: State, seat: int, terms: Terms, character: Character) -> tuple[Offer | None, int]:
    mine, theirs = gains(s, seat, terms)
    together = mine + theirs
    if together <= character.pride:
        return None, 0
    split = min(_SPLIT + _SPLIT_RISES * s.round, _MOST_SPLIT)
    cash = _marked(together * split // 100 - theirs, s.round)
    keep = s.rules.choices.debt.keep
    if cash > 0:
        if cash > s.cash[seat] - keep - character.reserve - danger(s, seat) // 4:
            return None, 0
    elif -cash > s.cash[terms.other] - keep:
        # they can give no more: the sum goes down step by step, so that its mark stays
        cash += -(-(-cash - max(s.cash[terms.other] - keep, 0)) // _STEP) * _STEP
    if mine - cash <= character.pride or not _gathers(s, seat, terms):
        return None, 0
    give = Side(cash=max(cash, 0), fields=terms.give)
    take = Side(cash=max(-cash, 0), fields=terms.take)
    if not give.cash and not give.fields:
        return None, 0
    return Offer(terms.other, give, take), mine - cash


def _marked(cash: int, round_: int) -> int:
    """The least sum from ``cash`` on that leaves the mark of the trade round when divided by 20."""
    mark = 1 + round_ // EVERY % _MARKS
    return cash + (mark - cash) % _STEP


# --- answering --------------------------------------------------------------------------------------------------------


def wants(s: State, seat: int, offer: OpenOffer, character: Character) -> bool:
    """Whether an offer is worth accepting: it leaves something in hand, breaks no set of one's own, brings enough."""
    give, take = offer.take, offer.give
    if any(_whole(s, seat, s.rules.set_of[at]) for at in give.fields):
        return False
    left = s.cash[seat] - give.cash + take.cash
    if give.cash > take.cash and left < character.reserve:
        return False
    _, mine = gains(s, offer.proposer, Terms(seat, offer.give.fields, offer.take.fields))
    cards = len(take.cards) - len(give.cards)
    mine += take.cash - give.cash + cards * s.rules.choices.jail.bail
    return mine > character.pride * max(_CALM_AFTER - s.round, 0) // _CALM_AFTER
