"""From constraints and tokenizers to compiled constraints, with bounded caches keyed by content.

A compiled constraint is immutable and shared by all rows and threads that use the same (constraint, vocabulary,
tokenization).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from domino_py.arguments import as_constraint
from domino_py.chat import settle
from domino_py.constraints.base import Constraint
from domino_py.constraints.option_names import names_its_options
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.errors import InvalidOption
from tokenizer_align.vocabulary import Vocabulary

TOKENIZATIONS = ("any", "aligned", "canonical")


@dataclass(slots=True)
class CacheCounts:
    """Counters of the cache of compiled constraints: look-ups that found one, that did not, and entries dropped."""

    hits: int = 0
    misses: int = 0
    evictions: int = 0


class CompiledCache:
    """The `capacity` compiled constraints used last, by (constraint, vocabulary, tokenization)."""

    def __init__(self, capacity: int = 256) -> None:
        self.capacity = capacity
        self.counts = CacheCounts()
        self._entries: OrderedDict[tuple[Constraint, str, str], Compiled] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, constraint: Constraint, vocabulary: Vocabulary, tokenization: str) -> Compiled:
        """The compiled constraint, made now if it is not there. Raises what compiling raises."""
        key = (constraint, vocabulary.fingerprint, tokenization)
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
                self.counts.hits += 1
                return found
            self.counts.misses += 1
        made = compile_expression(constraint.expression, vocabulary, tokenization, constraint.holds_markers)
        with self._lock:
            # Two threads may have compiled the same: the first one stays, so that its lazily built states are shared.
            made = self._entries.setdefault(key, made)
            while len(self._entries) > self.capacity:
                self._entries.popitem(last=False)
                self.counts.evictions += 1
        return made

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()


compiled_cache = CompiledCache()


@names_its_options
def compile(
    constraint: Any,
    tokenizer: Any,
    *,
    n_rows: int | None = None,
    eos_token_ids: int | Sequence[int] | None = None,
    tokenization: str = "aligned",
) -> Compiled:
    """Compile a constraint for a tokenizer, for engines that run their own decode loop.

    `n_rows` is the width of the model's output where it differs from the tokenizer's vocabulary; `eos_token_ids` are
    the ids that end a text besides the tokenizer's own. A `Vocabulary` may stand for the tokenizer.

    Raises ConstraintError (EmptyLanguage where this vocabulary can write no legal text), VocabularyError and
    InvalidOption.

        compiled = domino.compile(domino.choice(["yes", "no"]), tokenizer)
        matcher = compiled.matcher()
        matcher.mask()          # uint32[ceil(n_rows / 32)], token t is bit t & 31 of word t >> 5
    """
    made = as_constraint(constraint)
    if made is None:
        raise InvalidOption("constraint", "compile needs a constraint; free text (None) needs no mask.")
    vocabulary = Vocabulary.from_tokenizer(tokenizer, n_rows=n_rows, eos_token_ids=eos_token_ids)
    made = settle(made, tokenizer) or made
    return compiled_for(made, vocabulary, tokenization)


def compiled_for(constraint: Constraint, vocabulary: Vocabulary, tokenization: str = "aligned") -> Compiled:
    """The cached compiled constraint. Raises InvalidOption for a tokenization law that is not there."""
    check_tokenization(tokenization)
    return compiled_cache.get(constraint, vocabulary, tokenization)


def check_tokenization(tokenization: str) -> None:
    if tokenization not in TOKENIZATIONS:
        raise InvalidOption(
            tokenization if isinstance(tokenization, str) else "tokenization",
            f"tokenization={tokenization!r} is not one of {', '.join(map(repr, TOKENIZATIONS))}.",
            TOKENIZATIONS,
        )
