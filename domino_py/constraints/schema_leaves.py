"""Values of sub-schemas that hold no other ones: built once for all schemas that say the same.

Strings, numbers and short lists of values make up most of a schema, and the same few occur in most of them. They are
kept by what they say, not by where they stand.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tokenizer_align.expressions import Expr

from .json_layout import JsonStyle
from .schema_claims import UNEVALUATED
from .schema_keywords import KEYWORDS
from .schema_risk import FOLLOWED, REFERENCES

MAX_LISTED = 32  # values that a leaf may list; longer lists are hardly ever shared
MAX_TEXT = 200  # characters of a pattern or a listed value
_SCALARS = frozenset(name for name, known in KEYWORDS.items() if known.of_type in ("string", "number")) | {"const"}
_NONE = frozenset((*FOLLOWED, *REFERENCES, *UNEVALUATED)) | frozenset(
    name for name, known in KEYWORDS.items() if known.of_type in ("object", "array")
)


@lru_cache(maxsize=64)
def language_of(draft: int, style: JsonStyle) -> str:
    """What the meaning of a leaf depends on besides its keywords, in words: they are compared faster."""
    return f"draft {draft}, {style}"


def leaf_key(keywords: dict[str, Any], language: str) -> Hashable | None:
    """What a sub-schema says, annotations left out; None where it holds others or is too long to be kept."""
    if not _NONE.isdisjoint(keywords):
        return None
    said: list[Hashable] = []
    for name, value in keywords.items():
        if name in _SCALARS:
            if isinstance(value, list | dict) or (isinstance(value, str) and len(value) > MAX_TEXT):
                return None
            said.append((name, value.__class__, str(value)))  # 1 and 1.0 are written apart
        elif name == "type":
            said.append((name, value if isinstance(value, str) else tuple(value)))
        elif name == "enum":
            if len(value) > MAX_LISTED or any(isinstance(item, list | dict) for item in value):
                return None
            if any(isinstance(item, str) and len(item) > MAX_TEXT for item in value):
                return None
            said.append((name, tuple((item.__class__, str(item)) for item in value)))
    return (language, *said)


def said_by_leaf(keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a leaf without annotations and names."""
    return {name: value for name, value in keywords.items() if name in _SCALARS or name in ("type", "enum")}


@dataclass(slots=True)
class LeafCounts:
    """Look-ups that found a leaf, and that did not."""

    hits: int = 0
    misses: int = 0


class Leaves:
    """The `capacity` leaves used last, by what they say: calls of rules whose bodies surely hold some text."""

    def __init__(self, capacity: int = 2048) -> None:
        self.capacity = capacity
        self.counts = LeafCounts()
        self._calls: OrderedDict[Hashable, Expr] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable) -> Expr | None:
        """The values of a leaf that was kept."""
        with self._lock:
            found = self._calls.get(key)
            if found is None:
                self.counts.misses += 1
                return None
            self.counts.hits += 1
            self._calls.move_to_end(key)
            return found

    def keep(self, key: Hashable, values: Expr) -> Expr:
        """Keep the values of a leaf. Returns what is kept: another thread may have been first."""
        with self._lock:
            kept = self._calls.setdefault(key, values)
            if len(self._calls) > self.capacity:
                self._calls.popitem(last=False)
            return kept


LEAVES = Leaves()
