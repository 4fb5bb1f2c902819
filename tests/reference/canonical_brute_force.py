"""The laws of tokenization by their definition, over finite languages: encode every text and look.

`split` gives the ends of a text's pre-tokens; `encode_whole` the tokens of a whole pre-token, `encode_part` those of
the rest of one, which are what BPE makes of those bytes without regard to what stands before. `added` tokens are
matched whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise

END = -1  # stands for end-of-sequence in sets of legal ids


class CanonicalBruteForce:
    """What may follow a prefix of tokens under "canonical", and a prefix of text under "aligned"."""

    def __init__(
        self,
        texts: Iterable[str],
        encode: Callable[[str], list[int]],
        split: Callable[[str], list[int]],
        encode_whole: Callable[[bytes], list[int]],
        encode_part: Callable[[bytes], list[int]],
        added: Collection[bytes] = (),
    ) -> None:
        self.texts = sorted(set(texts))
        self._encode_whole, self._encode_part, self._added = encode_whole, encode_part, added
        self.canonical: dict[tuple[int, ...], set[int]] = {}
        for text in self.texts:
            ids = encode(text)
            for at in range(len(ids) + 1):
                self.canonical.setdefault(tuple(ids[:at]), set()).add(ids[at] if at < len(ids) else END)
        self._ends = {text: split(text) for text in self.texts}

    def aligned(self, prefix: bytes) -> set[int]:
        """Ids after which some legal text is canonical from them on; END where the text may end."""
        legal: set[int] = set()
        for text in self.texts:
            data = text.encode()
            if not data.startswith(prefix):
                continue
            if len(data) == len(prefix):
                legal.add(END)
                continue
            at, ends = len(prefix), self._ends[text]
            end = next(end for end in ends if end > at)
            start = max(place for place in (0, *ends) if place <= at)
            whole = data[start:end]
            if start < at and (whole in self._added or self._encode_whole(whole) != self._encode_part(whole)):
                continue  # this pre-token is always one token
            legal.add((self._encode_whole if at in (0, *ends) else self._encode_part)(data[at:end])[0])
        return legal


def spans_to_ends(spans: Sequence[tuple[int, int]], text: str) -> list[int]:
    """Ends in bytes of spans given in characters."""
    assert all(a[1] == b[0] for a, b in pairwise(spans))
    return [len(text[:stop].encode()) for _, stop in spans]
