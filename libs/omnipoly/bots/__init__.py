"""Bots: strategies that play by the rules alone, and games of bots on the engine without any service.

A strategy looks at a state and gives an action; it does no I/O, reads no clock and remembers nothing.
"""

from __future__ import annotations
