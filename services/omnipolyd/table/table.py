"""One table in the memory of a replica: its state, where its log stands, the ids it knows, and who waits."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from omnipoly.rules import engine
from omnipoly.rules.entropy import FairEntropy
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase
from omnipoly.wire import commits, views

if TYPE_CHECKING:
    from datetime import datetime

    from omnipoly.rules.state import State

    from .commands import Command
    from .store import Loaded

QUEUE = 32
"""Commands that may wait at one table."""
KNOWN_IDS = 512
"""Command ids kept in memory; older ones are found in the log."""


class Table:
    """A table: what is known of it (``state`` is ``None`` when it has to be loaded) and what waits for it.

    A state is never changed once it stands here: a commit puts another in its place, so that whoever reads it may take
    their time.
    """

    __slots__ = (
        "all_ids",
        "broken",
        "busy",
        "epoch",
        "fair",
        "fair_for",
        "ids",
        "opened_at",
        "presence_revision",
        "queue",
        "seed",
        "snapshot_version",
        "state",
        "table_id",
        "unsure_after",
        "used",
        "version",
    )

    def __init__(self, table_id: str) -> None:
        self.table_id = table_id
        self.state: State | None = None
        self.version = 0
        self.epoch = 0
        self.seed = b""
        self.fair: FairEntropy | None = None
        self.fair_for: list[str] = []
        """The contributions that ``fair`` was made with."""
        self.presence_revision = 0
        self.opened_at: datetime | None = None
        self.snapshot_version = 0
        self.ids: dict[tuple[str, str], tuple[int, bytes]] = {}
        """(actor, command id) to (version, digest), oldest first."""
        self.all_ids = False
        """Whether these are all that the log has."""
        self.queue: deque[Command] = deque()
        self.busy = False
        self.used = 0.0
        """When the last command came, by the event loop's clock."""
        self.unsure_after = 0
        """Nobody knows what became of the append of the version after this one: a load that finds it publishes it; 0:
        all is known."""
        self.broken = ""
        """Why it is to be taken out of play, as long as that could not be written down."""

    def forget(self) -> None:
        """Drop what is known: the next command loads it again."""
        self.state = None
        self.ids = {}
        self.all_ids = False

    def take(self, loaded: Loaded, state: State) -> None:
        """Stand where a load has found it."""
        self.state = state
        self.version = loaded.version
        self.epoch = loaded.epoch
        self.seed = loaded.seed
        self.fair = None
        self.presence_revision = loaded.presence_revision
        self.opened_at = loaded.opened_at
        self.snapshot_version = loaded.snapshot_version
        self.all_ids = loaded.snapshot is None
        self.ids = {}
        for commit in loaded.commits:
            if commit.command_id:
                self.remember(commit.actor, commit.command_id, commit.version, commit.digest)

    def remember(self, actor: str, command_id: str, version: int, digest: bytes) -> None:
        """Keep the id of a command that took effect."""
        self.ids[actor, command_id] = (version, digest)
        if len(self.ids) > KNOWN_IDS:
            del self.ids[next(iter(self.ids))]
            self.all_ids = False

    def entropy(self, contributions: list[str]) -> FairEntropy:
        """Chance by the table's seed; the same one for as long as nobody adds to it, which ends with the start."""
        if self.fair is None or self.fair_for != contributions:
            self.fair, self.fair_for = FairEntropy(self.seed, contributions), contributions[:]
        return self.fair

    @property
    def scripted(self) -> bool:
        """Set up from a position: its clock stands still except for ``Advance``."""
        return self.state is not None and self.state.dev and not self.state.commitment

    def now_ms(self, wall_ms: int) -> int:
        """The table's clock at a time of the platform's; never before the last commit's."""
        s = self.state
        assert s is not None
        if self.scripted:
            return s.now_ms
        return max(wall_ms + s.offset_ms, s.now_ms)


def platform_due_ms(s: State) -> int:
    """When something falls due next, on the platform's clock; 0 for never, also where the clock stands still."""
    if s.phases[-1] is Phase.OVER or (s.dev and not s.commitment):
        return 0
    due_ms = engine.next_deadline_ms(s)
    return due_ms - s.offset_ms if due_ms else 0


def rebuild(loaded: Loaded, game: Game) -> State:
    """The state that a log tells: of its snapshot, or empty, and every commit behind it, without a gap.

    Raises ``Malformed`` for what cannot be read (an event kind or a field that is not known refuses the table, it is
    never skipped), ``engine.Broken`` for a state that cannot be, ``ValueError`` for a gap.
    """
    if loaded.snapshot is not None:
        picture = views.decode(loaded.snapshot, game)
        state, version = picture.state, picture.version
    else:
        state, version = engine.blank(game.first), 0
    for row in loaded.commits:
        if row.version != version + 1:
            raise ValueError(f"the log goes from version {version} to {row.version}")
        commit = commits.decode(row.body, game, whole=True)
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            engine.apply(state, event)
        version = row.version
    if version != loaded.version:
        raise ValueError(f"the log ends at version {version}, its head says {loaded.version}")
    engine.check(state)
    return state
