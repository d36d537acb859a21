"""The state that a scenario begins at: what is given, on a table of its edition.

Everything counts as paid out by the bank, as start money does, so that money is conserved from the first step on. What
the rules cannot reach is refused by ``reach`` before anything is made.
"""

from __future__ import annotations

import functools

import msgspec

from omnipoly.editions import loader
from omnipoly.editions.model import BoolOption, IntOption
from omnipoly.editions.problems import EditionError
from omnipoly.rules import actions, engine, lobby, seats
from omnipoly.rules.entropy import Entropy
from omnipoly.rules.events import lots, money, table
from omnipoly.rules.events.base import Reason
from omnipoly.rules.ring import Game, Rules
from omnipoly.rules.state import BANK, CASINO, Away, Options, Phase, State

from . import reach
from .errors import Unreachable
from .model import Given, Position, TableOptions

_NAMES = {"clock": "clock_s", "time_limit": "time_limit_min"}
"""Options whose name in a state carries its unit."""


@functools.lru_cache(maxsize=64)
def game(edition: str) -> Game:
    """The compiled edition of a scenario (``edition[/board-or-mode]``). Raises ``Unreachable``."""
    try:
        return Game(loader.edition(edition))
    except EditionError as error:
        raise Unreachable("edition", "; ".join(map(str, error.problems)) or str(error)) from error


def ring(position: Position) -> Rules:
    """The ring for the players of a position. Raises ``Unreachable``."""
    of = game(position.edition)
    try:
        return of.ring_for(len(position.players))
    except KeyError as error:
        reason = f"{position.edition} takes {of.least_seats} to {of.most_seats} players, not {len(position.players)}"
        raise Unreachable("players", reason) from error


def draft(position: Position, *, now_ms: int, entropy: Entropy) -> engine.Draft:
    """The state of a position, as the draft it was made in: what happened at Start is in its events.

    Raises ``Unreachable`` for what the rules cannot reach, ``Unscripted`` when Start needs a throw that is not there.
    """
    rules = ring(position)
    chosen = options(rules, position.options)
    given = position.given
    if given is not None:
        reach.check(position, rules, chosen)
    made = engine.Draft(engine.blank(rules), entropy)
    made.state.now_ms = made.state.last_move_ms = now_ms
    _seat(made, position, chosen)
    if given is None:
        _start(made, position, now_ms)
    else:
        _give(made, position, given, now_ms)
        engine.settle(made)
    return made


def state_of(position: Position, *, now_ms: int, entropy: Entropy) -> State:
    """The state of a position. Raises as ``draft`` does."""
    return draft(position, now_ms=now_ms, entropy=entropy).state


# --- options ----------------------------------------------------------------------------------------------------------


def options(rules: Rules, named: TableOptions) -> Options:
    """The host's options with every default filled in.

    Raises ``Unreachable`` for one that the edition does not take.
    """
    allowed = rules.edition.options
    changes: dict[str, int | bool] = {}
    for name in TableOptions.__struct_fields__:
        wanted: int | bool | None = getattr(named, name)
        if name == "pin" or wanted is None:
            continue
        option: IntOption | BoolOption | None = getattr(allowed, name)
        if option is None:
            raise Unreachable(f"options.{name}", f"{rules.edition.id} has no such option")
        if isinstance(option, IntOption):
            _within(name, wanted, option)
        changes[_NAMES.get(name, name)] = wanted
    if changes.get("entry_fee"):
        for name in ("round_limit", "viewers_take_bots"):
            if changes.get(name):
                raise Unreachable(f"options.{name}", "a paid table has no round limit and no takeover (RUG-WIN)")
    return msgspec.structs.replace(lobby.default_options(rules.game), private=named.pin is not None, **changes)


def _within(name: str, wanted: int, option: IntOption) -> None:
    if wanted == option.default or wanted in option.values:
        return
    if option.values:
        raise Unreachable(f"options.{name}", f"{wanted} is not one of {', '.join(map(str, option.values))}")
    if option.range is not None and not option.range[0] <= wanted <= option.range[1]:
        raise Unreachable(f"options.{name}", f"{wanted} is not within {option.range[0]} to {option.range[1]}")


# --- the table --------------------------------------------------------------------------------------------------------


def _seat(made: engine.Draft, position: Position, chosen: Options) -> None:
    """Open the table and take the seats, in seating order; the first person is the host."""
    bots = position.given.bots if position.given is not None else ()
    host = next((name for name in position.players if name not in bots), "")
    edition = made.state.rules.edition
    made.emit(table.TableOpened("", edition.id, edition.digest, host, chosen, "", True))
    for seat, name in enumerate(position.players):
        bot = name in bots
        made.emit(table.SeatTaken(seat, seats.next_bot_id(made.state) if bot else name, name, bot))


def _start(made: engine.Draft, position: Position, now_ms: int) -> None:
    """Start as the host would; what that throws, draws and deals is scripted."""
    made.events.clear()
    refused = engine.act(made, position.players[0], actions.Start(), now_ms=now_ms)
    if refused is not None:
        raise Unreachable("players", f"the game cannot be started: {refused.code}")


def _give(made: engine.Draft, position: Position, given: Given, now_ms: int) -> None:
    """Put everything where the position says; money, lots and buildings through the events that keep the counters."""
    s = made.state
    limit_ms = now_ms + s.options.time_limit_min * 60_000 if s.options.time_limit_min else 0
    made.emit(table.GameStarted(s.rules.board.id, s.options, now_ms, limit_ms))
    seat_of = {name: seat for seat, name in enumerate(position.players)}
    for name, seat in seat_of.items():
        _pay(made, seat, given.cash.get(name, s.options.start_cash))
        for field in given.owns.get(name, ()):
            made.emit(lots.LotMoved(field, seat, "dealt"))
    _pay(made, CASINO, given.casino)
    for field in given.mortgaged:
        made.emit(lots.MortgageChanged(s.owner[field], field, True))
    for field, level in given.buildings.items():
        made.emit(lots.LevelChanged(s.owner[field], field, level))
    for name, field in given.at.items():
        s.position[seat_of[name]] = field
    for name, tries in given.jailed.items():
        s.jailed[seat_of[name]] = tries
        s.position[seat_of[name]] = s.rules.jail
    for name, laps in given.laps.items():
        s.laps[seat_of[name]] = laps
    for name, cards in given.held_cards.items():
        s.cards[seat_of[name]] = cards
    for name in (*given.away, *given.disconnected):
        s.away[seat_of[name]] = Away.CLOSED if name in given.disconnected else Away.MISSED
    for name in given.disconnected:
        s.connected[seat_of[name]] = False
    _decks(s, given)
    _turn(s, given, seat_of)


def _pay(made: engine.Draft, payee: int, amount: int) -> None:
    if amount:
        made.emit(money.Paid(BANK, payee, amount, Reason.POSITION))


def _decks(s: State, given: Given) -> None:
    """Held cards are not in their deck; a scripted deck is known from top to bottom."""
    held = {card for cards in s.cards for card in cards}
    for number, deck in enumerate(s.rules.decks):
        left = tuple(card.id for card in deck if card.id not in held)
        top = given.deck.get(s.rules.deck_names[number])
        if top is None:
            s.unseen[number] = left
        else:
            s.unseen[number] = ()
            s.returned[number] = top + tuple(card for card in left if card not in top)


def _turn(s: State, given: Given, seat_of: dict[str, int]) -> None:
    """Who is about to throw. Without ``turn``, as right after Start: thrown for, where everybody throws for himself."""
    s.round = given.round
    if not given.turn and reach.throws_for_order(s.rules, s.seats):
        s.phases = (Phase.ORDER,)
        return
    s.order = list(range(s.seats))
    s.turn = seat_of[given.turn] if given.turn else 0
    s.doubles = given.doubles
    s.phases = (Phase.THROW,)
