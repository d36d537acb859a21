"""What a bot wants to do at a table now, and how it is asked for: pure, from the state alone.

An idea's command id says what it is about: the prompt that it answers, the auction and the amount of a bid, or for
everything that is nobody's prompt the version that it was decided on. So two replicas that look at the same table ask
for the same thing under the same id, and it is done once.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.bots.strategy import Bot
from omnipoly.rules import actions as act
from omnipoly.rules.state import Out, Phase

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import State

ANSWERS = (
    act.Roll,
    act.Buy,
    act.Decline,
    act.PayBail,
    act.UseCard,
    act.ChooseSteps,
    act.Teleport,
    act.Travel,
    act.EndTurn,
    act.Pass,
    act.Pay,
    act.GiveUp,
)
"""What closes the prompt it answers: one for each prompt."""


class Idea(NamedTuple):
    """Something a bot's seat wants to do."""

    seat: int
    bot: str
    """The bot's id at the table."""
    action: Action
    command_id: str
    prompt: int
    """The prompt it answers; 0: none."""
    if_version: int
    """The version it holds for; 0: its prompt says enough."""


class Look(NamedTuple):
    """What came of looking at a seat."""

    idea: Idea | None
    wakes_ms: int
    """When to look again although nothing happens, on the table's clock; 0: no need."""


NOTHING = Look(None, 0)


def bot_seats(s: State) -> list[int]:
    """Seats that bots hold and that are still in the game."""
    return [seat for seat, bot in enumerate(s.bot) if bot and s.out[seat] == Out.IN]


def rests(s: State) -> bool:
    """Whether no bot has anything to do: before the start, after the end, while the table stands still (TUB-PAUSE) or
    is frozen."""
    return s.phases[-1] in (Phase.LOBBY, Phase.OVER) or s.rests


def player(s: State, seat: int) -> Bot:
    """The bot of a seat: its character is the same wherever and whenever it is made."""
    return Bot(zlib.crc32(f"{s.table}:{seat}".encode()) % 1000)


def look(s: State, seat: int, version: int, now_ms: int) -> Look:
    """What a bot's seat wants at that version, at a time on the table's clock."""
    bot = player(s, seat)
    action = bot.decide(s, seat, now_ms)
    if action is None:
        return Look(None, bot.wakes_ms(s, seat))
    holder, prompt = s.holder[seat], s.prompt[seat]
    if isinstance(action, ANSWERS):
        return Look(Idea(seat, holder, action, f"{seat}.p{prompt}", prompt, 0), 0)
    if isinstance(action, act.Bid):
        return Look(Idea(seat, holder, action, f"{seat}.b{action.auction}.{action.amount}", prompt, 0), 0)
    return Look(Idea(seat, holder, action, f"{seat}.v{version}", 0, version), 0)
