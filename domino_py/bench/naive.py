"""Naive masking, to compare with: a mask over the whole vocabulary at every step, and no token may cross terminals.

This is how grammar constraints are often built: a parser says which terminals may come, and a token is legal if it is
a piece of one of them. Bridge tokens (`",`, `"}`, `": `) are lost, so the model is made to write in tokens that it
would not choose. `NaiveCompiled` takes the place of a compiled constraint in the decode loop; nothing is remembered
from step to step but the text's state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from domino_py.bench.terminals import START, JsonTerminals, OneTerminal, Terminals
from domino_py.bench.workloads import Workload
from domino_py.constraints.base import Constraint
from tokenizer_align.compiled import Compiled, Configuration
from tokenizer_align.engine import Engine
from tokenizer_align.errors import IllegalToken, VocabularyError
from tokenizer_align.layout import Layout
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["NaiveCompiled", "NaiveMatcher", "compile_naive"]

Mask = npt.NDArray[np.uint32]
_NO_MEMOS = 1 << 30  # subtrees of the trie with more nodes than this get a memo: none


def compile_naive(workload: Workload, vocabulary: Vocabulary) -> NaiveCompiled:
    """Compile a workload's constraint for naive masking. Raises VocabularyError where bytes are no tokens."""
    terminals = JsonTerminals(vocabulary) if workload.is_json else OneTerminal(vocabulary)
    return NaiveCompiled(workload.constraint(), vocabulary, terminals)


class NaiveCompiled:
    """A constraint, the automaton that runs it, and the scanner of its terminals."""

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary, terminals: Terminals) -> None:
        if not vocabulary.is_atomic:
            # A legal token may then be lost with no shorter one in its place, and the text could not be completed.
            raise VocabularyError(f"naive masking needs a token for every byte, which {vocabulary.name} has not")
        self.vocabulary = vocabulary
        self.terminals = terminals
        self.engine = Engine(vocabulary, memo_min_nodes=_NO_MEMOS)
        self.exact = Compiled(constraint.expression, vocabulary, engine=self.engine)
        self._n_left: dict[tuple[Configuration, int], int] = {}

    def matcher(self, context_ids: Sequence[int] = ()) -> NaiveMatcher:
        return NaiveMatcher(self)

    def shortest_n_tokens(self) -> int:
        return self.n_tokens_left(self.exact.start, START)

    def n_tokens_left(self, here: Configuration, state: int) -> int:
        """How many tokens within terminals suffice to complete the text: those of its shortest completion."""
        found = self._n_left.get((here, state))
        if found is None:
            parts = self.terminals.split(state, self.exact.completion(here))
            found = sum(len(self.engine.fewest_tokens(part) or part) for part in parts)
            self._n_left[here, state] = found
        return found


class NaiveMatcher:
    """The state of one text: the exact matcher's, and where its last terminal stands."""

    def __init__(self, compiled: NaiveCompiled) -> None:
        self.compiled = compiled
        self._exact: Matcher = compiled.exact.matcher()
        self._states = [START]

    def mask(self) -> Mask:
        """The tokens that are legal pieces of one terminal, found by a walk over the whole vocabulary."""
        here = self._exact.configuration
        with self.compiled.engine.in_use:
            mask: Mask = self.compiled.engine.mask(here.heads)
        mask &= self.compiled.terminals.inside(self._states[-1])
        if here.complete:
            for token in self.compiled.vocabulary.eos_token_ids:
                mask[token >> 5] |= np.uint32(1 << (token & 31))
        return mask

    def mask_within(self, n_tokens: int) -> Mask:
        mask = self.mask()
        ends = self.compiled.vocabulary.eos_token_ids
        for token in self.compiled.exact.ids(mask):
            if token in ends:
                continue
            after = self.compiled.exact.successor(self._exact.configuration, token)
            state = self.compiled.terminals.after(self._states[-1], self.compiled.vocabulary.token_bytes[token] or b"")
            if after is None or self.compiled.n_tokens_left(after, state) > n_tokens - 1:
                mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        return mask

    def accepts(self, token_id: int) -> bool:
        if token_id in self.compiled.vocabulary.eos_token_ids:
            return self.is_complete()
        inside = self.compiled.terminals.inside(self._states[-1])
        return (
            0 <= token_id < self.compiled.vocabulary.n_rows
            and bool(inside[token_id >> 5] >> (token_id & 31) & 1)
            and self._exact.accepts(token_id)
        )

    def advance(self, token_id: int) -> None:
        """Read a token. Raises IllegalToken where it is illegal or crosses terminals."""
        data = self.compiled.vocabulary.token_bytes[token_id]
        if not self.accepts(token_id):
            raise IllegalToken(token_id, data, self.text_bytes())
        self._exact.advance(token_id)
        self._states.append(self.compiled.terminals.after(self._states[-1], data or b""))

    def rollback(self, n_tokens: int) -> None:
        self._exact.rollback(n_tokens)
        if n_tokens:
            del self._states[-n_tokens:]

    def fork(self) -> NaiveMatcher:
        other = NaiveMatcher(self.compiled)
        other._exact, other._states = self._exact.fork(), list(self._states)
        return other

    def is_complete(self) -> bool:
        return self._exact.is_complete()

    def can_continue(self) -> bool:
        return self._exact.can_continue()

    def min_tokens(self) -> int:
        return self.compiled.n_tokens_left(self._exact.configuration, self._states[-1])

    def shortest_completion(self) -> bytes:
        return self._exact.shortest_completion()

    def text_bytes(self) -> bytes:
        return self._exact.text_bytes()

    def forced_bytes(self) -> bytes:
        """Nothing: naive masking does not look ahead."""
        return b""

    def determined_bytes(self, layout: Layout | None = None) -> bytes:
        return b""
