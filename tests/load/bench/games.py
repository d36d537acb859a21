"""Tables to measure at, made over a link as the gateway would."""

from __future__ import annotations

import asyncio
import itertools
import re
from importlib import resources
from pathlib import Path
from typing import Any

from omnipoly.rules import actions as act
from omnipoly.runtime.link import Link
from omnipoly.wire import actions
from omnipoly.wire.gen.table.v1 import identity_pb2, table_pb2

_numbers = itertools.count(1)
AT_ONCE = 32


def person(name: str) -> identity_pb2.Identity:
    """Somebody whom a gateway has verified."""
    return identity_pb2.Identity(person=name, name=name[:40], guest=True)


async def ask(link: Link, method: str, request: Any) -> Any:
    """One call of the table service."""
    body = await link.call(f"/omnipoly.table.v1.TableService/{method}", request.SerializeToString(), 30)
    return getattr(table_pb2, f"{method}Response").FromString(body)


def acting(table: str, who: str, action: act.Action) -> table_pb2.ActRequest:
    """What a gateway hands on for one action."""
    return table_pb2.ActRequest(
        table=table, identity=person(who), action=actions.to_proto(action), command_id=f"b{next(_numbers)}"
    )


async def open_tables(
    address: str,
    count: int,
    prefix: str = "t",
    *,
    players: int = 1,
    start: bool = False,
    edition: str = "tubbypoly",
) -> dict[str, Any]:
    """Tables by id with the last answer each; the persons are ``<prefix><number>p<seat>``."""
    link = Link(address)

    async def one(number: int) -> tuple[str, Any]:
        host = f"guest:{prefix}{number}p0"
        request = table_pb2.OpenRequest(identity=person(host), command_id=f"o{next(_numbers)}", edition=edition)
        answer = await ask(link, "Open", request)
        table = answer.table
        for seat in range(1, players):
            answer = await ask(link, "Act", acting(table, f"guest:{prefix}{number}p{seat}", act.Join("")))
        if start:
            answer = await ask(link, "Act", acting(table, host, act.Start()))
        return table, answer

    try:
        opened: dict[str, Any] = {}
        for at in range(0, count, AT_ONCE):
            opened.update(await asyncio.gather(*(one(n) for n in range(at, min(at + AT_ONCE, count)))))
        return opened
    finally:
        await link.close()


def write_edition(folder: Path, name: str, lines: dict[str, str]) -> None:
    """The classic edition under another name and with other lines, by what they match as they are.

    Raises ``ValueError`` when it has no such line.
    """
    text = resources.files("omnipoly.editions").joinpath("data/tubbypoly.toml").read_text("utf-8")
    for pattern, instead in {'id = "tubbypoly"': f'id = "{name}"', **lines}.items():
        text, found = re.subn(f"(?m)^{pattern}$", instead, text)
        if not found:
            raise ValueError(f"the classic edition has no {pattern}")
    (folder / f"{name}.toml").write_text(text, "utf-8")
