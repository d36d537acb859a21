"""promtool, which reads rules and queries as Prometheus does."""

from __future__ import annotations

import shutil
import subprocess

import pytest

MISSING = (
    "promtool is not installed, so that rules and dashboards cannot be checked: install it (Debian: apt-get install "
    "prometheus)"
)


def promtool(*arguments: str, given: str = "") -> str:
    """What a command of it says of its arguments and of what it is given on standard input.

    Fails the test when it fails, and when there is no promtool: nothing passes unseen.
    """
    program = shutil.which("promtool")
    if program is None:
        pytest.fail(MISSING)
    done = subprocess.run([program, *arguments], input=given, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
