"""From what a seat may do to what it does: listed choices, and words that name one. Pure.

A choice is a number from the list, or words: ``bid 120``, ``mortgage 6``, ``offer 2 give 50 #6 take #8``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.client import record
from omnipoly.rules import actions as act
from omnipoly.rules.actions import Action, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnipoly.rules.legal import LegalAction
    from omnipoly.rules.state import State

MOST_FIELDS = 12
"""Fields of one kind of action that are listed one by one; of more, the kind alone."""
_LATE = ("leave", "propose_end", "give_up", "replace_with_bot", "remove", "offer")
"""Kinds that stand at the end of the list: nobody wants them by mistake."""


class Unclear(Exception):
    """What was typed names no choice; the text says what would."""


class Choice(NamedTuple):
    """One line of the list. ``action`` is None where words are needed: the label says which."""

    label: str
    action: Action | None


def choices(s: State, seat: int, listed: Sequence[LegalAction]) -> list[Choice]:
    """The list: what a seat may do, with what it costs or brings."""
    found: list[Choice] = []
    for legal in sorted(listed, key=lambda legal: legal.do in _LATE):
        found += _of(s, seat, legal)
    return found


def _of(s: State, seat: int, legal: LegalAction) -> Iterator[Choice]:
    kind, do = act.KINDS[legal.do], legal.do.replace("_", " ")
    if legal.do == "bid":
        amounts = legal.amounts or (legal.least,)
        for amount in amounts[:3]:
            yield Choice(f"bid {record.money(s, amount)}", act.Bid(legal.auction, amount))
        if not legal.amounts:
            yield Choice(f"bid AMOUNT ({legal.least} to {legal.most})", None)
    elif legal.do == "pass":
        yield Choice("pass", act.Pass(legal.auction))
    elif legal.do == "vote":
        yield Choice("vote yes", act.Vote(yes=True))
        yield Choice("vote no", act.Vote(yes=False))
    elif legal.do == "offer":
        partners = ", ".join(f"{partner} {s.name[partner]}" for partner in legal.seats)
        yield Choice(f"offer SEAT give … take … (to {partners})", None)
    elif legal.do == "choose_steps":
        for steps in legal.amounts:
            yield Choice(f"walk {steps} fields", act.ChooseSteps(steps))
    elif legal.offers:
        for offer in legal.offers:
            yield Choice(f"{do} {_offer(s, offer)}", kind(offer))
    elif legal.seats:
        for other in legal.seats:
            yield Choice(f"{do}: {s.name[other]}", kind(other))
    elif len(legal.fields) > MOST_FIELDS:
        yield Choice(f"{do} FIELD", None)
    elif legal.fields:
        for field in legal.fields:
            what = " a factory" if field.what == "factory" else ""
            label = f"{do}{what}: {field.field} {record.field(s, field.field)}{_sum(s, field.amount)}"
            yield Choice(label, act.Build(field.field, field.what) if field.what else kind(field.field))
    else:
        yield Choice(do + _sum(s, legal.amount), kind())


def _sum(s: State, amount: int) -> str:
    if not amount:
        return ""
    return f", {'costs' if amount < 0 else 'brings'} {record.money(s, abs(amount))}"


def _offer(s: State, number: int) -> str:
    offer = next((offer for offer in s.offers if offer.offer == number), None)
    if offer is None:
        return f"offer {number}"
    give, take = record.side(s, offer.give), record.side(s, offer.take)
    return f"the offer of {s.name[offer.proposer]}: {give} for {take}"


def parse(typed: str, listed: Sequence[Choice], s: State) -> Action:
    """The action that was typed. Raises ``Unclear``. Whether it is allowed is for the server to say."""
    words = typed.lower().split()
    if not words:
        raise Unclear("type a number from the list, or what to do")
    if words[0].isdecimal():
        number = int(words[0])
        if not 1 <= number <= len(listed):
            raise Unclear(f"there is no choice {number}")
        chosen = listed[number - 1]
        if chosen.action is None:
            raise Unclear(f"type it out: {chosen.label}")
        return chosen.action
    for length in (2, 1):
        kind = "_".join(words[:length])
        if kind in act.KINDS:
            return _worded(kind, words[length:], s)
    raise Unclear(f"{words[0]!r} is nothing one can do here")


def _worded(kind: str, words: list[str], s: State) -> Action:
    make = _WORDED.get(kind)
    if make is not None:
        return make(words, s)
    fields = act.KINDS[kind].__struct_fields__
    if len(words) != len(fields):
        raise Unclear(f"{kind.replace('_', ' ')} needs {' and '.join(fields) or 'nothing more'}")
    return act.KINDS[kind](*(_number(word) for word in words))


def _number(word: str) -> int:
    if not word.lstrip("#").isdecimal():
        raise Unclear(f"{word!r} is no number")
    return int(word.lstrip("#"))


def _bid(words: list[str], s: State) -> Action:
    if len(words) != 1:
        raise Unclear("bid needs an amount")
    return act.Bid(s.auctions, _number(words[0]))


def _build(words: list[str], s: State) -> Action:
    if len(words) == 2 and words[0] == "factory":
        return act.Build(_number(words[1]), "factory")
    if len(words) != 1:
        raise Unclear("build needs a field, or: build factory FIELD")
    return act.Build(_number(words[0]))


def _vote(words: list[str], s: State) -> Action:
    if words not in (["yes"], ["no"]):
        raise Unclear("vote yes, or vote no")
    return act.Vote(yes=words == ["yes"])


def _make_offer(words: list[str], s: State) -> Action:
    """``SEAT give [CASH] [#FIELD …] [CARD …] take …``."""
    if len(words) < 2 or "give" not in words or "take" not in words or words.index("give") > words.index("take"):
        raise Unclear("offer SEAT give 50 #6 take #8: cash, and lots with a # before them")
    give, take = words.index("give"), words.index("take")
    return act.Offer(_number(words[0]), _side(words[give + 1 : take], s), _side(words[take + 1 :], s))


def _side(words: list[str], s: State) -> Side:
    cash, fields, cards = 0, [], []
    for word in words:
        if word.startswith("#"):
            fields.append(_number(word))
        elif word.isdecimal():
            cash += int(word)
        elif word in s.rules.jail_free:
            cards.append(word)
        else:
            raise Unclear(f"{word!r} is neither cash nor a lot nor a card")
    return Side(cash, tuple(fields), tuple(cards))


_WORDED: dict[str, Callable[[list[str], State], Action]] = {
    "bid": _bid,
    "build": _build,
    "offer": _make_offer,
    "pass": lambda words, s: act.Pass(s.auctions),
    "vote": _vote,
}
"""Kinds whose words are not simply numbers for their attributes."""
