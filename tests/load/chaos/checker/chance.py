"""Every throw once more: the seed that is shown at the end is the one that was promised, and makes these very dice."""

from __future__ import annotations

import hashlib
import hmac

from .reading import Commit, Findings


def check(rows: list[Commit], found: Findings) -> None:
    """One game's throws; a game that has not shown its seed is passed over."""
    commitment, seed, contributions = "", b"", []
    throws: list[tuple[Commit, int, tuple[int, ...]]] = []
    started = False
    for row in rows:
        for kind, event in row.events():
            if kind == "table_opened":
                commitment = event.commitment
            elif kind == "contributed" and not started:
                contributions.append(event.text)
            elif kind == "game_started":
                started = True
            elif kind == "dice_thrown":
                throws.append((row, event.number, tuple(event.dice)))
            elif kind == "seed_revealed":
                seed = bytes.fromhex(event.seed)
    if not seed:
        return
    if hashlib.sha256(seed).hexdigest() != commitment:
        found.fault("chance", f"{rows[0].table}: the seed shown is not the one that was promised")
        return
    salt = hashlib.sha256()
    for text in contributions:
        salt.update(len(text.encode()).to_bytes(4, "big") + text.encode())
    for row, number, dice in throws:
        found.count("throws made again")
        value = _below(seed, f"dice\n{salt.hexdigest()}\n{number}", 36)
        if dice != (value // 6 + 1, value % 6 + 1):
            found.fault("chance", f"{row}: throw {number} was {dice}, the seed makes another")


def _below(seed: bytes, message: str, count: int) -> int:
    limit = 2**64 - 2**64 % count
    attempt = 0
    while True:
        drawn = int.from_bytes(hmac.digest(seed, f"{message}\n{attempt}".encode(), "sha256")[:8], "big")
        if drawn < limit:
            return drawn % count
        attempt += 1
