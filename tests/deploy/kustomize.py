"""deploy/kubernetes built by kubectl, and what is asked of it."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import yaml

from tests.repository.tree import ROOT

FOLDER = ROOT / "deploy/kubernetes"
OVERLAYS = ("dev", "prod")
KUBECTL = ROOT / ".venv/kubectl"
COMPONENT = "app.kubernetes.io/component"

Resource = dict[str, Any]


class Container(NamedTuple):
    """A container of ours, and where it stands."""

    role: str
    """The component that its pod is labelled as."""
    owner: Resource
    pod: Resource
    container: Resource

    def environment(self, built: list[Resource]) -> dict[str, str]:
        """What it is told; what comes from a Secret as `secret:NAME/KEY`."""
        found: dict[str, str] = {}
        for source in self.container.get("envFrom", []):
            found |= one(built, "ConfigMap", source["configMapRef"]["name"])["data"]
        for variable in self.container.get("env", []):
            if "value" in variable:
                found[variable["name"]] = variable["value"]
            elif secret := variable["valueFrom"].get("secretKeyRef"):
                found[variable["name"]] = f"secret:{secret['name']}/{secret['key']}"
        return found


@functools.cache
def built(overlay: str) -> list[Resource]:
    """All resources of an overlay. Fails the test when it cannot be built, or when there is no kubectl."""
    if not KUBECTL.exists():
        pytest.fail("there is no kubectl to build deploy/kubernetes with; make test gets one")
    done = subprocess.run(
        [KUBECTL, "kustomize", FOLDER / "overlays" / overlay], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))


def of_kind(resources: list[Resource], kind: str) -> list[Resource]:
    """Those of a kind."""
    return [resource for resource in resources if resource["kind"] == kind]


def one(resources: list[Resource], kind: str, name: str) -> Resource:
    """One by its name."""
    return next(each for each in of_kind(resources, kind) if each["metadata"]["name"] == name)


def workloads(resources: list[Resource]) -> Iterator[Container]:
    """Every container of every pod that is asked for."""
    for owner in resources:
        if owner["kind"] in {"Deployment", "StatefulSet", "Job"}:
            template = owner["spec"]["template"]
            for container in template["spec"]["containers"]:
                yield Container(template["metadata"]["labels"][COMPONENT], owner, template["spec"], container)


def ours(resources: list[Resource]) -> list[Container]:
    """Those that run a service of Omnipoly."""
    return [each for each in workloads(resources) if each.container["args"][0] == "serve"]


def selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether a label selector takes these labels."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(labels.get(each["key"]) in each["values"] for each in selector.get("matchExpressions", []))
