"""How many tokens complete a text after each of many tokens, where a law says how they are written.

Asking a configuration for every token would take seconds. What completes the text depends on the place that a token
leads to, on the states in which it leaves the pre-tokenizer, and on the token itself only by whether the next one makes
a bad pair with it: so tokens that share the first two share a plan, and those with a bad pair are asked by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ..unique_runs import Tracked
from .constraint_walks import bits_of
from .token_paths import Ids, States

if TYPE_CHECKING:
    from ..engine import Mask
    from .lawful import LawConfiguration, LawfulCompiled


def lawful_lengths(compiled: LawfulCompiled, here: LawConfiguration, row: Mask, tokens: list[int]) -> dict[int, int]:
    """How many tokens complete the text after these legal ones; without those for which to ask. The engine's lock is
    held."""
    engine = compiled.engine
    known: dict[int, int] = {}
    if isinstance(here.heads, Tracked):
        for text, ids in engine.unique_plans.texts(here.heads, row, tokens):
            for states, some in _by_states(compiled, here, np.array(ids, np.int32)):
                known |= _shared(compiled, states, some, compiled.spell(states, -1, text))
        return known
    for group in engine.token_ends.ends(here.heads, tokens, engine.live_bytes)[0]:
        heads = engine.run_token(here.heads, group[0])
        for states, some in _by_states(compiled, here, np.array(group, np.int32)):
            known |= _shared(compiled, states, some, compiled.plan(compiled.configuration_at(heads, states)))
    return known


def _by_states(compiled: LawfulCompiled, here: LawConfiguration, tokens: Ids) -> Iterable[tuple[States, Ids]]:
    """Tokens by the states of P behind them."""
    ends = compiled.states_after(here, tokens)
    found, column = np.unique(ends[:, 1], return_inverse=True)
    reached = np.zeros((len(tokens), len(found)), np.bool_)
    reached[ends[:, 0], column] = True
    packed = np.ascontiguousarray(np.packbits(reached, axis=1))
    _, first, kind = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    for i, row in enumerate(first.tolist()):
        states = tuple(found[reached[row]].tolist())
        if states:
            yield states, tokens[kind.reshape(-1) == i]


def _shared(compiled: LawfulCompiled, states: States, tokens: Ids, plan: tuple[int, ...] | None) -> dict[int, int]:
    """The length of a plan for all tokens that make no bad pair with its beginning."""
    if plan is None:
        return {}
    text = compiled.vocabulary.decode(plan)
    if (
        plan
        and plan[0] not in compiled.engine.markers
        and compiled.pairs_matter
        and not compiled.speller.begins_pre_token(states, text)
    ):
        tokens = tokens[~bits_of(compiled.survival.pairs.bad_left(plan[0]), tokens)]
    return dict.fromkeys(tokens.tolist(), len(plan))
