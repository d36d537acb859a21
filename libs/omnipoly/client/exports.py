"""A finished game as a file: what ``Games.export`` gives, and what ``omnipoly verify`` reads."""

from __future__ import annotations

from typing import NamedTuple

from google.protobuf import json_format
from google.protobuf.message import DecodeError

from omnipoly.client.editions import compiled
from omnipoly.editions.problems import EditionError
from omnipoly.rules.ring import Game
from omnipoly.wire import commits
from omnipoly.wire.commits import Commit
from omnipoly.wire.gen.gateway.v1 import watch_pb2
from omnipoly.wire.malformed import Malformed


class Exported(NamedTuple):
    """A game that can be replayed."""

    table: str
    game: Game
    log: tuple[Commit, ...]


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
