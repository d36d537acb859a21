"""Every choice is explained where it stands, each of its variants too, and by rules that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnipoly.editions import choices, explained, model
from omnipoly.scenarios import coverage

TOPICS = {name: type(getattr(choices.Choices(), name)) for name in choices.Choices.__struct_fields__}
STRUCTS = [choices.Choices, *TOPICS.values()]
STRUCTS += [model.Field, model.Place, model.Card, model.Board, model.IntOption, model.BoolOption]
STRUCTS += [model.OptionChoices, model.Mode, model.Texts, model.Document]
RULES = coverage.rule_ids(Path(__file__).parents[2] / "docs/rules")


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_attribute_and_variant_is_explained(struct: type) -> None:
    assert struct.__doc__
    for name, meaning in explained.attributes(struct).items():
        assert meaning.text.endswith("."), name
        if struct.__module__ == choices.__name__:
            assert tuple(meaning.variants) == explained.variants(struct, name), name


@pytest.mark.parametrize(("topic", "struct"), TOPICS.items())
def test_every_choice_says_which_rule_it_stands_for(topic: str, struct: type) -> None:
    for name, meaning in explained.attributes(struct).items():
        for text in meaning.variants.values() or [meaning.text]:
            assert explained.rules_in(text), f"{topic}.{name}: {text}"


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_rules_that_are_named_exist(struct: type) -> None:
    for meaning in explained.attributes(struct).values():
        for text in (meaning.text, *meaning.variants.values()):
            assert set(explained.rules_in(text)) <= RULES.keys()


def test_a_choice_is_explained_as_it_was_made() -> None:
    assert (
        explained.choice("auction", "kind", "none") == "there are no auctions, the lot stays with the bank (LAS-BUY)."
    )
    assert explained.choice("jail", "bail", 50) == "What leaving jail costs (CORE-JAIL)."
    assert explained.rules_in(explained.choice("jail", "tries", 3)) == (
        *("TUB-PRISON", "RUG-CELL", "GLO-CUSTOMS", "LAS-PRISON"),
    )
