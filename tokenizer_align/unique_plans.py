"""How many tokens complete a text after each of many tokens, where equal parts are not allowed.

Asking a configuration for every token would take seconds. Most tokens leave nothing at risk, and what completes the
text then begins no further part: so it depends on the automaton alone. Where further parts must come, tokens inside a
string share one plan, made as if the string were like no other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .partial_json import Mode
from .unique import Level
from .unique_rooms import bare
from .unique_runs import BRACKET_BITS, BRACKETS, Group, Levels, Tracked, is_at_risk, read_levels
from .unique_shared import UNLIKE, kept_completion

if TYPE_CHECKING:
    from .engine import Engine, Heads, Mask

_ENDS = frozenset(b'"\\[]{}')


class UniquePlans:
    """Over one vocabulary; called under the engine's lock."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.runs, self.masks = engine, engine.unique, engine.unique_masks
        self._inert: dict[Heads, bytes | None] = {}

    def lengths(self, heads: Tracked, row: Mask, tokens: list[int]) -> dict[int, int]:
        """How many tokens complete the text after these tokens of its mask; without those for which to ask."""
        found: dict[int, int] = {}
        for text, ids in self.texts(heads, row, tokens):
            plan = self.engine.fewest_tokens(text)
            if plan is not None:
                found |= dict.fromkeys(ids, len(plan))
        return found

    def texts(self, heads: Tracked, row: Mask, tokens: list[int]) -> list[tuple[bytes, list[int]]]:
        """What completes the text, for tokens of its mask that share it; without those for which to ask."""
        if len(heads.groups) > 1:
            return []
        group = heads.groups[0]
        special = set(self.masks.joints(group, row))
        if is_at_risk(group[1]):
            special.update(self.masks.following_tokens(group, row))
        tokens = [token for token in tokens if token not in special]
        found: list[tuple[bytes, list[int]]] = []
        together, alone = self.engine.token_ends.ends(group[0], tokens, self.runs.live_bytes, BRACKET_BITS)
        for ids in (*together, *([token] for token in alone)):
            text = self._of_automaton(group, ids[0])
            found.append((text, ids) if text is not None else self._unlike(group, ids))
        return found

    def _of_automaton(self, group: Group, token: int) -> bytes | None:
        """The automaton's shortest text after a token; None (to ask for it) where it begins a part."""
        data = self.engine.vocabulary.token_bytes[token] or b""
        if not BRACKETS.isdisjoint(data):
            return None
        heads = self.masks.run(group[0], token)
        if heads not in self._inert:
            if len(self._inert) > 4_096:
                self._inert.clear()
            self._inert[heads] = self._inert_text(heads, group[1], data)
        return self._inert[heads]

    def _inert_text(self, heads: Heads, levels: Levels, data: bytes) -> bytes | None:
        text = self.runs.shortest(heads)
        here = read_levels(tuple(map(bare, levels)), data)
        if here is None or any(level.used and level.item is not None for level in here):
            return None
        groups: tuple[Group, ...] = ((heads, here),)
        for at in range(len(text or b"")):
            before = groups[0][1]
            groups = self.runs.run_groups(groups[:1], (text or b"")[at : at + 1])
            if not groups or _begins_part(before, groups[0][1]):
                return None
        return text

    def _unlike(self, group: Group, ids: list[int]) -> tuple[bytes, list[int]]:
        """The text that tokens in the middle of a string share; without those that make it like one of the text's."""
        item, data = group[1][-1].item, self.engine.vocabulary.token_bytes
        if item is None or item.mode not in (Mode.STRING, Mode.KEY) or b"\\" in item.text:
            return b"", []
        ids = [token for token in ids if _ENDS.isdisjoint(data[token] or b"")]
        if not ids:
            return b"", []
        levels = tuple(_unlike_level(level) for level in group[1])
        here = self.masks.run(group[0], ids[0]), levels
        text, values = kept_completion(self.runs, here)
        if text is None:
            return b"", []
        n = len(item.text)
        like = {value[n:] for kind, value in values if kind == "s" and value.startswith(item.text)}
        return text, [token for token in ids if data[token] not in like]


def _begins_part(before: Levels, after: Levels) -> bool:
    """Whether a byte begins an item, or a key anywhere."""
    for old, new in zip(before, after, strict=False):
        if new.item is not None and (old.item is None or (new.item.mode is Mode.KEY) > (old.item.mode is Mode.KEY)):
            return True
    return len(after) > len(before)


def _unlike_level(level: Level) -> Level:
    item = level.item
    if item is not None and item.mode in (Mode.STRING, Mode.KEY):
        item = replace(item, text=UNLIKE)
    return replace(level, item=item, rivals=())
