"""What ends a program before it serves: each is one line for the operator, exit code 1, never a stack trace."""

from __future__ import annotations


class StartError(Exception):
    """The program cannot start; `str()` of it is one line that names the cause and, where there is one, the remedy."""


class ConfigError(StartError):
    """A setting is wrong or unknown; the line names the variable."""


class DatabaseUnreachable(StartError):
    """The database does not answer or lets us not in; the line names its address, never its password."""


class SchemaError(StartError):
    """The database's schema is older than this program needs, or newer than it knows."""
