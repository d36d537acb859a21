"""`omnipoly.wire.views`: a state is its picture, and a picture from outside is a state or malformed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnipoly.rules import engine
from omnipoly.rules.state import State
from omnipoly.wire import views
from omnipoly.wire.gen.game.v1 import view_pb2
from omnipoly.wire.malformed import Malformed
from tests.wire import games, values

EDITIONS = ["tubbypoly", "rugpull", "globopoly/classic", "globopoly/quick", "laspoly"]
TUBBYPOLY = games.game("tubbypoly")
STEPS = list(games.play("tubbypoly", 2, 2, 5, 300))


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_state_of_a_game_comes_back_as_it_was(edition: str) -> None:
    phases = set()
    for version, step in enumerate(games.play(edition, 3, 1, 11, 300), 1):
        picture = views.decode(views.encode(step.state, version, 3), games.game(edition))
        assert picture.state == step.state
        assert picture.state.rules is step.state.rules
        assert (picture.version, picture.epoch) == (version, 3)
        engine.check(picture.state)
        phases.add(step.state.phase)
    assert len(phases) > 4


def test_a_big_table_comes_back_as_it_was() -> None:
    for step in games.play("tubbypoly", 10, 5, 2, 30):
        assert views.decode(views.encode(step.state, 1, 1), TUBBYPOLY).state == step.state


def test_an_empty_table_comes_back_as_it_was() -> None:
    for edition in EDITIONS:
        state = engine.blank(games.game(edition).first)
        assert views.decode(views.encode(state, 0, 1), games.game(edition)).state == state


@pytest.mark.parametrize("attribute", [name for name in views._PLAIN if name not in ("order", "places", "phases")])
def test_each_attribute_comes_back_whatever_it_is(attribute: str) -> None:
    hints = views.hints_of(State)

    @settings(max_examples=40)
    @given(values.of_type(hints[attribute], attribute))
    def comes_back(value: object) -> None:
        state = STEPS[-1].state.copy()
        setattr(state, attribute, value)
        view = views.to_view(state, 1, 1)
        read = views._read_all(view, view.seats, view.seats, view.fields, view.decks, view_pb2.AuctionView())
        assert read[attribute] == value

    comes_back()


def test_a_draft_of_the_picture_does_not_touch_it() -> None:
    state = views.decode(views.encode(STEPS[-1].state, 1, 1), TUBBYPOLY).state
    before = msgspec.structs.replace(state, cash=list(state.cash))
    state.copy().cash[0] += 1
    assert state == before


def test_nothing_secret_is_in_a_picture_before_the_end() -> None:
    shown = views.to_view(STEPS[20].state, 1, 1)
    assert shown.seed == ""
    assert games.SEED.hex() not in str(shown)
    assert games.SEED not in shown.SerializeToString()


def other_edition(view: view_pb2.TableView) -> None:
    view.digest = "0" * 64


def other_ring(view: view_pb2.TableView) -> None:
    view.board = "ring41"


def a_field_less(view: view_pb2.TableView) -> None:
    del view.fields[3]


def a_deck_less(view: view_pb2.TableView) -> None:
    del view.decks[0]


def fields_in_the_lobby(view: view_pb2.TableView) -> None:
    view.in_play = False


def nobody(view: view_pb2.TableView) -> None:
    del view.seats[:]


def no_phase(view: view_pb2.TableView) -> None:
    del view.phases[:]


def new_phase(view: view_pb2.TableView) -> None:
    view.phases.append(99)  # type: ignore[arg-type]


def strange_owner(view: view_pb2.TableView) -> None:
    view.fields[1].owner = 9


def owned_start(view: view_pb2.TableView) -> None:
    view.fields[0].owner = 0


def skyscraper(view: view_pb2.TableView) -> None:
    view.fields[1].level = 7


def off_the_ring(view: view_pb2.TableView) -> None:
    view.seats[0].position = 40


def below_free(view: view_pb2.TableView) -> None:
    view.seats[0].jailed = -2


def strange_card_in_hand(view: view_pb2.TableView) -> None:
    view.seats[0].cards.append("to_start")


def strange_card_in_deck(view: view_pb2.TableView) -> None:
    view.decks[0].unseen.append("seven_of_spades")


def other_deck(view: view_pb2.TableView) -> None:
    view.decks[0].deck = "tarot"


def strange_turn(view: view_pb2.TableView) -> None:
    view.turn = 4


def twice_in_order(view: view_pb2.TableView) -> None:
    view.order[0] = view.order[1]


def strange_debtor(view: view_pb2.TableView) -> None:
    view.debts.add(debt=1, debtor=-1, creditor=0, amount=1, reason=4)  # type: ignore[arg-type]


def strange_creditor(view: view_pb2.TableView) -> None:
    view.debts.add(debt=1, debtor=1, creditor=-3, amount=1, reason=4)  # type: ignore[arg-type]


def strange_lot_offered(view: view_pb2.TableView) -> None:
    view.offers.add(offer=1, proposer=0, receiver=1).give.fields.append(40)


def auction_off_the_ring(view: view_pb2.TableView) -> None:
    view.auction.lot = 40


def strange_bidder(view: view_pb2.TableView) -> None:
    view.auction.passed.append(63)


def bidder_of_no_table(view: view_pb2.TableView) -> None:
    view.auction.passed.append(2**31 - 1)


def three_dice(view: view_pb2.TableView) -> None:
    view.dice.append(1)


def a_place_too_many(view: view_pb2.TableView) -> None:
    view.places.append(1)


@pytest.mark.parametrize(
    "damage",
    [
        *(other_edition, other_ring, a_field_less, a_deck_less, fields_in_the_lobby, nobody, no_phase, new_phase),
        *(strange_owner, owned_start, skyscraper, off_the_ring, below_free, strange_card_in_hand, strange_card_in_deck),
        *(other_deck, strange_turn, twice_in_order, strange_debtor, strange_creditor, strange_lot_offered),
        *(auction_off_the_ring, strange_bidder, bidder_of_no_table, three_dice, a_place_too_many),
    ],
)
def test_what_no_table_can_be_is_malformed(damage: Callable[[view_pb2.TableView], None]) -> None:
    view = views.to_view(STEPS[200].state, 1, 1)
    assert views.from_view(view, TUBBYPOLY) == STEPS[200].state
    damage(view)
    with pytest.raises(Malformed):
        views.from_view(view, TUBBYPOLY)


@given(st.data())
def test_a_damaged_picture_is_read_or_malformed(data: st.DataObject) -> None:
    whole = views.encode(data.draw(st.sampled_from(STEPS)).state, 1, 1)
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + data.draw(st.integers(0, 2)) :]
    with contextlib.suppress(Malformed):
        state = views.decode(damaged, TUBBYPOLY).state
        views.encode(state, 1, 1)
