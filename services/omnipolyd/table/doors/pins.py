"""PINs: hashed slowly, compared in constant time; what is kept of one is a salt and a hash.

Four digits are found by trying them all, however slowly they are hashed: what protects them is that tries are counted.
The hash keeps them from who may read the rows but not try them all.

What is slow is bounded. New PINs and PINs that are tried wait in a queue each, so that neither keeps the other waiting;
a queue is short, and nobody has more than a little of it: who comes beyond is refused at once, before anything is
hashed or counted for them.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures
from omnipoly.runtime.refusals import failure

_N, _R, _P = 2**14, 8, 1
"""scrypt's cost: 16 MiB and some 50 ms."""
_BYTES = 32
PLACES = 8
"""In a queue, who is being served included: with two hashes for a new PIN the last waits less than a second."""
PLACES_OF_A_PERSON = 2
"""One, and the same again of a caller who has lost the answer."""
RETRY_S = 1.0


class Pin(NamedTuple):
    """What is kept of a PIN."""

    salt: bytes
    hash: bytes


class Hasher:
    """Hashes beside the event loop: one new PIN and one that is tried at a time.

    Where a queue is full its methods raise ``Failure`` RESOURCE_EXHAUSTED: ``unavailable``, or ``rate_limited`` for who
    has too many places of it already.
    """

    def __init__(self) -> None:
        self._new, self._tried = _Queue(), _Queue()

    async def new(self, digits: str, command: str, person: str, until: float) -> tuple[Pin, bytes]:
        """(what to keep of a new PIN, what stands for it in the digest of its command).

        The latter is the same for the same command, by its name, and PIN, and as slow to make as everything else that
        is kept of it. person: whose it is. until: when they give up, by the loop's clock: nothing is hashed for them
        then, ``Failure`` DEADLINE_EXCEEDED.
        """
        salt = secrets.token_bytes(16)
        with self._new.place(person):
            async with self._new.turn:
                if asyncio.get_running_loop().time() >= until:
                    raise failures.deadline_passed()
                kept = Pin(salt, await _hash(digits, salt))
                return kept, await _hash(digits, hashlib.sha256(b"pin " + command.encode()).digest())

    @contextmanager
    def trying(self, person: str) -> Iterator[None]:
        """A place for a PIN that somebody tries: taken before the try is counted."""
        with self._tried.place(person):
            yield

    async def fits(self, digits: str, pin: Pin) -> bool:
        """Whether these are the PIN's digits."""
        async with self._tried.turn:
            return hmac.compare_digest(await _hash(digits, pin.salt), pin.hash)


class _Queue:
    """Who waits for hashes of one kind."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self._places: Counter[str] = Counter()

    @contextmanager
    def place(self, person: str) -> Iterator[None]:
        """A place of somebody's."""
        if self._places[person] >= PLACES_OF_A_PERSON:
            raise failure(
                Code.RATE_LIMITED, "You have PINs waiting already; one after the other.", retry_after_s=RETRY_S
            )
        if self._places.total() >= PLACES:
            raise failures.overloaded("Many PINs are being looked at; try again.", RETRY_S)
        self._places[person] += 1
        try:
            yield
        finally:
            self._places[person] -= 1
            if not self._places[person]:
                del self._places[person]


async def _hash(digits: str, salt: bytes) -> bytes:
    return await asyncio.to_thread(
        hashlib.scrypt, digits.encode(), salt=salt, n=_N, r=_R, p=_P, dklen=_BYTES, maxmem=64 * 1024 * 1024
    )
