"""How much of a prompt's end would be tokenized otherwise together with a text that follows it."""

from __future__ import annotations

from collections.abc import Sequence

from ..compiled import Compiled
from .lawful import LawfulCompiled
from .search import bytes_in

MAX_GIVEN_BACK = 8


def n_open_tokens(compiled: Compiled, context_ids: Sequence[int]) -> int:
    """How many of the last tokens of a context lie in a pre-token that some legal text goes on with.

    Behind the others a boundary is certain, so that the text together with these tokens' bytes is tokenized by itself.
    0 where the text begins a pre-token in any case, where the pre-token is longer than MAX_GIVEN_BACK tokens, where no
    token would be left, or where the laws of tokenization cannot be had.
    """
    if not isinstance(compiled, LawfulCompiled):
        return 0
    paths, token_bytes = compiled.survival.paths, compiled.vocabulary.token_bytes
    with compiled.engine.in_use:
        open_bytes = bytes_in(compiled.engine.live_bytes(compiled.start.heads))
    behind = set(compiled.states_behind(context_ids))
    going_on = {p for p in behind if any(not bit for byte in open_bytes for bit, _ in paths.step(p, byte))}
    if not going_on:
        return 0
    for n in range(1, min(MAX_GIVEN_BACK, len(context_ids) - 1) + 1):
        tail = [token_bytes[token] if 0 <= token < compiled.n_rows else None for token in context_ids[-n:]]
        if not tail[0]:
            return n - 1  # an id that is no text: nothing merges across it
        data = b"".join(part or b"" for part in tail)
        before = compiled.states_behind(context_ids[:-n])
        here = {after for p in before for bit, after in paths.step(p, data[0]) if bit}
        for byte in data[1:]:
            here = {after for p in here for _, after in paths.step(p, byte)}
        if going_on <= here:
            return n
    return 0
