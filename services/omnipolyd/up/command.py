"""What the command line calls: refuses what cannot be, takes the data folder, and begins."""

from __future__ import annotations

import os

from omnipoly.runtime.errors import ConfigError

from .folder import DataFolder
from .options import DEFAULT_FOLDER, Options


def up(options: Options) -> int:
    """Runs until SIGINT, SIGTERM or SIGHUP; the exit code. Raises `StartError` when it cannot start."""
    options.check()
    ready = _ready_file(options)
    data = options.data if options.data is not None or options.ephemeral else DEFAULT_FOLDER
    folder = DataFolder(data, ephemeral=options.ephemeral)
    try:
        from . import run

        return run.run(options, folder, ready)
    finally:
        folder.release()


def _ready_file(options: Options) -> int | None:
    """The descriptor of `--ready-fd`, kept from the processes. Raises `ConfigError` when there is none."""
    if options.ready_fd is None:
        return None
    try:
        os.set_inheritable(options.ready_fd, False)
    except OSError as error:
        raise ConfigError(f"--ready-fd {options.ready_fd}: {(error.strerror or str(error)).lower()}") from None
    return options.ready_fd
