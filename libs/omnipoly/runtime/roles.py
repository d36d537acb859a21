"""What those who run the site may do, by role: one table, which the gateway and the table service both look into.

Roles are part of a person and stand in their tokens. ``admin`` is the site's owner: TUB-CLOSE and TUB-REMOVE name no
other. A moderator holds a table or a person until an admin has looked; ``read_only`` is for support and monitoring.
"""

from __future__ import annotations

from collections.abc import Iterable

from omnipoly.rules.codes import Code
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.refusals import failure

ADMIN = "admin"
MODERATOR = "moderator"
READ_ONLY = "read_only"
ROLES = (ADMIN, MODERATOR, READ_ONLY)

_ALL = frozenset(ROLES)
_HOLD = frozenset((ADMIN, MODERATOR))
_OWNER = frozenset((ADMIN,))

MAY: dict[str, frozenset[str]] = {
    "InspectTable": _ALL,
    "ExportTable": _ALL,
    "GetPerson": _ALL,
    "ListAudit": _ALL,
    "FreezeTable": _HOLD,
    "Ban": _HOLD,
    "CloseTable": _OWNER,
    "ReloadTable": _OWNER,
    "RemovePlayer": _OWNER,
    "Grant": _OWNER,
    "SetRoles": _OWNER,
}
"""By method of the public ``AdminService``: the roles of which one is needed."""


def is_operator(roles: Iterable[str]) -> bool:
    """Whether somebody with these roles may call anything of it."""
    return not _ALL.isdisjoint(roles)


def require(method: str, roles: Iterable[str]) -> None:
    """Raises ``Failure`` ``not_admin`` for somebody who may not call a method."""
    needed = MAY[method]
    if needed.isdisjoint(roles):
        named = " or ".join(role for role in ROLES if role in needed)
        raise not_allowed(f"That needs the role {named}.")


def not_allowed(sentence: str = "") -> Failure:
    """PERMISSION_DENIED ``not_admin``."""
    return failure(Code.NOT_ADMIN, sentence)
