"""A bot that acts at random among what the rules allow: to compare with, and to reach odd positions in tests."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from omnipoly.rules import actions as act
from omnipoly.rules import engine, listing
from omnipoly.rules.actions import Side

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.legal import LegalAction
    from omnipoly.rules.state import State

_NEVER = ("leave", "propose_end", "vote", "remove", "replace_with_bot", "withdraw", "give_up")
"""What ends games or hands seats over, or would go on for ever."""
_PROMPTED = 80
"""In so many percent of its decisions it answers its prompt, in the rest it does whatever is allowed."""
_ASIDE = ("claim_rent", "accept", "refuse")
"""What may be done without an open decision."""


class RandomBot:
    """Acts at random. Unlike ``Bot`` it goes on from where its generator stands: it is for one run on one machine."""

    def __init__(self, seed: int | str = 0) -> None:
        self.chance = random.Random(seed)

    def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
        """Any legal action, mostly one that answers the open decision; ``None`` when there is nothing to do."""
        now_ms = now_ms or s.now_ms
        if not s.prompt[seat]:
            listed = [one for one in listing.legal_actions(s, seat, now_ms) if one.do in _ASIDE]
            return any_of(self.chance, s, seat, self.chance.choice(listed)) if listed else None
        if self.chance.randrange(100) >= _PROMPTED:
            listed = [one for one in listing.legal_actions(s, seat, now_ms) if one.do not in _NEVER]
            action = any_of(self.chance, s, seat, self.chance.choice(listed)) if listed else None
            # of an offer only the kind is listed: these very terms may be impossible
            if action is not None and engine.verify(s, s.holder[seat], action, now_ms) is None:
                return action
        listed = listing.prompt_actions(s, seat, now_ms)
        # who could go on gives up only when nothing else is left
        listed = [one for one in listed if one.do != "give_up"] or listed
        return any_of(self.chance, s, seat, self.chance.choice(listed)) if listed else None


def any_of(chance: random.Random, s: State, seat: int, listed: LegalAction) -> Action:
    """One of the actions that a listed kind stands for. An offer's sides are small and mean no harm to the rules."""
    kind = act.KINDS[listed.do]
    if listed.do == "bid":
        return act.Bid(listed.auction, _amount(chance, listed))
    if listed.do == "pass":
        return act.Pass(listed.auction)
    if listed.do == "choose_steps":
        return act.ChooseSteps(chance.choice(listed.amounts))
    if listed.do == "vote":
        return act.Vote(yes=chance.random() < 0.5)
    if listed.do == "offer":
        return _offer(chance, s, seat, listed)
    if listed.do == "build":
        choice = chance.choice(listed.fields)
        return act.Build(choice.field, choice.what or "building")
    if listed.fields:
        return kind(chance.choice(listed.fields).field)
    if listed.offers:
        return kind(chance.choice(listed.offers))
    return kind(chance.choice(listed.seats)) if listed.seats else kind()


def _amount(chance: random.Random, listed: LegalAction) -> int:
    """The least bid mostly, sometimes any."""
    if listed.amounts:
        return chance.choice(listed.amounts)
    return listed.least if chance.random() < 0.7 else chance.randint(listed.least, listed.most)


def _offer(chance: random.Random, s: State, seat: int, listed: LegalAction) -> Action:
    other = chance.choice(listed.seats)
    sides = []
    for hand in (seat, other):
        lots = [choice.field for choice in listed.fields if s.owner[choice.field] == hand]
        cards = [card for card in listed.cards if card in s.cards[hand]]
        cash = max(s.cash[hand] - s.rules.keep, 0)
        sides.append(
            Side(
                cash=chance.randint(0, cash) // 10 if cash and chance.random() < 0.7 else 0,
                fields=tuple(chance.sample(lots, min(len(lots), chance.randint(0, 2)))),
                cards=tuple(cards[:1]) if chance.random() < 0.3 else (),
            )
        )
    return act.Offer(other, sides[0], sides[1])
