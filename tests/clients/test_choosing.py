"""``choose``: the action that a listed one stands for."""

from __future__ import annotations

import pytest

from omnipoly.client import choose
from omnipoly.rules import actions as act
from omnipoly.rules.legal import FieldChoice, LegalAction

LOTS = (FieldChoice(3, -50), FieldChoice(8, -100, "factory"))


@pytest.mark.parametrize(
    ("listed", "wanted", "action"),
    [
        (LegalAction("roll"), {}, act.Roll()),
        (LegalAction("bid", auction=4, least=30, most=90), {}, act.Bid(4, 30)),
        (LegalAction("bid", auction=4, least=30, most=90), {"amount": 55}, act.Bid(4, 55)),
        (LegalAction("bid", auction=4, amounts=(40, 50)), {}, act.Bid(4, 40)),
        (LegalAction("pass", auction=4), {}, act.Pass(4)),
        (LegalAction("choose_steps", amounts=(2, 5, 7)), {}, act.ChooseSteps(2)),
        (LegalAction("choose_steps", amounts=(2, 5, 7)), {"amount": 7}, act.ChooseSteps(7)),
        (LegalAction("teleport", fields=LOTS), {"field": 8}, act.Teleport(8)),
        (LegalAction("mortgage", fields=LOTS), {}, act.Mortgage(3)),
        (LegalAction("build", fields=LOTS), {}, act.Build(3, "building")),
        (LegalAction("build", fields=LOTS), {"field": 8}, act.Build(8, "factory")),
        (LegalAction("accept", offers=(2, 5)), {}, act.Accept(2)),
        (LegalAction("refuse", offers=(2, 5)), {"offer": 5}, act.Refuse(5)),
        (LegalAction("vote"), {}, act.Vote(yes=True)),
        (LegalAction("remove", seats=(1,)), {}, act.Remove(1)),
    ],
    ids=lambda value: value.do if isinstance(value, LegalAction) else "",
)
def test_what_is_listed_can_be_done(listed: LegalAction, wanted: dict[str, int], action: act.Action) -> None:
    assert choose(listed, **wanted) == action


def test_an_offer_has_two_sides() -> None:
    with pytest.raises(ValueError, match="two sides"):
        choose(LegalAction("offer", seats=(1,)))
