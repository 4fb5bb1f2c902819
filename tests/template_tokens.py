"""Which tokens of a text belong to the holes of its template: what a pass for each of them would cost."""

from __future__ import annotations

from domino_py.constraints.base import Constraint
from domino_py.constraints.template import parts_of
from domino_py.results import GenerationResult
from tokenizer_align.splits import split
from tokenizer_align.vocabulary import Vocabulary


def n_hole_tokens(form: Constraint, result: GenerationResult, vocabulary: Vocabulary) -> int:
    """How many tokens of a result hold a byte of a hole."""
    parts = parts_of(form)
    offsets = split([expr for _, expr in parts], result.text.encode())
    assert offsets is not None
    spans = [span for (name, _), *span in zip(parts, offsets, offsets[1:], strict=False) if name is not None]
    found, at = 0, 0
    for token in result.token_ids:
        end = at + len(vocabulary.token_bytes[token] or b"")
        found += any(begin < end and at < last for begin, last in spans)
        at = end
    assert at == len(result.text.encode())
    return found


def n_fixed(form: Constraint) -> int:
    """How many pieces of fixed text a template has."""
    return sum(name is None for name, _ in parts_of(form))
