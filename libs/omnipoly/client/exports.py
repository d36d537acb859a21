"""A game as a file: what ``Games.export`` gives, and what ``omnipoly replay`` and ``omnipoly verify`` read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from omnipoly.client import record
from omnipoly.client.editions import compiled
from omnipoly.client.record import Line
from omnipoly.editions.problems import EditionError
from omnipoly.rules import engine
from omnipoly.rules.ring import Game
from omnipoly.rules.state import State
from omnipoly.wire import commits
from omnipoly.wire.commits import Commit
from omnipoly.wire.gen.gateway.v1 import watch_pb2
from omnipoly.wire.malformed import Malformed


class Exported(NamedTuple):
    """A game that can be replayed."""

    table: str
    game: Game
    log: tuple[Commit, ...]


class Unfit(Exception):
    """A log that cannot be followed: its text says where."""


def written(export: watch_pb2.ExportResponse, *, as_json: bool = False) -> bytes:
    """An export as it stands in a file: serialized, or as JSON for people."""
    return json_format.MessageToJson(export, ensure_ascii=False).encode() if as_json else export.SerializeToString()


def parse(data: bytes) -> watch_pb2.ExportResponse:
    """An export from a file: serialized pages one behind the other, or the same as JSON. Raises ``Malformed``."""
    try:
        if data.lstrip()[:1] == b"{":
            return json_format.Parse(data, watch_pb2.ExportResponse())
        return watch_pb2.ExportResponse.FromString(data)
    except (DecodeError, json_format.ParseError, UnicodeDecodeError) as error:
        raise Malformed("this is no export of a game") from error


def read(export: watch_pb2.ExportResponse) -> Exported:
    """The game of an export, compiled and decoded. Raises ``Malformed``, and ``Refused`` for another edition's text."""
    if not export.edition_text or not export.commits:
        raise Malformed("an export without its edition or without commits")
    try:
        game = compiled(export.edition, export.digest, export.edition_text)
    except EditionError as error:
        raise Malformed(f"an edition that cannot be read: {error}") from error
    log = tuple(commits.decode(commit.SerializeToString(), game) for commit in export.commits)
    return Exported(log[0].table, game, log)


def told(exported: Exported, language: str = "") -> Iterator[tuple[list[Line], State]]:
    """The record of a game, commit by commit: its lines, and the state behind it (the same one, played on).

    ``language``: where the edition has no texts in it, its own. Raises ``Unfit`` where the log cannot be followed.
    """
    state = engine.blank(exported.game.first)
    for version, commit in enumerate(exported.log, start=1):
        if commit.version != version:
            raise Unfit(f"commit {version} is missing")
        engine.enter(state, commit.at_ms, commit.actor)
        try:
            lines = list(record.tell(state, commit.events, language))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise Unfit(f"commit {version} does not fit the position: {error!r}") from error
        yield lines, state
