"""Actions of every kind, sensible and not: what a listing stands for, and far more than it can list."""

from __future__ import annotations

import random
from collections.abc import Iterator

from omnipoly.rules import actions as act
from omnipoly.rules import auctions
from omnipoly.rules.actions import Action, Side
from omnipoly.rules.legal import LegalAction
from omnipoly.rules.state import State

UNLISTED = frozenset(
    ("join", "set_options", "add_bot", "contribute", "start", "connect", "disconnect", "take_seat", "close_table")
)
"""Kinds that no listing has: before the start, of viewers, of presence, of admins."""


def listed(s: State, legal: list[LegalAction]) -> set[Action]:
    """Every single action that a listing stands for; of bids the ends of what is allowed, of offers none."""
    return {action for one in legal for action in _of(one)}


def _of(one: LegalAction) -> Iterator[Action]:
    kind = act.KINDS[one.do]
    if one.do == "bid":
        amounts = one.amounts or {one.least, one.least + 1, (one.least + one.most) // 2, one.most}
        yield from (act.Bid(one.auction, amount) for amount in amounts)
    elif one.do == "pass":
        yield act.Pass(one.auction)
    elif one.do == "vote":
        yield from (act.Vote(yes=True), act.Vote(yes=False))
    elif one.do == "choose_steps":
        yield from (act.ChooseSteps(steps) for steps in one.amounts)
    elif one.do == "build":
        yield from (act.Build(choice.field, choice.what or "building") for choice in one.fields)
    elif one.do == "offer":
        return
    elif one.fields:
        yield from (kind(choice.field) for choice in one.fields)
    elif one.offers:
        yield from (kind(offer) for offer in one.offers)
    elif one.seats:
        yield from (kind(seat) for seat in one.seats)
    else:
        yield kind()


def allowed_bid(action: act.Bid, one: LegalAction) -> bool:
    """Whether a listed bid stands for that one."""
    if action.auction != one.auction:
        return False
    return action.amount in one.amounts if one.amounts else one.least <= action.amount <= one.most


def everything(s: State) -> Iterator[Action]:
    """All kinds x fields x amounts x seats x offers, some beyond what there is; offers come from ``offers``."""
    for kind in (act.Roll, act.Buy, act.Decline, act.PayBail, act.UseCard, act.EndTurn, act.Pay, act.Raise, act.GiveUp):
        yield kind()
    yield from (act.ClaimRent(), act.Leave(), act.ProposeEnd(), act.Vote(yes=True), act.Vote(yes=False))
    for field in (-1, *range(s.rules.fields_n + 1)):
        for on_field in (act.SellBuilding, act.SellProperty, act.Mortgage, act.LiftMortgage, act.Teleport, act.Travel):
            yield on_field(field)
        yield act.Build(field)
        yield act.Build(field, "factory")
    for steps in range(14):
        yield act.ChooseSteps(steps)
    for auction in (0, s.auctions - 1, s.auctions, s.auctions + 1):
        yield act.Pass(auction)
        for amount in _amounts(s):
            yield act.Bid(auction, amount)
    for offer in {0, s.offers_n, s.offers_n + 1, *(one.offer for one in s.offers)}:
        yield from (act.Accept(offer), act.Refuse(offer), act.Withdraw(offer))
    for seat in range(-1, s.seats + 1):
        yield from (act.Remove(seat), act.ReplaceWithBot(seat))


def _amounts(s: State) -> set[int]:
    amounts = {-10, 0, 1, 5, 10, 11, 20, 10**12, *s.cash, *(cash + 1 for cash in s.cash)}
    if s.lot >= 0:
        least = auctions.least_bid(s, s.lot)
        amounts |= {least - 1, least, least + 1, least + 10, least + 40, least + 90}
    return amounts


def offers(chance: random.Random, s: State, count: int) -> Iterator[act.Offer]:
    """Offers of all sorts: to anybody, of what one has and of what one has not."""
    cards = [card for deck in s.rules.decks for card in (one.id for one in deck)][:3] + [
        c for hand in s.cards for c in hand
    ]
    for _ in range(count):
        sides = []
        for _ in range(2):
            fields = tuple(chance.choices(range(-1, s.rules.fields_n + 1), k=chance.choice((0, 0, 1, 1, 2))))
            if chance.random() < 0.7:
                fields = tuple(at for at in fields if at in s.rules.lots)
            held = tuple(chance.choices(cards, k=1)) if chance.random() < 0.2 else ()
            sides.append(Side(chance.choice((0, 0, 1, 50, -1, 10**10, *s.cash)), fields, held))
        yield act.Offer(chance.randrange(-1, s.seats + 1), sides[0], sides[1])
