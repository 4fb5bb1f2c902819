"""Compiled constraints under the laws of tokenization "aligned" and "canonical": see docs/canonicality.md.

Beside the constraint's heads a configuration holds the states in which the pre-tokenizer's automaton P may be. Under
"canonical" it also holds the last token, and only tokens of a canonical tokenization are legal. Under "aligned" a token
is withheld only if no legal continuation is canonical from it on, whatever stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..configuration import Configuration
from ..engine import Engine, Heads
from ..expressions import Expr
from ..unique_runs import loose
from ..vocabulary import Vocabulary
from .constraint_walks import bits_of
from .lawful import Last, LawConfiguration, LawfulCompiled
from .pairs import Pairs
from .survival import Survival
from .token_paths import Ids, Row, States

_NOTE_ALONE = (
    "the prompt ends within what every legal text makes one token of, so the output is tokenized as if nothing stood "
    "before it; heal_prompt=True avoids that"
)


class AlignedCompiled(LawfulCompiled):
    """`tokenization="aligned"`: no token after which every legal continuation forces an unnatural split."""

    law = "aligned"

    def __init__(self, expr: Expr, vocabulary: Vocabulary, engine: Engine, survival: Survival) -> None:
        super().__init__(expr, vocabulary, engine, survival)
        self.may_split = isinstance(survival.pairs, Pairs)

    def _row(self, here: LawConfiguration) -> Row:
        row0, row1 = self.survival.kept(loose(here.heads), here.states)
        return row0 | row1

    def _after(self, here: LawConfiguration, token: int, heads: Heads) -> tuple[States, Last] | None:
        row = here.mask_row
        if row is not None:
            if not row[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
                return None
        elif not self._survives(here.states, token, loose(heads)):
            return None
        return self.survival.paths.read(here.text_states, self.vocabulary.token_bytes[token] or b""), -1

    def states_after(self, here: LawConfiguration, tokens: Ids) -> npt.NDArray[np.int32]:
        return self.survival.paths.read_all(here.text_states, tokens)

    def _survives(self, states: States, token: int, heads: Heads) -> bool:
        survival = self.survival
        return any(
            survival.survives(heads, after, token) for p in states for _, after in survival.paths.ends_of(p, token)
        )

    def is_split(self, here: Configuration, token_id: int, next_id: int) -> bool:
        assert isinstance(here, LawConfiguration)
        if here.lost or not {token_id, next_id}.isdisjoint(self.engine.markers) or min(token_id, next_id) < 0:
            return False
        paths, fits = self.survival.paths, not self.survival.pairs.is_bad(token_id, next_id)
        between = {after for p in here.states for _, after in paths.ends_of(p, token_id)}
        return not any(bit or fits for p in between for bit, _ in paths.ends_of(p, next_id))

    def _begin(self, context_ids: Sequence[int]) -> LawConfiguration:
        return self._begin_behind_text(self.states_behind(context_ids))

    def law_notes(self, context_ids: Sequence[int] = ()) -> tuple[str, ...]:
        """Whether the prompt's end does not count, since together with any text it would be tokenized otherwise."""
        if not len(context_ids) or self._is_kept(self.states_behind(context_ids)):
            return ()
        return (_NOTE_ALONE,)


class CanonicalCompiled(LawfulCompiled):
    """`tokenization="canonical"`: exactly the tokens that some canonical tokenization of a legal text goes on with."""

    law = "canonical"
    pairs_matter = True

    def _row(self, here: LawConfiguration) -> Row:
        row0, row1 = self.survival.kept(loose(here.heads), here.states)
        if here.last < 0:
            return row0 | row1
        if not self.engine.automaton.anchors and not self.engine.reserved:
            here.rows = row0, row1
        return self._followers((row0, row1), here.last)

    def _after(self, here: LawConfiguration, token: int, heads: Heads) -> tuple[States, Last] | None:
        survival, plain = self.survival, loose(heads)
        fits = here.last < 0 or not survival.pairs.is_bad(here.last, token)
        states = {
            after
            for p in here.states
            for bit, after in survival.paths.ends_of(p, token)
            if (bit or fits) and survival.survives(plain, after, token)
        }
        return (tuple(sorted(states)), token) if states else None

    def states_after(self, here: LawConfiguration, tokens: Ids) -> npt.NDArray[np.int32]:
        ends = np.concatenate([self.survival.paths.ends_of_all(p, tokens) for p in here.states])
        if here.last >= 0:
            fits = ~bits_of(self.survival.pairs.bad_right(here.last), tokens)
            ends = ends[(ends[:, 1] == 1) | fits[ends[:, 0]]]
        return ends[:, [0, 2]]

    def _may_end(self, here: LawConfiguration) -> bool:
        return any(self.survival.paths.ends[p] for p in here.states)

    def law_notes(self, context_ids: Sequence[int] = ()) -> tuple[str, ...]:
        """Whether the first token could not be canonical together with the prompt's last one."""
        if not len(context_ids) or self.begin(context_ids).last != -1 or self._context(context_ids)[2] == -1:
            return ()
        if not self._is_kept(self._context(context_ids)[0]):
            return (_NOTE_ALONE,)
        return (
            "no legal text goes on canonically behind the prompt's last token, so the output's first token was free of "
            "it, as under tokenization='aligned'; heal_prompt=True avoids that",
        )

    def _begin(self, context_ids: Sequence[int]) -> LawConfiguration:
        by_text, by_token, last = self._context(context_ids)
        if self._is_kept(by_token, last):
            return self._at(self._start_heads, by_token, last)
        return self._begin_behind_text(by_text)
