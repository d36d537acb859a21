"""TUB-SETUP and what else happens before Start, where no scenario begins."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from omnipoly.editions import loader
from omnipoly.rules import engine, listing, lobby
from omnipoly.rules.actions import (
    Action,
    AddBot,
    CloseTable,
    Contribute,
    Disconnect,
    Join,
    Leave,
    ProposeEnd,
    Remove,
    ReplaceWithBot,
    Roll,
    SetOptions,
    Start,
    TakeSeat,
    Vote,
)
from omnipoly.rules.codes import Code
from omnipoly.rules.draft import Draft
from omnipoly.rules.entropy import FairEntropy
from omnipoly.rules.events import TableOpened
from omnipoly.rules.ring import Game
from omnipoly.rules.state import State

NOW_MS = 1_700_000_000_000


class Lobby:
    """A table before its start, opened and joined by ann."""

    def __init__(self, edition: str = "tubbypoly") -> None:
        game = Game(loader.edition(edition))
        self.draft = Draft(engine.blank(game.first), FairEntropy(bytes(32), ()))
        self.draft.state.now_ms = self.draft.state.last_move_ms = NOW_MS
        self.draft.emit(TableOpened("t", edition, "", "ann", lobby.default_options(game), "", dev=False))
        assert self.says("ann", Join("Ann")) is None

    def says(self, by: str, action: Action, after_s: int = 0) -> Code | None:
        """The code of the refusal, if there is one."""
        refused = engine.act(self.draft, by, action, now_ms=self.state.now_ms + after_s * 1000)
        return None if refused is None else refused.code

    @property
    def state(self) -> State:
        return self.draft.state


@pytest.mark.parametrize(
    ("edition", "options"),
    [
        ("tubbypoly", {"start_cash": 1000}),
        ("tubbypoly", {"start_cash": 3000, "clock_s": 90, "round_limit": 7}),
        ("tubbypoly", {"round_limit": 0, "viewers_take_bots": True, "viewers_chat": True, "private": True}),
        ("globopoly", {"auto_claim": True, "clock_s": 20}),
        ("globopoly/quick", {"time_limit_min": 15}),
        ("globopoly/quick", {"time_limit_min": 30}),
        ("rugpull", {"entry_fee": 10}),
        ("laspoly", {"clock_s": 60}),
    ],
)
def test_the_host_picks_what_the_edition_allows(edition: str, options: dict[str, Any]) -> None:
    """TUB-SETUP."""
    table = Lobby(edition)
    assert table.says("ann", SetOptions(**options)) is None
    assert all(getattr(table.state.options, name) == value for name, value in options.items())


@pytest.mark.parametrize(
    ("edition", "options"),
    [
        ("tubbypoly", {"start_cash": 1200}),
        ("tubbypoly", {"clock_s": 10}),
        ("tubbypoly", {"round_limit": -1}),
        ("tubbypoly", {"round_limit": 1001}),
        ("tubbypoly", {"auto_claim": True}),
        ("tubbypoly", {"time_limit_min": 15}),
        ("tubbypoly", {"entry_fee": 5}),
        ("globopoly", {"start_cash": 1500}),
        ("globopoly/quick", {"time_limit_min": 14}),
        ("globopoly/quick", {"time_limit_min": 31}),
        ("rugpull", {"clock_s": 45}),
        ("rugpull", {"entry_fee": 10, "round_limit": 5}),
        ("rugpull", {"entry_fee": 10, "viewers_take_bots": True}),
    ],
)
def test_what_the_edition_does_not_allow_changes_nothing(edition: str, options: dict[str, Any]) -> None:
    """TUB-SETUP, GLO-Q-TIME, RUG-WIN."""
    table = Lobby(edition)
    before = table.state.options
    assert table.says("ann", SetOptions(**options)) is Code.BAD_OPTION
    assert table.state.options == before


def test_defaults() -> None:
    """TUB-SETUP: 1500, 45 s, no limit; GLO-Q-TIME: 30 minutes; RUG-TURN: 60 s; LAS-SETUP: 1300."""
    options = {name: Lobby(name).state.options for name in ("tubbypoly", "globopoly/quick", "rugpull", "laspoly")}
    assert [(one.start_cash, one.clock_s, one.round_limit, one.time_limit_min) for one in options.values()] == [
        (1500, 45, 0, 0),
        (2000, 45, 0, 30),
        (1500, 60, 0, 0),
        (1300, 45, 0, 0),
    ]


def test_only_the_host_sets_up_and_starts() -> None:
    """TUB-SETUP."""
    table = Lobby()
    assert table.says("bob", Join("Bob")) is None
    for action in (SetOptions(clock_s=20), AddBot(), Start(), Remove(0)):
        assert table.says("bob", action) is Code.NOT_HOST
        assert table.says("vic", action) is Code.NOT_HOST


def test_two_seats_are_enough_to_start_one_is_not() -> None:
    """TUB-SETUP."""
    table = Lobby()
    assert table.says("ann", Start()) is Code.BAD_PARTNER
    assert table.says("ann", AddBot()) is None
    assert table.says("ann", Start()) is None
    assert (table.state.bot, table.state.cash, table.state.phase.label) == ([False, True], [1500, 1500], "order")
    assert table.says("ann", Start()) is Code.TABLE_STARTED
    assert table.says("ann", AddBot()) is Code.TABLE_STARTED
    assert table.says("ann", SetOptions(clock_s=20)) is Code.TABLE_STARTED
    assert table.says("bob", Join("Bob")) is Code.TABLE_STARTED
    assert table.says("ann", Contribute("x")) is Code.TABLE_STARTED


@pytest.mark.parametrize("option", ["viewers_chat", "viewers_take_bots", "private"])
def test_what_concerns_viewers_alone_may_be_changed_later(option: str) -> None:
    """TUB-PRIVATE, TUB-VIEWERS, TUB-TAKEOVER."""
    table = Lobby()
    assert table.says("bob", Join("Bob")) is None
    assert table.says("ann", Start()) is None
    for value in (True, False):
        assert table.says("bob", SetOptions(**{option: value})) is Code.NOT_HOST
        assert table.says("vic", SetOptions(**{option: value})) is Code.NOT_HOST
        assert table.says("ann", SetOptions(**{option: value, "clock_s": 20})) is Code.TABLE_STARTED
        before = table.state.options
        assert table.says("ann", SetOptions(**{option: value})) is None
        assert table.state.options == msgspec.structs.replace(before, **{option: value})
    assert table.says("ann", SetOptions()) is Code.TABLE_STARTED
    assert table.says("admin:root", CloseTable()) is None
    assert table.says("ann", SetOptions(**{option: True})) is Code.TABLE_CLOSED


def test_a_paid_table_has_no_takeovers_later_either() -> None:
    """RUG-WIN."""
    table = Lobby("rugpull")
    assert table.says("ann", SetOptions(entry_fee=10)) is None
    assert table.says("bob", Join("Bob")) is None
    assert table.says("ann", Start()) is None
    assert table.says("ann", SetOptions(viewers_take_bots=True)) is Code.BAD_OPTION
    assert table.says("ann", SetOptions(viewers_chat=True)) is None


def test_a_table_takes_as_many_as_its_largest_ring() -> None:
    """TUB-SETUP, TUB-ORDER, TUB-DEAL: sixteen, on ring72, dealt a lot each."""
    table = Lobby()
    for number in range(15):
        assert table.says(f"p{number}", Join(f"P{number}")) is None
    assert table.says("vic", Join("Vic")) is Code.TABLE_FULL
    assert table.says("ann", AddBot()) is Code.TABLE_FULL
    assert table.says("ann", Start()) is None
    assert (table.state.rules.board.id, table.state.lots, len(table.state.order)) == ("ring72", [1] * 16, 16)
    assert table.state.cash == [1500] * 16


def test_nobody_joins_twice() -> None:
    """CORE-SEAT."""
    assert Lobby().says("ann", Join("Ann")) is Code.BAD_PARTNER


def test_a_paid_table_has_no_bots() -> None:
    """RUG-WIN: neither added to one nor found at one."""
    table = Lobby("rugpull")
    assert table.says("ann", AddBot()) is None
    assert table.says("ann", SetOptions(entry_fee=10)) is Code.BAD_OPTION
    assert table.says("ann", Remove(1)) is None
    assert table.says("ann", SetOptions(entry_fee=10)) is None
    assert table.says("ann", AddBot()) is Code.BAD_OPTION
    assert table.says("ann", SetOptions(round_limit=5)) is Code.BAD_OPTION
    assert table.says("ann", SetOptions(viewers_take_bots=True)) is Code.BAD_OPTION


def test_who_gets_up_before_the_start_frees_the_seat_and_the_office() -> None:
    """CORE-HOST, TUB-LEAVE."""
    table = Lobby()
    for person in ("bob", "cid"):
        assert table.says(person, Join(person)) is None
    assert table.says("ann", Leave()) is None
    assert (table.state.holder, table.state.host) == (["bob", "cid"], "bob")
    assert table.says("ann", Leave()) is Code.NOT_SEATED
    assert table.says("ann", Join("Ann")) is None
    assert table.says("bob", Remove(1)) is None
    assert table.state.holder == ["bob", "ann"]
    assert table.says("bob", Remove(0)) is Code.BAD_PARTNER


def test_before_the_start_nothing_of_the_game_goes_on() -> None:
    """CORE-PHASE."""
    table = Lobby()
    for action in (Roll(), ProposeEnd(), Vote(yes=True), ReplaceWithBot(0), TakeSeat(0)):
        assert table.says("ann", action) is Code.WRONG_PHASE
    assert table.says("vic", ProposeEnd()) is Code.NOT_SEATED


def test_before_the_start_no_decision_is_open_that_could_be_answered() -> None:
    """CORE-PHASE: what names one answers one that is not open, also at a table without a single prompt."""
    table = Lobby()
    refused = engine.act(table.draft, "ann", Roll(), now_ms=table.state.now_ms, prompt=3)
    assert refused is not None
    assert refused.code is Code.STALE_PROMPT


def test_before_the_start_nobody_is_away_and_nothing_stands_still() -> None:
    """TUB-AFK, TUB-PAUSE."""
    table = Lobby()
    assert table.says("ann", Disconnect()) is None
    assert (table.state.connected, table.state.away, table.state.paused_ms) == ([False], [0], 0)


def test_an_hour_without_a_move_closes_a_table_that_was_never_started() -> None:
    """TUB-PAUSE."""
    table = Lobby()
    assert table.says("ann", SetOptions(clock_s=20), after_s=3599) is None
    assert table.says("ann", SetOptions(clock_s=30), after_s=3599) is None
    assert table.says("ann", SetOptions(clock_s=45), after_s=3600) is Code.TABLE_CLOSED
    assert (table.state.ended, table.state.places) == ("abandoned", [])


def test_the_admin_closes_a_table_before_its_start() -> None:
    """TUB-CLOSE."""
    table = Lobby()
    assert table.says("ann", CloseTable()) is Code.NOT_ADMIN
    assert table.says("admin:root", CloseTable()) is None
    assert table.says("bob", Join("Bob")) is Code.TABLE_CLOSED


def test_what_may_be_done_before_start_is_listed_as_everything_is() -> None:
    """CORE-LEGAL: for the host, and for somebody who only sits there."""
    table = Lobby()

    def listed(seat: int) -> set[str]:
        return {action.do for action in listing.legal_actions(table.state, seat, NOW_MS)}

    assert listed(0) == {"set_options", "add_bot", "contribute", "leave"}
    assert table.says("bob", Join("Bob")) is None
    assert listed(0) == {"set_options", "add_bot", "contribute", "leave", "start", "remove"}
    assert listed(1) == {"contribute", "leave"}
