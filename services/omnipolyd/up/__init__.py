"""`omnipolyd up`: every role on one machine, each a process of its own, with PostgreSQL and NATS where none is given.

options     what it is asked for, and what it refuses
folder      the data folder: its lock, its logs, the key of the sessions
plan        which processes there are, at which ports, with which environment
preload     what the processes are forked from
child       what runs inside one of them
process     one of them, seen from here: started, watched, started again
servers     PostgreSQL and NATS, likewise
run         all of it, up in order and down in reverse
"""

from __future__ import annotations
