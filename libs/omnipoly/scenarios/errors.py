"""What is wrong with a scenario file, said so that its author can mend it."""

from __future__ import annotations


class ScenarioError(Exception):
    """A scenario file that cannot be read or played: exit 2 on the command line.

    ``line`` counts from 1; 0 where the file as a whole is meant.
    """

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(path, line, reason)
        self.path = path
        self.line = line
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


class Unreachable(Exception):
    """A position that the rules cannot reach, or that no table could be set up with.

    ``key`` is where in the scenario it stands, dotted (``given.owns``, ``options.clock``, ``edition``).
    """

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(key, reason)
        self.key = key
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.key}: {self.reason}"


class Unscripted(Exception):
    """A step needs a throw, a speed die or a card that the scenario does not script."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
