"""Frames less finitely many words, as the undeclared keys of an object are: masks from those of the whole frame.

Where a frame loops over the bytes of the words up to their last one, every beginning of a word can still become
another text. So the frame without the words differs from the whole one only at the words' ends.
"""

from __future__ import annotations

from dataclasses import dataclass

from .derivatives import heads
from .expressions import EPSILON, K_BOTH, K_LIT, K_NEG, K_SET, K_WORDS, Expr, both_unchecked, literal_bytes

MAX_WORDS = 1_000


@dataclass(frozen=True, slots=True)
class Exclusion:
    """`whole` less the words, each of which would end the frame."""

    whole: Expr
    words: tuple[bytes, ...]


def exclusion_of(expr: Expr) -> Exclusion | None:
    """The frame and the words that an intersection takes out of it; None where masks cannot be told so."""
    if expr.kind != K_BOTH:
        return None
    words = [arg for arg in expr.args if arg.kind == K_NEG and arg.args[0].kind in (K_LIT, K_SET, K_WORDS)]
    texts = _texts(words[0].args[0]) if len(words) == 1 else ()
    if not texts:
        return None
    whole = both_unchecked(*(arg for arg in expr.args if arg is not words[0]))
    own = next((mask for mask, after in heads(whole) if after is whole), 0)
    if not own or not all(own >> byte & 1 for byte in set(b"".join(text[:-1] for text in texts))):
        return None
    ends = {text[-1] for text in texts}
    afters = {after for mask, after in heads(whole) if any(mask >> byte & 1 for byte in ends)}
    return Exclusion(whole, texts) if afters <= {EPSILON} else None


def _texts(node: Expr) -> tuple[bytes, ...]:
    """The words of a literal or list; none where there are too many, or one of them is over."""
    if node.kind == K_WORDS:
        source, first, last, depth = node.data
        if last - first > MAX_WORDS:
            return ()
        texts = tuple(word[depth:] for word in source.items[first:last])
    else:
        text = literal_bytes(node)
        texts = () if text is None else (text,)
    return texts if all(texts) else ()
