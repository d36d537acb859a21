"""The web page of one `up`: Envoy beside the gateways, started, watched, started again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from omnipoly.runtime.errors import StartError
from omnipolyd.page.envoy import Envoy

from .ports import reachable

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0


class Page:
    """The page, from `start` to `stop`."""

    def __init__(
        self, folder: Path, listen: tuple[str, int], gateways: Sequence[str], tell: Callable[[str], None]
    ) -> None:
        self._envoy = Envoy(folder, listen, gateways)
        self._tell = tell
        self._keeping: asyncio.Task[None] | None = None
        self.address = f"http://{reachable(*listen)}/"
        """Where a browser on this machine finds it."""

    async def start(self) -> None:
        """Returns once it is served; from then on Envoy is started again when it ends. Raises `StartError`."""
        await asyncio.to_thread(self._envoy.start)
        self._keeping = asyncio.create_task(self._keep(), name="keep-page")

    async def stop(self) -> None:
        """Ends it."""
        if self._keeping is not None:
            self._keeping.cancel()
        await asyncio.to_thread(self._envoy.stop)
        if self._keeping is not None:
            await asyncio.gather(self._keeping, return_exceptions=True)

    async def _keep(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            await asyncio.to_thread(self._envoy.wait)
            self._tell(f"Envoy ended unexpectedly; starting it again in {pause_s:.1f} s; its log is {self._envoy.log}")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            try:
                await asyncio.to_thread(self._envoy.restart)
                self._tell("the page is served again")
            except StartError as error:
                self._tell(str(error))
