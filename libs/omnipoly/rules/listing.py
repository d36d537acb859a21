"""What a seat may do now, with amounts, fields, seats and offers (CORE-LEGAL).

Candidates are made here; whether one would be accepted is asked of ``engine.verify``, which is also what refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import actions as act
from . import auctions, building, money, mortgage, movement, trade
from .actions import Action, Side, kind_of
from .engine import verify
from .legal import FieldChoice, LegalAction
from .state import FACTORY, Choice, Out, Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .state import State

    _Lister = Callable[[State, int, Callable[[Action], bool]], LegalAction | None]

PROMPTED: dict[Phase, tuple[type[Action], ...]] = {
    Phase.ORDER: (act.Roll,),
    Phase.THROW: (act.Roll, act.PayBail, act.UseCard),
    Phase.LANDED: (act.Buy, act.Decline),
    Phase.CHOICE: (act.ChooseSteps, act.Teleport, act.Travel, act.Decline),
    Phase.AUCTION: (act.Bid, act.Pass),
    Phase.DEBT: (act.Pay, act.Raise, act.Mortgage, act.SellBuilding, act.SellProperty, act.GiveUp),
    Phase.MOVED: (act.EndTurn,),
}
"""The rows of CORE-PHASE: what a prompt lists."""


def prompt_actions(s: State, seat: int, now_ms: int) -> list[LegalAction]:
    """The legal actions of a seat's open decision; empty when it has none, as before the start."""
    if not s.prompt or not s.prompt[seat]:
        return []
    return list(_list(s, seat, now_ms, PROMPTED[s.phases[-1]]))


def legal_actions(s: State, seat: int, now_ms: int) -> list[LegalAction]:
    """Everything that would be accepted from the holder of a seat now, what is always open and the host's included."""
    return list(_list(s, seat, now_ms, _BEFORE_START if s.phases[-1] is Phase.LOBBY else _IN_GAME))


def _list(s: State, seat: int, now_ms: int, kinds: tuple[type[Action], ...]) -> Iterator[LegalAction]:
    actor = s.holder[seat]

    def allows(action: Action) -> bool:
        return verify(s, actor, action, now_ms) is None

    for kind in kinds:
        listed = _LISTERS[kind](s, seat, allows)
        if listed is not None:
            yield listed


def _plain(kind: type[Action], amount: Callable[[State, int], int] | None = None) -> _Lister:
    """A kind without parameters, with the sum it costs or brings."""

    def lister(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
        if not allows(kind()):
            return None
        return LegalAction(kind_of(kind), amount=amount(s, seat) if amount else 0)

    return lister


def _price_here(s: State, seat: int) -> int:
    return -s.rules.price[s.position[seat]]


def _bail(s: State, seat: int) -> int:
    return -s.rules.choices.jail.bail


def _oldest(s: State, seat: int) -> int:
    debt = money.oldest_debt(s, seat)
    return -debt.amount if debt else 0


def _first_claim(s: State, seat: int) -> int:
    return next((claim.amount for claim in s.claims if claim.claimant == seat), 0)


def _on_fields(
    make: Callable[[int], Action], fields: Callable[[State], tuple[int, ...]], amount: Callable[[State, int, int], int]
) -> _Lister:
    """A kind that names a field."""

    def lister(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
        choices = tuple(FieldChoice(at, amount(s, seat, at)) for at in fields(s) if allows(make(at)))
        return LegalAction(kind_of(make(0)), fields=choices) if choices else None

    return lister


def _lots(s: State) -> tuple[int, ...]:
    return s.rules.lots


def _all(s: State) -> tuple[int, ...]:
    return tuple(range(s.rules.fields_n))


def _build(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
    choices = []
    for field in s.rules.streets:
        if s.owner[field] == seat:
            if allows(act.Build(field)):
                choices.append(FieldChoice(field, -building.cost(s, field, "building"), "building"))
            if s.rules.choices.building.factory and allows(act.Build(field, "factory")):
                choices.append(FieldChoice(field, -building.cost(s, field, "factory"), "factory"))
    return LegalAction("build", fields=tuple(choices)) if choices else None


def _building_brings(s: State, seat: int, field: int) -> int:
    return s.rules.factory_yield[field] if s.level[field] == FACTORY else s.rules.building_yield[field]


def _bid(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
    if s.phases[-1] is not Phase.AUCTION:
        return None
    least = auctions.least_bid(s, s.lot)
    if not allows(act.Bid(s.auctions, least)):
        return None
    most = s.cash[seat] - s.rules.choices.debt.keep
    amounts = tuple(amount for amount in auctions.bid_amounts(s) if amount <= most)
    return LegalAction("bid", auction=s.auctions, least=least, most=max(amounts, default=most), amounts=amounts)


def _pass(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
    return LegalAction("pass", auction=s.auctions) if allows(act.Pass(s.auctions)) else None


def _steps(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
    if s.choice is not Choice.STEPS:
        return None
    steps = tuple(steps for steps in movement.step_choices(s) if allows(act.ChooseSteps(steps)))
    return LegalAction("choose_steps", amounts=steps) if steps else None


def _offer(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
    """An offer is open when the least one to some partner would be: whatever either could give, for whatever."""
    mine = _least_side(s, seat)
    partners = []
    for other in range(s.seats):
        theirs = _least_side(s, other) if other != seat and s.out[other] == Out.IN else None
        if mine is not None and theirs is not None and allows(act.Offer(other, mine, theirs)):
            partners.append(other)
    if not partners:
        return None
    hands = (seat, *partners)
    fields = tuple(FieldChoice(at, 0) for at in s.rules.lots if s.owner[at] in hands and trade.may_move(s, at))
    cards = tuple(card for hand in hands for card in s.cards[hand]) if s.rules.choices.trade.cards else ()
    most = s.cash[seat]
    return LegalAction("offer", fields=fields, seats=tuple(partners), cards=cards, most=most)


def _least_side(s: State, seat: int) -> Side | None:
    """Something that the seat could give; ``None`` when it has nothing."""
    for field in s.rules.lots:
        if s.owner[field] == seat and trade.may_move(s, field):
            return Side(fields=(field,))
    if s.cards[seat] and s.rules.choices.trade.cards:
        return Side(cards=s.cards[seat][:1])
    return Side(cash=1) if s.cash[seat] > s.rules.choices.debt.keep else None


def _on_offers(make: Callable[[int], Action]) -> _Lister:
    def lister(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
        offers = tuple(offer.offer for offer in s.offers if allows(make(offer.offer)))
        return LegalAction(kind_of(make(0)), offers=offers) if offers else None

    return lister


def _on_seats(make: Callable[[int], Action]) -> _Lister:
    def lister(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
        seats = tuple(other for other in range(s.seats) if allows(make(other)))
        return LegalAction(kind_of(make(0)), seats=seats) if seats else None

    return lister


def _contribute(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
    return LegalAction("contribute") if allows(act.Contribute("?")) else None


def _vote(s: State, seat: int, allows: Callable[[Action], bool]) -> LegalAction | None:
    return LegalAction("vote") if allows(act.Vote(yes=True)) else None


_LISTERS: dict[type[Action], _Lister] = {
    act.Roll: _plain(act.Roll),
    act.Buy: _plain(act.Buy, _price_here),
    act.Decline: _plain(act.Decline),
    act.PayBail: _plain(act.PayBail, _bail),
    act.UseCard: _plain(act.UseCard),
    act.ChooseSteps: _steps,
    act.Teleport: _on_fields(act.Teleport, _all, lambda s, seat, at: 0),
    act.Travel: _on_fields(act.Travel, lambda s: s.rules.transports, lambda s, seat, at: -movement.fare(s, seat, at)),
    act.EndTurn: _plain(act.EndTurn),
    act.Bid: _bid,
    act.Pass: _pass,
    act.Pay: _plain(act.Pay, _oldest),
    act.Raise: _plain(act.Raise),
    act.GiveUp: _plain(act.GiveUp),
    act.ClaimRent: _plain(act.ClaimRent, _first_claim),
    act.Build: _build,
    act.SellBuilding: _on_fields(act.SellBuilding, lambda s: s.rules.streets, _building_brings),
    act.SellProperty: _on_fields(act.SellProperty, _lots, lambda s, seat, at: mortgage.lot_price(s, at)),
    act.Mortgage: _on_fields(act.Mortgage, _lots, lambda s, seat, at: s.rules.loan[at]),
    act.LiftMortgage: _on_fields(act.LiftMortgage, _lots, lambda s, seat, at: -s.rules.lift_cost[at]),
    act.Offer: _offer,
    act.Accept: _on_offers(act.Accept),
    act.Refuse: _on_offers(act.Refuse),
    act.Withdraw: _on_offers(act.Withdraw),
    act.Leave: _plain(act.Leave),
    act.ProposeEnd: _plain(act.ProposeEnd),
    act.Vote: _vote,
    act.ReplaceWithBot: _on_seats(act.ReplaceWithBot),
    act.Remove: _on_seats(act.Remove),
    act.SetOptions: _plain(act.SetOptions),
    act.AddBot: _plain(act.AddBot),
    act.Contribute: _contribute,
    act.Start: _plain(act.Start),
}
_BEFORE_START = (act.SetOptions, act.AddBot, act.Contribute, act.Start, act.Leave, act.Remove)
_IN_GAME = tuple(kind for kind in _LISTERS if kind not in _BEFORE_START[:4])
