"""What types cannot say about an edition: whether its parts fit each other and make a game that can be played.

Each module checks one part of a file and adds what it finds to ``Problems``, with the place as a reader finds it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model import Document, Mode
from ..problems import Problem, Problems
from .boards import check_boards
from .decks import check_decks
from .options import check_options
from .rules import check_rules
from .table import check_table
from .texts import check_texts


def check(document: Document, modes: Mapping[str, Mode], problems: Problems) -> None:
    """Check a document in each of its modes, which are whole: what they do not change is in them too.

    What is wrong in all of them is told once, as the document's; the rest is told of its mode. What only follows from
    something that was found before, at the same place or around it, is left out.
    """
    found = {name: _mistakes(document, mode) for name, mode in modes.items()}
    everywhere = set.intersection(*(set(mistakes) for mistakes in found.values()))
    told = Problems()
    for name, mistakes in found.items():
        for problem in mistakes:
            place = problem.place if problem in everywhere else _of_mode(name, problem.place)
            if not (problems.touches(place) or problems.touches(problem.place)):
                told.found.append(Problem(place, problem.what, problem.remedy))
    problems.found += dict.fromkeys(told.found)


def _mistakes(document: Document, mode: Mode) -> list[Problem]:
    problems = Problems()
    check_table(document, problems)
    check_rules(mode.rules, problems)
    check_options(mode, problems)
    check_boards(document, mode.rules, problems)
    check_decks(document, problems)
    check_texts(document, problems)
    return problems.found


def _of_mode(name: str, place: str) -> str:
    return f"mode.{name}.{place}" if place.startswith(("rules", "options")) else f"mode.{name}, {place}"
