"""What can be asked of a table: actions in, events out.

An action never names who acts: the actor is the session. Field numbers count from Start (0); amounts are whole money
units; ids of auctions, offers and votes are those the events gave.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class Action(msgspec.Struct, frozen=True, gc=False, tag_field="do"):
    """Any action. Each subclass is one kind; ``kind`` is its name in scenarios."""


# --- before the start -------------------------------------------------------------------------------------------------


class Join(Action, frozen=True, gc=False, tag="join"):
    """Take the next free seat before the start. The PIN was checked by whoever keeps it."""

    name: str


class SetOptions(Action, frozen=True, gc=False, tag="set_options"):
    """The host changes options before the start (TUB-SETUP), those that concern viewers also later; what is absent
    stays."""

    start_cash: int | None = None
    clock_s: int | None = None
    round_limit: int | None = None
    time_limit_min: int | None = None
    entry_fee: int | None = None
    auto_claim: bool | None = None
    viewers_chat: bool | None = None
    viewers_take_bots: bool | None = None
    private: bool | None = None


class AddBot(Action, frozen=True, gc=False, tag="add_bot"):
    """The host seats a bot before the start."""

    name: str = ""


class Contribute(Action, frozen=True, gc=False, tag="contribute"):
    """A seated person adds a text to what the dice are made of, before the start."""

    text: str


class Start(Action, frozen=True, gc=False, tag="start"):
    """The host starts the game."""


# --- a turn -----------------------------------------------------------------------------------------------------------


class Roll(Action, frozen=True, gc=False, tag="roll"):
    """Throw: for the order, to walk, or for a double in jail."""


class Buy(Action, frozen=True, gc=False, tag="buy"):
    """Buy the lot one stands on (CORE-BUY)."""


class Decline(Action, frozen=True, gc=False, tag="decline"):
    """Decline the lot, or the ride."""


class PayBail(Action, frozen=True, gc=False, tag="pay_bail"):
    """Pay to leave jail, before the throw (CORE-JAIL)."""


class UseCard(Action, frozen=True, gc=False, tag="use_card"):
    """Hand in the jail-free card held longest, before the throw (CORE-JAIL)."""


class ChooseSteps(Action, frozen=True, gc=False, tag="choose_steps"):
    """Walk the first die, the second, or their sum (GLO-Q-CHOICE)."""

    steps: int


class Teleport(Action, frozen=True, gc=False, tag="teleport"):
    """Go to any field after a triplet (GLO-Q-TRIPLET)."""

    field: int


class Travel(Action, frozen=True, gc=False, tag="travel"):
    """Ride to another station (LAS-TRAIN)."""

    field: int


class EndTurn(Action, frozen=True, gc=False, tag="end_turn"):
    """End one's turn once the throw is played out and no further one is due."""


# --- auctions ---------------------------------------------------------------------------------------------------------


class Bid(Action, frozen=True, gc=False, tag="bid"):
    """Bid in the auction that is named: a late bid never hits the next lot."""

    auction: int
    amount: int


class Pass(Action, frozen=True, gc=False, tag="pass"):
    """Leave the auction that is named."""

    auction: int


# --- owing ------------------------------------------------------------------------------------------------------------


class Pay(Action, frozen=True, gc=False, tag="pay"):
    """Pay one's oldest debt (TUB-DEBT)."""


class Raise(Action, frozen=True, gc=False, tag="raise"):
    """Let the game mortgage and sell, cheapest first, until the oldest debt is covered (CORE-RAISE)."""


class GiveUp(Action, frozen=True, gc=False, tag="give_up"):
    """Leave the game in debt (CORE-LEAVE)."""


class ClaimRent(Action, frozen=True, gc=False, tag="claim_rent"):
    """Claim the oldest rent that is open to one (GLO-CLAIM)."""


# --- lots -------------------------------------------------------------------------------------------------------------


class Build(Action, frozen=True, gc=False, tag="build"):
    """Put the next building, or a factory, on a street."""

    field: int
    what: Literal["building", "factory"] = "building"


class SellBuilding(Action, frozen=True, gc=False, tag="sell_building"):
    """Sell the topmost building of a street to the bank."""

    field: int


class SellProperty(Action, frozen=True, gc=False, tag="sell_property"):
    """Sell a whole lot to the bank (LAS-SELL)."""

    field: int


class Mortgage(Action, frozen=True, gc=False, tag="mortgage"):
    """Mortgage a lot (CORE-MORTGAGE)."""

    field: int


class LiftMortgage(Action, frozen=True, gc=False, tag="lift_mortgage"):
    """Lift a mortgage (CORE-MORTGAGE)."""

    field: int


# --- trades -----------------------------------------------------------------------------------------------------------


class Side(msgspec.Struct, frozen=True, gc=False):
    """What one side of a trade gives: cash, lots by field, jail-free cards by id."""

    cash: int = 0
    fields: tuple[int, ...] = ()
    cards: tuple[str, ...] = ()


class Offer(Action, frozen=True, gc=False, tag="offer"):
    """Offer a trade to a seat (CORE-TRADE): ``give`` from the proposer, ``take`` from the other."""

    to: int
    give: Side
    take: Side


class Accept(Action, frozen=True, gc=False, tag="accept"):
    """Accept an offer made to one. Offers never change: the id says exactly which terms."""

    offer: int


class Refuse(Action, frozen=True, gc=False, tag="refuse"):
    """Refuse an offer made to one."""

    offer: int


class Withdraw(Action, frozen=True, gc=False, tag="withdraw"):
    """Withdraw one's own offer."""

    offer: int


# --- life at the table ------------------------------------------------------------------------------------------------


class Leave(Action, frozen=True, gc=False, tag="leave"):
    """Leave the table before the start, or the game (CORE-LEAVE)."""


class ProposeEnd(Action, frozen=True, gc=False, tag="propose_end"):
    """Propose to end the game for everybody (TUB-END-VOTE)."""


class Vote(Action, frozen=True, gc=False, tag="vote"):
    """Answer the open vote."""

    yes: bool


class Connect(Action, frozen=True, gc=False, tag="connect"):
    """The person is connected: reported by presence, never sent by a client."""


class Disconnect(Action, frozen=True, gc=False, tag="disconnect"):
    """The person is gone: the player closed the connection, or it broke and its grace is over."""

    broken: bool = False


class ReplaceWithBot(Action, frozen=True, gc=False, tag="replace_with_bot"):
    """The host hands the seat of somebody away to a bot (TUB-SUBSTITUTE)."""

    seat: int


class TakeSeat(Action, frozen=True, gc=False, tag="take_seat"):
    """Take one's own seat back from the bot, or as a viewer a bot's seat (TUB-TAKEOVER)."""

    seat: int
    name: str = ""


class Remove(Action, frozen=True, gc=False, tag="remove"):
    """The host removes a bot or somebody away, an admin anybody (TUB-REMOVE)."""

    seat: int


class CloseTable(Action, frozen=True, gc=False, tag="close_table"):
    """An admin closes the table (TUB-CLOSE)."""


# --- the platform -----------------------------------------------------------------------------------------------------


class MoveClocks(Action, frozen=True, gc=False, tag="move_clocks"):
    """Time that does not count (an outage): every deadline moves by it. Never sent by a client."""

    by_ms: int


class Advance(Action, frozen=True, gc=False, tag="advance"):
    """Under ``--dev``: time passes for this table; what falls due meanwhile is played when it does."""

    by_ms: int


KINDS: dict[str, type[Action]] = {
    cls.__struct_config__.tag: cls  # type: ignore[misc]
    for cls in Action.__subclasses__()
}
"""Every kind of action by its name in scenarios."""


def kind_of(action: Action | type[Action]) -> str:
    """The name of an action's kind, as scenarios write it."""
    return str(action.__struct_config__.tag)
