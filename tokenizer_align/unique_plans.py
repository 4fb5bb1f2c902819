"""How many tokens complete a text after each of many tokens, where equal parts are not allowed.

Asking a configuration for every token would take seconds. Most tokens leave nothing at risk, and what completes the
text then begins no further part: so it depends on the automaton alone. Where further parts must come, tokens inside a
string share one plan, made as if the string were like no other.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .partial_json import Mode, Value, string_bytes
from .unique import Level
from .unique_completion import complete
from .unique_rooms import bare
from .unique_runs import BRACKETS, Group, Levels, Tracked, is_at_risk, read_levels

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask

ASK, UNKNOWN = -2, -1
MAX_KEPT = 16  # arrays of int32[n_rows]
_UNLIKE = b"\xff"  # is no UTF-8: the beginning of a string that is like no other


class UniquePlans:
    """Over one vocabulary; called under the engine's lock."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.runs, self.masks = engine, engine.unique, engine.unique_masks
        self._kept: OrderedDict[Heads, npt.NDArray[np.int32]] = OrderedDict()
        self._inert: dict[Heads, int] = {}

    def lengths(self, heads: Tracked, row: Mask, tokens: list[int]) -> dict[int, int]:
        """How many tokens complete the text after these tokens of its mask; without those for which to ask."""
        if len(heads.groups) > 1:
            return {}
        group = heads.groups[0]
        known = self._kept.get(group[0])
        if known is None:
            known = self._kept[group[0]] = np.full(self.engine.vocabulary.n_rows, UNKNOWN, np.int32)
            if len(self._kept) > MAX_KEPT:
                self._kept.popitem(last=False)
        special = set(self.masks.joints(group, row))
        if is_at_risk(group[1]):
            special.update(self.masks.following_tokens(group, row))
        found: dict[int, int] = {}
        shared: dict[Heads, tuple[int, frozenset[Value]]] = {}
        for token in tokens:
            n = int(known[token])
            if n == UNKNOWN:
                n = known[token] = self._of_automaton(group, token)
            if token not in special and (n >= 0 or (n := self._unlike(group, token, shared)) >= 0):
                found[token] = n
        return found

    def _of_automaton(self, group: Group, token: int) -> int:
        """The tokens of the automaton's shortest text after a token; ASK where it begins a part."""
        data = self.engine.vocabulary.token_bytes[token] or b""
        if not BRACKETS.isdisjoint(data):
            return ASK
        heads = self.engine.run_plain(group[0], np.frombuffer(data, np.uint8))
        found = self._inert.get(heads)
        if found is None:
            if len(self._inert) > 4_096:
                self._inert.clear()
            found = self._inert[heads] = self._inert_length(heads, group[1], data)
        return found

    def _inert_length(self, heads: Heads, levels: Levels, data: bytes) -> int:
        text = self.runs.shortest(heads)
        here = read_levels(tuple(map(bare, levels)), data)
        if here is None or any(level.used and level.item is not None for level in here):
            return ASK
        groups: tuple[Group, ...] = ((heads, here),)
        for at in range(len(text or b"")):
            before = groups[0][1]
            groups = self.runs.run_groups(groups[:1], (text or b"")[at : at + 1])
            if not groups or _begins_part(before, groups[0][1]):
                return ASK
        plan = None if text is None else self.engine.fewest_tokens(text)
        return ASK if plan is None else len(plan)

    def _unlike(self, group: Group, token: int, shared: dict[Heads, tuple[int, frozenset[Value]]]) -> int:
        """The plan that tokens in the middle of a string share; ASK where the string is like one of the plan's."""
        item, data = group[1][-1].item, self.engine.vocabulary.token_bytes[token] or b""
        if item is None or item.mode is not Mode.STRING or b"\\" in item.text + data or b'"' in data:
            return ASK
        heads = self.masks.run(group[0], token)
        if heads not in shared:
            levels = tuple(_unlike_level(level) for level in group[1])
            text = complete(self.runs, ((heads, levels),), self.runs.shortest)
            plan = None if text is None else self.engine.fewest_tokens(text)
            shared[heads] = ASK if plan is None else len(plan), self._values(heads, levels, text or b"")
        n, values = shared[heads]
        return ASK if ("s", string_bytes(item.text + data)) in values else n

    def _values(self, heads: Heads, levels: Levels, text: bytes) -> frozenset[Value]:
        """The values of the parts that a text writes."""
        found: frozenset[Value] = frozenset()
        groups: tuple[Group, ...] = ((heads, levels),)
        for at in range(len(text)):
            groups = self.runs.run_groups(groups, text[at : at + 1])
            found = found.union(*(level.used for _, here in groups for level in here))
        return found


def _begins_part(before: Levels, after: Levels) -> bool:
    """Whether a byte begins an item, or a key anywhere."""
    for old, new in zip(before, after, strict=False):
        if new.item is not None and (old.item is None or (new.item.mode is Mode.KEY) > (old.item.mode is Mode.KEY)):
            return True
    return len(after) > len(before)


def _unlike_level(level: Level) -> Level:
    item = level.item
    if item is not None and item.mode is Mode.STRING:
        item = replace(item, text=_UNLIKE)
    return replace(level, item=item, rivals=())
