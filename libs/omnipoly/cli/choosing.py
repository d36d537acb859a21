"""From what a seat may do to what it does: listed choices, and words that name one. Pure.

A choice is a number from the list, or words: ``bid 120``, ``mortgage 6``, ``offer 2 give 50 #6 take #8``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.client.teller import Teller
from omnipoly.rules import actions as act
from omnipoly.rules.actions import Action, Side

from .screen import screen

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


def choices(s: State, seat: int, listed: Sequence[LegalAction], language: str = "") -> list[Choice]:
    """The list: what a seat may do, with what it costs or brings."""
    found: list[Choice] = []
    labels = _Labels(s, language)
    for legal in sorted(listed, key=lambda legal: legal.do in _LATE):
        found += _of(labels, legal)
    return found


class _Labels:
    """What choices are called at a table."""

    def __init__(self, s: State, language: str) -> None:
        self.s = s
        self.teller = Teller(s, language)
        self.say = screen(self.teller.words.language)

    def sum(self, amount: int) -> str:
        """What it costs or brings; "" for nothing."""
        return (
            self.say.phrase("costs" if amount < 0 else "brings", amount=self.teller.money(abs(amount)))
            if amount
            else ""
        )

    def offer(self, number: int) -> str:
        """An offer in words."""
        offer = next((offer for offer in self.s.offers if offer.offer == number), None)
        if offer is None:
            return str(number)
        give, take = self.teller.side(offer.give), self.teller.side(offer.take)
        return self.teller.phrase("offer", proposer=self.teller.party(offer.proposer), give=give, take=take)


def _of(labels: _Labels, legal: LegalAction) -> Iterator[Choice]:
    s, say, money = labels.s, labels.say, labels.teller.money
    kind = act.KINDS[legal.do]
    if legal.do == "bid":
        amounts = legal.amounts or (legal.least,)
        for amount in amounts[:3]:
            yield Choice(say.phrase("bid", amount=money(amount)), act.Bid(legal.auction, amount))
        if not legal.amounts:
            yield Choice(say.phrase("bid_amount", least=legal.least, most=legal.most), None)
    elif legal.do == "vote":
        yield Choice(say.phrase("vote.yes"), act.Vote(yes=True))
        yield Choice(say.phrase("vote.no"), act.Vote(yes=False))
    elif legal.do == "offer":
        partners = ", ".join(f"{partner} {s.name[partner]}" for partner in legal.seats)
        yield Choice(say.phrase("offer", partners=partners), None)
    elif legal.do == "choose_steps":
        for steps in legal.amounts:
            yield Choice(say.count("steps", steps), act.ChooseSteps(steps))
    else:
        yield from _named(labels, kind, say.phrase(f"do.{legal.do}"), legal)


def _named(labels: _Labels, kind: type[Action], do: str, legal: LegalAction) -> Iterator[Choice]:
    """Choices of one kind, by what they name."""
    if legal.do == "pass":
        yield Choice(do, act.Pass(legal.auction))
    elif legal.offers:
        for offer in legal.offers:
            yield Choice(f"{do}: {labels.offer(offer)}", kind(offer))
    elif legal.seats:
        for other in legal.seats:
            yield Choice(f"{do}: {labels.s.name[other]}", kind(other))
    elif len(legal.fields) > MOST_FIELDS:
        yield Choice(labels.say.phrase("with_field", do=do), None)
    elif legal.fields:
        for field in legal.fields:
            what = labels.say.phrase("do.factory") if field.what == "factory" else do
            label = f"{what}: {field.field} {labels.teller.field(field.field)}{labels.sum(field.amount)}"
            yield Choice(label, act.Build(field.field, field.what) if field.what else kind(field.field))
    else:
        yield Choice(do + labels.sum(legal.amount), kind())


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
