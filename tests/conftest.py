"""Options that hold for every test. Fixtures stand in the conftest of the folder that uses them."""

from __future__ import annotations

import random

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


def pytest_report_header(config: pytest.Config) -> str:
    """Says how to run the very same tests again."""
    return f"seed of random tests: --hypothesis-seed={config.getoption('hypothesis_seed')}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int) -> None:
    """Says it once more below the failures, where it is looked for."""
    if exitstatus:
        seed = terminalreporter.config.getoption("hypothesis_seed")
        terminalreporter.write_line(f"the random tests of this run: --hypothesis-seed={seed}")
