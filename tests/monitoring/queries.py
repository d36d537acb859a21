"""Reads PromQL as far as the tests need it: which metrics a query names, and which labels it uses of each."""

from __future__ import annotations

import re

_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_SELECTOR = re.compile(r"\b([a-z_][a-zA-Z0-9_:]*)\s*(\{[^}]*\})?")
_LABEL = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        sum min max avg count topk quantile by without on ignoring group_left group_right and or unless offset bool
        inf nan rate irate increase delta deriv histogram_quantile absent max_over_time min_over_time avg_over_time
        clamp_min clamp_max round sort_desc time vector scalar changes resets
        """,
    )
)
TARGETS = frozenset(("instance", "job"))
"""Labels that Prometheus adds to whatever it scrapes."""


def metrics_of(query: str) -> dict[str, set[str]]:
    """The metrics that a query selects, each with the labels by which it does."""
    bare = _GROUPING.sub(" ", query)
    bare = re.sub(r"\[[^\]]*\]", " ", bare)
    found: dict[str, set[str]] = {}
    # strings go last: they stand inside the braces
    for name, braces in _SELECTOR.findall(_STRING.sub('""', bare)):
        if name in _WORDS and not braces:
            continue
        found.setdefault(name, set()).update(_LABEL.findall(braces))
    return found


def grouped(query: str) -> set[str]:
    """The labels that a query groups or joins by."""
    return {label.strip() for group in _GROUPING.findall(query) for label in group.split(",") if label.strip()}
