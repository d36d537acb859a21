"""deploy/compose holds together, and says nothing that the code does not know. tests/containers runs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from omnipolyd.roles import ROLES
from tests.containers import composing
from tests.repository.tree import ROOT

from . import code

FOLDER = composing.FOLDER
NODES = ["nats-1", "nats-2", "nats-3"]
SECRETS = {
    name: f"of-the-tests-{name.lower()}-longer-than-32-characters"
    for name in (
        *("SESSION_KEY", "GRAFANA_PASSWORD", "POSTGRES_PASSWORD", "POSTGRES_OWNER_PASSWORD", "POSTGRES_TABLE_PASSWORD"),
        *("NATS_SYS_PASSWORD", *(f"NATS_{role.upper()}_PASSWORD" for role in ROLES)),
    )
}
KEYS = {
    "image",
    "restart",
    "read_only",
    "cap_drop",
    "security_opt",
    "stop_grace_period",
    "command",
    "environment",
    "networks",
    "ports",
    "deploy",
    "depends_on",
    "volumes",
    "shm_size",
    "healthcheck",
}
"""What services may say: all of it is in the Compose specification."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return composing.document()


@pytest.fixture(scope="module")
def composition() -> composing.Composition:
    return composing.read(SECRETS)


def services(composition: composing.Composition) -> list[composing.Piece]:
    return [piece for piece in composition.pieces.values() if piece.command[:1] == ["serve"]]


def test_it_is_a_compose_file(document: dict[str, Any]) -> None:
    assert {key for key in document if not key.startswith("x-")} == {"name", "services", "networks", "volumes"}
    for name, service in document["services"].items():
        assert service.keys() <= KEYS, name
        assert set(service["networks"]) <= document["networks"].keys(), name
        for other, wanted in service.get("depends_on", {}).items():
            condition = wanted["condition"]
            assert condition in {"service_started", "service_healthy", "service_completed_successfully"}
            assert condition != "service_healthy" or "healthcheck" in document["services"][other]
        for variable, value in service.get("environment", {}).items():
            assert isinstance(value, str), f"{name}: {variable}: Compose takes no number or boolean for what is meant"


def test_every_service_runs_as_itself(composition: composing.Composition) -> None:
    assert {piece.command[1] for piece in services(composition)} == set(ROLES)
    for piece in services(composition):
        assert piece.command == ["serve", piece.name]
        assert piece.image == "omnipoly:latest"
        assert piece.options["read_only"] is True
        assert piece.options["cap_drop"] == ["ALL"]


def test_settings_are_known_and_good(composition: composing.Composition) -> None:
    for piece in services(composition):
        assert code.complaints(piece.name, piece.environment) == "", piece.name
        needed = {f"OMNIPOLY_{other.upper()}_ADDR" for other in code.calls(piece.name)}
        if code.uses_bus(piece.name):
            needed.add("OMNIPOLY_NATS_URL")
        if code.uses_database(piece.name):
            needed.add("OMNIPOLY_DATABASE_URL")
        if "OMNIPOLY_SESSION_KEY" in code.settings_of(piece.name):
            needed.add("OMNIPOLY_SESSION_KEY")
        assert needed <= piece.environment.keys(), piece.name


def test_ports_and_networks_lead_to_who_is_called(composition: composing.Composition) -> None:
    pieces = composition.pieces
    for piece in services(composition):
        assert int(piece.environment["OMNIPOLY_PORT"]) == ROLES[piece.name].port
        for called in code.calls(piece.name):
            address = piece.environment[f"OMNIPOLY_{called.upper()}_ADDR"]
            assert address == f"dns:///{called}:{ROLES[called].port}"
            assert set(piece.networks) & set(pieces[called].networks), f"{piece.name} cannot reach {called}"
        assert ("bus" in piece.networks) == code.uses_bus(piece.name)
        assert ("data" in piece.networks) == code.uses_database(piece.name)
    assert pieces["gateway"].port == ROLES["gateway"].port
    assert [piece.name for piece in services(composition) if piece.port] == ["gateway"], "nothing else is let out"
    assert composition.networks == {"edge": False, "inside": True, "bus": True, "data": True}


def test_a_stop_is_waited_for(document: dict[str, Any]) -> None:
    for name in ROLES:
        grace_s = float(document["services"][name]["stop_grace_period"].removesuffix("s"))
        assert grace_s > code.settings_of(name)["OMNIPOLY_HARD_STOP_S"].default


def test_three_nats_nodes_know_one_another(composition: composing.Composition) -> None:
    (name,) = {name for node in NODES for name in composition.pieces[node].aliases}
    for piece in services(composition):
        assert piece.environment["OMNIPOLY_NATS_URL"].partition("@")[2] == f"{name}:4222"
        assert int(piece.environment["OMNIPOLY_NATS_REPLICAS"]) == len(NODES)
    files = (FOLDER / "nats.conf", ROOT / "deploy/nats/passwords.conf")
    asked = set(re.findall(r"\$(NATS_\w+)", "".join(file.read_text("utf-8") for file in files)))
    for node in NODES:
        piece = composition.pieces[node]
        assert asked == piece.environment.keys()
        assert piece.environment["NATS_SERVER_NAME"] == node
        routes = re.findall(r"nats://node:([\w-]+)@([\w-]+):6222", piece.environment["NATS_ROUTES"])
        assert routes == [(SECRETS["NATS_SYS_PASSWORD"], other) for other in NODES]
        beside = {Path(mount.target).name: Path(mount.target).parent for mount in piece.mounts if mount.mode == "ro"}
        assert beside.keys() == {"nats.conf", "passwords.conf", "permissions.conf"}
        assert set(beside.values()) == {Path(piece.command[1]).parent}, "one includes the next"


def test_each_service_has_its_own_password_and_no_other(composition: composing.Composition) -> None:
    held = {role: {f"NATS_{role.upper()}_PASSWORD"} for role in ROLES}
    held["table"].add("POSTGRES_TABLE_PASSWORD")
    held["migrate"] = {"POSTGRES_OWNER_PASSWORD"}
    users = dict.fromkeys(ROLES, "omnipoly_table_service") | {"migrate": "omnipoly_owner"}
    for name, own in held.items():
        environment = composition.pieces[name].environment
        told = " ".join(environment.values())
        assert {key for key, value in SECRETS.items() if value in told} - {"SESSION_KEY"} == own, name
        if name in ROLES:
            assert environment["OMNIPOLY_NATS_URL"].startswith(f"nats://{name}:")
        if url := environment.get("OMNIPOLY_DATABASE_URL"):
            assert url.startswith(f"postgresql://{users[name]}:")


def test_postgres_makes_the_roles_at_its_first_start(composition: composing.Composition) -> None:
    postgres = composition.pieces["postgres"]
    mounted = {mount.target: Path(mount.source) for mount in postgres.mounts if mount.mode == "ro"}
    (first,) = (source for target, source in mounted.items() if target.startswith("/docker-entrypoint-initdb.d/"))
    script = first.read_text("utf-8")
    assert set(re.findall(r"^\\getenv \w+ (\w+)$", script, re.MULTILINE)) <= postgres.environment.keys()
    (roles,) = re.findall(r"^\\i (.+)$", script, re.MULTILINE)
    assert mounted[roles] == ROOT / "deploy/postgres/roles.sql"
    told = set(re.findall(r"^\\(?:getenv|set) (\w+) ", script, re.MULTILINE))
    assert told == set(re.findall(r":'(\w+)'", mounted[roles].read_text("utf-8")))


def test_files_that_are_mounted_are_there(composition: composing.Composition, document: dict[str, Any]) -> None:
    for piece in composition.pieces.values():
        for mount in piece.mounts:
            if mount.source.startswith("/"):
                assert (ROOT / mount.source).exists(), mount.source
                assert mount.mode == "ro"
            else:
                assert mount.source in document["volumes"]


def test_prometheus_reads_every_service(composition: composing.Composition) -> None:
    prometheus = yaml.safe_load((FOLDER / "prometheus.yaml").read_text("utf-8"))
    (names,) = prometheus["scrape_configs"][0]["dns_sd_configs"]
    assert sorted(names["names"]) == sorted(ROLES)
    for piece in services(composition):
        assert int(piece.environment["OMNIPOLY_METRICS_PORT"]) == names["port"]
        assert set(piece.networks) & set(composition.pieces["prometheus"].networks)
    targets = {mount.target for mount in composition.pieces["prometheus"].mounts}
    assert set(prometheus["rule_files"]) <= targets


def test_everything_that_may_be_given_is_in_the_example() -> None:
    text = (FOLDER / "compose.yaml").read_text("utf-8")
    example = (FOLDER / ".env.example").read_text("utf-8")
    asked = dict.fromkeys(re.findall(r"\$\{(\w+)", text))
    shown = dict(re.findall(r"^#?([A-Z_]+)=(.*)$", example, re.MULTILINE))
    assert set(asked) == set(shown)
    defaults = dict(re.findall(r"\$\{(\w+):?-([^}]*)\}", text))
    assert {name: value for name, value in shown.items() if value} == defaults
    assert set(re.findall(r"\$\{(\w+):\?\}", text)) == SECRETS.keys()
    made = re.findall(r"^for name in ([^;]*);", (FOLDER / "up").read_text("utf-8"), re.MULTILINE)
    assert set(made[0].replace("\\", " ").split()) == SECRETS.keys()


def test_without_its_secrets_it_is_refused() -> None:
    for name in SECRETS:
        with pytest.raises(KeyError, match=name):
            composing.read({key: value for key, value in SECRETS.items() if key != name})
