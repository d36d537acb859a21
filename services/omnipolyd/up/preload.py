"""What the processes of `up` are forked from: everything they import, imported once.

Python's fork server imports this module at its start, and forks each process when it is asked to: seven interpreters
would import the same modules seven times, some six seconds of a processor, and keep seven copies. Nothing may be begun
here that does not survive a fork: modules are imported, nothing is called, there is no second thread. (gRPC begins its
threads with the first channel or server, which is after the fork.)

To be imported by the fork server alone: it ends with `up`, and stands apart from the terminal's Ctrl-C.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from omnipolyd.roles import ROLES

from . import kin

PARENT = os.getpid()
"""The fork server: in a process that it has forked, the parent."""

os.setsid()
kin.die_with_parent()
kin.set_name("omni-fork")

gc.disable()  # nothing of what follows is garbage
# structlog imports rich where it can, for a console's colours; logs of these processes go into files.
sys.modules["rich"] = None  # type: ignore[assignment]
with contextlib.suppress(Exception):
    import structlog  # noqa: F401
del sys.modules["rich"]
for role in ROLES.values():
    # One that cannot be imported says so itself, into its log, when it starts.
    with contextlib.suppress(Exception):
        role.settings_class()
        role.service_class()
with contextlib.suppress(Exception):
    import uvloop  # noqa: F401 - to be there

    from . import preparing, serving  # noqa: F401

# What is loaded stays. Were it looked through by the collectors of seven processes, each would copy all of its pages.
gc.freeze()
gc.enable()
