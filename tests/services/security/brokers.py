"""A NATS with the operators' own configuration, as a child of the tests."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnipoly.runtime import embedded
from omnipoly.runtime.children import Child
from tests.services.playing import free_port

FOLDER = Path(__file__).parents[3] / "deploy/nats"


class Broker:
    """One running server."""

    def __init__(self, child: Child, port: int) -> None:
        self._child = child
        self.port = port
        self.address = f"127.0.0.1:{port}"

    @property
    def log(self) -> str:
        """All that it has said."""
        return self._child.log.read_text("utf-8")

    def reload(self) -> None:
        """Has it read its files again."""
        self._child.process.send_signal(signal.SIGHUP)


@contextmanager
def broker(folder: Path, config: str, **variables: str) -> Iterator[Broker]:
    """Runs it for the length of the block. config: a file of ``deploy/nats``."""
    port, name = free_port(), f"n{secrets.token_hex(6)}"
    folder.mkdir(exist_ok=True)
    pid_file = folder / "nats.pid"
    command = [embedded._nats_program(), "-c", FOLDER / config, "-a", "127.0.0.1", "-p", str(port)]
    child = Child(
        [*command, "-P", pid_file],
        folder=folder,
        log=folder / "nats.log",
        pid_file=pid_file,
        stop_signal=signal.SIGTERM,
        user=None,
        environment={
            **variables,
            "NATS_SERVER_NAME": name,
            "NATS_STORE": str(folder / "store"),
            "NATS_SYS_PASSWORD": secrets.token_hex(8),
        },
        remove_folder=False,
    )
    try:
        assert child.wait_ready(lambda: embedded._nats_answers(port, name), 30), child.log_tail()
        yield Broker(child, port)
    finally:
        child.stop()
