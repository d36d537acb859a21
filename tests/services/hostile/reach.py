"""Which lines of the platform's own code some messages reach: by the interpreter's tracing, in this process."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any, Self

import omnipoly.wire
import omnipolyd.gateway
import omnipolyd.table
from omnipoly.runtime import failures

Line = tuple[str, int]

_OUTSIDE = ("/wire/gen/", "/table/migrations/")


class Reach:
    """While tracing, every line of the gateway, the mapping to protos and the table service that is run."""

    def __init__(self) -> None:
        packages = (omnipolyd.gateway, omnipolyd.table, omnipoly.wire)
        folders = [f"{Path(str(package.__file__)).parent}/" for package in packages]
        self._folders = (*folders, str(Path(str(failures.__file__)).with_name("page_tokens.py")))
        self._of_interest: dict[str, bool] = {}
        self._lines: set[Line] = set()

    def __enter__(self) -> Self:
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def taken(self) -> set[Line]:
        """The lines since the last time."""
        lines, self._lines = self._lines, set()
        return lines

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        file = frame.f_code.co_filename
        wanted = self._of_interest.get(file)
        if wanted is None:
            wanted = file.startswith(self._folders) and not any(part in file for part in _OUTSIDE)
            self._of_interest[file] = wanted
        return self._line if wanted else None

    def _line(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line
