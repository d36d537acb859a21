"""Which module answers an action: the table that leads from each kind of action to its rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import actions as act_
from . import (
    auctions,
    bankruptcy,
    building,
    jail,
    lobby,
    money,
    mortgage,
    movement,
    presence,
    raising,
    rent,
    seats,
    trade,
    turns,
    votes,
)
from .codes import Code
from .events import ChoiceMade
from .guards import turn_owner
from .state import Choice, Phase, State

if TYPE_CHECKING:
    from collections.abc import Callable

    from .actions import Action, Decline
    from .draft import Draft


def _decline_code(s: State, seat: int, action: Decline, now_ms: int) -> Code | None:
    """``decline`` answers two phases: a lot (CORE-BUY) and a ride (LAS-TRAIN)."""
    if s.choice is Choice.TRAVEL:
        return turn_owner(s, seat, Phase.CHOICE)
    return turn_owner(s, seat, Phase.LANDED)


def _decline(d: Draft, seat: int, action: Decline) -> None:
    if d.state.choice is Choice.TRAVEL:
        d.emit(ChoiceMade(seat))
    else:
        auctions.decline_lot(d, seat)


BY_SEAT: dict[type[Action], tuple[Callable[..., Code | None], Callable[..., None]]] = {
    act_.Roll: (movement.verify_roll, movement.roll),
    act_.Buy: (auctions.verify_buy, auctions.buy),
    act_.Decline: (_decline_code, _decline),
    act_.PayBail: (jail.verify_pay_bail, jail.pay_bail),
    act_.UseCard: (jail.verify_use_card, jail.use_card),
    act_.ChooseSteps: (movement.verify_choose_steps, movement.choose_steps),
    act_.Teleport: (movement.verify_teleport, movement.teleport),
    act_.Travel: (movement.verify_travel, movement.travel),
    act_.EndTurn: (turns.verify_end_turn, turns.end_turn),
    act_.Bid: (auctions.verify_bid, auctions.bid),
    act_.Pass: (auctions.verify_pass, auctions.pass_),
    act_.Pay: (money.verify_pay, money.pay),
    act_.Raise: (raising.verify_raise, raising.raise_),
    act_.GiveUp: (bankruptcy.verify_give_up, bankruptcy.give_up),
    act_.ClaimRent: (rent.verify_claim_rent, rent.claim_rent),
    act_.Build: (building.verify_build, building.build),
    act_.SellBuilding: (building.verify_sell_building, building.sell_building),
    act_.SellProperty: (mortgage.verify_sell_property, mortgage.sell_property),
    act_.Mortgage: (mortgage.verify_mortgage, mortgage.mortgage),
    act_.LiftMortgage: (mortgage.verify_lift_mortgage, mortgage.lift_mortgage),
    act_.Offer: (trade.verify_offer, trade.offer),
    act_.Accept: (trade.verify_accept, trade.accept),
    act_.Refuse: (trade.verify_refuse, trade.refuse),
    act_.Withdraw: (trade.verify_withdraw, trade.withdraw),
}
"""Actions of a seat in the game: (verify, play)."""

BY_PERSON: dict[type[Action], tuple[Callable[..., Code | None], Callable[..., None]]] = {
    act_.Join: (lobby.verify_join, lobby.join),
    act_.SetOptions: (lobby.verify_set_options, lobby.set_options),
    act_.AddBot: (lobby.verify_add_bot, lobby.add_bot),
    act_.Contribute: (lobby.verify_contribute, lobby.contribute),
    act_.Start: (lobby.verify_start, lobby.start),
    act_.Leave: (seats.verify_leave, seats.leave),
    act_.ProposeEnd: (votes.verify_propose_end, votes.propose_end),
    act_.Vote: (votes.verify_vote, votes.vote),
    act_.Connect: (presence.verify_presence, presence.connect),
    act_.Disconnect: (presence.verify_presence, presence.disconnect),
    act_.ReplaceWithBot: (seats.verify_replace_with_bot, seats.replace_with_bot),
    act_.TakeSeat: (seats.verify_take_seat, seats.take_seat),
    act_.Remove: (seats.verify_remove, seats.remove),
    act_.CloseTable: (seats.verify_close_table, seats.close_table),
}
"""Actions of persons, whether they sit in the game or not: (verify, play)."""

ANSWERS = frozenset(
    (
        act_.Roll,
        act_.Buy,
        act_.Decline,
        act_.PayBail,
        act_.UseCard,
        act_.ChooseSteps,
        act_.Teleport,
        act_.Travel,
        act_.EndTurn,
        act_.Pass,
        act_.Pay,
        act_.GiveUp,
    )
)
"""What answers a prompt: only this starts the next clock (CORE-CLOCK)."""
