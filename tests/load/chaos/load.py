"""The people, as a process of their own: `python -m tests.load.chaos.load`, told what to do in lines of JSON.

The first line sets everything up; `stop` has the games come to their ends. What is said: `playing`, and at the end one
line with the counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import jwt

from .game import Bank, Place, Viewer
from .journal import Journal
from .person import Account, Person

ENDS_S = 120.0
"""How long games may take to come to their ends once nothing is broken any more."""

PAY = 5
"""One table in so many is paid for."""


def token(key: str, person: str, name: str, *roles: str) -> str:
    """An access token of somebody who is signed in, as an operator with the gateways' key can make one."""
    now = int(time.time())
    payload = {"aud": "omnipoly", "sub": person, "name": name, "iat": now, "exp": now + 7200, "roles": list(roles)}
    key_id = hashlib.sha256(b"omnipoly key " + key.encode()).hexdigest()[:8]
    return jwt.encode(payload, key, "HS256", headers={"kid": key_id})


async def run(setup: dict[str, Any], calm: asyncio.Event) -> dict[str, int]:
    """Plays until it is calm and all games have ended, or their time is up; the counts."""
    random, folder = Random(setup["seed"]), Path(setup["folder"])
    gateways: list[str] = setup["gateways"]
    places, persons, viewers, key = [], [], [], setup["key"]
    bank = Bank(
        gateways, Journal(folder / "bank.jsonl"), Random(random.random()), token(key, "oidc:bank", "Bank", "admin")
    )
    for number in range(setup["tables"]):
        own = Random(random.random())
        some = []
        pays = number % PAY == PAY - 2
        for seat in range(2 + number % 2 if pays else 1 + number % 3):
            name = len(persons)
            journal = Journal(folder / f"person-{name}.jsonl")
            who = f"oidc:person-{name}"
            account = Account(who, token(key, who, f"Person {name}")) if pays else None
            tabs = 1 + (seat + number) % 5 // 4
            some.append(Person(name, gateways, journal, Random(own.random()), tabs=tabs, account=account))
            persons.append(some[-1])
        viewer = None
        if number % 4 == 0:
            journal = Journal(folder / f"viewer-{number}.jsonl")
            viewer = Viewer(
                number, gateways, journal, Random(own.random()), token(key, f"oidc:viewer-{number}", "Viewer")
            )
            viewers.append(viewer)
        places.append(Place(some, viewer, own, calm, bank=bank if pays else None))
    playing = [asyncio.create_task(place.run(), name="place") for place in places]
    say({"said": "playing"})
    stopped = asyncio.create_task(calm.wait(), name="stopped")
    await asyncio.wait({stopped, *playing}, return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    _, late = await asyncio.wait(playing, timeout=ENDS_S)
    for task in late:
        task.cancel()
    done = await asyncio.gather(*playing, return_exceptions=True)
    faults = [one for one, task in zip(done, playing, strict=True) if one is not None and task not in late]
    for fault in faults:
        sys.stderr.write(f"a place has failed: {fault!r}\n")
    await asyncio.gather(*(one.close() for one in (*persons, *viewers, bank)))
    return {
        "games": sum(place.games for place in places),
        "ended": sum(place.ended for place in places),
        "late": len(late),
        "failed": len(faults),
        "persons": len(persons),
        "viewers": len(viewers),
    }


def say(what: dict[str, Any]) -> None:
    """A line to whoever has started this process."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def main() -> None:
    """Reads the setup and plays."""
    loop = asyncio.get_running_loop()
    setup = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    calm = asyncio.Event()

    def read() -> None:
        if sys.stdin.readline().strip() in {"stop", ""}:
            loop.remove_reader(sys.stdin.fileno())
            calm.set()

    loop.add_reader(sys.stdin.fileno(), read)
    say(await run(setup, calm))


if __name__ == "__main__":
    asyncio.run(main())
