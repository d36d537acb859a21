"""`omnipoly.scenarios.position` and `reach`: what is given, as a state; what cannot be reached, with its reason."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from omnipoly.rules import engine
from omnipoly.rules.state import FACTORY, FREE, Away, Phase, State
from omnipoly.scenarios import position as positions
from omnipoly.scenarios.errors import Unreachable, Unscripted
from omnipoly.scenarios.model import Given, Position, TableOptions, Throw
from omnipoly.scenarios.script import Script

NOW = 1_700_000_000_000
FOUR = ("ann", "bob", "cid", "dan")
NINE = tuple(f"p{number}" for number in range(9))


def state(
    edition: str = "tubbypoly",
    players: tuple[str, ...] = ("ann", "bob"),
    options: TableOptions | None = None,
    dice: list[Throw] | None = None,
    **given: Any,
) -> State:
    position = Position(
        edition=edition, players=players, options=options or TableOptions(), given=Given(**given) if given else None
    )
    made = positions.state_of(position, now_ms=NOW, entropy=Script(dice or []))
    engine.check(made)
    return made


def fault(edition: str = "tubbypoly", players: tuple[str, ...] = ("ann", "bob"), **given: Any) -> str:
    with pytest.raises(Unreachable) as caught:
        state(edition, players, **given)
    return str(caught.value)


def test_what_is_given_stands() -> None:
    s = state(
        turn="bob",
        round=3,
        cash={"ann": 500},
        at={"ann": 5},
        owns={"bob": (6, 8, 9, 12, 16, 18, 19)},
        mortgaged=(12,),
        buildings={16: 2, 18: 2, 19: 3},
        jailed={"bob": 1},
        held_cards={"ann": ("jail_free_chest",)},
        laps={"ann": 2},
    )
    assert (s.turn, s.round, s.phase, s.order) == (1, 3, Phase.THROW, [0, 1])
    assert (s.cash, s.bank) == ([500, 1500], 2000)
    assert s.position == [5, 10]
    assert s.jailed == [FREE, 1]
    assert [field for field, owner in enumerate(s.owner) if owner == 1] == [6, 8, 9, 12, 16, 18, 19]
    assert s.lots == [0, 7]
    assert s.mortgaged[12]
    assert (s.level[16], s.level[19]) == (2, 3)
    assert s.cards == [("jail_free_chest",), ()]
    assert s.laps == [2, 0]
    assert (s.started_ms, s.now_ms, s.host, s.dev, s.commitment) == (NOW, NOW, "ann", True, "")
    assert (s.prompt[0], s.prompt[1] > 0, s.deadline_ms[1]) == (0, True, NOW + 45_000)


def test_a_scripted_deck_is_known_and_the_rest_is_not() -> None:
    s = state(turn="ann", held_cards={"ann": ("jail_free_chance",)}, deck={"chance": ("back_three", "to_start")})
    chance, chest = s.rules.deck_numbers["chance"], s.rules.deck_numbers["chest"]
    assert s.unseen[chance] == ()
    assert s.returned[chance][:3] == ("back_three", "to_start", "to_dearest")
    assert sorted((*s.returned[chance], "jail_free_chance")) == sorted(card.id for card in s.rules.decks[chance])
    assert s.returned[chest] == ()
    assert len(s.unseen[chest]) == 17


def test_people() -> None:
    s = state(players=FOUR, turn="dan", away=("bob",), disconnected=("cid",), bots=("ann",))
    assert (s.bot, s.holder[0], s.name[0], s.host) == ([True, False, False, False], "bot:0", "ann", "bob")
    assert s.away == [Away.NO, Away.MISSED, Away.CLOSED, Away.NO]
    assert s.connected == [False, True, False, True]
    assert s.paused_ms == 0
    assert state(turn="ann", disconnected=("ann", "bob")).paused_ms == NOW


def test_the_clock_of_somebody_away_is_short() -> None:
    assert state(turn="ann", away=("ann",)).deadline_ms[0] == NOW + 2000


def test_the_casino_and_a_factory() -> None:
    s = state("laspoly", turn="ann", casino=900, owns={"ann": (37, 1, 3)}, buildings={37: FACTORY, 1: 1})
    assert (s.casino, s.bank, s.factories) == (900, 3500, [1, 0])


def test_a_position_travels_as_json() -> None:
    given = Given(turn="ann", buildings={6: 2}, owns={"ann": (6, 8)}, deck={"chance": ("to_start",)})
    position = Position(edition="laspoly", players=("ann", "bob"), options=TableOptions(pin="0123"), given=given)
    assert msgspec.json.decode(msgspec.json.encode(position), type=Position) == position


def test_doubles_belong_to_the_turn() -> None:
    assert state(turn="ann", doubles=2).doubles == 2


@pytest.mark.parametrize(
    ("edition", "players", "board"),
    [
        ("tubbypoly", 2, "ring40"),
        ("tubbypoly", 8, "ring40"),
        ("tubbypoly", 9, "ring56"),
        ("tubbypoly", 16, "ring72"),
        ("tubbypoly/ring56", 2, "ring56"),
        ("globopoly/quick", 2, "ring40"),
    ],
)
def test_the_ring_is_that_of_the_players_or_the_one_named(edition: str, players: int, board: str) -> None:
    s = state(edition, tuple(f"p{number}" for number in range(players)), turn="p0")
    assert s.rules.board.id == board


# --- right after Start ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"round": 1}])
def test_without_turn_the_order_is_thrown_for(given: dict[str, Any]) -> None:
    s = state(**given)
    assert (s.phase, s.turn, s.order, s.round) == (Phase.ORDER, -1, [], s.round)
    assert all(s.prompt)
    assert s.cash == [1500, 1500]


def test_without_turn_the_first_begins_where_nobody_throws_for_it() -> None:
    assert (state("rugpull").turn, state("rugpull", cash={"bob": 3}).turn) == (0, 0)
    assert (state("laspoly").turn, state("laspoly").order) == (0, [0, 1])
    assert state("laspoly", cash={"bob": 3}).phase is Phase.THROW


def test_a_big_table_throws_at_start_and_is_dealt() -> None:
    dice = [Throw(1, 1), *[Throw(6, number) for number in range(1, 7)], Throw(5, 5), Throw(5, 4)]
    with pytest.raises(Unscripted):
        state(players=NINE)
    s = state(players=NINE, dice=[*dice, Throw(1, 2), Throw(2, 3), Throw(1, 4), Throw(1, 5)])
    assert s.phase is Phase.THROW
    assert s.lots == [1] * 9
    assert s.owner[1] == s.turn


def test_a_position_at_a_big_table_throws_and_deals_nothing() -> None:
    s = state(players=NINE, cash={"p1": 5})
    assert (s.turn, s.order, s.phase) == (0, list(range(9)), Phase.THROW)
    assert s.lots == [0] * 9


def test_bots_start_too() -> None:
    assert all(state("rugpull", bots=("ann", "bob")).bot)


# --- options ----------------------------------------------------------------------------------------------------------


def test_options_fill_in_the_defaults() -> None:
    options = TableOptions(start_cash=2000, clock=20, round_limit=30, pin="1234", viewers_chat=True)
    chosen = state(options=options, turn="ann").options
    assert (chosen.start_cash, chosen.clock_s, chosen.round_limit) == (2000, 20, 30)
    assert (chosen.private, chosen.viewers_chat, chosen.viewers_take_bots) == (True, True, False)
    assert state(options=options, turn="ann").cash == [2000, 2000]


def test_the_time_limit_runs_from_start() -> None:
    assert state("globopoly/quick", turn="ann").limit_ms == NOW + 30 * 60_000
    s = state("globopoly/quick", turn="ann", options=TableOptions(time_limit=15))
    assert s.limit_ms == NOW + 15 * 60_000


@pytest.mark.parametrize(
    ("edition", "options", "reason"),
    [
        ("tubbypoly", {"clock": 44}, "options.clock: 44 is not one of 20, 30, 45, 60, 90"),
        ("tubbypoly", {"auto_claim": True}, "options.auto_claim: tubbypoly has no such option"),
        ("globopoly/quick", {"time_limit": 40}, "options.time_limit: 40 is not within 15 to 30"),
        ("laspoly", {"start_cash": 5}, "options.start_cash: laspoly has no such option"),
        ("rugpull", {"entry_fee": 10, "round_limit": 5}, "options.round_limit: a paid table"),
    ],
)
def test_options_that_the_edition_does_not_take(edition: str, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unreachable) as caught:
        state(edition, options=TableOptions(**options), turn="ann")
    assert str(caught.value).startswith(reason)


# --- what cannot be reached -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edition", "players", "reason"),
    [
        ("monopoly", ("ann", "bob"), "edition: there is no such edition"),
        ("tubbypoly/ring41", ("ann", "bob"), "edition: there is no mode or board"),
        ("globopoly", tuple("abcdef"), "players: globopoly takes 2 to 5 players, not 6"),
        ("tubbypoly", ("ann",), "players: tubbypoly takes 2 to 16 players, not 1"),
    ],
)
def test_no_such_table(edition: str, players: tuple[str, ...], reason: str) -> None:
    assert fault(edition, players, turn=players[0]).startswith(reason)
    with pytest.raises(Unreachable):
        state(edition, players)


SET = {"ann": (6, 8, 9)}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"round": 0}, "given.round: there is no round 0"),
        ({"round": 1001}, "given.round: there is no round 1001; the last one is 1000"),
        ({"turn": "", "round": 2}, "given.round: round 2 needs given.turn"),
        ({"doubles": 3}, "given.doubles: nobody throws again after 3"),
        ({"doubles": -1}, "given.doubles"),
        ({"turn": "", "doubles": 1}, "given.doubles: doubles belong to a turn"),
        ({"doubles": 1, "jailed": {"ann": 0}}, "given.doubles: ann is in jail"),
        ({"cash": {"ann": -1}}, "given.cash: ann cannot have -1"),
        ({"casino": -5}, "given.casino: no amount"),
        ({"at": {"ann": 40}}, "given.at: there is no field 40: ring40 has 0 to 39"),
        ({"at": {"ann": -1}}, "given.at: there is no field -1"),
        ({"at": {"ann": 30}}, "given.at: ann cannot stand on field 30"),
        ({"at": {"ann": 9}, "jailed": {"ann": 0}}, "given.at: ann is in jail, which is field 10, not 9"),
        ({"jailed": {"ann": 3}}, "given.jailed: ann cannot have failed 3 times"),
        ({"laps": {"ann": -1}}, "given.laps"),
        ({"owns": {"ann": (4,)}}, "given.owns: field 4 (Bath tax) cannot be owned"),
        ({"owns": {"ann": (44,)}}, "given.owns: there is no field 44"),
        ({"owns": {"ann": (6,), "bob": (6,)}}, "given.owns: field 6 (Rubber Duck Lane) is owned by ann and bob"),
        ({"owns": {"ann": (6, 6)}}, "given.owns: field 6 (Rubber Duck Lane) is owned by ann twice"),
        ({"mortgaged": (6,)}, "given.mortgaged: field 6 (Rubber Duck Lane) is mortgaged, but nobody owns it"),
        ({"owns": SET, "mortgaged": (6, 6)}, "given.mortgaged: a lot is mortgaged twice"),
        ({"owns": SET, "mortgaged": (6,), "buildings": {8: 1}}, "given.mortgaged: field 6 (Rubber Duck Lane) is mortg"),
        ({"buildings": {6: 1}}, "given.buildings: buildings on field 6 (Rubber Duck Lane), which nobody owns"),
        ({"owns": {"ann": (5,)}, "buildings": {5: 1}}, "given.buildings: field 5 (Tugboat) cannot be built on"),
        ({"owns": {"ann": (6, 8)}, "buildings": {6: 1}}, "given.buildings: buildings without a set: ann does not own"),
        ({"owns": {"ann": (6, 8), "bob": (9,)}, "buildings": {9: 1}}, "given.buildings: buildings without a set: bob"),
        (
            {"owns": SET, "buildings": {6: 2, 8: 1}},
            "given.buildings: ann cannot have built so unevenly: 6: 2, 8: 1, 9: 0",
        ),
        ({"owns": SET, "buildings": {6: FACTORY}}, "given.buildings: tubbypoly has no factories"),
        (
            {"held_cards": {"ann": ("doctor",)}},
            "given.held_cards: ann cannot hold 'doctor'; what can be held: jail_free",
        ),
        (
            {"held_cards": {"ann": ("jail_free_chest",), "bob": ("jail_free_chest",)}},
            "given.held_cards: 'jail_free_chest' is held by ann and bob",
        ),
        ({"deck": {"fate": ()}}, "given.deck: tubbypoly has the decks chest, chance, no 'fate'"),
        ({"deck": {"chest": ("back_three",)}}, "given.deck: chest: 'back_three' is no card of this deck"),
        ({"deck": {"chest": ("doctor", "doctor")}}, "given.deck: chest: 'doctor' lies there twice"),
        (
            {"deck": {"chest": ("jail_free_chest",)}, "held_cards": {"bob": ("jail_free_chest",)}},
            "given.deck: chest: 'jail_free_chest' is held by bob",
        ),
        ({"away": ("ann",), "bots": ("ann",)}, "given.away: ann is a bot"),
        ({"away": ("ann", "ann")}, "given.away: somebody is named twice"),
    ],
)
def test_what_tubbypoly_cannot_reach(given: dict[str, Any], reason: str) -> None:
    assert fault(**{"turn": "ann", **given}).startswith(reason)


@pytest.mark.parametrize(
    ("edition", "given", "reason"),
    [
        ("laspoly", {"cash": {"ann": 0}}, "given.cash: ann has 0, and with that is out"),
        ("globopoly", {"owns": {"ann": (6, 8)}, "buildings": {6: 1}}, "given.buildings: buildings without a set"),
        ("globopoly/quick", {"owns": {"ann": (6, 8, 9)}, "mortgaged": (6,), "buildings": {6: 1}}, "given.mortgaged"),
        ("rugpull", {"owns": {"ann": (1, 3)}, "mortgaged": (1,), "buildings": {3: 2}}, "given.buildings: ann cannot"),
        ("laspoly", {"owns": {"ann": (6, 8)}, "buildings": {6: 2}}, "given.buildings: buildings without a set"),
    ],
)
def test_what_other_editions_cannot_reach(edition: str, given: dict[str, Any], reason: str) -> None:
    assert fault(edition, turn="ann", **given).startswith(reason)


@pytest.mark.parametrize(
    ("edition", "given"),
    [
        # quick: two of a group, any order, and a bare city may have been traded away since
        ("globopoly/quick", {"owns": {"ann": (6, 8)}, "buildings": {6: 5}}),
        ("globopoly/quick", {"owns": {"ann": (6,)}, "buildings": {6: 3}}),
        # any city without buildings of its own
        ("globopoly", {"owns": {"ann": (6, 8, 9)}, "mortgaged": (6,), "buildings": {8: 1}}),
        # only the lot itself must be free of a mortgage
        ("rugpull", {"owns": {"ann": (1, 3)}, "mortgaged": (1,), "buildings": {3: 1}}),
        # the bare lot of the set was traded away, or sold
        ("rugpull", {"owns": {"ann": (1,)}, "buildings": {1: 1}}),
        ("laspoly", {"owns": {"ann": (6, 8)}, "buildings": {6: 1, 8: FACTORY}}),
        # a factory counts as complete
        ("laspoly", {"owns": {"ann": (6, 8, 9)}, "buildings": {6: FACTORY, 8: 4, 9: 5}}),
        ("laspoly", {"owns": {"ann": (39,)}, "buildings": {39: 5}}),
        ("tubbypoly", {"owns": {"ann": (6, 8, 9)}, "buildings": {6: 5, 8: 4, 9: 5}}),
        ("tubbypoly", {"cash": {"ann": 0}}),
    ],
)
def test_what_can_be_reached(edition: str, given: dict[str, Any]) -> None:
    state(edition, turn="ann", **given)


def test_a_paid_table_has_no_bots() -> None:
    with pytest.raises(Unreachable, match="a paid table has no bots"):
        state("rugpull", options=TableOptions(entry_fee=10), turn="ann", bots=("bob",))
