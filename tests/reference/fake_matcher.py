"""A matcher for a finite set of texts, by brute force: the slow twin of `tokenizer_align.matcher` for small languages.

The law is "any": every tokenization of a legal text is legal. What can be completed, and in how few tokens, is found by
dynamic programming over the texts themselves; nothing is shared with the fast code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tokenizer_align.errors import IllegalToken
from tokenizer_align.layout import Layout
from tokenizer_align.vocabulary import Vocabulary
from tokenizer_align.ways import Way

_NEVER = 10**9


class FakeCompiled:
    """A finite language over a vocabulary.

    Args:
        texts: the language.
        determined: a text that `determined_bytes` follows as long as the running text is a prefix of it; None: only
            what is forced is determined.
    """

    def __init__(self, texts: Iterable[bytes], vocabulary: Vocabulary, determined: bytes | None = None) -> None:
        self.vocabulary = vocabulary
        self.determined = determined
        self.texts = tuple(sorted(set(texts)))
        self._costs = {text: _token_costs(text, self._tokens_by_first_byte) for text in self.texts}
        self._fewest: dict[bytes, int] = {}

    @cached_property
    def _tokens_by_first_byte(self) -> dict[int, list[bytes]]:
        table: dict[int, list[bytes]] = {}
        for data in {data for data in self.vocabulary.token_bytes if data}:
            table.setdefault(data[0], []).append(data)
        return table

    def min_tokens(self, prefix: bytes) -> int:
        """Fewest tokens from this prefix to the end of a text; a huge number where there is no way."""
        if prefix not in self._fewest:
            costs = (self._costs[text][len(prefix)] for text in self.texts if text.startswith(prefix))
            self._fewest[prefix] = min(costs, default=_NEVER)
        return self._fewest[prefix]

    def live_texts(self, prefix: bytes) -> list[bytes]:
        """Texts that can still be written after this prefix."""
        return [t for t in self.texts if t.startswith(prefix) and self._costs[t][len(prefix)] < _NEVER]

    def shortest_n_tokens(self) -> int:
        return self.min_tokens(b"")

    def matcher(self, context_ids: Sequence[int] = ()) -> FakeMatcher:
        return FakeMatcher(self)


class FakeMatcher:
    """One running text; the interface of `Matcher`."""

    def __init__(self, compiled: FakeCompiled, tokens: Sequence[int] = ()) -> None:
        self.compiled = compiled
        self._tokens = list(tokens)

    @property
    def n_tokens(self) -> int:
        return len(self._tokens)

    @property
    def is_finished(self) -> bool:
        return bool(self._tokens) and self._tokens[-1] in self.compiled.vocabulary.eos_token_ids

    def text_bytes(self) -> bytes:
        return self.compiled.vocabulary.decode(self._tokens)

    def accepts(self, token_id: int) -> bool:
        return self._allows(token_id, _NEVER - 1)

    def _allows(self, token_id: int, budget: int) -> bool:
        if self.is_finished:
            return False
        vocabulary = self.compiled.vocabulary
        if token_id in vocabulary.eos_token_ids:
            return self.is_complete()
        data = vocabulary.token_bytes[token_id]
        return bool(data) and self.compiled.min_tokens(self.text_bytes() + (data or b"")) <= budget

    def mask(self) -> npt.NDArray[np.uint32]:
        return self.mask_within(_NEVER)

    def mask_within(self, n_tokens: int) -> npt.NDArray[np.uint32]:
        n_rows = self.compiled.vocabulary.n_rows
        bits = np.zeros(-(-n_rows // 32) * 32, dtype=np.uint8)
        text, table = self.text_bytes(), self.compiled.vocabulary.token_bytes
        for token in range(n_rows):
            data = table[token]
            bits[token] = bool(data) and self.compiled.min_tokens(text + (data or b"")) <= n_tokens - 1
        bits[list(self.compiled.vocabulary.eos_token_ids)] = self.is_complete()
        return np.packbits(bits, bitorder="little").view(np.uint32)

    def advance(self, token_id: int) -> None:
        if not self.accepts(token_id):
            raise IllegalToken(token_id, self.compiled.vocabulary.token_bytes[token_id], self.text_bytes())
        self._tokens.append(token_id)

    def rollback(self, n_tokens: int) -> None:
        if n_tokens:
            del self._tokens[-n_tokens:]

    def fork(self) -> FakeMatcher:
        return FakeMatcher(self.compiled, self._tokens)

    def is_complete(self) -> bool:
        return self.text_bytes() in self.compiled.texts and not self.is_finished

    def can_continue(self) -> bool:
        prefix = self.text_bytes()
        return any(len(text) > len(prefix) for text in self.compiled.live_texts(prefix))

    def forced_bytes(self) -> bytes:
        prefix = self.text_bytes()
        live = self.compiled.live_texts(prefix)
        common = live[0] if live else prefix
        for text in live:
            while not text.startswith(common):
                common = common[:-1]
        return common[len(prefix) :]

    def determined_bytes(self, layout: Layout | None) -> bytes:
        prefix, wanted = self.text_bytes(), self.compiled.determined
        if wanted is not None and wanted.startswith(prefix):
            return wanted[len(prefix) :]
        return self.forced_bytes()

    def likely_ways(self, layout: Layout | None) -> list[Way]:
        prefix = self.text_bytes()
        live = [text[len(prefix) :] for text in self.compiled.live_texts(prefix)]
        at = len(self.forced_bytes())
        firsts = len({text[at : at + 1] for text in live})
        return [Way(text, ((at, firsts),)) for text in live if len(text) > at] if 1 < len(live) <= 8 else []

    def state(self) -> bytes:
        return self.text_bytes()

    def shortest_completion(self) -> bytes:
        prefix = self.text_bytes()
        live = self.compiled.live_texts(prefix)
        return min(live, key=lambda text: (len(text), text))[len(prefix) :] if live else b""

    def min_tokens(self) -> int:
        return self.compiled.min_tokens(self.text_bytes())


def _token_costs(text: bytes, tokens: dict[int, list[bytes]]) -> list[int]:
    """Fewest tokens that write text[i:], for every i; a huge number where none do."""
    costs = [_NEVER] * len(text) + [0]
    for start in range(len(text) - 1, -1, -1):
        for data in tokens.get(text[start], ()):
            if text.startswith(data, start):
                costs[start] = min(costs[start], 1 + costs[start + len(data)])
    return [min(cost, _NEVER) for cost in costs]
