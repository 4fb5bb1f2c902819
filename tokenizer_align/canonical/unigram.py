"""Unigram: of all ways to write a pre-token, the one whose pieces have the highest sum of scores (Kudo, 1804.10959).

Pairs decide nothing here, so a pre-token is judged as a whole: Viterbi's path over its characters, as the tokenizers
library runs it (the same order of candidates and the same additions, since sums of floats tie and round). A stretch of
characters without a piece is one unknown, spelled in byte pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import inf

from tokenizer_align.canonical.rules import TokenizationRules

__all__ = ["CLOSE", "Unigram"]

CLOSE = 1e-6  # sums this near to each other may come out otherwise behind another text: rounding

_MAX_WORDS = 1 << 16


class Unigram:
    """Encodes single pre-tokens of a Unigram tokenizer.

    pieces: text -> (id, score). longest: of them, in characters.
    """

    def __init__(self, rules: TokenizationRules, token_bytes: Sequence[bytes | None]) -> None:
        self._token_bytes = token_bytes
        self._byte_ids = [int(i) for i in rules.byte_ids]
        self._unknown_score = rules.unknown_score
        scores = rules.scores.tolist()
        self.pieces: dict[str, tuple[int, float]] = {}
        for i, data in enumerate(token_bytes[: len(scores)]):
            if data and scores[i] == scores[i]:  # NaN: no piece
                self.pieces[data.decode()] = (i, scores[i])
        self.longest = max(map(len, self.pieces), default=1)
        self._is_best = lru_cache(maxsize=_MAX_WORDS)(self._compare)

    def is_best(self, ids: tuple[int, ...]) -> bool:
        """Whether these ids are what encoding their bytes as one pre-token gives."""
        return self._is_best(ids)

    def encode(self, text: str) -> list[int]:
        """The ids of one pre-token (blanks are blanks)."""
        return self.encode_closely(text)[0]

    def encode_closely(self, text: str) -> tuple[list[int], bool]:
        """The ids of one pre-token, and whether to a place between them two ways come so near that rounding decides.

        Where none does, the rest of the ids behind any of them is what encoding the rest of the text gives.
        """
        n = len(text)
        best: list[tuple[float, int, int]] = [(0.0, -1, -1)] + [(-inf, -1, -1)] * n  # score, start, id
        close: set[int] = set()
        for start in range(n):
            base = best[start][0]
            has_single = False
            for stop in range(start + 1, min(n, start + self.longest) + 1):
                known = self.pieces.get(text[start:stop])
                if known is None:
                    continue
                i, score = known
                lead = base + score - best[stop][0]
                if lead > 0:
                    best[stop] = (base + score, start, i)
                if -CLOSE <= lead <= CLOSE:
                    close.add(stop)
                has_single |= stop == start + 1
            if not has_single:
                lead = base + self._unknown_score - best[start + 1][0]
                if lead > 0:
                    best[start + 1] = (base + self._unknown_score, start, -1)
                if -CLOSE <= lead <= CLOSE:
                    close.add(start + 1)
        ids: list[int] = []
        stop, is_close = n, False
        while stop > 0:
            _, start, i = best[stop]
            is_close |= stop in close
            ids.extend([i] if i >= 0 else [self._byte_ids[byte] for byte in reversed(text[start:stop].encode())])
            stop = start
        return [i for i in reversed(ids) if i >= 0], is_close

    def _compare(self, ids: tuple[int, ...]) -> bool:
        data = b"".join(self._token_bytes[i] or b"" for i in ids)
        try:
            return self.encode(data.decode()) == list(ids)
        except UnicodeDecodeError:
            return False
