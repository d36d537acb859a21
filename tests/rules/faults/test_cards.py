"""Row 40 of docs/known-faults.md: for every card of every deck a scenario draws it and compares what it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnipoly.editions import loader
from omnipoly.scenarios import reader

SCENARIOS = Path(__file__).parents[2] / "scenarios"
EDITIONS = ("tubbypoly", "rugpull", "globopoly", "laspoly")


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_card_is_drawn_by_a_scenario_of_its_own(edition: str) -> None:
    """Fault 40: a card that is added has to be shown, too."""
    drawn = {
        (deck, cards[0])
        for scenario in reader.read(str(SCENARIOS / edition / "cards.yaml"))
        if scenario.position.given is not None
        for deck, cards in scenario.position.given.deck.items()
    }
    assert drawn == {(deck, card.id) for deck, cards in loader.edition(edition).decks.items() for card in cards}
