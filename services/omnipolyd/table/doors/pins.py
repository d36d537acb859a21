"""PINs: hashed slowly, compared in constant time; what is kept of one is a salt and a hash.

Four digits are found by trying them all, however slowly they are hashed: what protects them is that tries are counted.
The hash keeps them from who may read the rows but not try them all.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from typing import NamedTuple

_N, _R, _P = 2**14, 8, 1
"""scrypt's cost: 16 MiB and some 50 ms."""
_BYTES = 32
_AT_ONCE = 2
"""Hashes that one process makes at a time."""


class Pin(NamedTuple):
    """What is kept of a PIN."""

    salt: bytes
    hash: bytes


class Hasher:
    """Hashes beside the event loop, a few at a time."""

    def __init__(self) -> None:
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def new(self, digits: str) -> Pin:
        """What to keep of a new PIN."""
        salt = secrets.token_bytes(16)
        return Pin(salt, await self._hash(digits, salt))

    async def fits(self, digits: str, pin: Pin) -> bool:
        """Whether these are the PIN's digits."""
        return hmac.compare_digest(await self._hash(digits, pin.salt), pin.hash)

    async def digest(self, digits: str, command: str) -> bytes:
        """What stands for a PIN in the digest of a command: the same for the same command and PIN, and as slow to make
        as everything else that is kept of it. "" stands for itself."""
        return await self._hash(digits, hashlib.sha256(b"pin " + command.encode()).digest()) if digits else b""

    async def _hash(self, digits: str, salt: bytes) -> bytes:
        async with self._gate:
            return await asyncio.to_thread(
                hashlib.scrypt, digits.encode(), salt=salt, n=_N, r=_R, p=_P, dklen=_BYTES, maxmem=64 * 1024 * 1024
            )
