"""The bots service: ordinary players behind the same gateway calls as everybody.

It keeps nothing. A bot's decision is a function of the table's state, and its command id is made from what it decides
about, so that a replica may be killed, started again or run twice at any moment and every decision is made once.
"""

from __future__ import annotations

from .config import BotsSettings
from .service import BotsService

__all__ = ["BotsService", "BotsSettings"]
