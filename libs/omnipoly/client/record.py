"""The readable record of a game: what happened, event by event, in sentences.

A line is made of the event and of the state before it, and of nothing else: every amount in it is the event's own, so
that a record cannot say another sum than the log does. Names of fields and cards come from the edition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from omnipoly.editions.texts import Words
from omnipoly.rules import events as e
from omnipoly.rules.actions import Side
from omnipoly.rules.events import Event, Reason, kind_of
from omnipoly.rules.state import CASINO, FACTORY, HOTEL, NOBODY, Away, Choice, Out

if TYPE_CHECKING:
    from omnipoly.rules.state import Options, State

LONGEST = 300
"""Characters of a line; what is longer ends in an ellipsis."""
_NAMED = 6
"""Lots of one side of an offer that are named; of more, the number is said."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a record."""

    kind: str
    """The kind of event, as the contract names it."""
    text: str
    """One sentence, at most ``LONGEST`` characters."""


def line(s: State, event: Event) -> Line | None:
    """What an event says to people, told before it is applied to ``s``; ``None`` when it says nothing.

    Silent are bookkeeping (prompts, phases) and what the line of a neighbouring event says already.
    """
    say = _SAYS.get(type(event))
    text = say(s, event) if say is not None else ""
    if not text:
        return None
    return Line(kind_of(event), text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")


def tell(s: State, happened: Iterable[Event]) -> Iterator[Line]:
    """The lines of some events. Each event is applied to ``s`` behind its line: hand in a copy to keep a state.

    The head of the commit (``engine.enter``) is the caller's to apply.
    """
    for event in happened:
        told = line(s, event)
        event.apply(s)
        if told is not None:
            yield told


# --- names ------------------------------------------------------------------------------------------------------------


def party(s: State, seat: int) -> str:
    """Who pays or owns: a seat's name, the bank or the casino."""
    if seat == CASINO:
        return "the casino"
    return s.name[seat] if seat >= 0 else "the bank"


def field(s: State, at: int) -> str:
    """A field's name; a street's with its set."""
    return Words(s.rules.edition).field(s.rules.board, at)


def money(s: State, amount: int) -> str:
    """An amount in the edition's currency."""
    return Words(s.rules.edition).money(amount)


def person(s: State, who: str) -> str:
    """The name that a person or bot has at the table; their id where they have no seat."""
    if who in s.holder:
        return s.name[s.holder.index(who)]
    return who.removeprefix("admin:") if who else "nobody"


def side(s: State, given: Side) -> str:
    """What one side of a trade gives, in words."""
    parts = [money(s, given.cash)] if given.cash else []
    if len(given.fields) > _NAMED:
        parts.append(f"{len(given.fields)} lots")
    else:
        parts += [f"{field(s, at)}{' (mortgaged)' if s.mortgaged[at] else ''}" for at in given.fields]
    if given.cards:
        parts.append("a jail-free card" if len(given.cards) == 1 else f"{len(given.cards)} jail-free cards")
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts) or "nothing"


def _card(s: State, deck: int, card_id: str) -> str:
    return Words(s.rules.edition).card(s.rules.board, s.rules.deck_names[deck], s.rules.cards[deck][card_id])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _order(s: State, seats: Iterable[int]) -> str:
    return ", ".join(s.name[seat] for seat in seats)


# --- the table --------------------------------------------------------------------------------------------------------


def _table_opened(s: State, event: e.TableOpened) -> str:
    dice = f"the dice are committed to as {event.commitment}" if event.commitment else "the dice are scripted"
    return f"The table is opened for {s.rules.edition.title}; {dice}."


def _seat_taken(s: State, event: e.SeatTaken) -> str:
    return f"{event.name} sits down{' (a bot)' if event.bot else ''}."


def _options(s: State, options: Options) -> str:
    parts = [f"start money {money(s, options.start_cash)}", f"a clock of {options.clock_s} s"]
    if options.round_limit:
        parts.append(f"{options.round_limit} rounds")
    if options.time_limit_min:
        parts.append(f"{options.time_limit_min} minutes")
    if options.entry_fee:
        parts.append(f"an entry fee of {options.entry_fee} credits")
    return ", ".join(parts)


def _handed_over(s: State, event: e.SeatHandedOver) -> str:
    if event.bot:
        return f"A bot plays on for {s.name[event.seat]}."
    return (
        f"{event.name} takes the seat of {s.name[event.seat]}."
        if event.name != s.name[event.seat]
        else (f"{event.name} takes the seat back.")
    )


_OUT = {
    Out.BANKRUPT: "is bankrupt",
    Out.LEFT: "leaves the game",
    Out.REMOVED: "is removed from the game",
    Out.GAVE_UP: "gives up",
}
_AWAY = {
    Away.MISSED: "missed the clock and is away",
    Away.CLOSED: "has gone and is away",
    Away.BROKEN: "has lost the connection and is away",
}
_ENDED = {
    "last_standing": "only one is left",
    "round_limit": "the last round is over",
    "time_limit": "the time is up",
    "vote": "the vote passed",
    "alone": "nobody else is left to ask",
    "closed": "an admin closed the table",
    "idle": "nobody has moved for too long",
    "abandoned": "everybody got up",
}


def _ended(s: State, event: e.GameEnded) -> str:
    text = f"The game is over: {_ENDED[event.why]}."
    if not event.places:
        return text
    by_place = sorted(range(len(event.places)), key=lambda seat: event.places[seat])
    return f"{text} Places: " + ", ".join(f"{event.places[seat]} {s.name[seat]}" for seat in by_place) + "."


# --- a turn -----------------------------------------------------------------------------------------------------------

_PURPOSE = {
    "walk": "throws",
    "order": "throws for the order of play:",
    "jail": "throws for a double in jail:",
    "utility": "throws for the rent:",
}
_WAY = {
    "walk": "walks to",
    "card": "goes on to",
    "back": "goes back to",
    "jump": "jumps to",
    "ride": "rides to",
    "teleport": "goes to",
}
_RELEASED = {
    "double": "throws a double and is out of jail",
    "bail": "has paid bail and is out of jail",
    "card": "hands in a card and is out of jail",
    "last_try": "has paid bail after the last try and is out of jail",
}
_JAILED = {"doubles": "for the third double in a row", "field": "by the field", "card": "by the card"}
_CHOICES = {
    Choice.STEPS: "chooses how far to walk",
    Choice.TELEPORT: "chooses where to go",
    Choice.TRAVEL: "may ride to another station",
}


def _thrown(s: State, event: e.DiceThrown) -> str:
    first, second = event.dice
    speed = f" and {event.speed} on the speed die" if event.speed else ""
    double = ", a double" if first == second and event.purpose == "walk" else ""
    return f"{s.name[event.seat]} {_PURPOSE[event.purpose]} {first} and {second}{speed}{double}."


def _drawn(s: State, event: e.CardDrawn) -> str:
    return f"{s.name[event.seat]} draws from {event.deck}: “{_card(s, s.rules.deck_numbers[event.deck], event.card)}”"


def _throw_played(s: State, event: e.ThrowPlayed) -> str:
    return f"{s.name[event.seat]} throws again." if event.again else ""


# --- lots -------------------------------------------------------------------------------------------------------------


def _lot_answered(s: State, event: e.LotAnswered) -> str:
    if event.how == "declined":
        return f"{s.name[event.seat]} declines {field(s, event.field)}."
    return ""


def _lot_moved(s: State, event: e.LotMoved) -> str:
    """Bought and auctioned lots are told with their price; a lot that nobody bid for goes back without one."""
    lot = field(s, event.field)
    match event.how:
        case "bought" | "auctioned":
            return ""
        case "sold":
            return f"{_capital(party(s, s.owner[event.field]))} gives {lot} back to the bank."
        case "dealt":
            return f"{s.name[event.owner]} is dealt {lot}."
    return f"{_capital(lot)} goes from {party(s, s.owner[event.field])} to {party(s, event.owner)}."


def _level(s: State, event: e.LevelChanged) -> str:
    before, after = s.level[event.field], event.level
    name, lot = s.name[event.seat], field(s, event.field)
    if after > before:
        what = {FACTORY: "a factory", HOTEL: "a hotel"}.get(after, f"house {after}")
        return f"{name} builds {what} on {lot}."
    what = {FACTORY: "the factory", HOTEL: "the hotel"}.get(before, "a house" if before - after == 1 else "buildings")
    return f"{name} gives up {what} on {lot}."


def _mortgage(s: State, event: e.MortgageChanged) -> str:
    what = "mortgages" if event.mortgaged else "lifts the mortgage of"
    return f"{s.name[event.seat]} {what} {field(s, event.field)}."


def _auction_opened(s: State, event: e.AuctionOpened) -> str:
    whose = f", a lot of {s.name[event.forced_by]}," if event.forced_by != NOBODY else ""
    return f"{_capital(field(s, event.field))}{whose} is auctioned."


_PASSED = {"passed": "passes", "short": "cannot go on bidding", "clock": "lets the clock run out and passes"}


def _auction_closed(s: State, event: e.AuctionClosed) -> str:
    lot = field(s, event.field)
    if event.winner == NOBODY:
        return f"Nobody buys {lot}; the auction is over."
    return f"{s.name[event.winner]} wins the auction of {lot} with {money(s, event.amount)}."


def _offer_made(s: State, event: e.OfferMade) -> str:
    proposer, receiver = s.name[event.proposer], s.name[event.receiver]
    return f"{proposer} offers {receiver} {side(s, event.give)} for {side(s, event.take)}."


def _offer_closed(s: State, event: e.OfferClosed) -> str:
    offer = next((offer for offer in s.offers if offer.offer == event.offer), None)
    if offer is None:
        return ""
    proposer, receiver = s.name[offer.proposer], s.name[offer.receiver]
    match event.how:
        case "accepted":
            return f"{receiver} accepts the offer of {proposer}: {side(s, offer.give)} for {side(s, offer.take)}."
        case "refused":
            return f"{receiver} refuses the offer of {proposer}."
        case "withdrawn":
            return f"{proposer} withdraws the offer to {receiver}."
        case "void":
            return f"The offer of {proposer} to {receiver} is void."
    return f"The offer of {proposer} to {receiver} has lapsed."


# --- money ------------------------------------------------------------------------------------------------------------

_OWES = {Reason.CASINO_FEE: "a fee"}
_PAYS = {
    Reason.START_CASH: "to begin with",
    Reason.START_BONUS: "for Start",
    Reason.AUCTION: "for the lot won",
    Reason.RENT: "rent",
    Reason.TAX: "tax",
    Reason.WINDFALL: "as a windfall",
    Reason.CARD: "by the card",
    Reason.REPAIRS: "for repairs",
    Reason.BUILDING: "for a building",
    Reason.BUILDING_SOLD: "for a building",
    Reason.MORTGAGE: "for a mortgage",
    Reason.MORTGAGE_LIFTED: "to lift a mortgage",
    Reason.LOT_SOLD: "for a lot",
    Reason.BAIL: "bail",
    Reason.TRADE: "in the trade",
    Reason.BANKRUPTCY: "from what is left",
    Reason.CASINO: "as a win",
    Reason.CASINO_FEE: "as a fee",
    Reason.FARE: "for the ride",
    Reason.FACTORY: "for what the factories earn",
    Reason.POSITION: "of the position",
}


def _paid(s: State, event: e.Paid) -> str:
    payer, payee, amount = party(s, event.payer), party(s, event.payee), money(s, event.amount)
    if event.reason is Reason.LOT and event.payer >= 0:
        return f"{payer} buys {field(s, s.position[event.payer])} from {payee} for {amount}."
    lot = _rented(s, event.payer, event.payee) if event.reason is Reason.RENT else ""
    return f"{_capital(payer)} pays {payee} {amount} {_PAYS[event.reason]}{lot}."


def _owes(s: State, event: e.DebtOpened) -> str:
    why = _OWES.get(event.reason, _PAYS[event.reason])
    lot = _rented(s, event.debtor, event.creditor) if event.reason is Reason.RENT else ""
    return f"{s.name[event.debtor]} owes {party(s, event.creditor)} {money(s, event.amount)} {why}{lot}."


def _rented(s: State, payer: int, owner: int) -> str:
    """The lot that a rent is for: where the payer stands. A rent that is claimed was told with its lot before."""
    at = s.position[payer] if payer >= 0 else 0
    return f" for {field(s, at)}" if s.rules.choices.rent.due != "claimed" and s.owner[at] == owner else ""


def _debt_closed(s: State, event: e.DebtClosed) -> str:
    if event.how != "void":
        return ""
    debt = next((debt for debt in s.debts if debt.debt == event.debt), None)
    return f"What {s.name[debt.debtor]} owes {party(s, debt.creditor)} is void." if debt is not None else ""


def _debt_passed(s: State, event: e.DebtPassed) -> str:
    debt = next((debt for debt in s.debts if debt.debt == event.debt), None)
    if debt is None:
        return ""
    debtor, heir = s.name[debt.debtor], party(s, event.creditor)
    return f"{debtor} owes {heir} what was owed to {party(s, debt.creditor)}."


def _claimable(s: State, event: e.RentClaimable) -> str:
    claimant, payer = s.name[event.claimant], s.name[event.payer]
    return f"{claimant} may claim {money(s, event.amount)} rent from {payer} for {field(s, event.field)}."


def _claimed(s: State, event: e.RentClaimed) -> str:
    return f"{s.name[event.claimant]} claims the rent for {field(s, event.field)} from {s.name[event.payer]}."


def _lapsed(s: State, event: e.RentLapsed) -> str:
    claimant, payer = s.name[event.claimant], s.name[event.payer]
    return f"{claimant} has not claimed {money(s, event.amount)} rent from {payer} for {field(s, event.field)}."


# --- votes ------------------------------------------------------------------------------------------------------------

_VOTE_CLOSED = {"passed": "The vote passes.", "failed": "The vote fails.", "fallen": "The vote falls."}

_SAYS: dict[type[Event], Callable[[State, Any], str]] = {
    e.TableOpened: _table_opened,
    e.SeatTaken: _seat_taken,
    e.SeatFreed: lambda s, event: f"{s.name[event.seat]} gets up.",
    e.OptionsSet: lambda s, event: f"The options are: {_options(s, event.options)}.",
    e.Contributed: lambda s, event: f"{person(s, event.person)} adds “{event.text}” to the dice.",
    e.HostChanged: lambda s, event: f"{_capital(person(s, event.person))} is the host now.",
    e.GameStarted: lambda s, event: f"The game begins with {_options(s, event.options)}.",
    e.Disconnected: lambda s, event: f"{s.name[event.seat]} is no longer connected.",
    e.Connected: lambda s, event: f"{s.name[event.seat]} is connected.",
    e.WentAway: lambda s, event: f"{s.name[event.seat]} {_AWAY[Away(event.why)]}.",
    e.CameBack: lambda s, event: f"{s.name[event.seat]} is back.",
    e.Paused: lambda s, event: "The table stands still: none of its persons is there.",
    e.Resumed: lambda s, event: "The table goes on.",
    e.ClocksMoved: lambda s, event: f"{event.by_ms / 1000:g} s did not count: every clock has them again.",
    e.Advanced: lambda s, event: f"The table's clock is moved forward by {event.by_ms / 1000:g} s.",
    e.SeatHandedOver: _handed_over,
    e.SeatOut: lambda s, event: f"{s.name[event.seat]} {_OUT[Out(event.how)]}.",
    e.LimitReached: lambda s, event: "The time is up: this turn is the last one.",
    e.GameEnded: _ended,
    e.SeedRevealed: lambda s, event: f"The seed of the dice was {event.seed}.",
    e.PositionSet: lambda s, event: "The table is set up from a position.",
    e.OrderDecided: lambda s, event: f"The order of play: {_order(s, event.order)}.",
    e.TurnStarted: lambda s, event: f"Round {event.round}: it is the turn of {s.name[event.seat]}.",
    e.DiceThrown: _thrown,
    e.Moved: lambda s, event: f"{s.name[event.seat]} {_WAY[event.way]} {field(s, event.field)}.",
    e.TripletThrown: lambda s, event: f"Three of a kind: {event.steps}.",
    e.ChoiceOffered: lambda s, event: f"{s.name[event.seat]} {_CHOICES[event.choice]}.",
    e.ThrowPlayed: _throw_played,
    e.Jailed: lambda s, event: f"{s.name[event.seat]} goes to {field(s, s.rules.jail)}, {_JAILED[event.why]}.",
    e.TryFailed: lambda s, event: f"{s.name[event.seat]} stays in jail.",
    e.Released: lambda s, event: f"{s.name[event.seat]} {_RELEASED[event.how]}.",
    e.CardDrawn: _drawn,
    e.CardReturned: lambda s, event: (
        f"{s.name[event.seat]}'s card “{_card(s, s.rules.jail_free[event.card], event.card)}” goes back under its deck."
    ),
    e.CardMoved: lambda s, event: f"{s.name[event.giver]} gives {s.name[event.taker]} a jail-free card.",
    e.LotAnswered: _lot_answered,
    e.LotMoved: _lot_moved,
    e.LevelChanged: _level,
    e.MortgageChanged: _mortgage,
    e.AuctionOpened: _auction_opened,
    e.BidMade: lambda s, event: f"{s.name[event.seat]} bids {money(s, event.amount)} for {field(s, s.lot)}.",
    e.BidderPassed: lambda s, event: f"{s.name[event.seat]} {_PASSED[event.why]}.",
    e.BidsFell: lambda s, event: f"The bids of {s.name[event.seat]} fall.",
    e.AuctionClosed: _auction_closed,
    e.OfferMade: _offer_made,
    e.OfferClosed: _offer_closed,
    e.Paid: _paid,
    e.DebtOpened: _owes,
    e.DebtClosed: _debt_closed,
    e.DebtPassed: _debt_passed,
    e.RentClaimable: _claimable,
    e.RentClaimed: _claimed,
    e.RentLapsed: _lapsed,
    e.LiquidationStarted: lambda s, event: f"The bank raises what {s.name[event.seat]} owes.",
    e.LiquidationEnded: lambda s, event: f"The bank has raised what it could for {s.name[event.seat]}.",
    e.VoteOpened: lambda s, event: f"{_capital(person(s, event.person))} proposes to end the game for everybody.",
    e.Voted: lambda s, event: f"{person(s, event.person)} votes {'yes' if event.yes else 'no'}.",
    e.VoteClosed: lambda s, event: _VOTE_CLOSED[event.how],
}

SILENT: frozenset[type[Event]] = frozenset(
    (e.Asked, e.Shortened, e.OfferShortened, e.StepsTaken, e.ChoiceMade, e.LotOffered)
)
"""Kinds that never say anything: every other kind has its sentence."""
