"""Trades: proposing one for a set of one's own every third round, and answering those of others (TUB-BOTS).

Nothing is remembered between two decisions. What keeps bots from offering the same again, or from swapping lots back
and forth, follows from the state:

- In a trade round a bot makes one offer, and its next trade round is three rounds later.
- The cash of an offer, counted from its proposer to its receiver, leaves 1 to 9 when divided by 20, by the number of
  the trade round. So within 27 rounds no two offers of a bot are equal, and no bot ever offers the mirror image of an
  offer of another (which would leave 11 to 19).
- The part of what both gain that is offered rises with the rounds, and what both see as a loss falls.
- A bot takes all lots of a set that the other holds, and gives all that it holds of one, or lots that it holds alone:
  lots only come together, the sum over seats and sets of the squares of lots held rises. It never gives a lot of a set
  it makes the most of. So trades alone never lead back to where they began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from omnipoly.rules.actions import Offer, Side

from .outlook import outlook
from .valuation import FULL, danger, face, horizon, opponents

if TYPE_CHECKING:
    from omnipoly.rules.state import OpenOffer, State

    from .character import Character
    from .outlook import Outlook

EVERY = 3
"""A bot offers a trade in each round of that number."""
STEP = 20
MARKS = 9
"""The cash of an offer leaves 1 to 9 when divided by 20, by the number of the trade round."""
UNLIKE = EVERY * MARKS
"""Within so many rounds no two offers of a bot are equal."""
_SPLIT = 35
_SPLIT_RISES = 2
_MOST_SPLIT = 85
"""The part of what both gain that is given to the receiver, in percent: at first, more each round, at most."""
_JEALOUSY = 30
_JEALOUSY_SHARED = 50
_CALM_AFTER = 60
_LEAST_JEALOUSY = 10
"""How much another's gain counts as one's own loss, in percent: in any case, shared among opponents, until when."""
_LONE_LOTS_FROM = 6
"""From this round on, lots are also brought together where that completes nothing yet."""
_MOST_LONE = 4
"""So many lone lots at most are added to make an offer worth its while."""
_MOST_TRIES = 4
"""So many exchanges are thought through in one trade round."""


class Terms(NamedTuple):
    """A trade being thought about: the lots that its proposer gives and takes."""

    other: int
    give: tuple[int, ...]
    take: tuple[int, ...]


class Wish(NamedTuple):
    """A set, or a larger part of one, that could come together: what that adds, whose lots it needs, which set."""

    adds: int
    other: int
    group: int


# --- what a trade is worth --------------------------------------------------------------------------------------------


def gains(s: State, seat: int, terms: Terms) -> tuple[int, int]:
    """What both sides gain by an exchange of lots, without the cash: (the proposer, the other), in money units."""
    other, give, take = terms
    rules = s.rules
    extra = outlook(rules).extra[opponents(s)]
    sets_n, set_of, held = rules.sets_n, rules.set_of, s.held
    faces = 0
    shift: dict[int, int] = {}
    for at in take:
        faces += face(s, at)
        shift[set_of[at]] = shift.get(set_of[at], 0) + 1
    for at in give:
        faces -= face(s, at)
        shift[set_of[at]] = shift.get(set_of[at], 0) - 1
    mine = theirs = 0
    for group, by in shift.items():
        row = extra[group]
        own, others = held[seat * sets_n + group], held[other * sets_n + group]
        mine += row[own + by] - row[own]
        theirs += row[others - by] - row[others]
    percent, far = _jealousy(s), horizon(s)
    mine, theirs = mine * far // FULL, theirs * far // FULL
    return faces + mine - max(theirs, 0) * percent // 100, theirs - faces - max(mine, 0) * percent // 100


def _jealousy(s: State) -> int:
    """How much another's gain counts as one's own loss, in percent: less with more opponents, less as time goes on."""
    full = _JEALOUSY + _JEALOUSY_SHARED // opponents(s)
    return max(full * max(_CALM_AFTER - s.round, 0) // _CALM_AFTER, _LEAST_JEALOUSY)


# --- proposing --------------------------------------------------------------------------------------------------------


def propose(s: State, seat: int, character: Character, look: Outlook) -> Offer | None:
    """The offer of this trade round; ``None`` outside one, after it was made, or when nothing is worth proposing."""
    if (s.round + seat) % EVERY or s.offers_made[seat] or not s.lots[seat]:
        return None
    wishes = _wishes(s, seat, look)
    if not wishes:
        return None
    wishes.sort(reverse=True)
    purse = s.cash[seat] - s.rules.keep - character.reserve - danger(s, seat) // 2
    # each trade round begins with another wish, so that one that nobody can pay does not stand before the others
    first = s.round // EVERY % len(wishes)
    for wish in (*wishes[first:], *wishes[:first])[:_MOST_TRIES]:
        offer = _offer(s, seat, wish, purse, character, look)
        if offer is not None:
            return offer
    return None


def _wishes(s: State, seat: int, look: Outlook) -> list[Wish]:
    """Sets that the lots of one other seat would complete, or that would at least come together more."""
    sets_n, held, built = s.rules.sets_n, s.held, s.built
    own = seat * sets_n
    wishes = []
    for group, needed in enumerate(look.needs):
        mine = held[own + group]
        if not mine or mine >= needed:
            continue
        hands = held[group::sets_n]
        alone = hands.count(0) == len(hands) - 2
        if not alone and (needed == 2 or s.round < _LONE_LOTS_FROM):
            continue
        for other, theirs in enumerate(hands):
            if not theirs or other == seat or theirs >= needed or theirs > mine + alone:
                continue
            after = mine + theirs
            if (after >= needed or not alone) and not built[own + group] and not built[other * sets_n + group]:
                row = look.extra[opponents(s)][group]
                wishes.append(Wish(row[after] - row[mine], other, group))
    return wishes


def _offer(s: State, seat: int, wish: Wish, purse: int, character: Character, look: Outlook) -> Offer | None:
    """The cheapest way to a wish: for cash; for a set of theirs; for lone lots and cash."""
    other = wish.other
    take = _lots(s, other, wish.group)
    terms = Terms(other, (), take)
    mine, theirs = gains(s, seat, terms)
    if mine + theirs <= character.pride:
        return None
    needed = _share(s, mine + theirs) - theirs
    if needed <= purse:
        return _priced(s, terms, mine, theirs, purse, character)
    give = _their_set(s, seat, wish, look) or _lone_lots(s, seat, wish, needed - purse, look)
    if not give:
        return None
    terms = Terms(other, give, take)
    return _priced(s, terms, *gains(s, seat, terms), purse, character)


def _lots(s: State, seat: int, group: int) -> tuple[int, ...]:
    owner = s.owner
    return tuple([at for at in s.rules.sets[group] if owner[at] == seat])


def _their_set(s: State, seat: int, wish: Wish, look: Outlook) -> tuple[int, ...]:
    """The seat's lots of a set that they complete for the other, if there is one: the least precious such set."""
    sets_n = s.rules.sets_n
    own, others = seat * sets_n, wish.other * sets_n
    best, least = -1, 0
    for group, mine, theirs, needed in zip(
        range(sets_n), s.held[own : own + sets_n], s.held[others : others + sets_n], look.needs, strict=True
    ):
        if mine and theirs and mine < needed and theirs < needed <= mine + theirs:
            if group == wish.group or s.built[own + group] or s.built[others + group]:
                continue
            precious = look.extra[opponents(s)][group][mine + theirs]
            if best < 0 or precious < least:
                best, least = group, precious
    return _lots(s, seat, best) if best >= 0 else ()


def _lone_lots(s: State, seat: int, wish: Wish, worth: int, look: Outlook) -> tuple[int, ...]:
    """Lots that are alone of their set in the seat's hand, as many as make up that sum: in place of cash it lacks.

    Those first that the other holds more of; never one that would complete a set for them.
    """
    rules = s.rules
    sets_n, held = rules.sets_n, s.held
    found = []
    for at in rules.lots:
        if s.owner[at] == seat:
            group = rules.set_of[at]
            theirs = held[wish.other * sets_n + group]
            if held[seat * sets_n + group] == 1 and group != wish.group and theirs + 1 < look.needs[group]:
                found.append((-theirs, rules.price[at], at))
    found.sort()
    lots = []
    for _, _, at in found[:_MOST_LONE]:
        lots.append(at)
        worth -= face(s, at)
        if worth <= 0:
            break
    return tuple(lots)


def _share(s: State, together: int) -> int:
    """What the receiver gets of what both gain: more each round."""
    return together * min(_SPLIT + _SPLIT_RISES * s.round, _MOST_SPLIT) // 100


def _priced(s: State, terms: Terms, mine: int, theirs: int, purse: int, character: Character) -> Offer | None:
    """The offer with its cash; ``None`` when there is none that both can want and pay."""
    together = mine + theirs
    if together <= character.pride:
        return None
    cash = _marked(_share(s, together) - theirs, s.round)
    most = s.cash[terms.other] - s.rules.keep
    if -cash > most:
        # they can give no more: the sum comes down by whole steps, so that its mark stays
        cash += -((cash + most) // STEP) * STEP
    if cash > purse or mine - cash <= character.pride:
        return None
    give = Side(cash=max(cash, 0), fields=terms.give)
    take = Side(cash=max(-cash, 0), fields=terms.take)
    return Offer(terms.other, give, take) if give.cash or give.fields else None


def _marked(cash: int, round_: int) -> int:
    """The least sum from ``cash`` on that leaves the mark of the trade round when divided by 20."""
    mark = 1 + round_ // EVERY % MARKS
    return cash + (mark - cash) % STEP


# --- answering --------------------------------------------------------------------------------------------------------


def wants(s: State, seat: int, offer: OpenOffer, character: Character) -> bool:
    """Whether an offer is worth accepting: it stands, leaves something in hand, breaks no set of one's own, brings
    enough."""
    give, take = offer.take, offer.give
    if any(s.owner[at] != seat for at in give.fields) or any(s.owner[at] != offer.proposer for at in take.fields):
        return False  # it lies open though a lot of it has changed hands (CORE-TRADE)
    needs = outlook(s.rules).needs
    row = seat * s.rules.sets_n
    for at in give.fields:
        group = s.rules.set_of[at]
        if s.held[row + group] >= needs[group]:
            return False
    if give.cash > take.cash and s.cash[seat] - give.cash + take.cash < character.reserve:
        return False
    _, mine = gains(s, offer.proposer, Terms(seat, take.fields, give.fields))
    cards = len(take.cards) - len(give.cards)
    mine += take.cash - give.cash + cards * s.rules.choices.jail.bail
    return mine > character.pride * max(_CALM_AFTER - s.round, 0) // _CALM_AFTER
