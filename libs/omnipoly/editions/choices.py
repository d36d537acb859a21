"""The choices an edition makes between the variants that the engine knows.

Each row of the matrix in ``docs/rules/README.md`` is one or more attributes here. An edition names a variant; the
module of the topic in ``omnipoly.rules`` plays it. A new game made only of known variants needs no code.

Below each attribute stands what it decides; where it has named variants, a line for each of them. ``explained`` reads
these texts, and with them the schema, ``omnipoly edition show`` and ``docs/editions.md`` explain every choice.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Amount = Annotated[int, Meta(ge=0, le=1_000_000)]
"""A sum in whole money units."""
Percent = Annotated[int, Meta(ge=0, le=1000)]
Seconds = Annotated[int, Meta(ge=1, le=86_400)]
Count = Annotated[int, Meta(ge=0, le=1000)]


class TurnChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Order of play, Start, and how a turn ends."""

    order: Literal["thrown", "seating", "drawn"] = "thrown"
    """How the order of play is found.

    ``thrown``: everybody throws two dice, the highest goes first, then in falling order (TUB-ORDER).
    ``seating``: as seated (RUG-SETUP).
    ``drawn``: who goes first is drawn, then as seated (LAS-SETUP).
    """
    order_at_once_at_big_tables: bool = False
    """At a big table all throws for the order are made at Start; otherwise each throws for themselves (TUB-ORDER)."""
    start_bonus: Annotated[tuple[Amount, ...], Meta(min_length=1)] = (200,)
    """What passing or reaching Start pays, by the laps a player has completed before; the last one holds for all
    further laps (CORE-MOVE, GLO-Q-LAP)."""
    start_bonus_exact: Amount | None = None
    """What arriving exactly on Start pays in place of the bonus (LAS-START); left out: the same."""
    end: Literal["by_action", "by_itself"] = "by_action"
    """How a turn ends.

    ``by_action``: its owner ends it, and may do business before (CORE-PHASE).
    ``by_itself``: it is over once the field is played out (LAS-TURN).
    """
    speed_die: bool = False
    """A third die is thrown with the two: 1, 2, 3, city, city, choice (GLO-Q-SPEED)."""


class AuctionChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of a declined lot, and how it is auctioned."""

    kind: Literal["open_timed", "open_until_passed", "in_turn", "none"] = "open_timed"
    """How a lot that its lander declined is auctioned.

    ``open_timed``: open cry; a clock runs anew after each bid, and the last bid wins (TUB-AUCTION).
    ``open_until_passed``: open cry until all but the high bidder have passed (RUG-AUCTION).
    ``in_turn``: everybody but the decliner bids or passes in turn (GLO-AUCTION).
    ``none``: there are no auctions, the lot stays with the bank (LAS-BUY).
    """
    first_bid: Annotated[int, Meta(ge=1, le=1_000_000)] | Literal["price"] = 10
    """The least first bid: an amount (TUB-AUCTION, RUG-AUCTION), or ``"price"`` for the lot's own (GLO-AUCTION)."""
    first_bid_exact: bool = False
    """The first bid is exactly the least one (RUG-AUCTION)."""
    least_step: Annotated[int, Meta(ge=1, le=10_000)] = 10
    """How much a bid is above the last one at least (TUB-AUCTION, GLO-AUCTION)."""
    steps: tuple[Annotated[int, Meta(ge=1, le=10_000)], ...] = ()
    """The only raises allowed (RUG-AUCTION); empty: any from the least step on."""
    first_s: Seconds = 15
    """The clock for the first bid where everybody may bid, in seconds (TUB-AUCTION, RUG-AUCTION)."""
    next_s: Seconds = 8
    """The clock after each bid where everybody may bid, in seconds (TUB-AUCTION, RUG-AUCTION)."""


class RentChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a landing costs and when it falls due."""

    due: Literal["debt", "at_once", "claimed"] = "debt"
    """How rent falls due.

    ``debt``: it is a debt that its debtor pays (TUB-DEBT, LAS-DEBT).
    ``at_once``: it is taken at once, and what is short the bank raises (RUG-DEBT).
    ``claimed``: it is owed only when its owner claims it before the next throw (GLO-CLAIM).
    """
    claim_hold_s: Seconds = 2
    """How long after a landing a throw waits for the claim, in seconds (GLO-CLAIM)."""
    street: Literal["table", "of_price"] = "table"
    """Where a street's rents come from.

    ``table``: from the field's own ``rents`` (TUB-RENT-STREET, GLO-RENT, LAS-RENT).
    ``of_price``: they are computed from its price by the three choices below (RUG-RENT).
    """
    of_price_percent: Percent = 8
    """The bare rent in percent of the price, to the nearest whole (RUG-RENT)."""
    of_price_least: Amount = 6
    """The least bare rent (RUG-RENT)."""
    of_price_factors: tuple[Annotated[int, Meta(ge=1, le=1000)], ...] = (1, 5, 15, 40, 55, 70)
    """What the bare rent is multiplied by: bare, with 1 to 4 houses, with a hotel (RUG-RENT)."""
    bare_set_factor: Annotated[int, Meta(ge=1, le=10)] = 2
    """What the rent of a bare street is multiplied by when its whole set is in one hand (TUB-RENT-STREET)."""
    transport: Annotated[tuple[Amount, ...], Meta(min_length=1)] = (25, 50, 100, 200)
    """A transport's rent by the number in one hand; beyond the list the last one (TUB-RENT-TRANSPORT, LAS-STATION)."""
    utility: Annotated[tuple[Annotated[int, Meta(ge=1, le=100)], ...], Meta(min_length=1)] = (4, 10)
    """What a utility's rent multiplies the throw by, by the number in one hand; beyond the list the last one
    (TUB-RENT-UTILITY, LAS-ATTRACTION)."""
    nearest_transport_factor: Annotated[int, Meta(ge=1, le=10)] = 2
    """What the rent of a transport is multiplied by when a ``nearest`` card led there (CORE-RENT-CARD)."""
    nearest_utility_factor: Annotated[int, Meta(ge=1, le=100)] = 10
    """What a fresh throw is multiplied by at a utility when a ``nearest`` card led there (CORE-RENT-CARD)."""


class BuildingChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a lot may be built on and what else may stand there."""

    needs: Literal["whole_set", "two_of_set"] = "whole_set"
    """How much of a set its owner needs to build.

    ``whole_set``: all of it (TUB-BUILD, RUG-BUILD, GLO-BUILD, LAS-BUILD).
    ``two_of_set``: two streets of it (GLO-Q-BUILD).
    """
    even: bool = True
    """Buildings go up evenly: only where no more stand than anywhere else in the set (CORE-BUILD)."""
    unmortgaged: Literal["set", "lot"] = "set"
    """Where a mortgage forbids building.

    ``set``: anywhere in the builder's part of the set (TUB-BUILD, GLO-BUILD, LAS-BUILD).
    ``lot``: on the street itself only (RUG-BUILD).
    """
    factory: bool = False
    """A factory may be built in place of houses; every street needs ``factory_cost`` and ``factory_income``
    (LAS-FACTORY)."""
    sell_percent: Percent = 50
    """What the bank gives for a building, in percent of what it cost, rounded down (CORE-BUILD)."""


class MortgageChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Mortgages and sales of lots to the bank."""

    unbuilt: Literal["set", "lot"] = "set"
    """Where a building forbids a mortgage.

    ``set``: anywhere in the owner's part of the set (CORE-MORTGAGE).
    ``lot``: on the street itself only (GLO-MORTGAGE).
    """
    loan_percent: Percent = 50
    """What a mortgage brings, in percent of the price, rounded down (CORE-MORTGAGE)."""
    lift_of: Literal["loan", "price"] = "loan"
    """What the cost of lifting a mortgage is reckoned from.

    ``loan``: from what the mortgage brought (TUB-MORTGAGE, GLO-MORTGAGE).
    ``price``: from the lot's price (RUG-MORTGAGE, LAS-MORTGAGE).
    """
    lift_percent: Percent = 110
    """What lifting a mortgage costs, in percent of the loan or of the price, rounded up (CORE-MORTGAGE)."""
    sell_lot_percent: Percent = 0
    """What the bank gives for a whole lot, in percent of its price (LAS-SELL); 0: it buys none."""


class DebtChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Short of money."""

    kind: Literal["raise_or_give_up", "must_raise", "bank_liquidates"] = "raise_or_give_up"
    """What somebody does who cannot pay.

    ``raise_or_give_up``: raises money, or gives up whenever they like (TUB-DEBT).
    ``must_raise``: must sell and mortgage as long as that is enough (GLO-BANKRUPT, LAS-DEBT).
    ``bank_liquidates``: nothing; the bank sells, mortgages and auctions by itself (RUG-DEBT).
    """
    keep: Annotated[int, Meta(ge=0, le=1)] = 0
    """What must be left after any payment: 1 where whoever reaches zero is out (LAS-ZERO)."""
    big_table_pays_at_once: bool = False
    """At a big table, payers of an ``every player pays`` card who have the money pay at once (TUB-CARDS-BIG)."""


class JailChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bail and tries."""

    bail: Amount = 50
    """What leaving jail costs (CORE-JAIL)."""
    tries: Annotated[int, Meta(ge=1, le=10)] = 3
    """After so many failed tries (turns) the bail falls due (TUB-PRISON, RUG-CELL, GLO-CUSTOMS, LAS-PRISON)."""
    throws_a_turn: Annotated[int, Meta(ge=1, le=10)] = 1
    """Throws for a double in one turn (LAS-PRISON)."""
    after_last_try: Literal["walks", "stays"] = "walks"
    """What becomes of the last failed throw.

    ``walks``: it is walked once the bail is paid (TUB-PRISON).
    ``stays``: it is not walked; the player is free from the next turn on (RUG-CELL, GLO-CUSTOMS, LAS-PRISON).
    """


class TradeChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Offers between players."""

    accept: Literal["any_time", "own_turn"] = "any_time"
    """When an offer may be accepted.

    ``any_time``: whenever trades are open (TUB-TRADE, RUG-TRADE, GLO-TRADE).
    ``own_turn``: only on the receiver's own turn (LAS-SWAP).
    """
    cards: bool = True
    """Jail-free cards may be traded (TUB-TRADE)."""
    unbuilt: Literal["set", "lot"] = "set"
    """Which lots buildings keep from changing hands.

    ``set``: every lot of a set with buildings (TUB-TRADE, GLO-TRADE).
    ``lot``: only a lot with buildings of its own (RUG-TRADE, LAS-SWAP).
    """
    lives_s: Annotated[int, Meta(ge=0, le=3600)] = 60
    """How long an offer lives, in seconds (TUB-TRADE); 0: no clock of its own."""
    lapses: Literal["by_clock", "with_turn", "with_receivers_turn"] = "by_clock"
    """What else ends an offer that nobody answers.

    ``by_clock``: nothing but its clock (TUB-TRADE).
    ``with_turn``: also the end of its proposer's turn, or of their clock (RUG-TRADE, GLO-TRADE).
    ``with_receivers_turn``: also the end of its receiver's turn (LAS-SWAP).
    """
    quota: Annotated[int, Meta(ge=0, le=100)] = 5
    """How many offers somebody may make in a round or a turn (TUB-TRADE, GLO-TRADE); 0: any number."""
    quota_per: Literal["round", "turn"] = "round"
    """What ``quota`` is counted by.

    ``round``: a round of all players (TUB-TRADE).
    ``turn``: a turn (GLO-TRADE).
    """
    unanswered: Annotated[int, Meta(ge=0, le=100)] = 3
    """How many open offers may lie at one person (TUB-TRADE); 0: any number."""
    refused_wait_s: Annotated[int, Meta(ge=0, le=3600)] = 30
    """How long a pair waits after a refusal, in seconds (TUB-TRADE); 0: not at all."""


class PlayChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Clocks, big tables, ends, and what the whole edition shares."""

    business: Literal["any_time", "own_turn", "before_throw"] = "any_time"
    """When lots are built on, sold, mortgaged, lifted and offered (CORE-PHASE).

    ``any_time``: by anybody, whenever nothing else is in the way (TUB-TRADE).
    ``own_turn``: on one's own turn (RUG-TRADE, GLO-TRADE).
    ``before_throw``: on one's own turn, before the throw (LAS-TURN).
    """
    cash: Annotated[int, Meta(ge=1, le=1_000_000)] = 1500
    """What everybody begins with, where the host has no choice (RUG-SETUP, LAS-SETUP, GLO-Q-CASH)."""
    clock_s: Seconds = 45
    """The decision clock where the host has no choice, in seconds (TUB-CLOCK, RUG-TURN)."""
    away_clock_s: Seconds = 2
    """The decision clock of somebody who is away, in seconds (TUB-AFK)."""
    big_table_from: Annotated[int, Meta(ge=2, le=64)] = 7
    """From so many seats on a table is big (TUB-LIMIT, TUB-ORDER, TUB-CARDS-BIG)."""
    big_table_round_limits: tuple[
        tuple[Annotated[int, Meta(ge=2, le=64)], Annotated[int, Meta(ge=1, le=10_000)]], ...
    ] = ()
    """Round limits of big tables as ``[seats from, rounds]``, the fewest seats first (TUB-LIMIT)."""
    last_round: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    """Where no limit is set, a game ends after this many rounds (CORE-LIMIT)."""
    deal_lots: Count = 0
    """Lots dealt to each player before the first turn (TUB-DEAL)."""
    deal_lots_from: Count = 9
    """Lots are dealt on the boards that hold so many seats (TUB-DEAL)."""
    train_fare: Amount = 0
    """The fare of a ride for each station along the way (LAS-TRAIN); 0: no trains."""
    casino_double_percent: Percent = 25
    """What a double wins at the casino, in percent of its fortune, rounded down (LAS-CASINO)."""
    casino_six_percent: Percent = 50
    """What a double six wins at the casino, in percent of its fortune, rounded down (LAS-CASINO)."""


class Choices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All choices of one edition, by topic."""

    turn: TurnChoices = TurnChoices()
    """Order of play, Start, and how a turn ends."""
    auction: AuctionChoices = AuctionChoices()
    """What becomes of a declined lot, and how it is auctioned."""
    rent: RentChoices = RentChoices()
    """What a landing costs and when it falls due."""
    building: BuildingChoices = BuildingChoices()
    """When a lot may be built on and what else may stand there."""
    mortgage: MortgageChoices = MortgageChoices()
    """Mortgages and sales of lots to the bank."""
    debt: DebtChoices = DebtChoices()
    """Short of money."""
    jail: JailChoices = JailChoices()
    """Bail and tries."""
    trade: TradeChoices = TradeChoices()
    """Offers between players."""
    play: PlayChoices = PlayChoices()
    """Clocks, big tables, ends, and what the whole edition shares."""
