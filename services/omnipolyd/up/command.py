"""What the command line calls: refuses what cannot be, takes the data folder, and begins."""

from __future__ import annotations

import os

from omnipoly.runtime.errors import ConfigError

from . import forking
from .folder import DataFolder
from .options import DEFAULT_FOLDER, Options


def up(options: Options) -> int:
    """Runs until SIGINT, SIGTERM or SIGHUP; the exit code. Raises `StartError` when it cannot start."""
    options.check()
    ready = _ready_file(options)
    data = options.data if options.data is not None or options.ephemeral else DEFAULT_FOLDER
    folder = DataFolder(data, ephemeral=options.ephemeral)
    try:
        forking.begin()
        from . import run  # while the other imports, too

        return run.run(options, folder, ready)
    finally:
        forking.end()
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
