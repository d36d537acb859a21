"""What a scripted person does of what may be done: drawn, with a liking for what brings the game on."""

from __future__ import annotations

from random import Random
from typing import Any

from omnipoly.wire.gen.game.v1 import actions_pb2, legal_pb2

LIKED = {
    "roll": 40,
    "end_turn": 30,
    "pay": 30,
    "pass": 12,
    "bid": 10,
    "buy": 14,
    "decline": 8,
    "choose_steps": 10,
    "teleport": 10,
    "travel": 5,
    "pay_bail": 5,
    "use_card": 5,
    "raise": 10,
    "claim_rent": 20,
    "build": 6,
    "mortgage": 1,
    "lift_mortgage": 1,
    "sell_building": 1,
    "sell_property": 1,
    "offer": 2,
    "accept": 4,
    "refuse": 4,
    "withdraw": 1,
    "give_up": 1,
}
"""How much each kind is liked; what is not named is not done unless it is meant."""


def choose(prompt: legal_pb2.Prompt, random: Random) -> actions_pb2.Action | None:
    """One of the actions that a prompt lists; ``None``: nothing that anybody would want."""
    listed = [action for action in prompt.actions if action.kind in LIKED]
    if any(action.kind == "raise" for action in listed):
        listed = [action for action in listed if action.kind != "give_up"]
    if not listed:
        return None
    (chosen,) = random.choices(listed, [LIKED[action.kind] for action in listed])
    return _filled(chosen, random)


def plain(kind: str, **fields: Any) -> actions_pb2.Action:
    """An action of a kind."""
    action = actions_pb2.Action()
    body = getattr(action, kind)
    body.SetInParent()
    for name, value in fields.items():
        setattr(body, name, value)
    return action


def _filled(chosen: legal_pb2.LegalAction, random: Random) -> actions_pb2.Action | None:
    kind = chosen.kind
    if kind == "bid":
        return plain("bid", auction=chosen.auction, amount=_amount(chosen, random))
    if kind == "pass":
        return plain("pass", auction=chosen.auction)
    if kind == "choose_steps":
        return plain(kind, steps=random.choice(list(chosen.amounts)))
    if kind in {"accept", "refuse", "withdraw"}:
        return plain(kind, offer=random.choice(list(chosen.offers)))
    if kind == "offer":
        return _offer(chosen, random)
    if chosen.fields:
        field = random.choice(list(chosen.fields))
        return plain(kind, field=field.field, **({"what": field.what} if kind == "build" else {}))
    return plain(kind)


def _amount(chosen: legal_pb2.LegalAction, random: Random) -> int:
    if chosen.amounts:
        return random.choice(list(chosen.amounts)[:5])
    return min(chosen.most, chosen.least + random.choice((0, 0, 1, 5, 10, 20)))


def _offer(chosen: legal_pb2.LegalAction, random: Random) -> actions_pb2.Action | None:
    """Some money for some lot, or the other way round; whose it is the table knows."""
    if not chosen.seats or not chosen.fields:
        return None
    action = actions_pb2.Action()
    action.offer.to = random.choice(list(chosen.seats))
    lot, cash = random.choice(list(chosen.fields)).field, random.randint(1, 40)
    wanted, given = (
        (action.offer.take, action.offer.give)
        if random.random() < 0.5
        else (
            action.offer.give,
            action.offer.take,
        )
    )
    wanted.fields.append(lot)
    given.cash = cash
    return action
