"""Writes the references of docs/operations from the code: metrics.md and configuration.md.

python .ci/reference.py            write them
python .ci/reference.py --check    say which differ from the code; exit 1 if any does
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import types
import typing
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.metrics import MetricWrapperBase
from pydantic import SecretStr
from pydantic_core import PydanticUndefined

import omnipolyd
from omnipoly import runtime
from omnipoly.runtime.config import ServiceSettings, variable
from omnipolyd.roles import ROLES

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs/operations"

EVERYWHERE = "runtime"
"""Stands for what every service has."""

LABELS = {
    "action": "kind of action, of the contract's, or what else reaches a table: `wake`, `report`, `look`, …",
    "bucket": "a bucket of NATS, of a handful",
    "code": "reason of a refusal, of the contract's",
    "edition": "id of an edition, with its mode where it has modes; empty: not known, for the table was not in memory",
    "grpc_code": "status code as go-grpc-middleware spells it: `OK`, `NotFound`, `DeadlineExceeded`, …",
    "grpc_method": "method of the contracts",
    "grpc_service": "full name of a service of the contracts",
    "grpc_type": "`unary`, `client_stream`, `server_stream`, `bidi_stream`",
    "issuer": "name of a configured issuer",
    "key": "id of a key that signs tokens, a digest of it; of those configured",
    "kind": "one of the few that the meaning names, or the class of an error",
    "method": "method of the contracts, in frames between services",
    "outcome": "`ok`, a reason of refusals, or what the meaning names",
    "part": "`player`, `viewer`",
    "reason": "why, of a handful",
    "service": "name of a service",
    "status": "state of a table: `lobby`, `playing`, `paused`, `frozen`",
    "stream": "a stream or bucket of NATS, of a handful",
    "target": "address of another service, as configured",
    "task": "name of a background task, of a few dozen",
    "use": "`services` or `public`: where a certificate is shown",
    "version": "version of Omnipoly",
    "what": "what happened or was asked for, as the meaning says",
    "why": "why, of a handful",
}
"""What each label may hold: always one of a bounded number of values, never a table's or person's id."""


METRICS_HEAD = """\
# Metrics

Written from the code by `make reference`; not edited by hand. Each process answers `/metrics` in the format of
Prometheus on `OMNIPOLY_METRICS_PORT`. Units are seconds and bytes. A label holds one of a bounded number of values,
never a table's or a person's id. Counters begin at 0 with the process; a series with labels appears when it is first
counted.

Python's own metrics (`process_cpu_seconds_total`, `process_resident_memory_bytes`, `python_gc_…`) come with them.
"""

CONFIGURATION_HEAD = """\
# Configuration

Written from the settings classes by `make reference`; not edited by hand. A setting is an environment variable. One
that begins with `OMNIPOLY_` and is not known is an error at the start, which names the nearest one that is. Empty is as
not set. Secrets are never logged; give them by reference (a Kubernetes Secret, a file), not in a manifest.

Every variable may be given to every service: each reads its own.
"""


COMMAND_LINE = {
    "OMNIPOLY_DATA": ("`.omnipoly`", "folder in which `omnipolyd up` keeps games, logs and keys"),
    "OMNIPOLY_GATEWAY": ("the one of this machine", "gateway that `omnipoly` talks to, host:port"),
    "OMNIPOLY_TOKEN": ("a sign-in as a guest", "access token that `omnipoly` shows"),
}
"""By variable of `omnipolyd.roles.VARIABLES`: its default and meaning."""


class Metric(NamedTuple):
    """One metric as the code defines it."""

    name: str
    """As it is scraped: a counter's with `_total`, a histogram's without suffix."""
    type: str
    labels: tuple[str, ...]
    meaning: str
    service: str

    @property
    def series(self) -> tuple[str, ...]:
        """The names of its time series."""
        if self.type == "histogram":
            return (f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count")
        return (self.name,)


def metrics() -> list[Metric]:
    """All metrics of all services, by service and name."""
    found: dict[str, Metric] = {}
    for module in _modules():
        service = module.__name__.split(".")[1] if module.__name__.startswith("omnipolyd.") else EVERYWHERE
        source = Path(module.__file__ or "").read_text("utf-8")
        for value in vars(module).values():
            if not isinstance(value, MetricWrapperBase):
                continue
            name = value._name + ("_total" if value._type == "counter" else "")
            # a metric that is imported from its module is defined in that one
            if f'"{name}"' in source:
                labels = tuple(value._labelnames)
                found[name] = Metric(name, value._type, labels, value._documentation, service)
    order = [EVERYWHERE, *ROLES]
    return sorted(found.values(), key=lambda metric: (order.index(metric.service), metric.name))


def _modules() -> list[types.ModuleType]:
    names = []
    for package in (runtime, omnipolyd):
        names += [info.name for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    kept = [name for name in names if ".migrations.versions" not in name and ".alembic" not in name]
    return [importlib.import_module(name) for name in kept]


def metrics_page() -> str:
    """docs/operations/metrics.md."""
    every = metrics()
    lines = [
        *METRICS_HEAD.splitlines(),
        "",
        "## Labels",
        "",
        "| label | values |",
        "|---|---|",
    ]
    used = sorted({label for metric in every for label in metric.labels})
    lines += [f"| `{label}` | {LABELS[label]} |" for label in used]
    for service in [EVERYWHERE, *ROLES]:
        mine = [metric for metric in every if metric.service == service]
        if not mine:
            continue
        title = "Every service" if service == EVERYWHERE else service.capitalize()
        lines += ["", f"## {title}", "", "| metric | type | labels | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{one.name}` | {one.type} | {', '.join(f'`{label}`' for label in one.labels) or '–'} | {one.meaning} |"
            for one in mine
        ]
    return "\n".join(lines) + "\n"


def configuration_page() -> str:
    """docs/operations/configuration.md."""
    lines = [
        *CONFIGURATION_HEAD.splitlines(),
        "",
        "## Every service",
        "",
        *_rows(dict(ServiceSettings.model_fields), ServiceSettings),
    ]
    for role in ROLES.values():
        cls = role.settings_class()
        own = {
            name: field
            for name, field in cls.model_fields.items()
            if name not in ServiceSettings.model_fields or _differs(field, ServiceSettings.model_fields[name])
        }
        what = f"`omnipolyd serve {role.name}`: {role.summary}. Port {role.port} unless given."
        lines += ["", f"## {role.name.capitalize()}", "", what]
        if own:
            lines += ["", *_rows(own, cls)]
    lines += [
        "",
        "## Command line",
        "",
        "`omnipolyd up` and the other commands read the same variables where their `--help` names them, and besides:",
        "",
        "| variable | default | meaning |",
        "|---|---|---|",
        *(f"| `{name}` | {default} | {meaning} |" for name, (default, meaning) in COMMAND_LINE.items()),
    ]
    return "\n".join(lines) + "\n"


def _differs(field: Any, common: Any) -> bool:
    return (field.default, field.description) != (common.default, common.description)


def _rows(fields: dict[str, Any], cls: type[ServiceSettings]) -> list[str]:
    rows = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    for name, field in fields.items():
        if not field.description:
            raise SystemExit(f"{cls.__name__}.{name} has no description")
        meaning = field.description.replace("|", "\\|")
        rows.append(f"| `{variable(name)}` | {_type(field)} | {_default(field)} | {meaning} |")
    return rows


def _type(field: Any) -> str:
    kind = field.annotation
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(f"`{value}`" for value in typing.get_args(kind))
    name = {str: "text", int: "whole number", float: "number", bool: "true or false", SecretStr: "secret"}.get(
        kind, getattr(kind, "__name__", str(kind)).replace("|", "or")
    )
    bounds = {type(bound).__name__.lower(): bound for bound in field.metadata}
    least = next((getattr(bound, key) for key, bound in bounds.items() if key in {"ge", "gt"}), None)
    most = next((getattr(bound, key) for key, bound in bounds.items() if key in {"le", "lt"}), None)
    over = "above" if "gt" in bounds else "from"
    if least is not None and most is not None:
        return f"{name}, {over} {_number(least)} to {_number(most)}"
    if least is not None:
        return f"{name}, {over} {_number(least)}"
    return name


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


def _default(field: Any) -> str:
    value = field.default
    if value is PydanticUndefined:
        return "–" if field.default_factory is None else f"`{field.default_factory()}`"
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, bool):
        return str(value).lower()
    return "empty" if value == "" else f"`{value}`"


PAGES = {"metrics.md": metrics_page, "configuration.md": configuration_page}


if __name__ == "__main__":
    import written

    pages = {TARGET / name: make() for name, make in PAGES.items()}
    sys.exit(written.main("Writes the references of docs/operations from the code.", pages))
