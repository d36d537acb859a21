"""What a seat may do: listed actions and prompts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnipoly.rules.legal import LegalAction
from omnipoly.rules.state import Phase, Prompt
from omnipoly.wire.actions import read
from omnipoly.wire.derive import Deriver, enum_values
from omnipoly.wire.gen.game.v1 import legal_pb2, types_pb2

if TYPE_CHECKING:
    from omnipoly.rules.state import State

_derive = Deriver()
_pair = _derive.pair(LegalAction, legal_pb2.LegalAction.DESCRIPTOR)
_TO_PHASE, _FROM_PHASE = enum_values(Phase, types_pb2.Phase.DESCRIPTOR)


def to_proto(action: LegalAction) -> legal_pb2.LegalAction:
    """The message of a listed action."""
    message = legal_pb2.LegalAction()
    _pair.write(action, message)
    return message


def from_proto(message: legal_pb2.LegalAction) -> LegalAction:
    """The listed action of a message. Raises ``Malformed``."""
    return read(_pair.read, message)  # type: ignore[no-any-return]


def to_prompt(table: str, prompt: Prompt, actions: Iterable[LegalAction]) -> legal_pb2.Prompt:
    """The message of a seat's open decision with what it may answer. A number of 0 says that none is open."""
    message = legal_pb2.Prompt(table=table, seat=prompt.seat, prompt_id=prompt.prompt)
    message.phase = _TO_PHASE[prompt.phase]  # type: ignore[assignment]
    if prompt.deadline_ms:
        message.deadline.FromMilliseconds(prompt.deadline_ms)
    for action in actions:
        _pair.write(action, message.actions.add())
    return message


def prompt_of(state: State, seat: int) -> Prompt:
    """A seat's open decision as its state tells it; with the number 0 when none is open."""
    if state.prompt and state.prompt[seat]:
        return Prompt(seat, state.prompt[seat], Phase(state.asked[seat]), state.deadline_ms[seat])
    return Prompt(seat, 0, state.phase, 0)


def from_prompt(message: legal_pb2.Prompt) -> tuple[Prompt, tuple[LegalAction, ...]]:
    """The open decision of a message and what it may answer. Raises ``Malformed``."""
    deadline = message.deadline
    phase = read(lambda prompt: _FROM_PHASE[prompt.phase], message)
    deadline_ms = deadline.seconds * 1000 + deadline.nanos // 1_000_000
    prompt = Prompt(message.seat, message.prompt_id, phase, deadline_ms)
    return prompt, tuple([from_proto(action) for action in message.actions])
