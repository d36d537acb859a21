"""A scripted server that takes a client through what a client must be able to take, and says what it did right.

table     one game, played by the engine alone, in memory
services  the contract's services before it, without a will of their own: what comes in is put in a queue
peer      takes from that queue, and answers as the gateway would unless a trial wants it otherwise
trials    what is tried, one coroutine each
running   the whole of it: server, client, report
"""

from __future__ import annotations
