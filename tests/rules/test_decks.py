"""CORE-CARD: whole decks drawn through, where a scenario would need a game of a hundred throws."""

from __future__ import annotations

import random

import pytest

from omnipoly.rules import cards, engine, jail
from omnipoly.rules.actions import UseCard
from omnipoly.rules.draft import Draft
from omnipoly.rules.entropy import FairEntropy
from omnipoly.rules.state import State
from omnipoly.scenarios.script import Script
from tests.rules.positions import do, table

CHEST = tuple(card.id for card in table(turn="ann").rules.decks[0])


def _draw(s: State, deck: str, seat: int = 0, entropy: object = None) -> str:
    """Draw one card and say which it was."""
    draft = Draft(s, entropy or Script())  # type: ignore[arg-type]
    cards.draw(draft, seat, deck)
    drawn = [event.card for event in draft.events if type(event).__name__ == "CardDrawn"]  # type: ignore[attr-defined]
    s.jailed[seat] = -1
    return str(drawn[0]) if drawn else ""


def _order(deck: tuple[str, ...]) -> State:
    s = table(turn="ann", deck={"chest": deck}, cash={"ann": 9999, "bob": 9999, "cid": 9999})
    assert s.returned[s.rules.deck_numbers["chest"]] == deck
    return s


def test_a_deck_is_gone_through_in_its_order_again_and_again() -> None:
    """CORE-CARD: from the top, a drawn card to the bottom; held ones are left out."""
    deck = tuple(random.Random(1).sample(CHEST, len(CHEST)))
    s = _order(deck)
    assert tuple(_draw(s, "chest") for _ in deck) == deck
    left = tuple(card for card in deck if card != "jail_free_chest")
    assert tuple(_draw(s, "chest", 1) for _ in left) == left
    assert s.cards[0] == ("jail_free_chest",)


def test_a_used_card_lies_at_the_bottom_of_its_own_deck() -> None:
    """CORE-CARD, CORE-JAIL, fault 22: also when another deck's card was got later."""
    s = table(turn="ann", jailed={"ann": 0}, held_cards={"ann": ("jail_free_chance", "jail_free_chest")})
    s = do(s, "ann", UseCard())
    chance, chest = s.rules.deck_numbers["chance"], s.rules.deck_numbers["chest"]
    assert (s.returned[chance], s.returned[chest], s.cards[0]) == (("jail_free_chance",), (), ("jail_free_chest",))


def test_the_cards_of_somebody_bankrupt_to_the_bank_lie_at_the_bottom() -> None:
    """CORE-BANKRUPT, fault 22."""
    from omnipoly.rules.actions import Leave

    s = table(turn="bob", held_cards={"ann": ("jail_free_chest", "jail_free_chance")})
    s = do(s, "ann", Leave())
    assert s.cards == [(), (), ()]
    assert [s.returned[number][-1] for number in range(2)] == ["jail_free_chest", "jail_free_chance"]


def test_a_card_given_back_is_drawn_last() -> None:
    """CORE-CARD: a card that nobody held when the deck was shuffled waits for all the others."""
    s = _order(("jail_free_chest", *(card for card in CHEST if card != "jail_free_chest")))
    assert _draw(s, "chest") == "jail_free_chest"
    s.jailed[0] = 0
    jail.use_card(Draft(s, Script()), 0, UseCard())
    assert [_draw(s, "chest") for _ in CHEST][-1] == "jail_free_chest"


def test_a_deck_whose_cards_are_all_in_hands_gives_none() -> None:
    """CORE-CARD: nothing happens, nothing is made up."""
    s = table(turn="ann", held_cards={"bob": ("jail_free_chest",)})
    chest = s.rules.deck_numbers["chest"]
    s.unseen[chest] = s.returned[chest] = ()
    assert _draw(s, "chest") == ""


@pytest.mark.parametrize("seed", range(5))
def test_a_shuffled_deck_shows_every_card_once_before_any_again(seed: int) -> None:
    """CORE-CARD: shuffled once; no draw shows a held card."""
    s = table(turn="ann", cash={"ann": 9999, "bob": 9999, "cid": 9999})
    entropy = FairEntropy(seed.to_bytes(32, "big"), ())
    first = [_draw(s, "chest", 0, entropy) for _ in CHEST]
    assert sorted(first) == sorted(CHEST)
    second = [_draw(s, "chest", 1, entropy) for _ in range(len(CHEST) - 1)]
    assert second == [card for card in first if card != "jail_free_chest"]
    engine.check(_without_debts(s))


def _without_debts(s: State) -> State:
    """The draws above go on where a game would wait for payments: settle what they left open."""
    s.debts = ()
    s.phases = (s.phases[0],)
    return s
