"""Options that hold for every test. Fixtures stand in the conftest of the folder that uses them."""

from __future__ import annotations

import os
import random
import shutil

import hypothesis
import pytest

# No deadline: a test never fails on a clock. No database: a run depends on its seed alone, which the header prints.
hypothesis.settings.register_profile(
    "omnipoly",
    deadline=None,
    database=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("omnipoly")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draws the seed of all random tests, unless one is given."""
    if config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))


PACKAGES = {"chromium": "chromium", "node": "nodejs npm", "promtool": "prometheus", "tmux": "tmux"}
"""Programs that some tests look at the project with, and Debian's packages of them."""
ALL = "TEST_ALL_PROGRAMS"
"""Set where all of them are to be there, as in the gate."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a program that it needs a test is skipped, and says what to install; in the gate it fails."""
    missing = {name for name in PACKAGES if shutil.which(name) is None}
    if not missing or os.environ.get(ALL):
        return
    for item in items:
        for name in sorted({name for mark in item.iter_markers("needs") for name in mark.args} & missing):
            item.add_marker(pytest.mark.skip(reason=f"needs {name} (Debian: apt-get install {PACKAGES[name]})"))


def pytest_report_header(config: pytest.Config) -> str:
    """Says how to run the very same tests again."""
    return f"seed of random tests: --hypothesis-seed={config.getoption('hypothesis_seed')}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Says it once more below the failures, where it is looked for."""
    if exitstatus:
        seed = terminalreporter.config.getoption("hypothesis_seed")
        terminalreporter.write_line(f"the random tests of this run: --hypothesis-seed={seed}")
