"""What the commands show of a table."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.table import Table

from omnipoly.cli import showing
from tests.rules.positions import table as position


def printed(table: Table) -> list[str]:
    """The lines of a table, without what only makes it look well."""
    out = Console(width=100)
    with out.capture() as captured:
        out.print(table)
    return [" ".join(line.split()) for line in captured.get().splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        ("en", ["24 Paris (France), $240, bob", "rent $20", "the whole set $40", "houses: 1 $100", "» houses: 2 $300"]),
        ("ru", ["24 Париж (Франция), $240, bob", "базовая аренда $20", "вся группа $40", "домов: 1 $100"]),
    ],
)
def test_a_fields_card_marks_the_row_that_applies(language: str, lines: list[str]) -> None:
    """TUB-RENT-CARDINFO."""
    s = position(
        *("ann", "bob"), edition="globopoly", turn="ann", owns={"bob": (21, 23, 24)}, buildings={21: 2, 23: 2, 24: 2}
    )
    assert printed(showing.card(s, 24, language))[: len(lines)] == lines


def test_cards_of_other_fields() -> None:
    s = position("ann", "bob", turn="ann", owns={"bob": (12,)})
    assert printed(showing.card(s, 12)) == [
        *(
            "12 Boiler house, 150 pupas, bob",
            "» in one hand: 1 throw × 4",
            "in one hand: 2 throw × 10",
            "mortgaged 0 pupas",
        ),
    ]
    assert printed(showing.card(s, 5))[1] == "in one hand: 1 25 pupas"
    assert printed(showing.card(s, 0)) == ["0 Start"]


def test_a_position_in_two_languages() -> None:
    s = position("ann", "bob", edition="globopoly", turn="ann", jailed={"bob": 0})
    english, russian = (" ".join(printed(showing.position(s, language))) for language in ("en", "ru"))
    assert "in jail" in english
    assert "не выходит с клетки «Таможня»" in russian
    assert "наличные" in russian
