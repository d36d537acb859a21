from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import SecretStr

from omnipoly.runtime import config
from omnipoly.runtime.errors import ConfigError


class _ExampleSettings(config.ServiceSettings):
    service_name = "example"
    example_lots: int = 28
    example_key: SecretStr = SecretStr("")


def test_defaults_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.read_settings(_ExampleSettings).example_lots == 28
    monkeypatch.setenv("OMNIPOLY_EXAMPLE_LOTS", "12")
    monkeypatch.setenv("OMNIPOLY_DRAIN_S", "2.5")
    monkeypatch.setenv("OMNIPOLY_LOG_LEVEL", "")
    settings = config.read_settings(_ExampleSettings)
    assert (settings.example_lots, settings.drain_s, settings.log_level) == (12, 2.5, "info")
    assert _ExampleSettings(example_lots=3).example_lots == 3


def test_frozen_and_strict_about_names() -> None:
    settings = _ExampleSettings()
    with pytest.raises(ValueError, match="frozen"):
        settings.port = 1
    with pytest.raises(ValueError, match="prot"):
        _ExampleSettings(prot=1)


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("OMNIPOLY_PORT", "http", "OMNIPOLY_PORT = 'http' is wrong: input should be a valid integer"),
        ("OMNIPOLY_PORT", "70000", "OMNIPOLY_PORT = '70000' is wrong: input should be less than or equal to 65535"),
        ("OMNIPOLY_LOG_LEVEL", "loud", "OMNIPOLY_LOG_LEVEL = 'loud' is wrong"),
        ("OMNIPOLY_TABLE_ADDR", "tables", "give dns:///host:port or host:port,host:port"),
        ("OMNIPOLY_TABLE_ADDR", "a:1,b:", "give dns:///host:port or host:port,host:port"),
        (
            "OMNIPOLY_DATABSE_URL",
            "x",
            "OMNIPOLY_DATABSE_URL is not a setting of Omnipoly: did you mean OMNIPOLY_DATABASE_",
        ),
        ("OMNIPOLY_QQQQQQ", "x", "OMNIPOLY_QQQQQQ is not a setting of Omnipoly: remove it"),
    ],
)
def test_what_is_wrong_is_one_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str, line: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        config.read_settings(_ExampleSettings)
    assert line in str(caught.value)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    class _KeySettings(config.ServiceSettings):
        example_pin: SecretStr = SecretStr("x")

        @config.field_validator("example_pin")
        @classmethod
        def _long(cls, value: SecretStr) -> SecretStr:
            raise ValueError("too short")

    monkeypatch.setenv("OMNIPOLY_EXAMPLE_PIN", "hunter2")
    with pytest.raises(ConfigError, match="OMNIPOLY_EXAMPLE_PIN is wrong: too short") as caught:
        config.read_settings(_KeySettings)
    assert "hunter2" not in str(caught.value)


def test_registered_variables_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIPOLY_EXAMPLE_FOLDER", "/x")
    with pytest.raises(ConfigError):
        config.read_settings(_ExampleSettings)
    config.register_variables(["OMNIPOLY_EXAMPLE_FOLDER"])
    config.read_settings(_ExampleSettings)


def test_description_masks_secrets() -> None:
    settings = _ExampleSettings(database_url="postgresql://o:hunter2@db/x", example_key="hunter2", port=7)
    described = settings.describe()
    assert described["port"] == 7
    assert described["database_url"] == "postgresql://[secret]@db/x"
    assert "hunter2" not in repr(described)


def test_a_program_ends_with_one_line_and_exit_code_1() -> None:
    program = """
import sys
from omnipoly.runtime import app, config
sys.exit(app.main(app.Service, config.ServiceSettings))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"OMNIPOLY_PORT": "x"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("omnipolyd: OMNIPOLY_PORT = 'x' is wrong")
    assert done.stderr.count("\n") == 1
