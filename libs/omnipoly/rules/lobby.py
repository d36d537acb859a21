"""A table before its start (TUB-SETUP, TUB-ORDER, TUB-BOTS): seats, options, bots, Start."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .codes import Code
from .events import Contributed, GameStarted, OptionsSet, Reason, SeatTaken
from .money import pay_out
from .seats import BOT, next_bot_id
from .state import Options, Phase

if TYPE_CHECKING:
    from omnipoly.editions.model import IntOption

    from .actions import AddBot, Contribute, Join, SetOptions, Start
    from .draft import Draft
    from .ring import Game
    from .state import State

T = TypeVar("T")

LONGEST_NAME = 40
LONGEST_CONTRIBUTION = 64


def default_options(game: Game) -> Options:
    """The options of an edition as they stand before a host changes any (TUB-SETUP)."""
    options, play = game.edition.options, game.edition.rules.play
    return Options(
        start_cash=options.start_cash.default if options.start_cash else play.cash,
        clock_s=options.clock.default if options.clock else play.clock_s,
        round_limit=options.round_limit.default if options.round_limit else 0,
        time_limit_min=options.time_limit.default if options.time_limit else 0,
        entry_fee=options.entry_fee.default if options.entry_fee else 0,
        auto_claim=options.auto_claim.default if options.auto_claim else False,
        viewers_chat=options.viewers_chat.default if options.viewers_chat else False,
        viewers_take_bots=options.viewers_take_bots.default if options.viewers_take_bots else False,
    )


def with_changes(game: Game, options: Options, changes: SetOptions) -> Options | None:
    """The options with a host's changes, or ``None`` when one of them is not allowed in this edition.

    Nor may a paid table have a round limit or takeovers (RUG-WIN).
    """
    allowed = game.edition.options
    numbers = (
        (changes.start_cash, allowed.start_cash),
        (changes.clock_s, allowed.clock),
        (changes.round_limit, allowed.round_limit),
        (changes.time_limit_min, allowed.time_limit),
        (changes.entry_fee, allowed.entry_fee),
    )
    switches = (
        (changes.auto_claim, allowed.auto_claim),
        (changes.viewers_chat, allowed.viewers_chat),
        (changes.viewers_take_bots, allowed.viewers_take_bots),
    )
    if any(value is not None and not _allows(option, value) for value, option in numbers):
        return None
    if any(value is not None and option is None for value, option in switches):
        return None

    changed = Options(
        start_cash=_or(changes.start_cash, options.start_cash),
        clock_s=_or(changes.clock_s, options.clock_s),
        round_limit=_or(changes.round_limit, options.round_limit),
        time_limit_min=_or(changes.time_limit_min, options.time_limit_min),
        entry_fee=_or(changes.entry_fee, options.entry_fee),
        auto_claim=_or(changes.auto_claim, options.auto_claim),
        viewers_chat=_or(changes.viewers_chat, options.viewers_chat),
        viewers_take_bots=_or(changes.viewers_take_bots, options.viewers_take_bots),
        private=_or(changes.private, options.private),
    )
    return None if changed.entry_fee and (changed.round_limit or changed.viewers_take_bots) else changed


def _or(value: T | None, before: T) -> T:
    return before if value is None else value


def _allows(option: IntOption | None, value: int) -> bool:
    if option is None:
        return False
    if option.range is not None and option.range[0] <= value <= option.range[1]:
        return True
    return value in option.values or value == option.default


def _host_before_start(s: State, person: str) -> Code | None:
    if s.phases[-1] is not Phase.LOBBY:
        return Code.TABLE_STARTED
    return None if person == s.host else Code.NOT_HOST


def verify_join(s: State, person: str, action: Join, now_ms: int) -> Code | None:
    """A free seat, before the start; nobody sits twice at a table."""
    if s.phases[-1] is not Phase.LOBBY:
        return Code.TABLE_STARTED
    if person in s.holder:
        return Code.BAD_PARTNER
    if not action.name or len(action.name) > LONGEST_NAME:
        return Code.BAD_REQUEST
    return Code.TABLE_FULL if s.seats >= s.rules.game.most_seats else None


def join(d: Draft, person: str, action: Join) -> None:
    """Take the next free seat."""
    d.emit(SeatTaken(d.state.seats, person, action.name, bot=False))


def verify_add_bot(s: State, person: str, action: AddBot, now_ms: int) -> Code | None:
    """TUB-SETUP: the host; a paid table has none (RUG-WIN)."""
    code = _host_before_start(s, person)
    if code is not None:
        return code
    if s.options.entry_fee:
        return Code.BAD_OPTION
    if len(action.name) > LONGEST_NAME:
        return Code.BAD_REQUEST
    return Code.TABLE_FULL if s.seats >= s.rules.game.most_seats else None


def add_bot(d: Draft, person: str, action: AddBot) -> None:
    """Seat a bot."""
    s = d.state
    bot = next_bot_id(s)
    d.emit(SeatTaken(s.seats, bot, action.name or f"Bot {int(bot.removeprefix(BOT)) + 1}", bot=True))


def concerns_viewers_alone(action: SetOptions) -> bool:
    """Whether it changes only who may come and what viewers may do, if anything: that is no part of the game."""
    of_viewers = (action.viewers_chat, action.viewers_take_bots, action.private)
    return of_viewers != (None, None, None) and action == type(action)(
        viewers_chat=action.viewers_chat, viewers_take_bots=action.viewers_take_bots, private=action.private
    )


def verify_set_options(s: State, person: str, action: SetOptions, now_ms: int) -> Code | None:
    """TUB-SETUP: the host, within what the edition allows; after the start what concerns viewers alone (TUB-PRIVATE,
    TUB-VIEWERS, TUB-TAKEOVER)."""
    if s.phases[-1] is not Phase.LOBBY and concerns_viewers_alone(action):
        code = None if person == s.host else Code.NOT_HOST
    else:
        code = _host_before_start(s, person)
    if code is not None:
        return code
    options = with_changes(s.rules.game, s.options, action)
    if options is None or (options.entry_fee and True in s.bot):
        return Code.BAD_OPTION
    return None


def set_options(d: Draft, person: str, action: SetOptions) -> None:
    """Change options; what is absent stays."""
    options = with_changes(d.state.rules.game, d.state.options, action)
    assert options is not None
    d.emit(OptionsSet(options))


def verify_contribute(s: State, person: str, action: Contribute, now_ms: int) -> Code | None:
    """Once for each seated person, before the start."""
    if s.phases[-1] is not Phase.LOBBY:
        return Code.TABLE_STARTED
    if person not in s.holder:
        return Code.NOT_SEATED
    if not action.text or len(action.text) > LONGEST_CONTRIBUTION or len(s.contributions) >= s.rules.game.most_seats:
        return Code.BAD_REQUEST
    return None


def contribute(d: Draft, person: str, action: Contribute) -> None:
    """Add a text to what the dice are made of."""
    d.emit(Contributed(person, action.text))


def verify_start(s: State, person: str, action: Start, now_ms: int) -> Code | None:
    """The host, with enough seats taken."""
    code = _host_before_start(s, person)
    if code is None and s.seats < s.rules.game.least_seats:
        return Code.BAD_PARTNER
    return code


def start(d: Draft, person: str, action: Start) -> None:
    """Start: the ring for the number of seats, and everybody's start money."""
    s = d.state
    ring = s.rules.game.ring_for(s.seats)
    options = s.options
    limit = s.now_ms + options.time_limit_min * 60_000 if options.time_limit_min else 0
    d.emit(GameStarted(ring.board.id, options, s.now_ms, limit))
    for seat in range(s.seats):
        pay_out(d, seat, options.start_cash, Reason.START_CASH)
