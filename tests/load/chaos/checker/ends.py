"""Every game that was begun goes on once nothing is broken any more, and ends."""

from __future__ import annotations

from omnipoly.wire.gen.game.v1 import commit_pb2, table_pb2, types_pb2

from .model import Model
from .reading import Commit, Findings, Run

STILL = frozenset(
    (
        "table_opened",
        "seat_taken",
        "seat_freed",
        "options_set",
        "contributed",
        "host_changed",
        "connected",
        "disconnected",
        "went_away",
        "came_back",
        "seat_handed_over",
        "shortened",
        "offer_shortened",
        "paused",
        "resumed",
        "clocks_moved",
        "advanced",
        "frozen",
        "thawed",
        "vote_opened",
        "voted",
        "vote_closed",
        "seed_revealed",
    )
)
"""What happens at a table while its game stands still."""
AGREED = frozenset(
    (
        types_pb2.ENDING_VOTE,
        types_pb2.ENDING_ALONE,
        types_pb2.ENDING_CLOSED,
        types_pb2.ENDING_IDLE,
        types_pb2.ENDING_ABANDONED,
    )
)
"""Endings that need no game that goes on; every other one comes of a move, or of the last but one leaving."""
LEFT = frozenset((types_pb2.OUT_LEFT, types_pb2.OUT_REMOVED))
SENT_BEFORE_MS = 2_000
"""The people know so soon that it is calm: until then somebody may leave a game as they do all the time."""


def moves(commit: commit_pb2.Commit) -> bool:
    """Whether the game goes on with it: somebody throws, pays, bids; nobody only sits down, leaves or agrees to end."""
    goes_on = False
    for event in commit.events:
        kind = event.WhichOneof("kind")
        if kind == "game_started" or (kind == "seat_out" and event.seat_out.how in LEFT):
            return False
        if kind == "game_ended" and event.game_ended.why in AGREED:
            return False
        goes_on = goes_on or kind not in STILL
    return goes_on


def check(run: Run, models: dict[str, Model], found: Findings) -> None:
    """All tables of the dump."""
    first: dict[tuple[str, str], int] = {}
    """When each command was first sent."""
    for lines in run.journals.values():
        for line in lines:
            if line["k"] == "try":
                first.setdefault((line["table"], line["id"]), line["t"])
    for table, head in run.heads.items():
        model = models[table]
        if model.started:
            found.count("games")
        if not model.ended or head["status"] != table_pb2.TABLE_STATUS_OVER:
            found.fault("end", f"{table} has not ended: version {head['version']}, status {head['status']}")
            continue
        found.count("games ended", int(model.started))
        if not model.started or not run.calm_ms:
            continue
        after = [row for row in run.log[table] if row.stored_ms >= run.calm_ms]
        ended = next((row for row in after if _ends(row)), None)
        if ended is None or first.get((table, ended.command_id), run.calm_ms) < run.calm_ms + SENT_BEFORE_MS:
            continue
        found.count("games looked at whether they went on")
        if not any(moves(row.message) for row in after if row.version <= ended.version):
            found.fault("end", f"{table} was ended and did not go on before")


def _ends(row: Commit) -> bool:
    return any(kind == "game_ended" for kind, _ in row.events())
