"""Tokens that complete a text under a law where its shortest completion cannot be written with them.

First bytes in front of shortest completions are tried, those that surely lie behind a boundary before others, then
legal tokens, short ones before others. Which plan is found depends on the last token only by what it forbids: without
it, an earlier one is never left out, so tokens that do not forbid the plan's beginning share it (`lawful_lengths`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..completion import shortest_text
from ..engine import Heads
from ..errors import TooComplex
from .constraint_walks import BYTE_TEXTS
from .search import bytes_in

if TYPE_CHECKING:
    from .lawful import LawConfiguration, LawfulCompiled

MAX_TEXTS = 1_000
MAX_TOKENS = 2_000

Plan = tuple[int, ...]


def search_plan(compiled: LawfulCompiled, start: LawConfiguration) -> Plan:
    """Breadth first, by bytes and then by tokens. Raises TooComplex where neither finds one."""
    plan = _behind_bytes(compiled, start)
    if plan is None:
        plan = _behind_tokens(compiled, start)
    if plan is None:
        raise TooComplex(f"no short text with tokens as under {compiled.law!r} was found")
    return plan


def _behind_bytes(compiled: LawfulCompiled, start: LawConfiguration) -> Plan | None:
    engine, spell = compiled.engine, compiled.spell
    level: list[tuple[Heads, bytes]] = [(start.heads, b"")]
    n_tried = cuts = 0
    for p in start.states:
        cuts |= compiled.survival.paths.cuts[p]
    while level:
        following: list[tuple[Heads, bytes]] = []
        for heads, text in level:
            for byte in sorted(bytes_in(engine.live_bytes(heads) & ~engine.reserved), key=lambda b: not cuts >> b & 1):
                after = engine.run(heads, BYTE_TEXTS[byte])
                longer = text + bytes([byte])
                rest = shortest_text(engine, after)
                plan = None if rest is None else spell(start.states, start.last, longer + rest)
                if plan is not None:
                    return plan
                following.append((after, longer))
                n_tried += 1
                if n_tried > MAX_TEXTS:
                    return None
        level, cuts = following, 0
    return None


def _behind_tokens(compiled: LawfulCompiled, start: LawConfiguration) -> Plan | None:
    token_bytes, ends = compiled.vocabulary.token_bytes, compiled.eos_token_ids
    level: list[tuple[LawConfiguration, Plan]] = [(start, ())]
    n_tried = 0
    while level:
        following: list[tuple[LawConfiguration, Plan]] = []
        for here, before in level:
            for token in sorted(compiled.ids(compiled.mask(here)), key=lambda t: (len(token_bytes[t] or b""), t)):
                after = None if token in ends else compiled.lawful_successor(here, token)
                if after is None:
                    continue
                plan = compiled.direct_plan(after)
                if plan is not None:
                    return (*before, token, *plan)
                following.append((after, (*before, token)))
                n_tried += 1
                if n_tried > MAX_TOKENS:
                    return None
        level = following
    return None
