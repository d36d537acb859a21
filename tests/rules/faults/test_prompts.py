"""Row 52 of docs/known-faults.md: an answer names the prompt that it answers."""

from __future__ import annotations

from omnipoly.rules.actions import Build, Buy, Decline, EndTurn, Mortgage, Pay, Roll
from omnipoly.rules.codes import Code
from tests.rules.positions import act, do, table


def test_an_answer_to_a_prompt_that_was_answered_is_stale() -> None:
    """Fault 52: the second tab still shows buy or decline."""
    s = do(table(turn="ann", at={"ann": 0}), "ann", Roll(), (2, 4))
    shown = s.prompt[0]
    s, code = act(s, "ann", Buy(), prompt=shown)
    assert code is None
    assert act(s, "ann", Decline(), prompt=shown)[1] is Code.STALE_PROMPT
    assert act(s, "ann", EndTurn(), prompt=shown)[1] is Code.STALE_PROMPT
    assert act(s, "ann", EndTurn(), prompt=s.prompt[0])[1] is None


def test_a_stale_prompt_comes_before_the_phase_and_after_being_out() -> None:
    """Fault 52: the class of the code is the earlier one."""
    s = table(turn="ann")
    assert act(s, "ann", Pay(), prompt=99)[1] is Code.STALE_PROMPT
    assert act(s, "vic", Pay(), prompt=99)[1] is Code.NOT_SEATED


def test_nobody_answers_the_prompt_of_somebody_else() -> None:
    """Fault 52."""
    s = table(turn="ann")
    assert act(s, "bob", Roll(), prompt=s.prompt[0])[1] is Code.STALE_PROMPT


def test_what_is_no_answer_leaves_the_prompt_as_it_is() -> None:
    """Fault 52, fault 43: business renews neither prompt nor clock."""
    s = table(turn="ann", owns={"ann": (1, 3, 5)})
    prompt, deadline_ms = s.prompt[0], s.deadline_ms[0]
    s = do(s, "ann", Mortgage(5), after_s=3)
    s = do(s, "ann", Build(1), after_s=3)
    assert (s.prompt[0], s.deadline_ms[0]) == (prompt, deadline_ms)
    assert act(s, "ann", Roll(), (4, 6), prompt=prompt)[1] is None


def test_no_two_prompts_share_an_id() -> None:
    """Fault 52, fault 46: five times the same answer is accepted once."""
    s = do(table(turn="ann", at={"ann": 10, "bob": 10}), "ann", Roll(), (4, 6))
    prompt = s.prompt[0]
    s, first = act(s, "ann", EndTurn(), prompt=prompt)
    assert first is None
    for _ in range(4):
        s, code = act(s, "ann", EndTurn(), prompt=prompt)
        assert code is Code.STALE_PROMPT
    assert (s.turn, s.prompt[1] > prompt) == (1, True)
