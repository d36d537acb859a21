"""What `.ci/reference.py` knows of the code: every metric, and the pages written from it."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from .tree import ROOT


@cache
def module() -> Any:
    """The generator as a module."""
    path = Path(ROOT) / ".ci/reference.py"
    spec = importlib.util.spec_from_file_location("omnipoly_reference", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@cache
def series() -> dict[str, frozenset[str]]:
    """Every time series' name with its labels, `le` included."""
    found: dict[str, frozenset[str]] = {}
    for metric in module().metrics():
        for name in metric.series:
            labels = frozenset(metric.labels)
            found[name] = labels | {"le"} if name.endswith("_bucket") else labels
    return found
