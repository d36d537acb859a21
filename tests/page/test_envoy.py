"""Envoy's configuration: what operators deploy is what the page is served with, without the page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import yaml
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from omnipolyd.page import files
from omnipolyd.page.envoy import config, program

DEPLOYED = Path(__file__).parents[2] / "deploy/envoy/envoy.yaml"


def manager(of: dict[str, Any]) -> dict[str, Any]:
    (listener,) = of["static_resources"]["listeners"]
    found: dict[str, Any] = listener["filter_chains"][0]["filters"][0]["typed_config"]
    return found


async def test_the_deployed_one_is_valid() -> None:
    command = [str(program()), "--mode", "validate", "--disable-hot-restart", "-c", str(DEPLOYED)]
    checking = await asyncio.create_subprocess_exec(
        *command, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    said, wrong = await checking.communicate()
    assert checking.returncode == 0, (said + wrong).decode()


def test_the_deployed_one_treats_calls_as_the_pages_does() -> None:
    deployed = yaml.safe_load(DEPLOYED.read_text("utf-8"))
    ours = config(("127.0.0.1", 1), ["gateway:7100"], [])
    theirs, mine = manager(deployed), manager(ours)
    for same in ("codec_type", "use_remote_address", "stream_idle_timeout"):
        assert theirs[same] == mine[same]
    kept = [one["name"] for one in theirs["http_filters"] if not one["name"].endswith(".cors")]
    assert kept == [one["name"] for one in mine["http_filters"]]
    (host,), (my_host,) = theirs["route_config"]["virtual_hosts"], mine["route_config"]["virtual_hosts"]
    assert host["routes"] == my_host["routes"]
    (cluster,), (my_cluster,) = (one["static_resources"]["clusters"] for one in (deployed, ours))
    del cluster["health_checks"]  # many gateways, which drain; `up` starts its own again
    assert cluster == my_cluster


def test_files_of_several_folders(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    (tmp_path / "secret.txt").write_text("not served")
    served = {one.path: one for one in files.site([tmp_path, files.STATIC], tmp_path / "contracts")}
    assert served["/"].file == served["/index.html"].file == tmp_path / "index.html"
    assert served["/app.js"].file.parent == files.STATIC
    assert served["/app.js"].kind == "text/javascript; charset=utf-8"
    assert not [path for path in served if "secret" in path or "LICENSE" in path]


def test_contracts_stand_behind_what_they_need() -> None:
    known: set[str] = set()
    for file in FileDescriptorSet.FromString(files.contracts()).file:
        assert set(file.dependency) <= known
        known.add(file.name)
    assert {"omnipoly/gateway/v1/watch.proto", "google/rpc/error_details.proto"} <= known
