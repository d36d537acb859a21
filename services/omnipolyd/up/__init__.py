"""`omnipolyd up`: every role on one machine, each a process of its own, with PostgreSQL and NATS where none is given.

    command     what the command line calls
    options     what it is asked for, and what it refuses
    folder      the data folder: its lock, its logs, the key of the sessions
    run         all of it, up in order and down in reverse
    servers     PostgreSQL and NATS: started, watched, started again
    plan        which processes there are, at which ports, with which environment
    ports       ports that are taken before anybody listens on them
    page        the web page, where it is asked for
    process     one process, seen from here: started, watched, started again
    forking     how processes are made, and `preload`, what they are forked from
    following   their logs, shown as they come

and in the processes: `entry`, where they begin; `kin`, which binds them to their owner; `preparing`, the one that comes
first; `serving`, a role.
"""

from __future__ import annotations
