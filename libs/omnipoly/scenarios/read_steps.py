"""The steps of a scenario: what somebody does, time that passes, what must hold."""

from __future__ import annotations

import functools
from collections.abc import Callable

from omnipoly.rules import actions
from omnipoly.rules.actions import Action, Side
from omnipoly.rules.codes import Code

from .model import Act, Expect, Step, Throw, Wait
from .nodes import Node

HOST = "host"
"""``by`` of the first player, in office."""
ADMIN = "admin"
"""``by`` of an admin of the platform."""
_LONGEST_WAIT_MS = 365 * 86_400_000
_FACES = ("1", "2", "3", "city", "choice")
_WHO = ("by", "do", "refused", "then_dice")

ReadExpect = Callable[[Node, tuple[str, ...]], Expect]


class Told:
    """What the steps so far have told: who is at the table, and which offers were named."""

    def __init__(self, players: tuple[str, ...]) -> None:
        self.players = players
        self.viewers: list[str] = []
        self.offers: set[str] = set()

    @property
    def names(self) -> tuple[str, ...]:
        """Players, and viewers that have taken a seat."""
        return (*self.players, *self.viewers)


def steps(node: Node, players: tuple[str, ...], read_expect: ReadExpect) -> tuple[Step, ...]:
    """The steps of a list, in order. Raises ``ScenarioError``."""
    told = Told(players)
    return tuple(_step(item, told, read_expect) for item in node.items())


def _step(node: Node, told: Told, read_expect: ReadExpect) -> Step:
    keys = {key.text(): value for key, value in node.entries()}
    if "expect" in keys:
        return read_expect(node.fields(("expect",))["expect"], told.names)
    if "wait" in keys:
        fields = node.fields(("wait", "then_dice"))
        by_ms = fields["wait"].milliseconds()
        if by_ms > _LONGEST_WAIT_MS:
            raise fields["wait"].error("longer than a year")
        return Wait(line=node.line, by_ms=by_ms, then_dice=_then_dice(fields))
    if "do" in keys:
        return _act(node, keys, told)
    raise node.error("a step has one of the keys do, wait and expect")


# --- throws -----------------------------------------------------------------------------------------------------------


def throw(node: Node) -> Throw:
    """A throw as it is written: two dice, and the face of the speed die where it is thrown."""
    dice = node.items()
    if len(dice) not in (2, 3):
        raise node.error("a throw is two dice, or two and the speed die")
    speed = dice[2].one_of(_FACES) if len(dice) == 3 else ""
    return Throw(dice[0].integer(1, 6), dice[1].integer(1, 6), speed)


def _then_dice(fields: dict[str, Node]) -> tuple[Throw, ...]:
    return fields["then_dice"].each(throw) if "then_dice" in fields else ()


# --- actions ----------------------------------------------------------------------------------------------------------


def _act(node: Node, keys: dict[str, Node], told: Told) -> Act:
    do = keys["do"].one_of(_ACTIONS)
    needed, optional, make = _ACTIONS[do]
    fields = node.fields((*_WHO, *needed, *optional))
    for key in ("by", *needed):
        if key not in fields:
            raise node.error(f"{do!r} needs the key {key!r}")
    refused = Code(fields["refused"].one_of(_CODES)) if "refused" in fields else None
    by = _by(fields["by"], do, refused, told)
    step = Act(
        line=node.line,
        by=by,
        action=make(fields, told),
        offer=_offer_id(do, fields, refused, told),
        refused=refused,
        dice=throw(fields["dice"]) if "dice" in fields else None,
        then_dice=_then_dice(fields),
    )
    if do == "take_seat" and refused is None and by not in told.names:
        told.viewers.append(by)
    return step


def _by(node: Node, do: str, refused: Code | None, told: Told) -> str:
    """Who acts. Somebody without a seat can only take one, come and go, or be refused."""
    if do in ("take_seat", "connect", "disconnect") or refused is not None:
        return node.name()
    return node.one_of((*told.names, HOST, ADMIN))


def _offer_id(do: str, fields: dict[str, Node], refused: Code | None, told: Told) -> str:
    node = fields.get("id")
    if node is None:
        return ""
    offer = node.text()
    if do == "offer":
        if offer in told.offers:
            raise node.error(f"an offer {offer!r} was made before")
        if refused is None:
            told.offers.add(offer)
    elif offer not in told.offers and refused is None:
        raise node.error(f"no step has made an offer {offer!r}")
    return offer


Fields = dict[str, Node]
Make = Callable[[Fields, Told], Action]


def _plain(kind: Callable[[], Action]) -> Make:
    return lambda fields, told: kind()


def _on_field(kind: Callable[[int], Action]) -> Make:
    return lambda fields, told: kind(fields["field"].integer())


def _on_offer(kind: Callable[[int], Action]) -> Make:
    return lambda fields, told: kind(0)


def _on_seat(kind: Callable[[int], Action]) -> Make:
    return lambda fields, told: kind(_seat(fields["seat"], told))


def _seat(node: Node, told: Told) -> int:
    """A seat: its number from 0 in seating order, or the name of the player it began with."""
    text = node.text()
    return told.players.index(text) if text in told.players else node.integer(0)


def _build(fields: Fields, told: Told) -> Action:
    field = fields["field"].integer()
    if "kind" not in fields:
        return actions.Build(field)
    factory = fields["kind"].one_of(("factory", "building")) == "factory"
    return actions.Build(field, "factory" if factory else "building")


def _offer(fields: Fields, told: Told) -> Action:
    to = told.players.index(fields["to"].one_of(told.players))
    return actions.Offer(to, _side(fields["give"]), _side(fields["take"]))


def _side(node: Node) -> Side:
    if node.is_nothing():
        return Side()
    keys = node.fields(("cash", "fields", "cards"))
    return Side(
        cash=keys["cash"].integer() if "cash" in keys else 0,
        fields=keys["fields"].each(Node.integer) if "fields" in keys else (),
        cards=keys["cards"].each(Node.name) if "cards" in keys else (),
    )


_ON_FIELD: tuple[tuple[str, ...], tuple[str, ...]] = (("field",), ())
_ON_OFFER: tuple[tuple[str, ...], tuple[str, ...]] = (("id",), ())
_ON_SEAT: tuple[tuple[str, ...], tuple[str, ...]] = (("seat",), ())
_ALONE: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

_ACTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Make]] = {
    "roll": ((), ("dice",), _plain(actions.Roll)),
    "buy": (*_ALONE, _plain(actions.Buy)),
    "decline": (*_ALONE, _plain(actions.Decline)),
    "bid": (("amount",), (), lambda fields, told: actions.Bid(0, fields["amount"].integer())),
    "pass": (*_ALONE, lambda fields, told: actions.Pass(0)),
    "pay": (*_ALONE, _plain(actions.Pay)),
    "raise": (*_ALONE, _plain(actions.Raise)),
    "give_up": (*_ALONE, _plain(actions.GiveUp)),
    "claim_rent": (*_ALONE, _plain(actions.ClaimRent)),
    "build": (("field",), ("kind",), _build),
    "sell_building": (*_ON_FIELD, _on_field(actions.SellBuilding)),
    "sell_property": (*_ON_FIELD, _on_field(actions.SellProperty)),
    "mortgage": (*_ON_FIELD, _on_field(actions.Mortgage)),
    "lift_mortgage": (*_ON_FIELD, _on_field(actions.LiftMortgage)),
    "pay_bail": (*_ALONE, _plain(actions.PayBail)),
    "use_card": (*_ALONE, _plain(actions.UseCard)),
    "travel": (*_ON_FIELD, _on_field(actions.Travel)),
    "choose_steps": (("steps",), (), lambda fields, told: actions.ChooseSteps(fields["steps"].integer())),
    "teleport": (*_ON_FIELD, _on_field(actions.Teleport)),
    "offer": (("to", "give", "take"), ("id",), _offer),
    "accept": (*_ON_OFFER, _on_offer(actions.Accept)),
    "refuse": (*_ON_OFFER, _on_offer(actions.Refuse)),
    "withdraw": (*_ON_OFFER, _on_offer(actions.Withdraw)),
    "end_turn": (*_ALONE, _plain(actions.EndTurn)),
    "leave": (*_ALONE, _plain(actions.Leave)),
    "propose_end": (*_ALONE, _plain(actions.ProposeEnd)),
    "vote": (("answer",), (), lambda fields, told: actions.Vote(fields["answer"].flag())),
    "connect": (*_ALONE, _plain(actions.Connect)),
    "disconnect": (*_ALONE, _plain(actions.Disconnect)),
    "replace_with_bot": (*_ON_SEAT, _on_seat(actions.ReplaceWithBot)),
    "take_seat": (*_ON_SEAT, _on_seat(functools.partial(actions.TakeSeat))),
    "remove": (*_ON_SEAT, _on_seat(actions.Remove)),
    "close_table": (*_ALONE, _plain(actions.CloseTable)),
}
"""By action: the keys it needs, those it may have, and what is made of them."""

_CODES = tuple(code.value for code in Code)
