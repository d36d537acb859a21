"""Games at one place: opened, filled, played, and another one when one is over, until it is enough."""

from __future__ import annotations

import asyncio
import itertools
from random import Random
from typing import Any

from omnipoly.wire.gen.gateway.v1 import admin_pb2

from . import choosing
from .journal import Journal, now_ms
from .line import Line, Said
from .person import Accepted, Person
from .tab import Tab

EDITIONS = ("tubbypoly", "tubbypoly", "rugpull", "globopoly/classic", "globopoly/quick", "laspoly")
GOES_ON_S = 4.0
"""So long a game is played in calm before it is brought to its end."""
SETTLED_S = 45.0
"""A game that has not gone on by then stands still: it is ended all the same, which the checker finds."""
CREDITS = 100_000


class Viewer:
    """Somebody signed in who watches each game."""

    def __init__(self, number: int, gateways: list[str], journal: Journal, random: Random, token: str) -> None:
        self._journal = journal
        self._random = random
        self._line = Line(gateways)
        self._line.token = token
        self._tab = Tab(0, self._line, journal, random, lambda response, stream: None, watches=True)
        journal.write("person", who=f"oidc:viewer-{number}", name="Viewer")

    async def watch(self, table: str, over: asyncio.Event, calm: asyncio.Event) -> None:
        """Watches until it is over; now and then the stream breaks."""
        self._tab.follow(table)
        while not over.is_set():
            try:
                async with asyncio.timeout(self._random.uniform(2, 10)):
                    await over.wait()
            except TimeoutError:
                if not calm.is_set() and self._random.random() < 0.3:
                    self._tab.drop(self._random.choice((0.0, 1.0)), forget=self._random.random() < 0.2)
        await self._tab.leave()

    async def close(self) -> None:
        """Goes home."""
        await self._tab.leave()
        await self._line.close()
        self._journal.close()


class Bank:
    """An operator who gives people credits."""

    def __init__(self, gateways: list[str], journal: Journal, random: Random, token: str) -> None:
        self._journal = journal
        self._random = random
        self._line = Line(gateways)
        self._line.token = token
        self._grants = 0
        journal.write("person", who="oidc:bank", name="Bank")

    async def grant(self, who: str, amount: int) -> None:
        """Returns when they have them, however often that has to be asked for."""
        self._grants += 1
        name = f"grant-{self._grants}"
        request = admin_pb2.GrantRequest(person=who, request_id=name, amount=amount)
        for number in itertools.count(1):
            self._journal.write("grant", id=name, who=who, amount=amount, n=number)
            gateway = self._random.choice(self._line.gateways)
            try:
                answer = await self._line.call(gateway, "AdminService/Grant", request, admin_pb2.GrantResponse, 5)
            except Said as no:
                if not no.again:
                    raise
                await asyncio.sleep(self._random.uniform(0.2, 1))
            else:
                self._journal.write("granted", id=name, who=who, amount=amount, balance=answer.entry.balance)
                return

    async def close(self) -> None:
        """Goes home."""
        await self._line.close()
        self._journal.close()


class Place:
    """Some persons who play one game after the other."""

    def __init__(
        self,
        persons: list[Person],
        viewer: Viewer | None,
        random: Random,
        calm: asyncio.Event,
        *,
        bank: Bank | None = None,
    ) -> None:
        """calm: set when nothing is broken any more and no further game is to begin. bank: gives credits for games that
        are paid for.
        """
        self._persons = persons
        self._viewer = viewer
        self._random = random
        self._calm = calm
        self._bank = bank
        self.games = 0
        self.ended = 0

    async def run(self) -> None:
        """Plays until it is calm and the last game is over."""
        await asyncio.gather(*(person.sign_in() for person in self._persons))
        if self._bank is not None:
            await asyncio.gather(*(self._bank.grant(person.who, CREDITS) for person in self._persons))
        while not self._calm.is_set():
            table = await self._open()
            if not table:
                await asyncio.sleep(1)
                continue
            self.games += 1
            await self._play(table)
            self.ended += 1

    async def _open(self) -> str:
        if self._bank is not None:
            return await self._persons[0].open("rugpull", entry_fee=self._random.choice((1, 7, 30)))
        edition = self._random.choice(EDITIONS)
        options: dict[str, Any] = {"round_limit": self._random.randint(2, 8)}
        if edition != "rugpull":
            options["clock"] = 20
        return await self._persons[0].open(edition, **options)

    async def _play(self, table: str) -> None:
        host, *others = self._persons
        for person in self._persons:
            person.go_to(table)
        host.sit()
        for person in others:
            await self._surely(person, "join")
            person.sit()
        for _ in range(0 if self._bank is not None else self._random.randint(1 if others else 2, 3)):
            await self._surely(host, "add_bot")
        await self._surely(host, "start")
        over = [asyncio.create_task(person.play(self._calm), name="play") for person in self._persons]
        end = self._end_it if self._bank is None else self._leave
        over.append(asyncio.create_task(end(), name="end"))
        if self._viewer is not None:
            over.append(asyncio.create_task(self._viewer.watch(table, host.over, self._calm), name="watch"))
        try:
            await asyncio.gather(*over)
        finally:
            for task in over:
                task.cancel()
            await asyncio.gather(*over, return_exceptions=True)
        await asyncio.gather(*(person.leave() for person in self._persons))

    async def _surely(self, person: Person, kind: str) -> None:
        """Has a step of the setting up done, whatever is broken meanwhile."""
        while not person.over.is_set():
            answer = await person.act(choosing.plain(kind))
            if isinstance(answer, Accepted) or not answer.again:
                return

    async def _end_it(self) -> None:
        """Once it is calm: the game goes on for a while, then everybody agrees to end it."""
        host = self._persons[0]
        calm = asyncio.create_task(self._calm.wait(), name="calm")
        over = asyncio.create_task(host.over.wait(), name="over")
        try:
            await asyncio.wait({calm, over}, return_when=asyncio.FIRST_COMPLETED)
            if host.over.is_set():
                return
            calm_ms = now_ms()
            while not host.over.is_set():
                if await self._went_on(host, calm_ms):
                    await self._agree()
        finally:
            calm.cancel()
            over.cancel()

    async def _went_on(self, person: Person, since_ms: int) -> bool:
        """Looks, a moment later, whether the game has gone on for long enough since then, or will not any more."""
        await asyncio.sleep(self._random.uniform(0.2, 0.6))
        waited_s = (now_ms() - since_ms) / 1000
        return waited_s > GOES_ON_S and (person.moved_ms > since_ms or waited_s > SETTLED_S)

    async def _leave(self) -> None:
        """A game that is paid for has no vote to end it: after a while all but one leave, who has won then."""
        stays, *leave = self._random.sample(self._persons, len(self._persons))
        calm = asyncio.create_task(self._calm.wait(), name="calm")
        over = asyncio.create_task(stays.over.wait(), name="over")
        try:
            await asyncio.wait({calm, over}, timeout=self._random.uniform(10, 60), return_when=asyncio.FIRST_COMPLETED)
            calm_ms = 0
            for person in leave:
                if self._calm.is_set():
                    calm_ms = calm_ms or now_ms()
                    while not stays.over.is_set() and not await self._went_on(stays, calm_ms):
                        continue
                if not stays.over.is_set():
                    await self._surely(person, "leave")
            await over
            for person in leave:  # whoever has left may not have been shown the end
                person.over.set()
        finally:
            calm.cancel()
            over.cancel()

    async def _agree(self) -> None:
        by = self._persons[0].vote
        if not by:
            for person in self._persons:
                answer = await person.act(choosing.plain("propose_end"))
                if isinstance(answer, Accepted) or (isinstance(answer, Said) and answer.code == "vote_open"):
                    return
            return
        for person in self._persons:
            if person.who != by:
                await person.act(choosing.plain("vote", yes=True))
