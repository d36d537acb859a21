"""The names of a scenario and the ids of the persons who play them on a stack: one state told in either."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from omnipoly.rules.state import State


class Persons:
    """Who plays whom."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def add(self, name: str, person: str) -> None:
        """A name has a person's id from now on."""
        self._ids[name] = person
        self._names[person] = name

    def name(self, person: str) -> str:
        """The name of a person; bots and others go by their id."""
        return self._names.get(person, person)

    def to_ids(self, s: State) -> State:
        """A copy of a state with the persons' ids."""
        return _renamed(s, lambda name: self._ids.get(name, name))

    def to_names(self, s: State) -> State:
        """A copy of a state with the scenario's names."""
        return _renamed(s, self.name)


def _renamed(s: State, as_: Callable[[str], str]) -> State:
    """Everywhere where a state names a person."""
    renamed = s.copy()
    renamed.host = as_(s.host)
    renamed.holder = [as_(holder) for holder in s.holder]
    renamed.stands_in_for = [as_(person) for person in s.stands_in_for]
    if s.vote is not None:
        yes = tuple(as_(person) for person in s.vote.yes)
        renamed.vote = msgspec.structs.replace(s.vote, by=as_(s.vote.by), yes=yes)
    renamed.cooldowns = tuple(msgspec.structs.replace(one, person=as_(one.person)) for one in s.cooldowns)
    return renamed
