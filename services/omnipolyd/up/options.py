"""What `omnipolyd up` is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from omnipoly.runtime.errors import ConfigError
from omnipolyd.roles import ROLES

DEFAULT_FOLDER = Path(".omnipoly")
"""In the working directory: what one project tries out stays with it, and `make clean` leaves it alone."""

MOST_REPLICAS = 32


class Options(NamedTuple):
    """One run of `up`; the command line's own defaults stand in `main`."""

    data: Path | None = None
    """None: `.omnipoly` in the working directory; with `ephemeral`, a new folder in the temporary one."""
    ephemeral: bool = False
    dev: bool = False
    host: str = "127.0.0.1"
    port: int = 7100
    """The first gateway's; 0: any free one."""
    page_port: int | None = None
    """The web page's; 0: any free one; None: there is no page."""
    metrics_port_base: int = 0
    """The first process's Prometheus endpoint; the others count up from it. 0: none."""
    database_url: str = ""
    nats_url: str = ""
    editions: Path | None = None
    replicas: tuple[tuple[str, int], ...] = ()
    log_level: str = ""
    verbose: bool = False
    ready_fd: int | None = None
    json: bool = False
    stop_with_stdin: bool = False

    def count(self, role: str) -> int:
        """How many processes a role has."""
        return dict(self.replicas).get(role, 1)

    def check(self) -> None:
        """Raises `ConfigError` for what does not go together."""
        if self.dev and self.database_url:
            raise ConfigError(
                "--dev sets tables up and drives their clocks: not with a database that `up` did not make; "
                "leave out --database-url and OMNIPOLY_DATABASE_URL"
            )
        if self.editions is not None and not self.editions.is_dir():
            raise ConfigError(f"the folder of editions {self.editions} is not there")
        last = self.metrics_port_base + sum(self.count(role) for role in ROLES) - 1
        if self.metrics_port_base and last > 65535:
            raise ConfigError(f"--metrics-port-base {self.metrics_port_base}: the last process would have port {last}")


def replicas(given: list[str]) -> tuple[tuple[str, int], ...]:
    """`["table=2"]` as pairs. Raises `ConfigError` for anything else, and for a role or a number that is not one."""
    found: dict[str, int] = {}
    for one in given:
        role, _, number = one.partition("=")
        if role not in ROLES:
            raise ConfigError(f"--replicas {one}: the services are {', '.join(ROLES)}")
        if not number.isdecimal() or int(number) > MOST_REPLICAS:
            raise ConfigError(f"--replicas {one}: give {role}=N, N from 0 to {MOST_REPLICAS}")
        found[role] = int(number)
    return tuple(found.items())
