"""How the processes of `up` are made: forked from one that has imported everything, see `preload`.

Where there is no Linux they are spawned, each from nothing: a fork is not safe there.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import os
import signal
import sys
from multiprocessing import forkserver, resource_tracker
from typing import Any

PRELOAD = f"{__package__}.preload"


def context() -> Any:
    """What has `Process` and `Pipe`."""
    making = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    making.set_forkserver_preload([PRELOAD])
    return making


def begin() -> None:
    """Has whatever processes are forked from begin to import. To be called in the main thread, which it lives by."""
    if context().get_start_method() == "forkserver":
        forkserver.ensure_running()


def end() -> None:
    """Ends whatever processes were forked from; these have ended. Nobody else would wait for it."""
    helpers: tuple[Any, ...] = (forkserver._forkserver, resource_tracker._resource_tracker)
    if helpers[0]._forkserver_pid is not None:
        os.kill(helpers[0]._forkserver_pid, signal.SIGKILL)  # it may import still, and hears nothing meanwhile
    for helper in helpers:
        helper._stop()
