"""How much of a text its constraint determined: the share of bytes that left the model no choice but layout.

Walked byte by byte, in no particular tokens: wherever the constraint determines what follows, alone or up to blanks and
the order of keys (`Matcher.determined_bytes`, with the layout that the text has shown up to there), the bytes of the
text that agree with it count as forced. A choice among few ways, such as an enum's words, counts as free up to the byte
that decides it.
"""

from __future__ import annotations

from domino_py.compilation import compiled_for
from domino_py.constraints.base import Constraint
from tokenizer_align.layout import LayoutTracker
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["forced_share"]


def forced_share(constraint: Constraint, vocabulary: Vocabulary, text: bytes) -> float | None:
    """The share, 0 to 1, of a legal text's bytes that the constraint determines alone or up to layout.

    None for an empty text, and where the vocabulary has no token of a single byte that the text needs.

    Example: of `{"action": "reject"}` under the enum "approve", "reject", "escalate" of the key "action" all but the
    `r` is determined: 19 of 20 bytes.
    """
    if not text or any(bytes([byte]) not in vocabulary.ids_by_bytes for byte in set(text)):
        return None
    matcher = compiled_for(constraint, vocabulary, "any").matcher()
    layout = LayoutTracker()
    place = n_forced = 0
    while place < len(text):
        run = matcher.determined_bytes(layout.layout)
        n_same = next((i for i, (a, b) in enumerate(zip(run, text[place:], strict=False)) if a != b), None)
        n_same = min(len(run), len(text) - place) if n_same is None else n_same
        n_forced += n_same
        for byte in text[place : place + max(n_same, 1)]:
            matcher.advance(vocabulary.ids_by_bytes[bytes([byte])][0])
            layout.feed(bytes([byte]))
        place += max(n_same, 1)
    return n_forced / len(text)
