"""Events of a turn: dice, moves, jail, cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..state import AUCTION, CHOICE, DEBT, FREE, LIQUIDATION, MOVED, PLAYING_OUT, THROW, Choice
from .base import Event

if TYPE_CHECKING:
    from ..state import State

_ABOVE_A_TURN = (DEBT, AUCTION, LIQUIDATION)
_NO_CHOICE = Choice.NONE


class OrderDecided(Event, frozen=True, gc=False, tag="order_decided"):
    """The order of play stands (TUB-ORDER)."""

    order: tuple[int, ...]

    def apply(self, s: State) -> None:
        s.order = list(self.order)


class TurnStarted(Event, frozen=True, gc=False, tag="turn_started"):
    """A turn begins; all that belongs to a turn begins afresh with it (CORE-NEXT)."""

    seat: int
    round: int

    def apply(self, s: State) -> None:
        if self.round != s.round or s.rules.offers_by_turn:
            s.offers_made = [0] * len(s.offers_made)
        s.turn = self.seat
        s.round = self.round
        s.doubles = 0
        s.again = s.jump = s.ride = s.turn_over = False
        s.jail_throws = 0
        s.choice = _NO_CHOICE
        phases = s.phases
        if len(phases) == 1:
            s.phases = _THROW
        else:
            # an auction that ran or debts of others outlive the turn of somebody who went out
            s.phases = (THROW, *(phase for phase in phases[1:] if phase in _ABOVE_A_TURN))


class DiceThrown(Event, frozen=True, gc=False, tag="dice_thrown"):
    """A throw of the dice, under its running number: for the order, to walk, for a double in jail, or for a rent."""

    seat: int
    number: int
    dice: tuple[int, int]
    speed: Literal["", "1", "2", "3", "city", "choice"] = ""
    purpose: Literal["walk", "order", "jail", "utility"] = "walk"

    def apply(self, s: State) -> None:
        s.thrown = self.number
        purpose = self.purpose
        if purpose == "walk":
            s.dice = self.dice
            s.speed = self.speed
            s.steps = self.dice[0] + self.dice[1]
            s.again = double = self.dice[0] == self.dice[1]
            if double:
                s.doubles += 1
            s.phases = _PLAYING_OUT
        elif purpose == "jail":
            s.dice = self.dice
            s.speed = ""
            s.steps = self.dice[0] + self.dice[1]
            s.again = False
            s.phases = _PLAYING_OUT
        elif purpose == "order":
            s.throws[self.seat] += (self.dice[0] + self.dice[1],)


class Moved(Event, frozen=True, gc=False, tag="moved"):
    """A seat's figure goes from one field to another."""

    seat: int
    origin: int
    field: int
    way: Literal["walk", "card", "back", "jump", "ride", "teleport"]
    lap: bool
    """Start was passed or reached, so that a lap is complete."""

    def apply(self, s: State) -> None:
        s.position[self.seat] = self.field
        if self.lap:
            s.laps[self.seat] += 1
        if s.rules.trains:
            s.ride = self.way != "ride" and self.field in s.rules.transports


class StepsTaken(Event, frozen=True, gc=False, tag="steps_taken"):
    """How many fields the throw carries: what a utility's rent multiplies."""

    steps: int
    jump: bool
    """A city jump follows once the move is played out."""

    def apply(self, s: State) -> None:
        s.steps = self.steps
        s.jump = self.jump


class TripletThrown(Event, frozen=True, gc=False, tag="triplet_thrown"):
    """Three of a kind: no double (GLO-Q-TRIPLET)."""

    steps: int

    def apply(self, s: State) -> None:
        s.steps = self.steps
        s.again = False
        s.doubles -= 1


class ChoiceOffered(Event, frozen=True, gc=False, tag="choice_offered"):
    """The turn owner is asked for steps, a field, or a ride."""

    seat: int
    choice: Choice

    def apply(self, s: State) -> None:
        s.choice = self.choice
        if self.choice is Choice.TRAVEL:
            s.ride = False
        s.phases = (*s.phases, CHOICE)


class ChoiceMade(Event, frozen=True, gc=False, tag="choice_made"):
    """The choice was answered; what follows from it stands in the events behind."""

    seat: int

    def apply(self, s: State) -> None:
        s.choice = _NO_CHOICE
        s.phases = s.phases[:-1]


class ThrowPlayed(Event, frozen=True, gc=False, tag="throw_played"):
    """The throw is played out: a further one is due, or the turn can be ended."""

    seat: int
    again: bool

    def apply(self, s: State) -> None:
        s.again = s.jump = s.ride = False
        s.phases = _THROW if self.again else _MOVED


class Jailed(Event, frozen=True, gc=False, tag="jailed"):
    """A seat goes to jail: its turn ends, its doubles are forgotten (CORE-DOUBLE)."""

    seat: int
    why: Literal["doubles", "field", "card"]

    def apply(self, s: State) -> None:
        s.position[self.seat] = s.rules.jail
        s.jailed[self.seat] = 0
        s.doubles = 0
        s.again = s.jump = s.ride = False
        s.turn_over = True


class TryFailed(Event, frozen=True, gc=False, tag="try_failed"):
    """A throw in jail was no double."""

    seat: int
    tries: int
    """Failed tries (turns) so far, this one included once all its throws are made."""
    throws: int
    """Failed throws in this turn."""

    def apply(self, s: State) -> None:
        s.jailed[self.seat] = self.tries
        s.jail_throws = self.throws


class Released(Event, frozen=True, gc=False, tag="released"):
    """A seat is out of jail."""

    seat: int
    how: Literal["double", "bail", "card", "last_try"]

    def apply(self, s: State) -> None:
        s.jailed[self.seat] = FREE


class CardDrawn(Event, frozen=True, gc=False, tag="card_drawn"):
    """A card is drawn from the top of a deck (CORE-CARD); what it does stands in the events behind."""

    seat: int
    deck: str
    card: str
    number: int
    """The running number of draws from this deck."""

    def apply(self, s: State) -> None:
        deck = s.rules.deck_numbers[self.deck]
        s.draws[deck] = self.number
        unseen, returned = s.unseen[deck], s.returned[deck]
        if unseen:
            at = unseen.index(self.card)
            s.unseen[deck] = unseen[:at] + unseen[at + 1 :]
        else:
            returned = returned[1:]
        if self.card in s.rules.jail_free:
            s.cards[self.seat] += (self.card,)
            s.returned[deck] = returned
        else:
            s.returned[deck] = (*returned, self.card)


class CardReturned(Event, frozen=True, gc=False, tag="card_returned"):
    """A jail-free card goes from a hand to the bottom of its own deck."""

    seat: int
    card: str

    def apply(self, s: State) -> None:
        hand = s.cards[self.seat]
        at = hand.index(self.card)
        s.cards[self.seat] = hand[:at] + hand[at + 1 :]
        deck = s.rules.jail_free[self.card]
        s.returned[deck] += (self.card,)


_THROW = (THROW,)
_PLAYING_OUT = (PLAYING_OUT,)
_MOVED = (MOVED,)
