"""The command line of ``omnipolyd``. What a command needs it imports itself, so that ``--help`` is fast."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from omnipolyd.roles import ROLES, Role

app = typer.Typer(
    name="omnipolyd",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Runs Omnipoly: property-trading games for any client that speaks gRPC.",
    epilog="Settings are environment variables that begin with OMNIPOLY_.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"omnipolyd {version('omnipoly')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The root of it; its help stands with `app`."""


_SERVICES = "  ".join(f"{role.name}: {role.summary}." for role in ROLES.values())


def _role(name: str) -> Role:
    if name not in ROLES:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(ROLES)}")
    return ROLES[name]


class LogLevel(StrEnum):
    """The least level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


DatabaseUrl = Annotated[
    str,
    typer.Option(
        envvar="OMNIPOLY_DATABASE_URL",
        metavar="URL",
        show_envvar=True,
        help="postgresql://user:password@host:port/name.",
    ),
]
NatsUrl = Annotated[str, typer.Option(envvar="OMNIPOLY_NATS_URL", metavar="URL", help="nats://host:port.")]
Editions = Annotated[
    Path | None, typer.Option(envvar="OMNIPOLY_EDITIONS", metavar="DIR", help="Folder of further edition files.")
]


@app.command()
def up(
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="OMNIPOLY_DATA",
            metavar="DIR",
            help="Where games, logs and keys are kept; .omnipoly in the working directory unless given.",
        ),
    ] = None,
    ephemeral: Annotated[
        bool,
        typer.Option("--ephemeral", help="Keep everything in a temporary folder (inside --data), deleted at the end."),
    ] = False,
    dev: Annotated[
        bool,
        typer.Option("--dev", envvar="OMNIPOLY_DEV", help="Let clients set tables up, script dice and drive clocks."),
    ] = False,
    port: Annotated[
        int, typer.Option(envvar="OMNIPOLY_PORT", min=0, max=65535, help="Port of the gateway; 0: any free one.")
    ] = 7100,
    host: Annotated[str, typer.Option(envvar="OMNIPOLY_HOST", help="Address the gateway listens on.")] = "127.0.0.1",
    editions: Editions = None,
    database_url: DatabaseUrl = "",
    nats_url: NatsUrl = "",
    replicas: Annotated[
        list[str] | None,
        typer.Option(metavar="SERVICE=N", help="How many processes of a service; 0: none. May be given several times."),
    ] = None,
    page_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="N",
            help="Serve the page to watch and play at this port, 0: any free one; guests may then watch all tables.",
        ),
    ] = None,
    metrics_port_base: Annotated[
        int,
        typer.Option(
            envvar="OMNIPOLY_METRICS_PORT",
            min=0,
            max=65535,
            help="Prometheus port of the first process, the others count up from it; 0: none.",
        ),
    ] = 0,
    log_level: Annotated[
        LogLevel, typer.Option(envvar="OMNIPOLY_LOG_LEVEL", help="Least level that is logged.")
    ] = LogLevel.INFO,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the services' logs on standard error, too.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say on standard output, in one line of JSON, when and where all serve.")
    ] = False,
    ready_fd: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Write that line to this file descriptor, and close it.")
    ] = None,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends: with whoever holds its other end.")
    ] = False,
) -> None:
    """Run every service on this machine, until Ctrl-C or SIGTERM.

    PostgreSQL and NATS come with it unless their URLs are given. Each service is a process of its own; one that ends
    unexpectedly is started again. Logs are JSON lines in DIR/logs.
    """
    from omnipolyd.up import command, options

    _exit(
        command.up(
            options.Options(
                data=data,
                ephemeral=ephemeral,
                dev=dev,
                host=host,
                port=port,
                page_port=page_port,
                metrics_port_base=metrics_port_base,
                database_url=database_url,
                nats_url=nats_url,
                editions=editions,
                replicas=options.replicas(replicas or []),
                log_level=log_level.value,
                verbose=verbose,
                json=as_json,
                ready_fd=ready_fd,
                stop_with_stdin=stop_with_stdin,
            )
        )
    )


@app.command(epilog=_SERVICES)
def serve(
    service: Annotated[Role, typer.Argument(parser=_role, metavar="SERVICE", help=f"{', '.join(ROLES)}.")],
) -> None:
    """Run one service as this process, until SIGTERM or Ctrl-C; settings come from the environment."""
    from omnipolyd import roles

    _exit(roles.serve(service))


@app.command()
def migrate(database_url: DatabaseUrl = "") -> None:
    """Bring the database's schema to what this program needs. Several at once do no harm."""
    import asyncio

    from omnipoly.runtime import config, logging
    from omnipoly.runtime.errors import ConfigError
    from omnipolyd import roles
    from omnipolyd.up.preparing import migrate as run

    roles.learn_variables()
    config.refuse_unknown()
    if not database_url:
        raise ConfigError(
            "OMNIPOLY_DATABASE_URL is not set; give --database-url postgresql://user:password@host:port/name"
        )
    logging.configure("migrate", level="warning")
    for package, ran in asyncio.run(run(database_url, list(ROLES))):
        typer.echo(f"{package}: ran {', '.join(ran)}" if ran else f"{package}: up to date")


@app.command()
def archive(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to; a folder a month is made in it.")],
    older_than_days: Annotated[
        int, typer.Option(min=0, max=36500, metavar="DAYS", help="Only games that ended so long ago.")
    ] = 90,
    most: Annotated[int, typer.Option(min=1, help="At most so many games.")] = 100_000,
    database_url: DatabaseUrl = "",
) -> None:
    """Write finished games to files and remove them from the database. Results, standings and the ledger stay.

    A file is read by `omnipoly replay` and `omnipoly verify`. Exits with 1 when a game's log is not whole: it stays.
    """
    from omnipolyd import upkeep

    _exit(upkeep.archive(database_url, folder, older_than_days, most))


@app.command()
def erase(
    person: Annotated[str, typer.Argument(metavar="PERSON", help="The person's id, oidc:… or guest:….")],
    database_url: DatabaseUrl = "",
) -> None:
    """Erase who a person was: their games keep the seat and lose the name; account and chat are emptied.

    Games that still go on keep the name until their end: they are listed, and it exits with 3; run it again then.
    """
    from omnipolyd import upkeep

    _exit(upkeep.erase(database_url, person))


@app.command()
def token(
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE", help="bots, admin, moderator, read_only; may be given several times."),
    ] = None,
    person: Annotated[
        str, typer.Option(metavar="PERSON", help="Whose it is: an id of 1 to 64 characters.")
    ] = "service:operator",
    name: Annotated[str, typer.Option(help="The name at tables.")] = "Operator",
    minutes: Annotated[int, typer.Option(min=1, max=1440, help="How long it lives.")] = 15,
    key_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The key that signs sessions, of `up`: DIR/session.key. OMNIPOLY_SESSION_KEY otherwise.",
        ),
    ] = None,
) -> None:
    """Print an access token signed with the sessions' key: for operators, services of one's own and scenarios."""
    from omnipolyd import passes

    typer.echo(passes.token(key_file, person, name, role or [], minutes))


@app.command()
def check(
    service: Annotated[
        Role | None,
        typer.Argument(parser=_role, metavar="[SERVICE]", help="What this service needs; without it, what `up` needs."),
    ] = None,
    database_url: DatabaseUrl = "",
    nats_url: NatsUrl = "",
    editions: Editions = None,
) -> None:
    """Look for what would keep a start from going well, a line each; exits with 1 when there is something."""
    import asyncio

    from omnipolyd import checking

    _exit(asyncio.run(checking.check(checking.Asked(service, database_url, nats_url, editions))))


def _exit(code: int) -> None:
    raise typer.Exit(code)
