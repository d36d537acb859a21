"""Each kind of mistake in a file is told: where it is, what it is, what to do; nothing that only follows from it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from omnipoly.editions import loader
from omnipoly.editions.problems import EditionError

HERE = Path(__file__).parent
DATA = Path(loader.__file__).parent / "data"
MISTAKES: list[dict[str, Any]] = yaml.safe_load((HERE / "mistakes.yaml").read_text())


def test_no_mistake_is_listed_twice() -> None:
    assert len({case["mistake"] for case in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("case", MISTAKES, ids=lambda case: case["mistake"])
def test_mistake(case: dict[str, Any]) -> None:
    path = HERE / "classic.toml" if case["edition"] == "classic" else DATA / f"{case['edition']}.toml"
    text = path.read_text()
    for right, wrong in case["write"].items():
        assert right in text
        text = text.replace(right, wrong, 1)
    with pytest.raises(EditionError) as caught:
        loader.from_text(text, source="mine.toml")
    assert [str(problem) for problem in caught.value.problems] == case["said"]
    assert str(caught.value) == "\n".join(f"mine.toml: {line}" for line in case["said"])
