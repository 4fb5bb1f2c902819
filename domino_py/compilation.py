"""From constraints and tokenizers to compiled constraints, with bounded caches keyed by content.

A compiled constraint is immutable and shared by all rows and threads that use the same (constraint, vocabulary,
tokenization). A vocabulary is kept as long as its tokenizer object lives.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from domino_py.arguments import as_constraint
from domino_py.constraints.base import Constraint
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.errors import InvalidOption
from tokenizer_align.vocabulary import Vocabulary

TOKENIZATIONS = ("any",)
_LATER = ("aligned", "canonical")


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
        made = compile_expression(constraint.expression, vocabulary, tokenization=tokenization)
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
_vocabularies: weakref.WeakKeyDictionary[Any, dict[tuple[Any, ...], Vocabulary]] = weakref.WeakKeyDictionary()
_vocabularies_lock = threading.Lock()


def compile(
    constraint: Any,
    tokenizer: Any,
    *,
    n_rows: int | None = None,
    eos_token_ids: Iterable[int] | None = None,
    tokenization: str = "any",
) -> Compiled:
    """Compile a constraint for a tokenizer, for engines that run their own decode loop.

    `n_rows` is the width of the model's output where it differs from the tokenizer's vocabulary; `eos_token_ids` are
    the ids that end a text (default: the tokenizer's). A `Vocabulary` may stand for the tokenizer.

    Raises ConstraintError (EmptyLanguage where this vocabulary can write no legal text), VocabularyError and
    InvalidOption.

        compiled = domino.compile(domino.choice(["yes", "no"]), tokenizer)
        matcher = compiled.matcher()
        matcher.mask()          # uint32[ceil(n_rows / 32)], token t is bit t & 31 of word t >> 5
    """
    made = as_constraint(constraint)
    if made is None:
        raise InvalidOption("constraint", "compile needs a constraint; free text (None) needs no mask.")
    ends = None if eos_token_ids is None else tuple(sorted(set(eos_token_ids)))
    vocabulary = vocabulary_of(tokenizer, n_rows=n_rows, eos_token_ids=ends)
    return compiled_for(made, vocabulary, tokenization)


def compiled_for(constraint: Constraint, vocabulary: Vocabulary, tokenization: str = "any") -> Compiled:
    """The cached compiled constraint. Raises InvalidOption for a tokenization law that is not there."""
    check_tokenization(tokenization)
    return compiled_cache.get(constraint, vocabulary, tokenization)


def check_tokenization(tokenization: str) -> None:
    if tokenization in _LATER:
        raise InvalidOption(
            "tokenization", f"tokenization={tokenization!r} is not available in this version; tokenization='any' is."
        )
    if tokenization not in TOKENIZATIONS:
        raise InvalidOption(
            tokenization if isinstance(tokenization, str) else "tokenization",
            f"tokenization={tokenization!r} is not one of {', '.join(map(repr, TOKENIZATIONS))}.",
            (*TOKENIZATIONS, *_LATER),
        )


def vocabulary_of(
    tokenizer: Any,
    *,
    n_rows: int | None = None,
    eos_token_ids: tuple[int, ...] | None = None,
    model: Any = None,
) -> Vocabulary:
    """The tokenizer's vocabulary, made once for each tokenizer object, width and set of end ids.

    A tokenizer whose number of tokens has changed since (tokens were added) is read anew.
    """
    if isinstance(tokenizer, Vocabulary):
        return tokenizer
    if n_rows is None and model is not None:
        n_rows = output_rows(model)
    key = (n_rows, eos_token_ids, _size_of(tokenizer))
    with _vocabularies_lock:
        try:
            kept = _vocabularies.setdefault(tokenizer, {})
        except TypeError:  # not hashable or not weakly referenceable
            kept = {}
        if key not in kept:
            kept[key] = Vocabulary.from_tokenizer(tokenizer, n_rows=n_rows, eos_token_ids=eos_token_ids)
        return kept[key]


def output_rows(model: Any) -> int:
    """How many rows the model's output has: its output matrix, else what its configuration says."""
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    weight = getattr(head, "weight", None)
    if weight is not None:
        return int(weight.shape[0])
    config = model.config
    return int((config.get_text_config() if hasattr(config, "get_text_config") else config).vocab_size)


def _size_of(tokenizer: Any) -> int:
    """A stamp that changes when tokens are added; never used as the vocabulary's size."""
    try:
        return len(tokenizer)
    except TypeError:
        return 0
