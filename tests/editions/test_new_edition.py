"""A new edition made of known variants is one file and no code: it is written here, and played to its end."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from omnipoly.bots.strategy import Bot
from omnipoly.bots.table import Played, Table
from omnipoly.client import record
from omnipoly.editions import loader
from omnipoly.editions.model import Edition
from omnipoly.rules import engine, events
from omnipoly.rules.actions import Action
from omnipoly.rules.events import Event, kind_of
from omnipoly.rules.ring import Game
from omnipoly.wire import editions
from tests.cli.calling import call
from tests.editions import making


def _play(edition: Edition, seats: int, seed: int, seen: Counter[str], bids: list[events.BidMade]) -> Played:
    """One game, every invariant looked at after every action, its record told as well."""
    state = engine.blank(Game(edition).ring_for(seats))

    def watch(now_ms: int, actor: str, action: Action | None, happened: list[Event]) -> None:
        engine.enter(state, now_ms, actor)
        for event in happened:
            seen[kind_of(event)] += 1
            if isinstance(event, events.Moved):
                seen[f"moved {event.way}"] += 1
            elif isinstance(event, events.Paid):
                seen[f"paid {event.reason}"] += 1
            elif isinstance(event, events.BidMade):
                bids.append(event)
        for line in record.tell(state, happened):
            assert line.text

    return Table(edition, [Bot(seat) for seat in range(seats)], seed, check=True, watch=watch).play()


@pytest.mark.parametrize("seats", [2, 4, 6])
def test_trains_and_a_casino_with_another_games_auctions(tmp_path: Path, seats: int) -> None:
    edition = loader.load(making.nowhere(tmp_path))
    assert (edition.id, edition.title) == ("nowhere", "Middle of Nowhere")
    seen: Counter[str] = Counter()
    first, raises = set(), set()
    for seed in range(6):
        bids: list[events.BidMade] = []
        played = _play(edition, seats, seed, seen, bids)
        first |= set({bid.auction: bid.amount for bid in reversed(bids)}.values())
        raises |= {new.amount - old.amount for old, new in itertools.pairwise(bids) if old.auction == new.auction}
        assert played.why in ("last_standing", "round_limit")
        assert played.refused == played.cut == 0
    # Las Poly's ways …
    assert seen["paid casino_fee"] > 0
    assert seen["paid fare"] == seen["moved ride"] > 0
    # … Rug Pull's auctions …
    assert seen["auction_opened"] > 0
    assert first == {10}
    assert raises <= {10, 50, 100}
    # … and Globopoly's rents.
    assert seen["rent_claimable"] >= seen["rent_claimed"] > 0


@pytest.mark.parametrize("mode", ["plain", "fast"])
def test_a_short_file_is_enough(tmp_path: Path, mode: str) -> None:
    edition = loader.load(making.short(tmp_path), mode)
    seen: Counter[str] = Counter()
    for seed in range(6):
        assert _play(edition, 3, seed, seen, []).refused == 0
    assert (seen["moved jump"] > 0) == (mode == "fast")
    message = editions.to_proto(edition)
    assert message.boards[0].texts[0].text == "You find 1 penny."
    assert [row.amount for row in message.boards[0].fields[9].rent_table] == [18, 36, 90, 270, 720, 990, 1260, 0]


@pytest.mark.parametrize("make", [making.nowhere, making.short])
def test_it_is_simulated_as_the_shipped_ones_are(
    tmp_path: Path, make: Callable[[Path], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path)
    assert call("simulate", "--edition", path, "--games", "4", "--players", "3", "--jobs", "1", "--check") == 0
    assert "4 games in" in capsys.readouterr().out
