"""How a process of `up` begins: bound to those who began it, apart from the terminal, its output in its log."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
EXIT_ORPHANED = 70


def begin(name: str, log: str, environment: dict[str, str]) -> None:
    """Makes a fresh process the one of that name."""
    preload = sys.modules.get(f"{__package__}.preload")
    if preload is not None:
        die_with_parent()
        if os.getppid() != preload.PARENT:  # it has ended before the line above
            os._exit(EXIT_ORPHANED)
    with contextlib.suppress(PermissionError):
        os.setsid()  # Ctrl-C is for `up`, which stops its processes in order
    set_name(f"omni-{name}")
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()
    os.environ.update(environment)
    die_with_owner()


def die_with_parent() -> None:
    """Has Linux kill this process as soon as its parent (to be precise: the thread that forked it) has ended."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def die_with_owner() -> None:
    """Ends this process once the one that asked `multiprocessing` for it has ended.

    Everywhere, while a parent's death is Linux's to tell, and the parent may be a fork server.
    """
    owner = multiprocessing.parent_process()
    if owner is None:
        return

    def wait() -> None:
        owner.join()
        os._exit(EXIT_ORPHANED)

    threading.Thread(target=wait, name="owner", daemon=True).start()


def set_name(name: str) -> None:
    """What `ps -o comm` and `top` call this process on Linux, 15 characters at most."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode()[:15], 0, 0, 0)
