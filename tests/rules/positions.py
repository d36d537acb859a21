"""Tables set up from a few words, for tests of the rules that no scenario can express."""

from __future__ import annotations

from typing import Any

from omnipoly.rules import engine
from omnipoly.rules.actions import Action
from omnipoly.rules.codes import Code
from omnipoly.rules.state import State
from omnipoly.scenarios import position
from omnipoly.scenarios.model import Given, Position, Throw
from omnipoly.scenarios.script import Script

NOW_MS = 1_700_000_000_000


def table(*players: str, edition: str = "tubbypoly", **given: Any) -> State:
    """A state as ``given`` of a scenario describes it."""
    place = Position(edition=edition, players=players or ("ann", "bob", "cid"), given=Given(**given))
    return position.state_of(place, now_ms=NOW_MS, entropy=Script())


def act(
    s: State, by: str, action: Action, *throws: tuple[int, int], after_s: float = 0, prompt: int = 0
) -> tuple[State, Code | None]:
    """Somebody acts, some seconds after the last command; the state behind it, and the code of a refusal."""
    draft = engine.Draft(s.copy(), Script(Throw(first, second) for first, second in throws))
    refused = engine.act(draft, by, action, now_ms=s.now_ms + round(after_s * 1000), prompt=prompt)
    engine.check(draft.state)
    return draft.state, None if refused is None else refused.code


def do(s: State, by: str, action: Action, *throws: tuple[int, int], after_s: float = 0) -> State:
    """Somebody acts, and is not refused."""
    s, code = act(s, by, action, *throws, after_s=after_s)
    assert code is None
    return s
