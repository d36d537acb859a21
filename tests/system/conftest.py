"""Whole platforms for the tests: `stack` is one for all tests that leave it as it is, `make_stack` makes one's own."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.services.conftest import roomy_folder
from tests.system.stack import Stack, running

MakeStack = Callable[..., Stack]


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """An `omnipolyd up --ephemeral --dev` for the whole session; bots do not think. Nothing of it may be killed."""
    folder = Path(tempfile.mkdtemp(prefix="omnipoly-errors-"))
    with running("--ephemeral", "--dev", "--data", str(roomy_folder()), errors=folder / "up") as made:
        yield made
    shutil.rmtree(folder)


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """A folder of this test that PostgreSQL's user can reach, too."""
    path = roomy_folder() / f"omnipoly-test-{uuid.uuid4().hex[:12]}"
    path.mkdir(mode=0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def make_stack(data_folder: Path) -> Iterator[MakeStack]:
    """`make_stack("--dev", …)`: an `up` of this test, ephemeral unless `--data` is given; stopped at its end."""
    with ExitStack() as made:

        def make(*arguments: str, **variables: str) -> Stack:
            where = () if "--data" in arguments else ("--ephemeral", "--data", str(data_folder))
            errors = data_folder / f"errors-{uuid.uuid4().hex[:6]}"
            return made.enter_context(running(*where, *arguments, errors=errors, **variables))

        yield make
