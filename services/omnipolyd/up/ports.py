"""Ports of one `up`, taken before anybody listens on them and kept until it ends.

Peers must know each other's addresses before they start, so ports are chosen here. Each is held by a socket that is
bound and never listens: as both have set SO_REUSEADDR, Linux lets the service listen beside it, now and after a
restart, while nobody else is handed the port.
"""

from __future__ import annotations

import contextlib
import errno
import random
import socket
import sys
from collections.abc import Iterator
from typing import Any

from omnipoly.runtime.errors import StartError

LOWEST, HIGHEST = 20_000, 32_767
"""Where free ports are looked for: below those that systems hand out by themselves, to anybody, at any moment."""
TRIES = 200


class Ports:
    """The ports held so far."""

    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def take(self, host: str, port: int, option: str) -> int:
        """Takes a port, 0: any free one; its number. Raises `StartError`, naming the option, when it cannot be had."""
        try:
            return self._given(host, port) if port else self._free(host)
        except OSError as error:
            where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            reason = (error.strerror or str(error)).lower()
            raise StartError(f"cannot listen on {where}: {reason}; choose another {option}") from None

    def _given(self, host: str, port: int) -> int:
        # Whoever listens shares the port with nobody; a socket that was only bound beside it would not notice.
        with _socket(host, port) as (probe, address):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
        with _socket(host, port, keep=self._held) as (holder, address):
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(address)
        return port

    def _free(self, host: str) -> int:
        for tries in range(TRIES, 0, -1):
            port = random.randint(LOWEST, HIGHEST)
            try:
                with _socket(host, port, keep=self._held) as (holder, address):
                    holder.bind(address)  # not beside anybody else's
                    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            except OSError as error:
                if error.errno != errno.EADDRINUSE or tries == 1:
                    raise
            else:
                return port
        raise AssertionError("the last try returns or raises")

    def share(self) -> None:
        """To be called before the services listen: where a bound socket would keep them off, it is closed."""
        if sys.platform != "linux":
            self.close()

    def close(self) -> None:
        """Lets go of all of them."""
        for holder in self._held:
            with contextlib.suppress(OSError):
                holder.close()
        self._held.clear()


@contextlib.contextmanager
def _socket(
    host: str, port: int, keep: list[socket.socket] | None = None
) -> Iterator[tuple[socket.socket, tuple[Any, ...]]]:
    """A socket and the address to bind it to; closed at the end, unless all went well and it is to be kept."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    made = socket.socket(family, kind, protocol)
    try:
        yield made, address
    except BaseException:
        made.close()
        raise
    if keep is None:
        made.close()
    else:
        keep.append(made)


def reachable(host: str, port: int) -> str:
    """host:port to reach a listener from this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
