"""Positions that the rules cannot reach: each check names what is wrong, and where in the scenario it stands."""

from __future__ import annotations

from collections.abc import Iterator

from omnipoly.editions.model import Card
from omnipoly.rules.ring import Kind, Rules
from omnipoly.rules.state import FACTORY, Options

from .errors import Unreachable
from .model import Given, Position

_DOUBLES_TO_JAIL = 3


def throws_for_order(rules: Rules, seats: int) -> bool:
    """Whether a game of so many begins with everybody's own throw for the order of play (TUB-ORDER)."""
    turn = rules.choices.turn
    return turn.order == "thrown" and not (turn.order_at_once_at_big_tables and rules.big(seats))


def check(position: Position, rules: Rules, options: Options) -> None:
    """Refuse what the rules cannot reach. Raises ``Unreachable`` for the first thing found."""
    given = position.given
    if given is None:
        return
    for test in (_turn, _money, _places, _lots, _mortgages, _buildings, _cards, _people):
        test(position, given, rules, options)


# --- the turn ---------------------------------------------------------------------------------------------------------


def _turn(position: Position, given: Given, rules: Rules, options: Options) -> None:
    last = rules.round_limit(len(position.players), options.round_limit)
    if not 1 <= given.round <= last:
        raise Unreachable("given.round", f"there is no round {given.round}; the last one is {last}")
    if not 0 <= given.doubles < _DOUBLES_TO_JAIL:
        raise Unreachable("given.doubles", f"nobody throws again after {given.doubles} doubles")
    if given.doubles and not given.turn:
        raise Unreachable("given.doubles", "doubles belong to a turn, and given.turn names none")
    if given.doubles and given.turn in given.jailed:
        raise Unreachable("given.doubles", f"{given.turn} is in jail; going there ends the turn and its doubles")
    if not given.turn and throws_for_order(rules, len(position.players)) and given.round != 1:
        raise Unreachable("given.round", f"round {given.round} needs given.turn: before the first turn it is round 1")


def _money(position: Position, given: Given, rules: Rules, options: Options) -> None:
    for name, cash in given.cash.items():
        if cash < 0:
            raise Unreachable("given.cash", f"{name} cannot have {cash}: no amount is ever negative")
        if cash < rules.choices.debt.keep:
            raise Unreachable("given.cash", f"{name} has {cash}, and with that is out of the game (LAS-ZERO)")
    if given.casino < 0:
        raise Unreachable("given.casino", "no amount is ever negative")


def _places(position: Position, given: Given, rules: Rules, options: Options) -> None:
    for name, field in given.at.items():
        _field("given.at", field, rules)
        if rules.kind[field] is Kind.GO_TO_JAIL:
            raise Unreachable("given.at", f"{name} cannot stand on field {field}: it sends to jail")
        if name in given.jailed and field != rules.jail:
            raise Unreachable("given.at", f"{name} is in jail, which is field {rules.jail}, not {field}")
    tries = rules.choices.jail.tries
    for name, failed in given.jailed.items():
        if not 0 <= failed < tries:
            raise Unreachable("given.jailed", f"{name} cannot have failed {failed} times: the last try is the {tries}.")
    for name, laps in given.laps.items():
        if laps < 0:
            raise Unreachable("given.laps", f"{name} cannot have completed {laps} laps")


def _field(key: str, field: int, rules: Rules) -> None:
    if not 0 <= field < rules.fields_n:
        raise Unreachable(key, f"there is no field {field}: {rules.board.id} has 0 to {rules.fields_n - 1}")


# --- lots -------------------------------------------------------------------------------------------------------------


def _owners(given: Given) -> dict[int, str]:
    return {field: name for name, fields in given.owns.items() for field in fields}


def _lots(position: Position, given: Given, rules: Rules, options: Options) -> None:
    owner: dict[int, str] = {}
    for name, fields in given.owns.items():
        for field in fields:
            _field("given.owns", field, rules)
            if not rules.price[field]:
                raise Unreachable("given.owns", f"{_named(field, rules)} cannot be owned")
            if field in owner:
                both = f"{owner[field]} and {name}" if owner[field] != name else f"{name} twice"
                raise Unreachable("given.owns", f"{_named(field, rules)} is owned by {both}")
            owner[field] = name


def _mortgages(position: Position, given: Given, rules: Rules, options: Options) -> None:
    owner = _owners(given)
    for field in given.mortgaged:
        _field("given.mortgaged", field, rules)
        if field not in owner:
            raise Unreachable("given.mortgaged", f"{_named(field, rules)} is mortgaged, but nobody owns it")
    if len(set(given.mortgaged)) < len(given.mortgaged):
        raise Unreachable("given.mortgaged", "a lot is mortgaged twice")
    # a mortgage elsewhere in the set stands beside buildings only where one of the two may come second
    choices = rules.choices
    whole_set = choices.mortgage.unbuilt == "set" and choices.building.unmortgaged == "set"
    for field in given.mortgaged:
        members = rules.sets[rules.set_of[field]] if whole_set else (field,)
        built = [at for at in members if at in given.buildings and owner.get(at) == owner[field]]
        if built:
            reason = f"{_named(field, rules)} is mortgaged, with buildings on {_named(built[0], rules)}"
            raise Unreachable("given.mortgaged", reason)


def _buildings(position: Position, given: Given, rules: Rules, options: Options) -> None:
    owner = _owners(given)
    for field, level in given.buildings.items():
        _field("given.buildings", field, rules)
        if rules.kind[field] is not Kind.STREET:
            raise Unreachable("given.buildings", f"{_named(field, rules)} cannot be built on")
        if field not in owner:
            raise Unreachable("given.buildings", f"buildings on {_named(field, rules)}, which nobody owns")
        if level == FACTORY and not rules.choices.building.factory:
            raise Unreachable("given.buildings", f"{rules.edition.id} has no factories")
    for members in dict.fromkeys(rules.sets[rules.set_of[field]] for field in given.buildings):
        for name in dict.fromkeys(owner[field] for field in members if field in owner):
            own = [field for field in members if owner.get(field) == name]
            if any(field in given.buildings for field in own):
                _built_set(name, own, members, given, rules)


def _built_set(name: str, own: list[int], members: tuple[int, ...], given: Given, rules: Rules) -> None:
    """Somebody's part of a set with buildings: whole, or one that can have been broken up since, and even."""
    building = rules.choices.building
    whole = len(members) if building.needs == "whole_set" else min(2, len(members))
    # a factory completes its street: the others rise without it (LAS-FACTORY)
    levels = [level for field in own if (level := given.buildings.get(field, 0)) != FACTORY]
    names = ", ".join(str(field) for field in members)
    if len(own) < whole:
        # A set breaks up where a bare lot of it may be traded or sold while the others have buildings. Built evenly,
        # nothing higher than one house stands beside a bare lot.
        breaks = rules.choices.trade.unbuilt == "lot" or bool(rules.choices.mortgage.sell_lot_percent)
        if not breaks or (building.even and max(levels, default=0) > 1):
            reason = f"buildings without a set: {name} does not own all it takes of {names}"
            raise Unreachable("given.buildings", reason)
    elif building.even and levels and max(levels) - min(levels) > 1:
        shown = ", ".join(f"{field}: {given.buildings.get(field, 0)}" for field in own)
        raise Unreachable("given.buildings", f"{name} cannot have built so unevenly: {shown}")


def _named(field: int, rules: Rules) -> str:
    return f"field {field} ({rules.fields[field].name})"


# --- cards, people ----------------------------------------------------------------------------------------------------


def _cards(position: Position, given: Given, rules: Rules, options: Options) -> None:
    holder: dict[str, str] = {}
    for name, cards in given.held_cards.items():
        for card in cards:
            if card not in rules.jail_free:
                known = ", ".join(rules.jail_free) or "none"
                raise Unreachable("given.held_cards", f"{name} cannot hold {card!r}; what can be held: {known}")
            if card in holder:
                both = f"{holder[card]} and {name}" if holder[card] != name else f"{name} twice"
                raise Unreachable("given.held_cards", f"{card!r} is held by {both}")
            holder[card] = name
    for deck, top in given.deck.items():
        if deck not in rules.deck_numbers:
            raise Unreachable(
                "given.deck", f"{rules.edition.id} has the decks {', '.join(rules.deck_names)}, no {deck!r}"
            )
        for card, why in _not_on_top(top, rules.cards[rules.deck_numbers[deck]], holder):
            raise Unreachable("given.deck", f"{deck}: {card!r} {why}")


def _not_on_top(top: tuple[str, ...], known: dict[str, Card], holder: dict[str, str]) -> Iterator[tuple[str, str]]:
    for number, card in enumerate(top):
        if card not in known:
            yield card, "is no card of this deck"
        elif card in top[:number]:
            yield card, "lies there twice"
        elif card in holder:
            yield card, f"is held by {holder[card]}"


def _people(position: Position, given: Given, rules: Rules, options: Options) -> None:
    for key, names in (("away", given.away), ("disconnected", given.disconnected), ("bots", given.bots)):
        if len(set(names)) < len(names):
            raise Unreachable(f"given.{key}", "somebody is named twice")
    for key, names in (("away", given.away), ("disconnected", given.disconnected)):
        for name in names:
            if name in given.bots:
                raise Unreachable(f"given.{key}", f"{name} is a bot, and bots are never away")
    if given.bots and options.entry_fee:
        raise Unreachable("given.bots", "a paid table has no bots (RUG-WIN)")
