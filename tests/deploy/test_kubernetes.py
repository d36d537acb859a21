"""deploy/kubernetes builds, is what Kubernetes takes, and says nothing that the code does not know."""

from __future__ import annotations

import re
import runpy
from typing import Any

import kubernetes_validate
import pytest
import yaml

from omnipolyd.roles import ROLES
from tests.monitoring.queries import metrics_of
from tests.repository.tree import ROOT

from . import code
from .kustomize import COMPONENT, FOLDER, OVERLAYS, Resource, built, of_kind, one, ours, selects, workloads

VERSION = "1.30"
"""The oldest Kubernetes that is asked for; newer ones take what it takes."""
OTHERS = {
    "cert-manager.io/v1": {"Certificate", "Issuer"},
    "monitoring.coreos.com/v1": {"ServiceMonitor", "PrometheusRule"},
    "postgresql.cnpg.io/v1": {"Cluster"},
}
"""What operators bring; Kubernetes has no schema of it."""
LEFT_TO_DEFAULTS = {"OMNIPOLY_DATABASE_URL", "OMNIPOLY_NATS_URL"}
"""Settings whose default is to bring a server of one's own, which no pod can."""

pytestmark = pytest.mark.parametrize("overlay", OVERLAYS)


@pytest.fixture
def resources(overlay: str) -> list[Resource]:
    return built(overlay)


def test_kubernetes_would_take_it(resources: list[Resource]) -> None:
    for resource in resources:
        if resource["apiVersion"] in OTHERS:
            assert resource["kind"] in OTHERS[resource["apiVersion"]]
            assert resource["spec"]
            continue
        kubernetes_validate.validate(resource, VERSION, strict=True)


def test_nothing_is_there_twice_and_all_in_one_namespace(resources: list[Resource], overlay: str) -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in resources]
    assert len(names) == len(set(names))
    spaces = {each["metadata"].get("namespace") for each in resources if each["kind"] != "PriorityClass"}
    assert spaces == {"omnipoly" if overlay == "prod" else "omnipoly-dev"}


def test_every_service_is_there(resources: list[Resource]) -> None:
    assert {each.role for each in ours(resources)} == set(ROLES)
    for each in ours(resources):
        assert each.container["args"] == ["serve", each.role]
        assert each.owner["metadata"]["name"] == each.role


def test_settings_are_known_and_good(resources: list[Resource]) -> None:
    for each in ours(resources):
        environment = each.environment(resources)
        told = {name: value for name, value in environment.items() if not value.startswith("secret:")}
        assert code.complaints(each.role, told) == "", each.role
        assert set(environment) - code.known_variables() <= {"DATABASE_PASSWORD"}


def test_every_setting_is_set_or_has_a_default(resources: list[Resource]) -> None:
    for each in ours(resources):
        environment = each.environment(resources)
        needed = set()
        if code.uses_bus(each.role):
            needed.add("OMNIPOLY_NATS_URL")
        if code.uses_database(each.role):
            needed.add("OMNIPOLY_DATABASE_URL")
        for variable, field in code.settings_of(each.role).items():
            if variable in LEFT_TO_DEFAULTS:
                continue
            if field.is_required():
                needed.add(variable)
        # where others are is never the default: that is this machine
        needed |= {f"OMNIPOLY_{other.upper()}_ADDR" for other in code.calls(each.role)}
        if "OMNIPOLY_SESSION_KEY" in code.settings_of(each.role):
            needed.add("OMNIPOLY_SESSION_KEY")  # empty: another one in each pod
        assert needed <= environment.keys(), each.role


def test_secrets_are_named_and_never_told(resources: list[Resource], overlay: str) -> None:
    assert of_kind(resources, "Secret") == []
    for each in workloads(resources):
        for name, value in each.environment(resources).items():
            if re.search(r"(KEY|PASSWORD|DATABASE_URL)$", name) and not name.endswith("TLS_KEY"):
                assert value.startswith("secret:") or "$(DATABASE_PASSWORD)" in value, (each.role, name)
            assert not re.search(r"://[^/]*:[^/$]*@", value), (each.role, name)
    page = (FOLDER / "README.md").read_text("utf-8")
    named = {
        value.removeprefix("secret:").partition("/")
        for each in workloads(resources)
        for value in each.environment(resources).values()
        if value.startswith("secret:") and "omnipoly-db-app" not in value  # the operator makes it
    }
    for secret, _, key in named:
        assert re.search(rf"\| `{secret}` \|[^|]*`{key}`", page), f"README.md says nothing of {secret}/{key}"


def test_ports_are_those_that_are_listened_on(resources: list[Resource]) -> None:
    for each in ours(resources):
        ports = {port["name"]: port["containerPort"] for port in each.container["ports"]}
        environment = each.environment(resources)
        assert ports == {
            "grpc": int(environment["OMNIPOLY_PORT"]),
            "metrics": int(environment["OMNIPOLY_METRICS_PORT"]),
            "health": int(environment["OMNIPOLY_HEALTH_PORT"]),
        }
        assert ports["grpc"] == ROLES[each.role].port


def test_services_and_addresses_lead_to_ports_that_are_there(resources: list[Resource]) -> None:
    for service in of_kind(resources, "Service"):
        selector = service["spec"]["selector"]
        found = [each for each in workloads(resources) if each.role == selector[COMPONENT]]
        assert found, service["metadata"]["name"]
        named = {port["name"]: port["containerPort"] for port in found[0].container["ports"]}
        for port in service["spec"]["ports"]:
            assert named[port["targetPort"]] in {port["port"], 8080}
    settings = one(resources, "ConfigMap", "omnipoly-settings")["data"]
    addresses = {name: value for name, value in settings.items() if name.endswith("_ADDR")}
    assert {name.split("_")[1].lower() for name in addresses} == set(ROLES) - {"bots"}
    for name, address in addresses.items():
        host, _, port = address.removeprefix("dns:///").partition(":")
        service = one(resources, "Service", host)
        assert service["spec"]["clusterIP"] == "None", f"{host}: callers pick the replica themselves"
        assert service["spec"]["selector"][COMPONENT] == name.split("_")[1].lower()
        assert int(port) in [each["port"] for each in service["spec"]["ports"]]


def test_probes_ask_the_process_alone(resources: list[Resource]) -> None:
    for each in ours(resources):
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            # no name of a service: what health says of the whole process, which neither Postgres nor NATS changes
            assert each.container[kind]["grpc"] == {"port": int(each.environment(resources)["OMNIPOLY_HEALTH_PORT"])}


def test_stops_are_in_order(resources: list[Resource]) -> None:
    settings = one(resources, "ConfigMap", "omnipoly-settings")["data"]
    for each in ours(resources):
        before = each.container["lifecycle"]["preStop"]["sleep"]["seconds"]
        hard = float(settings["OMNIPOLY_HARD_STOP_S"])
        assert before + hard < each.pod["terminationGracePeriodSeconds"]
        assert float(settings["OMNIPOLY_DRAIN_S"]) < hard
        live = each.container["livenessProbe"]
        assert live["periodSeconds"] * live["failureThreshold"] > hard
        assert each.owner["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_pods_are_locked_up(resources: list[Resource]) -> None:
    accounts = {each["metadata"]["name"]: each for each in of_kind(resources, "ServiceAccount")}
    for each in workloads(resources):
        assert each.pod["automountServiceAccountToken"] is False
        assert accounts[each.pod["serviceAccountName"]]["automountServiceAccountToken"] is False
        assert each.pod["enableServiceLinks"] is False
        assert each.pod["securityContext"]["runAsNonRoot"] is True
        assert each.pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert each.container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert each.container["resources"].keys() == {"requests", "limits"}
        if each.container["args"][0] in {"serve", "migrate"}:
            assert each.pod["securityContext"]["runAsUser"] == _user_of_the_image()
        if each.owner["kind"] == "Deployment":
            assert each.pod["topologySpreadConstraints"]


def _user_of_the_image() -> int:
    found = re.search(r"^USER (\d+)", (ROOT / "deploy/image/Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert found
    return int(found[1])


def test_every_replicated_thing_has_a_budget(resources: list[Resource]) -> None:
    budgets = of_kind(resources, "PodDisruptionBudget")
    for each in workloads(resources):
        if each.owner["kind"] != "Job":
            labels = each.owner["spec"]["template"]["metadata"]["labels"]
            assert [budget for budget in budgets if selects(budget["spec"]["selector"], labels)], each.role


def test_network_policies_allow_what_is_called_and_nothing_else(resources: list[Resource]) -> None:
    policies = of_kind(resources, "NetworkPolicy")
    everything = one(resources, "NetworkPolicy", "deny-all")["spec"]
    assert everything == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for caller in ROLES:
        for called in ROLES:
            needed = called in code.calls(caller)
            port = ROLES[called].port
            assert _may(policies, caller, called, port, "Egress") == needed, f"{caller} to {called}"
            come_in = called == "gateway" or needed
            assert _may(policies, caller, called, port, "Ingress") == come_in, f"{called} from {caller}"
        assert _may(policies, caller, "nats", 4222, "Egress") == code.uses_bus(caller)
        assert _may(policies, caller, "postgres", 5432, "Egress") == code.uses_database(caller)
    assert _may(policies, "migrate", "postgres", 5432, "Egress")


PORT_NAMES = {"grpc", "client"}


def _may(policies: list[Resource], caller: str, called: str, port: int, way: str) -> bool:
    """Whether some policy lets a pod of the one component out to (or into) one of the other."""
    here, there = (caller, called) if way == "Egress" else (called, caller)
    peers_key, rules_key = ("to", "egress") if way == "Egress" else ("from", "ingress")
    for policy in policies:
        spec = policy["spec"]
        if way not in spec["policyTypes"] or not selects(spec["podSelector"], {COMPONENT: here}):
            continue
        for rule in spec.get(rules_key, []):
            if not any(each["port"] == port or each["port"] in PORT_NAMES for each in rule.get("ports", [])):
                continue
            peers: list[dict[str, Any]] = rule.get(peers_key, [])
            if not peers and way == "Ingress":
                return True
            if any(
                "namespaceSelector" not in peer
                and "podSelector" in peer
                and selects(peer["podSelector"], {COMPONENT: there})
                for peer in peers
            ):
                return True
    return False


def test_autoscalers_go_by_metrics_that_exist(resources: list[Resource], overlay: str) -> None:
    adapter = yaml.safe_load((FOLDER / "components/monitoring/adapter.yaml").read_text("utf-8"))
    provided: dict[str, str] = {}
    for rule in adapter["rules"]["custom"]:
        source = rule["seriesQuery"].partition("{")[0]
        assert source in code.series(), source
        provided[rule.get("name", {}).get("as", source)] = source
    scalers = of_kind(resources, "HorizontalPodAutoscaler")
    assert bool(scalers) == (overlay == "prod")
    for scaler in scalers:
        target = scaler["spec"]["scaleTargetRef"]
        assert "replicas" not in one(resources, target["kind"], target["name"])["spec"], "two would set it"
        kinds = [each["type"] for each in scaler["spec"]["metrics"]]
        assert "Resource" in kinds
        names = {each["pods"]["metric"]["name"] for each in scaler["spec"]["metrics"] if each["type"] == "Pods"}
        assert names <= provided.keys()
        assert "omnipoly_event_loop_lag_p99_seconds" in names


def test_prometheus_finds_every_service_and_rules_name_metrics_that_exist(
    resources: list[Resource], overlay: str
) -> None:
    monitors = of_kind(resources, "ServiceMonitor")
    assert bool(monitors) == (overlay == "prod")
    for monitor in monitors:
        ends = {each["port"] for each in monitor["spec"]["endpoints"]}
        read = [
            service["spec"]["selector"][COMPONENT]
            for service in of_kind(resources, "Service")
            if selects(monitor["spec"]["selector"], service["metadata"]["labels"])
            and ends & {port["name"] for port in service["spec"]["ports"]}
        ]
        assert sorted(read) == sorted(ROLES), "each once"
    for rules in of_kind(resources, "PrometheusRule"):
        every = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]
        recorded = {rule["record"] for rule in every if "record" in rule}
        for rule in every:
            assert metrics_of(rule["expr"]).keys() <= code.series() | recorded


def test_certificates_bear_the_names_that_are_looked_for(resources: list[Resource], overlay: str) -> None:
    made = {each["spec"]["secretName"]: each["spec"] for each in of_kind(resources, "Certificate")}
    for each in ours(resources):
        volumes = {volume["name"]: volume.get("secret", {}).get("secretName") for volume in each.pod["volumes"]}
        assert volumes["tls"] == f"omnipoly-tls-{each.role}"
        if overlay == "prod":
            certificate = made[volumes["tls"]]
            assert certificate["commonName"] == each.role
            assert certificate["dnsNames"] == [each.role]
        mounts = {mount["mountPath"] for mount in each.container["volumeMounts"]}
        environment = each.environment(resources)
        for name, value in environment.items():
            if re.search(r"TLS_(CERT|KEY|CA)$", name):
                assert value.rpartition("/")[0] in mounts, (each.role, name)
    settings = one(resources, "ConfigMap", "omnipoly-settings")["data"]
    assert settings.get("OMNIPOLY_PLAINTEXT", "") == ("" if overlay == "prod" else "all")


def test_nats_is_told_all_that_its_configuration_asks_for(resources: list[Resource]) -> None:
    (nats,) = [each for each in workloads(resources) if each.role == "nats"]
    name = next(each["configMap"]["name"] for each in nats.pod["volumes"] if "configMap" in each)
    files = one(resources, "ConfigMap", name)["data"]
    read, waiting = set(), ["cluster.conf"]
    while waiting:
        read.add(waiting[0])
        waiting += re.findall(r'^include "(.+)"', files[waiting.pop(0)], re.MULTILINE)
    texts = [re.sub(r"#.*", "", files[each]) for each in read]
    own = {found for text in texts for found in re.findall(r"^(\w+) \{", text, re.MULTILINE)}
    asked = {found for text in texts for found in re.findall(r"[:\s]\$(\w+)", text)} - own
    assert asked <= {variable["name"] for variable in nats.container["env"]}


def test_copies_are_current(overlay: str) -> None:
    for path, text in runpy.run_path(str(ROOT / ".ci/kubernetes.py"))["files"]().items():
        assert path.read_text("utf-8") == text, f"{path.name} is not current: run make reference"
