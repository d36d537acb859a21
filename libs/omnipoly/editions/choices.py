"""The choices an edition makes between the variants that the engine knows.

Each row of the matrix in ``docs/rules/README.md`` is one or more attributes here. An edition names a variant; the
module of the topic in ``omnipoly.rules`` plays it. A new game made only of known variants needs no code.
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
    """Thrown for (TUB-ORDER), as seated (RUG-SETUP), or the first drawn and then as seated (LAS-SETUP)."""
    order_at_once_at_big_tables: bool = False
    """At a big table all throws for the order are made at Start."""
    start_bonus: Annotated[tuple[Amount, ...], Meta(min_length=1)] = (200,)
    """By the laps a player has completed before; the last one holds for all further laps (GLO-Q-LAP)."""
    start_bonus_exact: Amount | None = None
    """What arriving exactly on Start pays in place of the bonus (LAS-START); none: the same."""
    end: Literal["by_action", "by_itself"] = "by_action"
    """Whether the owner ends a turn, or it ends once the field is resolved (LAS-TURN)."""
    speed_die: bool = False
    """A third die: 1, 2, 3, city, city, choice (GLO-Q-SPEED)."""


class AuctionChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What becomes of a declined lot, and how it is auctioned."""

    kind: Literal["open_timed", "open_until_passed", "in_turn", "none"] = "open_timed"
    """TUB-AUCTION, RUG-AUCTION, GLO-AUCTION; none: it stays with the bank (LAS-BUY)."""
    first_bid: Annotated[int, Meta(ge=1, le=1_000_000)] | Literal["price"] = 10
    """The least first bid, or the lot's price."""
    first_bid_exact: bool = False
    """Whether the first bid is exactly the least one."""
    least_step: Annotated[int, Meta(ge=1, le=10_000)] = 10
    steps: tuple[Annotated[int, Meta(ge=1, le=10_000)], ...] = ()
    """The only raises allowed; empty: any from the least step on."""
    first_s: Seconds = 15
    """Clock for the first bid."""
    next_s: Seconds = 8
    """Clock after each bid."""


class RentChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a landing costs and when it falls due."""

    due: Literal["debt", "at_once", "claimed"] = "debt"
    """A debt to pay (TUB-DEBT), taken at once (RUG-DEBT), or owed only when claimed in time (GLO-CLAIM)."""
    claim_hold_s: Seconds = 2
    """How long after a landing a throw waits for the claim."""
    street: Literal["table", "of_price"] = "table"
    """The lot's own table, or computed from its price (RUG-RENT)."""
    of_price_percent: Percent = 8
    of_price_least: Amount = 6
    of_price_factors: tuple[Annotated[int, Meta(ge=1, le=1000)], ...] = (1, 5, 15, 40, 55, 70)
    """By buildings: bare, 1-4 houses, hotel."""
    bare_set_factor: Annotated[int, Meta(ge=1, le=10)] = 2
    transport: Annotated[tuple[Amount, ...], Meta(min_length=1)] = (25, 50, 100, 200)
    """By the number in one hand; more than the list is long: the last."""
    utility: Annotated[tuple[Annotated[int, Meta(ge=1, le=100)], ...], Meta(min_length=1)] = (4, 10)
    """Factors of the throw, by the number in one hand."""
    nearest_transport_factor: Annotated[int, Meta(ge=1, le=10)] = 2
    nearest_utility_factor: Annotated[int, Meta(ge=1, le=100)] = 10


class BuildingChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When a lot may be built on and what else may stand there."""

    needs: Literal["whole_set", "two_of_set"] = "whole_set"
    even: bool = True
    unmortgaged: Literal["set", "lot"] = "set"
    """Whether a mortgage anywhere in the builder's part of the set forbids building, or only one on the lot itself."""
    factory: bool = False
    """Factories in place of houses (LAS-FACTORY)."""
    sell_percent: Percent = 50
    """What the bank gives for a building, of what it cost, rounded down."""


class MortgageChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Mortgages and sales of lots to the bank."""

    unbuilt: Literal["set", "lot"] = "set"
    """No building in the owner's part of the set (CORE-MORTGAGE), or none on the lot itself (GLO-MORTGAGE)."""
    loan_percent: Percent = 50
    lift_of: Literal["loan", "price"] = "loan"
    lift_percent: Percent = 110
    """What lifting costs, of the loan or of the price, rounded up."""
    sell_lot_percent: Percent = 0
    """What the bank gives for a whole lot (LAS-SELL); 0: it buys none."""


class DebtChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Short of money."""

    kind: Literal["raise_or_give_up", "must_raise", "bank_liquidates"] = "raise_or_give_up"
    """TUB-DEBT, GLO-BANKRUPT and LAS-DEBT, RUG-DEBT."""
    keep: Annotated[int, Meta(ge=0, le=1)] = 0
    """What must be left after any payment: 1 where zero is out (LAS-ZERO)."""
    big_table_pays_at_once: bool = False
    """At a big table, payers of a card who have the money pay at once (TUB-CARDS-BIG)."""


class JailChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Bail and tries."""

    bail: Amount = 50
    tries: Annotated[int, Meta(ge=1, le=10)] = 3
    """After so many failed tries (turns) the bail falls due."""
    throws_a_turn: Annotated[int, Meta(ge=1, le=10)] = 1
    """Throws for a double in one turn (LAS-PRISON)."""
    after_last_try: Literal["walks", "stays"] = "walks"
    """Whether the last failed throw is walked once the bail is paid, or the player is free from the next turn on."""


class TradeChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Offers between players."""

    accept: Literal["any_time", "own_turn"] = "any_time"
    """When an offer may be accepted: whenever trades are open, or only on the receiver's own turn (LAS-SWAP)."""
    cards: bool = True
    """Whether jail-free cards may be traded."""
    unbuilt: Literal["set", "lot"] = "set"
    """A lot of a set with buildings cannot change hands, or only one with buildings of its own."""
    lives_s: Annotated[int, Meta(ge=0, le=3600)] = 60
    """How long an offer lives; 0: no clock of its own."""
    lapses: Literal["by_clock", "with_turn", "with_receivers_turn"] = "by_clock"
    """Whether it also lapses when the proposer's turn (or clock) or the receiver's turn ends."""
    quota: Annotated[int, Meta(ge=0, le=100)] = 5
    """Offers a proposer may make a round or a turn; 0: any number."""
    quota_per: Literal["round", "turn"] = "round"
    unanswered: Annotated[int, Meta(ge=0, le=100)] = 3
    """Open offers that may lie at one person; 0: any number."""
    refused_wait_s: Annotated[int, Meta(ge=0, le=3600)] = 30
    """How long a pair waits after a refusal."""


class PlayChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Clocks, big tables, ends, and what the whole edition shares."""

    business: Literal["any_time", "own_turn", "before_throw"] = "any_time"
    """When lots are built, sold, mortgaged, lifted and offered: the paragraph below the table of CORE-PHASE."""
    cash: Annotated[int, Meta(ge=1, le=1_000_000)] = 1500
    """Start money where the host has no choice."""
    clock_s: Seconds = 45
    """The decision clock where the host has no choice."""
    away_clock_s: Seconds = 2
    big_table_from: Annotated[int, Meta(ge=2, le=64)] = 7
    """Seats from which a table is big."""
    big_table_round_limits: tuple[
        tuple[Annotated[int, Meta(ge=2, le=64)], Annotated[int, Meta(ge=1, le=10_000)]], ...
    ] = ()
    """(seats from, round limit) in rising order (TUB-LIMIT)."""
    last_round: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    """Where no limit is set, a game ends after this many rounds (CORE-LIMIT)."""
    deal_lots: Count = 0
    """Lots dealt to each at the start (TUB-DEAL)."""
    deal_lots_from: Count = 9
    """Lots are dealt on the boards that hold so many seats (TUB-DEAL)."""
    train_fare: Amount = 0
    """The fare for each station on the way (LAS-TRAIN); 0: no trains."""
    casino_double_percent: Percent = 25
    casino_six_percent: Percent = 50


class Choices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All choices of one edition, by topic."""

    turn: TurnChoices = TurnChoices()
    auction: AuctionChoices = AuctionChoices()
    rent: RentChoices = RentChoices()
    building: BuildingChoices = BuildingChoices()
    mortgage: MortgageChoices = MortgageChoices()
    debt: DebtChoices = DebtChoices()
    jail: JailChoices = JailChoices()
    trade: TradeChoices = TradeChoices()
    play: PlayChoices = PlayChoices()
