"""Logs: one JSON object a line on standard error, named by event; the libraries' own logging goes the same way.

    log = logging.get(__name__)
    log.warning("append_unknown", table=table_id, version=7, error=str(error))

Event names are snake_case and constant; what varies is a field. No line per accepted command above DEBUG. Values under
names such as `token`, `seed`, `pin` and passwords inside URLs are masked wherever they turn up, as a second net: the
first is not to log them.
"""

from __future__ import annotations

import logging as stdlib
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Literal, TextIO, cast

import structlog
from pydantic import SecretStr
from structlog.typing import FilteringBoundLogger, Processor

from omnipoly.runtime import tracing

MASK = "[secret]"

_SECRET_NAME = re.compile(
    r"(^|_)(token|tokens|seed|seeds|pin|password|secret|secrets|authorization|cookie|credentials|private_key)$"
)
_PASSWORD_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://)([^\s/@:]*:)?[^\s/@]+@")

# Libraries that say more than an operator wants at INFO.
_QUIET = {
    "alembic": stdlib.WARNING,
    "asyncio": stdlib.WARNING,
    "asyncpg": stdlib.ERROR,
    "httpcore": stdlib.WARNING,
    "httpx": stdlib.WARNING,
    "nats": stdlib.ERROR,
    "opentelemetry": stdlib.ERROR,
    "sqlalchemy": stdlib.WARNING,
}

# Local variables hold passwords and seeds: a trace shows where, never with what.
_TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False, max_frames=30)
)


def get(name: str) -> FilteringBoundLogger:
    """The logger of a module; methods debug, info, warning, error, exception take an event and fields."""
    return cast("FilteringBoundLogger", structlog.stdlib.get_logger(name))


def bind(**fields: object) -> Mapping[str, object]:
    """Adds fields to every later line of this task and the tasks it starts; returns what `unbind` takes."""
    return structlog.contextvars.bind_contextvars(**fields)


def unbind(tokens: Mapping[str, Any]) -> None:
    """Takes back what `bind` added."""
    structlog.contextvars.reset_contextvars(**tokens)


def configure(
    service: str,
    *,
    level: str = "info",
    form: Literal["json", "console"] = "json",
    stream: TextIO | None = None,
) -> None:
    """Sets logging up for this process; may be called again, the last call holds.

    service: the name in each line. stream: standard error unless a test wants to read it.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _adder(service),
        _masked_event,
    ]
    if form == "json":
        last: list[Processor] = [_TRACEBACKS, _masked_event, structlog.processors.JSONRenderer(default=str)]
    else:
        target = stream or sys.stderr
        plain = structlog.dev.plain_traceback  # the richer ones print local variables
        last = [structlog.dev.ConsoleRenderer(colors=target.isatty(), exception_formatter=plain)]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    )
    handler = stdlib.StreamHandler(stream or sys.stderr)
    handler.setFormatter(formatter)
    root = stdlib.getLogger()
    for old in [one for one in root.handlers if getattr(one, "omnipoly", False)]:
        root.removeHandler(old)
    handler.omnipoly = True  # type: ignore[attr-defined]
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name, least in _QUIET.items():
        stdlib.getLogger(name).setLevel(max(least, root.level))
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    stdlib.captureWarnings(capture=True)


def masked(name: str, value: object) -> object:
    """A value as it may be shown: whole values of secret names, and passwords inside URLs, are masked."""
    if isinstance(value, SecretStr) or _SECRET_NAME.search(name.lower()):
        return MASK
    if isinstance(value, str) and "://" in value:
        return _PASSWORD_IN_URL.sub(rf"\1{MASK}@", value)
    if isinstance(value, Mapping):
        return {key: masked(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked("", inner) for inner in value]
    return value


def _masked_event(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        if name not in {"exc_info", "_record"}:
            event[name] = masked(name, value)
    return event


def _adder(service: str) -> Callable[[object, str, MutableMapping[str, Any]], MutableMapping[str, Any]]:
    def add(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        event.setdefault("service", service)
        if "trace_id" not in event and (trace_id := tracing.current_trace_id()):
            event["trace_id"] = trace_id
        return event

    return add
