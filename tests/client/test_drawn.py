"""The ring, whatever its size, and what is drawn of it."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from omnipoly.cli.drawn import board, colours, ring, seats
from omnipoly.cli.screen import screen
from omnipoly.client.teller import Teller
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from tests.rules.positions import do
from tests.rules.positions import table as position

SIZES = [(50, 10), (54, 18), (90, 17), (130, 30)]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_ring_has_its_places(width: int, height: int) -> None:
    """From 16 fields, the least that an edition may have, to 128, the most."""
    for fields in range(16, 129):
        found = ring.fit(fields, width, height, most_height=height + 12)
        assert len(set(found.places)) == len(found.places) == fields
        edge = [column in (0, found.columns - 1) or row in (0, found.rows - 1) for column, row in found.places]
        assert all(edge)
        assert found.places[0] == (found.columns - 1, found.rows - 1)
        steps = zip(found.places, found.places[1:], strict=False)
        assert all(abs(x - a) + abs(y - b) == 1 for (x, y), (a, b) in steps)  # one walks from each to the next
        assert found.width <= width
        assert found.height <= height + 12


@pytest.mark.parametrize("edition", loader.shipped())
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_edition_is_drawn_within_its_size(edition: str, width: int, height: int) -> None:
    s = position("ann", "bob", edition=edition, turn="ann")
    found = ring.fit(s.rules.fields_n, width, height, most_height=height + 12)
    teller = Teller(s)
    say = screen(teller.words.language)
    names = [field.name for field in s.rules.fields]
    lots = [at for at in range(s.rules.fields_n) if s.rules.price[at]]
    for picked in (-1, lots[0]):
        middle = board.card(s, picked, teller, say) if picked >= 0 else board.standing(s, teller, say)
        lines = board.draw(s, found, names, picked, middle).plain.splitlines()
        assert len(lines) == found.height
        assert {cell_len(line) for line in lines} == {found.width}


def test_a_position_tells_owners_buildings_and_figures() -> None:
    s = position(
        *("ann", "bob"), edition="globopoly", turn="ann", owns={"bob": (21, 23, 24, 5)}, buildings={21: 2, 23: 2, 24: 2}
    )
    found = ring.fit(s.rules.fields_n, 130, 30)
    names = [field.name for field in s.rules.fields]
    drawn = board.draw(s, found, names, -1, []).plain
    assert "B2" in drawn
    assert "Paris" in drawn
    assert colours.letter(0) in drawn
    teller = Teller(s)
    players = seats.draw(s, 0, 40, teller, screen("en"), lambda seat: 12.0 if seat == 0 else None).plain.splitlines()
    assert players[0].startswith("»A ann")
    assert players[0].endswith(teller.money(s.cash[0]))
    assert "12 s" in players[1]
    assert players[3].strip().startswith("=222") or "222" in players[3]


def test_an_auction_stands_in_the_middle() -> None:
    s = do(position("ann", "bob", turn="ann"), "ann", act.Roll(), (1, 2))
    s = do(s, "ann", act.Decline())
    teller, say = Teller(s), screen("en")
    shown = [line.plain.strip() for line in board.auction(s, teller, say, 14.2)]
    assert shown == [f"Auction: {teller.field(3)}", "14 s", "no bid yet"]
    s = do(s, "bob", act.Bid(1, 20))
    s = do(s, "ann", act.Bid(1, 50))
    shown = [line.plain.strip() for line in board.auction(s, teller, say, 7.96)]
    assert shown[1:] == ["8.0 s", f"A ann {teller.money(50)}", f"B bob {teller.money(20)}"]


def test_colours_tell_apart() -> None:
    assert len({colours.of_set(number) for number in range(24)}) == 24
    assert len({colours.of_seat(seat) for seat in range(16)}) == 16
    assert len({colours.letter(seat) for seat in range(64)}) == 64
