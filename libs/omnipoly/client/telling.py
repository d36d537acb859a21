"""Which sentence an event is told in, and what it names. No sum stands here that is not the event's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from omnipoly.rules import events as e
from omnipoly.rules.events import Event, Reason
from omnipoly.rules.state import FACTORY, HOTEL, NOBODY, Away, Choice, Out

if TYPE_CHECKING:
    from omnipoly.client.teller import Teller

# --- the table --------------------------------------------------------------------------------------------------------


def _table_opened(t: Teller, event: e.TableOpened) -> str:
    if event.commitment:
        return t.line("table_opened.fair", edition=t.words.title, commitment=event.commitment)
    return t.line("table_opened.scripted", edition=t.words.title)


def _seat_taken(t: Teller, event: e.SeatTaken) -> str:
    return t.line("seat_taken.bot" if event.bot else "seat_taken.person", name=t.wording.party("player", event.name))


def _handed_over(t: Teller, event: e.SeatHandedOver) -> str:
    before, name = t.s.name[event.seat], t.wording.party("player", event.name)
    if event.bot:
        return t.line("seat_handed_over.bot", who=t.party(event.seat))
    if event.name == before:
        return t.line("seat_handed_over.back", name=name)
    return t.line("seat_handed_over.taken", name=name, who=t.party(event.seat))


def _ended(t: Teller, event: e.GameEnded) -> str:
    places = ""
    if event.places:
        ranked = sorted(range(len(event.places)), key=lambda seat: event.places[seat])
        told = [t.phrase("place", place=event.places[seat], name=t.s.name[seat]) for seat in ranked]
        places = t.phrase("places", places=", ".join(told))
    return t.line("game_ended", why=t.phrase(f"ended.{event.why}"), places=places)


def _moved_clocks(t: Teller, event: e.ClocksMoved | e.Advanced) -> str:
    return t.line(e.kind_of(event), seconds=t.seconds(event.by_ms))


# --- a turn -----------------------------------------------------------------------------------------------------------


def _thrown(t: Teller, event: e.DiceThrown) -> str:
    first, second = event.dice
    who = t.party(event.seat)
    if event.purpose == "jail":
        return t.line("dice_thrown.jail", who=who, first=first, second=second, jail=t.jail)
    if event.purpose != "walk":
        return t.line(f"dice_thrown.{event.purpose}", who=who, first=first, second=second)
    face = event.speed if event.speed in ("", "1", "2", "3") else t.phrase(f"face.{event.speed}")
    speed = t.phrase("speed", face=face) if face else ""
    double = t.phrase("double") if first == second else ""
    return t.line("dice_thrown.walk", who=who, first=first, second=second, speed=speed, double=double)


def _drawn(t: Teller, event: e.CardDrawn) -> str:
    card = t.card(event.deck, event.card)
    return t.line("card_drawn", who=t.party(event.seat), deck=t.words.deck(event.deck), card=card)


def _returned(t: Teller, event: e.CardReturned) -> str:
    deck = t.s.rules.deck_names[t.s.rules.jail_free[event.card]]
    return t.line("card_returned", who=t.party(event.seat), card=t.card(deck, event.card))


def _in_jail(key: str) -> Callable[[Teller, Any], str]:
    """A sentence of somebody and jail; a variant is told by ``how`` or ``why``."""

    def say(t: Teller, event: Any) -> str:
        variant = getattr(event, "how", "") or getattr(event, "why", "")
        return t.line(f"{key}.{variant}" if variant else key, who=t.party(event.seat), jail=t.jail)

    return say


# --- lots -------------------------------------------------------------------------------------------------------------


def _lot_answered(t: Teller, event: e.LotAnswered) -> str:
    """What is bought is told with its price."""
    if event.how != "declined":
        return ""
    return t.line("lot_answered", who=t.party(event.seat), field=t.field(event.field))


def _lot_moved(t: Teller, event: e.LotMoved) -> str:
    """Bought and auctioned lots are told with their price; a lot that nobody bid for goes back without one."""
    lot, owner = t.field(event.field), t.party(t.s.owner[event.field])
    match event.how:
        case "bought" | "auctioned":
            return ""
        case "sold":
            return t.line("lot_moved.sold", owner=owner, field=lot)
        case "dealt":
            return t.line("lot_moved.dealt", who=t.party(event.owner), field=lot)
    return t.line("lot_moved.passed", owner=owner, heir=t.party(event.owner), field=lot)


def _level(t: Teller, event: e.LevelChanged) -> str:
    before, after = t.s.level[event.field], event.level
    who, lot = t.party(event.seat), t.field(event.field)
    if after > before:
        what = {FACTORY: "factory", HOTEL: "hotel"}.get(after)
        if what is None:
            return t.line("level_changed.house", who=who, field=lot, number=after)
        return t.line(f"level_changed.{what}", who=who, field=lot)
    what = {FACTORY: "factory", HOTEL: "hotel"}.get(before, "house" if before - after == 1 else "all")
    return t.line(f"level_changed.{what}_gone", who=who, field=lot)


def _mortgage(t: Teller, event: e.MortgageChanged) -> str:
    how = "mortgaged" if event.mortgaged else "lifted"
    return t.line(f"mortgage_changed.{how}", who=t.party(event.seat), field=t.field(event.field))


def _auction_opened(t: Teller, event: e.AuctionOpened) -> str:
    lot = t.field(event.field)
    if event.forced_by == NOBODY:
        return t.line("auction_opened.bank", field=lot)
    return t.line("auction_opened.forced", field=lot, owner=t.party(event.forced_by))


def _bid(t: Teller, event: e.BidMade) -> str:
    return t.line("bid_made", who=t.party(event.seat), amount=t.money(event.amount), field=t.field(t.s.lot))


def _auction_closed(t: Teller, event: e.AuctionClosed) -> str:
    lot = t.field(event.field)
    if event.winner == NOBODY:
        return t.line("auction_closed.unsold", field=lot)
    return t.line("auction_closed.won", who=t.party(event.winner), field=lot, amount=t.money(event.amount))


def _offer_made(t: Teller, event: e.OfferMade) -> str:
    proposer, receiver = t.party(event.proposer), t.party(event.receiver)
    return t.line("offer_made", proposer=proposer, receiver=receiver, give=t.side(event.give), take=t.side(event.take))


def _offer_closed(t: Teller, event: e.OfferClosed) -> str:
    offer = next((offer for offer in t.s.offers if offer.offer == event.offer), None)
    if offer is None:
        return ""
    proposer, receiver = t.party(offer.proposer), t.party(offer.receiver)
    if event.how == "accepted":
        give, take = t.side(offer.give), t.side(offer.take)
        return t.line("offer_closed.accepted", proposer=proposer, receiver=receiver, give=give, take=take)
    how = "lapsed" if event.how == "expired" else event.how
    return t.line(f"offer_closed.{how}", proposer=proposer, receiver=receiver)


# --- money ------------------------------------------------------------------------------------------------------------


def _paid(t: Teller, event: e.Paid) -> str:
    payer, payee, amount = t.party(event.payer), t.party(event.payee), t.money(event.amount)
    if event.reason is Reason.LOT and event.payer >= 0:
        field = t.field(t.s.position[event.payer])
        return t.line("paid.bought", payer=payer, payee=payee, amount=amount, field=field)
    why = _why(t, event.reason, event.payer, event.payee)
    return t.line("paid.plain", payer=payer, payee=payee, amount=amount, why=why)


def _owes(t: Teller, event: e.DebtOpened) -> str:
    debtor, creditor = t.party(event.debtor), t.party(event.creditor)
    why = _why(t, event.reason, event.debtor, event.creditor)
    return t.line("debt_opened", debtor=debtor, creditor=creditor, amount=t.money(event.amount), why=why)


def _why(t: Teller, reason: Reason, payer: int, payee: int) -> str:
    """What money is paid for; a rent with the lot that the payer stands on. One that is claimed was told with it."""
    s = t.s
    if reason is Reason.RENT and payer >= 0 and s.rules.choices.rent.due != "claimed":
        at = s.position[payer]
        if s.owner[at] == payee:
            return t.phrase("reason.rent_for", field=t.field(at))
    return t.phrase(f"reason.{reason}")


def _debt_closed(t: Teller, event: e.DebtClosed) -> str:
    debt = next((debt for debt in t.s.debts if debt.debt == event.debt), None)
    if event.how != "void" or debt is None:
        return ""
    return t.line("debt_closed", debtor=t.party(debt.debtor), creditor=t.party(debt.creditor))


def _debt_passed(t: Teller, event: e.DebtPassed) -> str:
    debt = next((debt for debt in t.s.debts if debt.debt == event.debt), None)
    if debt is None:
        return ""
    debtor, creditor = t.party(debt.debtor), t.party(debt.creditor)
    return t.line("debt_passed", debtor=debtor, creditor=creditor, heir=t.party(event.creditor))


def _claim(t: Teller, event: e.RentClaimable | e.RentLapsed) -> str:
    claimant, payer = t.party(event.claimant), t.party(event.payer)
    amount, field = t.money(event.amount), t.field(event.field)
    return t.line(e.kind_of(event), claimant=claimant, payer=payer, amount=amount, field=field)


def _claimed(t: Teller, event: e.RentClaimed) -> str:
    return t.line(
        "rent_claimed", claimant=t.party(event.claimant), payer=t.party(event.payer), field=t.field(event.field)
    )


# --- what is told alike -----------------------------------------------------------------------------------------------


def _plain(key: str) -> Callable[[Teller, Any], str]:
    """The same sentence every time."""
    return lambda t, event: t.line(key)


def _seat(key: str) -> Callable[[Teller, Any], str]:
    """A sentence of a seat."""
    return lambda t, event: t.line(key, who=t.party(event.seat))


SAYS: dict[type[Event], Callable[[Teller, Any], str]] = {
    e.TableOpened: _table_opened,
    e.SeatTaken: _seat_taken,
    e.SeatFreed: _seat("seat_freed"),
    e.OptionsSet: lambda t, event: t.line("options_set", options=t.options(event.options)),
    e.Contributed: lambda t, event: t.line("contributed", person=t.person(event.person), text=event.text),
    e.HostChanged: lambda t, event: t.line("host_changed", person=t.person(event.person)),
    e.GameStarted: lambda t, event: t.line("game_started", options=t.options(event.options)),
    e.Disconnected: _seat("disconnected"),
    e.Connected: _seat("connected"),
    e.WentAway: lambda t, event: t.line(f"went_away.{Away(event.why).name.lower()}", who=t.party(event.seat)),
    e.CameBack: _seat("came_back"),
    e.Paused: _plain("paused"),
    e.Resumed: _plain("resumed"),
    e.Frozen: _plain("frozen"),
    e.Thawed: _plain("thawed"),
    e.ClocksMoved: _moved_clocks,
    e.Advanced: _moved_clocks,
    e.SeatHandedOver: _handed_over,
    e.SeatOut: lambda t, event: t.line(f"seat_out.{Out(event.how).name.lower()}", who=t.party(event.seat)),
    e.LimitReached: _plain("limit_reached"),
    e.GameEnded: _ended,
    e.SeedRevealed: lambda t, event: t.line("seed_revealed", seed=event.seed),
    e.PositionSet: _plain("position_set"),
    e.OrderDecided: lambda t, event: t.line("order_decided", order=t.seats(event.order)),
    e.TurnStarted: lambda t, event: t.line("turn_started", round=event.round, who=t.party(event.seat)),
    e.DiceThrown: _thrown,
    e.Moved: lambda t, event: t.line(f"moved.{event.way}", who=t.party(event.seat), field=t.field(event.field)),
    e.TripletThrown: lambda t, event: t.line("triplet_thrown", steps=event.steps),
    e.ChoiceOffered: lambda t, event: t.line(
        f"choice_offered.{Choice(event.choice).name.lower()}", who=t.party(event.seat)
    ),
    e.ThrowPlayed: lambda t, event: t.line("throw_played", who=t.party(event.seat)) if event.again else "",
    e.Jailed: _in_jail("jailed"),
    e.TryFailed: _in_jail("try_failed"),
    e.Released: _in_jail("released"),
    e.CardDrawn: _drawn,
    e.CardReturned: _returned,
    e.CardMoved: lambda t, event: t.line("card_moved", giver=t.party(event.giver), taker=t.party(event.taker)),
    e.LotAnswered: _lot_answered,
    e.LotMoved: _lot_moved,
    e.LevelChanged: _level,
    e.MortgageChanged: _mortgage,
    e.AuctionOpened: _auction_opened,
    e.BidMade: _bid,
    e.BidderPassed: lambda t, event: t.line(f"bidder_passed.{event.why}", who=t.party(event.seat)),
    e.BidsFell: _seat("bids_fell"),
    e.AuctionClosed: _auction_closed,
    e.OfferMade: _offer_made,
    e.OfferClosed: _offer_closed,
    e.Paid: _paid,
    e.DebtOpened: _owes,
    e.DebtClosed: _debt_closed,
    e.DebtPassed: _debt_passed,
    e.RentClaimable: _claim,
    e.RentClaimed: _claimed,
    e.RentLapsed: _claim,
    e.LiquidationStarted: _seat("liquidation_started"),
    e.LiquidationEnded: _seat("liquidation_ended"),
    e.VoteOpened: lambda t, event: t.line("vote_opened", person=t.person(event.person)),
    e.Voted: lambda t, event: t.line(f"voted.{'yes' if event.yes else 'no'}", person=t.person(event.person)),
    e.VoteClosed: lambda t, event: t.line(f"vote_closed.{event.how}"),
}
"""How each kind of event is told; "" says nothing."""

SILENT: frozenset[type[Event]] = frozenset(
    (e.Asked, e.Shortened, e.OfferShortened, e.StepsTaken, e.ChoiceMade, e.LotOffered)
)
"""Kinds that never say anything: every other kind has its sentence."""
