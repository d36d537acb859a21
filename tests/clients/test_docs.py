"""What docs/clients says of codes, limits and the reference is what there is."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from omnipoly.conformance.trials import TRIALS
from omnipoly.rules.codes import SENTENCES, Code
from omnipoly.runtime.refusals import STATUS
from omnipoly.wire.gen.game.v1 import codes_pb2
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.gateway.limits import Limits
from tests.clients.samples import PAGES
from tests.clients.stubs import PROTOS, ROOT

WHAT_TO_DO = {"again", "resync", "tell", "sign in", "mend"}


def test_no_code_is_missing() -> None:
    rows = re.findall(
        r"^\| `([A-Z_]+)` \| (\w+) \| ([\w ]+) \| (.+) \|$", (PAGES / "refusals.md").read_text(), re.MULTILINE
    )
    assert [row[0] for row in rows] == [code.name for code in Code]
    assert {f"CODE_{row[0]}" for row in rows} == set(codes_pb2.Code.keys()) - {"CODE_UNSPECIFIED"}
    assert {Code[name]: status for name, status, _, _ in rows} == {code: STATUS[code].name for code in Code}
    assert {what for _, _, what, _ in rows} == WHAT_TO_DO
    assert all(meaning.startswith(SENTENCES[Code[name]]) for name, _, _, meaning in rows)


async def test_the_limits_are_those_of_the_settings() -> None:
    rows = re.findall(r"\| `(\w+)` \| (\d+) \|$", (PAGES / "limits.md").read_text(), re.MULTILINE)
    limits = Limits(GatewaySettings()).message()
    values = {field.name: getattr(limits, field.name) for field in limits.DESCRIPTOR.fields}
    values["pin_window"] = limits.pin_window.seconds
    assert {name: int(value) for name, value in rows} == values


@pytest.fixture(scope="module")
def api() -> ModuleType:
    """.ci/api.py."""
    sys.path.insert(0, str(ROOT / ".ci"))
    try:
        spec = importlib.util.spec_from_file_location("omnipoly_ci_api", ROOT / ".ci/api.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / ".ci"))
    return module


def test_the_reference_is_in_step(api: ModuleType) -> None:
    wanted = api.pages(api.described(PROTOS))
    assert {path.name: path.read_text("utf-8") for path in (PAGES / "reference").glob("*.md")} == wanted, "make protos"


def test_the_reference_has_no_gaps(api: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "omnipoly/gateway/v1"
    folder.mkdir(parents=True)
    (folder / "odd.proto").write_text(
        '// Odd.\nsyntax = "proto3";\npackage omnipoly.gateway.v1;\n'
        "// One.\nmessage One {\n  int32 bare = 1;\n  // Kind.\n  enum Kind {\n    KIND_UNSPECIFIED = 0;\n  }\n}\n"
        "message Two {}\nservice OddService {\n"
        "  // Does.\n  rpc Do(One) returns (Two);\n  rpc Undo(One) returns (Two);\n}\n"
    )
    with pytest.raises(api.Gaps) as gaps:
        api.pages(api.described(tmp_path))
    names = ("OddService", "OddService.Undo", "One.bare", "One.Kind.KIND_UNSPECIFIED", "Two")
    assert str(gaps.value) == ", ".join(f"omnipoly.gateway.v1.{name}" for name in names)


def test_every_trial_is_told() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", (PAGES / "conformance.md").read_text("utf-8"), re.MULTILINE)
    told = {name: f"{happens} {right}" for name, happens, right in rows}
    assert told == {name: " ".join((trial.__doc__ or "").split()) for name, trial in TRIALS.items()}
