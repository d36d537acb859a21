"""What is wrong with an edition's file: where, what, and what to do about it."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One mistake in a file."""

    place: str
    """As a reader finds it: ``board ring40, field 12 "Boiler house"``, ``rules.turn``; "" for the file as a whole."""
    what: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.what}; {self.remedy}"


class Problems:
    """Collects what is found, so that all of it is reported at once."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, place: str, what: str, remedy: str) -> None:
        """Note one mistake."""
        self.found.append(Problem(place, what, remedy))

    def touches(self, place: str) -> bool:
        """Whether anything was found at a place, within it, or around it: what is noted there next may only follow."""
        return any(place and (_within(place, problem.place) or _within(problem.place, place)) for problem in self.found)

    def raise_if_any(self, source: str) -> None:
        """Raise ``EditionError`` with all that was found, if anything was."""
        if self.found:
            raise EditionError(source, tuple(self.found))


def _within(inner: str, outer: str) -> bool:
    return inner == outer or (outer != "" and inner.startswith((outer + ",", outer + ".")))


class EditionError(Exception):
    """A file is no edition; ``problems`` are all that were found in it."""

    def __init__(self, source: str, problems: tuple[Problem, ...]) -> None:
        self.source = source
        self.problems = problems
        super().__init__("\n".join(f"{source}: {problem}" for problem in problems))


class UnknownEdition(EditionError):
    """There is no edition, mode or board of that name."""
