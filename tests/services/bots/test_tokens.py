"""The bots' own session is one that the gateways take."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from omnipoly.runtime.errors import ConfigError
from omnipolyd.bots import BotsSettings, tokens
from omnipolyd.gateway.tokens import BOTS, Keys, new_secret

SECRET = "s" * 40


def test_a_gateway_with_the_same_key_takes_it_with_the_bots_role() -> None:
    made = tokens.session(SECRET)
    claims = Keys([new_secret(), SECRET]).verify(made.access_token)
    assert claims.person == made.person == tokens.PERSON
    assert claims.roles == (BOTS,)
    assert not claims.guest
    assert int(claims.expires_s) == made.expires.seconds


def test_the_first_of_several_secrets_signs() -> None:
    settings = BotsSettings(session_key=SecretStr(f"{SECRET}, {'t' * 40}"))
    assert tokens.secret(settings) == SECRET


def test_the_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{SECRET}\n{'t' * 40}\n")
    assert tokens.secret(BotsSettings(session_key_file=str(file))) == SECRET


@pytest.mark.parametrize(("given", "says"), [("", "not set"), ("short", "at least 32")])
def test_without_a_key_it_cannot_start(given: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        tokens.secret(BotsSettings(session_key=SecretStr(given)))


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        tokens.secret(BotsSettings(session_key_file=str(tmp_path / "none")))
