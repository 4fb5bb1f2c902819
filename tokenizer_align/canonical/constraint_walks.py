"""What the law of a tokenization asks of a constraint's automaton, beyond masks: narrow tokens, and where tokens end.

A token is *narrow* if the constraint leaves so little to follow it that some state of the pre-tokenizer might find no
boundary there. All other tokens can be continued canonically whatever stands before them; in an open string, or in
any JSON, hardly a token is narrow.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import kernels as k
from ..engine import Engine, Heads
from .token_paths import Ids, TokenPaths

Group = tuple[Heads, Ids]  # heads, and indices of the tokens that lead there

MAX_GROUPS = 1 << 12


class ConstraintWalks:
    """Walks from heads of one engine's automaton."""

    def __init__(self, engine: Engine, paths: TokenPaths) -> None:
        self.engine = engine
        self._paths = paths
        self._wide = np.zeros(1024, np.uint8)
        self._out = np.zeros(engine.vocabulary.n_rows, np.int32)

    def narrow_tokens(self, heads: Heads) -> Ids:
        """The tokens that the heads can read and that are narrow, in no order."""
        engine = self.engine
        with engine.lock:
            while True:
                n_states = engine.tables.state_kind.n
                if n_states > len(self._wide):
                    self._wide = np.concatenate([self._wide, np.zeros(2 * n_states - len(self._wide), np.uint8)])
                engine.load(heads)
                result, n = k.walk_narrow(engine.tables.ctx, len(heads), self._wide, self._paths.cut_words, self._out)
                if result == k.OK:
                    return self._out[:n].copy()
                engine._again(result)

    def groups(self, heads: Heads, tokens: Ids) -> list[Group]:
        """Tokens by the heads that they lead to; tokens that cannot be read are in no group."""
        if len(tokens) <= 4:
            return self._merged([(self.engine.run_token(heads, int(t)), [i]) for i, t in enumerate(tokens)])
        group = np.zeros(len(tokens), np.int32)
        bounds = np.zeros(MAX_GROUPS, np.int64)
        codes, stacks = np.zeros(4 * MAX_GROUPS, np.int64), np.zeros(4 * MAX_GROUPS, np.int64)
        engine = self.engine
        with engine.lock:
            while True:
                engine.load(heads)
                result, n = k.end_groups(
                    engine.tables.ctx, len(heads), tokens, self._paths.text_start, self._paths.text, group, bounds,
                    codes, stacks,
                )  # fmt: skip
                if result == k.OK:
                    break
                engine._again(result)
        if n < 0:
            return self._merged([(engine.run_token(heads, int(t)), [i]) for i, t in enumerate(tokens)])
        order = np.argsort(group, kind="stable")
        places = np.searchsorted(group[order], np.arange(n + 1))
        found = []
        for g in range(n):
            first, last = int(bounds[g]), int(bounds[g + 1])
            pairs = zip(codes[first:last].tolist(), stacks[first:last].tolist(), strict=True)
            found.append((tuple(sorted(pairs)), order[places[g] : places[g + 1]].tolist()))
        return self._merged(found)

    @staticmethod
    def _merged(found: list[tuple[Heads, list[int]]]) -> list[Group]:
        merged: dict[Heads, list[int]] = {}
        for heads, indices in found:
            if heads:
                merged.setdefault(heads, []).extend(indices)
        return [(heads, np.array(indices, np.int32)) for heads, indices in merged.items()]

    def cut_off(self, heads: Heads) -> Heads | None:
        """The same heads without the frames below the top one: what they can read whole is legal under every stack.

        None where that would say nothing new, or little, because the frame may end at once.
        """
        tables = self.engine.tables
        for code, stack in heads:
            if stack < 0 or not 0 < code < k.LIT_BASE or tables.state_kind.array[code] != k.ROW:
                return None
        return tuple(sorted((code, -1) for code, _ in heads))


def ids_of(row: npt.NDArray[np.uint32]) -> Ids:
    """The token ids of a row, ascending."""
    out = np.zeros(int(np.bitwise_count(row).sum()), np.int32)
    k.allowed_ids(row, out)
    return out
