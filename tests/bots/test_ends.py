"""Games that could go on for ever end (known fault 54)."""

from __future__ import annotations

import pytest

from omnipoly.bots.strategy import Bot
from omnipoly.bots.table import Table
from omnipoly.rules.actions import Accept, Action, Build, EndTurn, Mortgage, Offer, Refuse, Roll
from omnipoly.rules.ending import net_worth
from omnipoly.rules.events import LotMoved
from omnipoly.rules.state import NOBODY, State
from tests.bots.playing import game, table

LAST_ROUND = 1000


class Miser(Bot):
    """Neither builds nor trades."""

    def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
        action = super().decide(s, seat, now_ms)
        if isinstance(action, Accept):
            return Refuse(action.offer)
        if isinstance(action, Build | Offer | Mortgage):
            return Roll() if s.rules.choices.play.business == "before_throw" else EndTurn()
        return action


def _share_out(one: Table) -> None:
    """Every lot sold, no set in one hand: each seat gets every fourth lot of each set."""
    s = one.state
    for members in s.rules.sets:
        for at, field in enumerate(members):
            if s.owner[field] == NOBODY:
                one.draft.emit(LotMoved(field, at % s.seats, "dealt"))


@pytest.mark.parametrize("edition", ["tubbypoly", "rugpull", "globopoly/classic", "laspoly"])
def test_everybody_rich_and_no_set_complete_ends_after_the_last_round(edition: str) -> None:
    one = table(edition, [Miser(seat) for seat in range(4)], 1)
    _share_out(one)
    played = one.play()
    assert (played.why, played.rounds) == ("round_limit", LAST_ROUND)
    assert (played.refused, played.cut) == (0, 0)
    ranked = sorted(range(4), key=lambda seat: played.places[seat])
    worth = [net_worth(one.state, seat) for seat in ranked]
    assert worth == sorted(worth, reverse=True)


def test_bots_that_trade_end_the_same_position_sooner() -> None:
    for seed in range(4):
        one = table("tubbypoly", 4, seed)
        _share_out(one)
        played = one.play()
        assert played.why == "last_standing"
        assert played.trades > 0
    assert game("tubbypoly").edition.rules.play.last_round == LAST_ROUND
