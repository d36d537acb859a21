"""The command line, called in this process."""

from __future__ import annotations

import sys
from unittest import mock

from omnipoly import cli


def call(*arguments: object) -> int:
    """Run `omnipoly` with arguments; its exit code."""
    with mock.patch.object(sys, "argv", ["omnipoly", *map(str, arguments)]):
        try:
            cli.main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 0
    return 0
