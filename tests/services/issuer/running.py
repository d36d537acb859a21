"""Running an OpenID provider, and going through its pages as a browser does."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import sys
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.repository.tree import ROOT

REDIRECT = "http://127.0.0.1:4711/signed-in"
CLIENT, SECRET = "omnipoly", "the client's secret & more: 100 %"
CLIENTS = [
    {"client_id": CLIENT, "client_secret": SECRET},
    {"client_id": "public", "client_secret": ""},
    {"client_id": "shared", "client_secret": SECRET, "algorithm": "HS256"},
]
UP_S = 60.0


class Issuer:
    """One provider process and what it stands on: keys and clients stay when it is stopped and started again."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: asyncio.subprocess.Process | None = None
        (folder / "clients.json").write_text(json.dumps(CLIENTS))
        (folder / "requests.log").touch()
        self._new_key()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Returns when it answers."""
        arguments = ["-m", "tests.services.issuer.provider", str(self.folder), str(self.port)]
        with (self.folder / "errors.log").open("ab") as errors:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *arguments,
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(UP_S):
            line = await self._process.stdout.readline()
        assert line == b"up\n", (self.folder / "errors.log").read_text()[-2000:]

    async def stop(self) -> None:
        """Ends it as a crash would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await process.communicate()

    async def rotate(self, *, keep: bool) -> None:
        """Signs with a new key from now on. keep: the old one is still published."""
        await self.stop()
        (self.folder / "key.pem").rename(self.folder / "old.pem")
        if not keep:
            (self.folder / "old.pem").unlink()
        self._new_key()
        await self.start()

    def tweak(self, **wrong: Any) -> None:
        """What is wrong with its ID tokens from now on; without anything: nothing."""
        file = self.folder / "tweak.json"
        new = file.with_suffix(".new")
        new.write_text(json.dumps(wrong))
        os.replace(new, file)

    def asked(self, path: str) -> list[str]:
        """The requests for a path so far: method, path, and how the client showed who it is."""
        lines = (self.folder / "requests.log").read_text().splitlines()
        return [line for line in lines if line.split(" ")[1] == path]

    def settings(self, **more: Any) -> dict[str, Any]:
        """It as an operator names it."""
        return {
            "id": "club",
            "title": "The club",
            "issuer": self.url,
            "client_id": CLIENT,
            "client_secret": SECRET,
            "redirect_uris": ["http://127.0.0.1/signed-in"],
            **more,
        }

    def _new_key(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (self.folder / "key.pem").write_bytes(pem)


async def browse(url: str, username: str = "ann") -> str:
    """Signs in on the provider's pages; the address that the browser is sent to in the end."""
    # Plain HTTP: the usual context would be filled with certificates first, which takes longer than all the rest.
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(timeout=30, trust_env=False, verify=plain) as browser:
        response = await browser.get(url)
        for _ in range(5):
            assert response.is_redirect, response.text
            target = str(response.url.join(response.headers["location"]))
            if not target.startswith(f"http://127.0.0.1:{urlsplit(url).port}/"):
                return target
            if urlsplit(target).path == "/login/":
                target += f"&username={username}"
            response = await browser.get(target)
    raise AssertionError(f"{url} leads nowhere")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
