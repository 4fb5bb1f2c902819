"""What must be remembered of the tokens of an open pre-token under Unigram, in place of BPE's last token.

Viterbi's best way to a place depends only on the text before it. So tokens begin a canonical tokenization exactly if
each of them was the best way to its own end, and the whole text's best way goes through the end of the last: what can
still overtake it is a piece that is half read there. An `Ending` is those pieces and the best sums where they began, a
window as long as the longest piece. Sums are those from the beginning of the pre-token, since they round.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ..trie import Trie
from .byte_pieces import BytePieces
from .rules import TokenizationRules
from .unigram import CLOSE, Unigram
from .unigram_kernels import find_node, losing_pieces

Words = npt.NDArray[np.uint32]

MAX_STEPS = 1 << 17
MAX_TEXTS = 1 << 12
MAX_ROW_BYTES = 32 << 20
_BLANK_SIGN = "\u2581"


class Ending:
    """The end of an open pre-token.

    tail: its last characters, from the first at which a piece is half read. sums: the best sum before each of them and
    at the end; None where no piece is half read. spelled: bytes of a character that byte pieces have begun.
    """

    __slots__ = ("_hash", "spelled", "sums", "tail")

    def __init__(self, tail: str, sums: tuple[float | None, ...], spelled: bytes = b"") -> None:
        self.tail, self.sums, self.spelled = tail, sums, spelled
        self._hash = hash((tail, sums, spelled))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ending)
            and self._hash == other._hash
            and (self.tail, self.sums, self.spelled) == (other.tail, other.sums, other.spelled)
        )


EMPTY = Ending("", (0.0,))


class Endings:
    """The endings of one tokenizer and the tokens that may follow them.

    never: uint32[n_words], tokens that stand in no canonical tokenization; token t is bit t & 31 of word t >> 5.
    """

    def __init__(
        self, rules: TokenizationRules, token_bytes: Sequence[bytes | None], trie: Trie, n_rows: int | None = None
    ) -> None:
        self.unigram = Unigram(rules, token_bytes)
        self.n_rows = len(token_bytes) if n_rows is None else n_rows
        self.n_words = (self.n_rows + 31) // 32
        self._token_bytes = token_bytes
        self._encode_closely = lru_cache(MAX_TEXTS)(self.unigram.encode_closely)
        self._pieces = self.unigram.pieces
        self._sorted = sorted(self._pieces)
        self._text_of = {i: text for text, (i, _) in self._pieces.items()}
        self._unknown = rules.unknown_score
        self._byte_ids = [int(i) for i in rules.byte_ids]
        self._bytes = BytePieces(rules, {int(code) for code in rules.initial[:, 0]} | {ord(_BLANK_SIGN)})
        self._added = {token.id for token in rules.added.values() if token.is_text}
        self._trie = trie
        self._depth = trie.max_depth
        self._node_score, self._node_id, self._root_child = self._pieces_of_trie()
        self._steps: dict[tuple[Ending, int], Ending | None] = {}
        self._rows: dict[Ending, Words] = {}
        self.never, near = self._settle_tokens()
        alone = [i for i, byte in self._bytes.byte_of.items() if byte < 0x80 and i not in self._bytes.impossible]
        self._others = [*alone, *near]  # besides pieces; the first byte of a longer character settles nothing
        self._within = [i for i, byte in self._bytes.byte_of.items() if 0x80 <= byte < 0xC0]

    def _pieces_of_trie(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        trie = self._trie
        score, ids = np.full(trie.n_nodes, np.nan), np.full(trie.n_nodes, -1, np.int32)
        scores = np.full(len(self._token_bytes), np.nan)
        for i, value in self._pieces.values():
            scores[i] = value
        counts = np.diff(trie.token_start)
        nodes = np.repeat(np.arange(trie.n_nodes), counts)
        is_piece = ~np.isnan(scores[trie.token_ids])
        score[nodes[is_piece]] = scores[trie.token_ids[is_piece]]
        ids[nodes[is_piece]] = trie.token_ids[is_piece]
        root_child = np.full(256, -1, np.int32)
        node = 1
        while node < trie.n_nodes:
            root_child[trie.byte[node]] = node
            node = int(trie.end[node])
        return score, ids, root_child

    def _settle_tokens(self) -> tuple[Words, list[int]]:
        """(never, pieces that win or lose by so little that rounding may decide)."""
        row, near = np.zeros(self.n_words, np.uint32), np.zeros(self.n_words, np.uint32)
        self._compare(EMPTY, row, near)
        for i, data in enumerate(self._token_bytes):
            is_byte = i in self._bytes.byte_of and i not in self._bytes.impossible
            if data and i not in self._text_of and i not in self._added and not is_byte:
                row[i >> 5] |= np.uint32(1 << (i & 31))
        row.flags.writeable = False
        bits = np.unpackbits(near.view(np.uint8), bitorder="little")
        return row, np.flatnonzero(bits).tolist()

    def _compare(self, ending: Ending, row: Words, near: Words) -> None:
        trie, tail = self._trie, ending.tail
        starts = [at for at, best in enumerate(ending.sums[:-1]) if best is not None]
        nodes = [
            find_node(trie.byte, trie.end, self._root_child, np.frombuffer(tail[at:].encode(), np.uint8))
            for at in starts
        ]
        losing_pieces(
            trie.byte, trie.end, trie.depth, self._depth, self._root_child, self._node_score, self._node_id,
            self._unknown, np.array(nodes, np.int32), np.array([ending.sums[at] for at in starts], np.float64),
            ending.sums[-1], CLOSE, row, near,
        )  # fmt: skip

    # --- single tokens --------------------------------------------------------------------------------------------

    def fresh(self, token: int) -> Ending | None:
        """The ending of a token that begins a pre-token, or of one before which nothing counts."""
        return self.step(EMPTY, token)

    def step(self, ending: Ending, token: int) -> Ending | None:
        """The ending after one more token of the open pre-token; None where that is never canonical."""
        key = (ending, token)
        try:
            return self._steps[key]
        except KeyError:
            if len(self._steps) >= MAX_STEPS:
                self._steps.clear()
            after = self._steps[key] = self._step(ending, token)
            return after

    def _step(self, ending: Ending, token: int) -> Ending | None:
        text = self._text_of.get(token)
        if text is not None:
            return None if ending.spelled else self._read(ending, text, token)
        byte = self._bytes.byte_of.get(token)
        if byte is None:
            return EMPTY if token in self._added else None
        continues = 0x80 <= byte < 0xC0
        if ending.spelled and not continues:
            return None
        if continues and not ending.spelled:
            return EMPTY  # of a character whose beginning does not count
        spelled = self._bytes.spelling(ending.spelled, token)
        if spelled is None:
            return None
        if spelled:
            return Ending(ending.tail, ending.sums, spelled)
        character = (ending.spelled + bytes([byte])).decode()
        return None if character == _BLANK_SIGN else self._read(ending, character, -1)

    def _read(self, ending: Ending, text: str, token: int) -> Ending | None:
        """The ending after a piece, or (token -1) a character without one, if the best way comes from the ending."""
        best, ways = self._ways(ending, text)
        whole = ending.tail + text
        if ways[-1] != (len(ending.tail), token):
            return None
        sums = [best[at] if self._is_begun(whole[at:]) else None for at in range(len(whole))]
        first = next((at for at, value in enumerate(sums) if value is not None), len(whole))
        return Ending(whole[first:], (*sums[first:], best[-1]))

    def _ways(self, ending: Ending, text: str) -> tuple[list[float | None], list[tuple[int, int]]]:
        """(best sum, (start, id) of its last piece) at each place of tail and text; as `Unigram.encode`, the first of
        equal sums wins."""
        whole, n_before = ending.tail + text, len(ending.tail)
        n = len(whole)
        best: list[float | None] = [*ending.sums, *[None] * len(text)]
        ways = [(-1, -1)] * (n + 1)
        for start in range(n):
            base = best[start]
            if base is None:
                continue
            has_single = start < n_before
            for stop in range(max(start, n_before) + 1, min(n, start + self.unigram.longest) + 1):
                known = self._pieces.get(whole[start:stop])
                if known is None:
                    continue
                total, there = base + known[1], best[stop]
                if there is None or total > there:
                    best[stop], ways[stop] = total, (start, known[0])
                has_single |= stop == start + 1
            if not has_single:
                total, there = base + self._unknown, best[start + 1]
                if there is None or total > there:
                    best[start + 1], ways[start + 1] = total, (start, -1)
        return best, ways

    def _is_begun(self, text: str) -> bool:
        """Whether a longer piece begins with a text."""
        at = bisect_right(self._sorted, text)
        return at < len(self._sorted) and self._sorted[at].startswith(text)

    # --- many -----------------------------------------------------------------------------------------------------

    def is_bad(self, ending: Ending, token: int) -> bool:
        """Whether a token never follows an ending within its pre-token."""
        return self.step(ending, token) is None

    def bad_right(self, ending: Ending) -> Words:
        """The tokens of `never` and those that never follow, packed: uint32[n_words], not to be written to."""
        row = self._rows.get(ending)
        if row is None:
            row = self.never.copy()
            others = self._others
            if ending.spelled:
                row[:] = np.uint32(0xFFFFFFFF)
                others = self._within
            else:
                self._compare(ending, row, np.zeros(self.n_words, np.uint32))
            for i in others:
                bit = np.uint32(1 << (i & 31))
                if self.is_bad(ending, i):
                    row[i >> 5] |= bit
                else:
                    row[i >> 5] &= ~bit
            row.flags.writeable = False
            if len(self._rows) >= max(16, MAX_ROW_BYTES // (4 * self.n_words)):
                self._rows.clear()
            self._rows[ending] = row
        return row

    def encode_pre_token(self, data: bytes) -> list[int]:
        """The tokens of a whole pre-token."""
        return self.encode_part(data)

    def encode_part(self, data: bytes) -> list[int]:
        """The tokens of the rest of a pre-token by itself; it may begin within a character, never end in one."""
        inside, text = self._begin_part(data)
        return inside + self.unigram.encode(text)

    def encode_part_anew(self, data: bytes) -> list[int]:
        """As `encode_part`, but each token is the first that what is left from it on is encoded to.

        Sums round, so where two ways tie, the rest of the best way may by itself be written otherwise, even in more
        tokens: behind 1 + 1/3 other sums come out equal than behind 0.
        """
        tokens, text = self._begin_part(data)
        while text:
            ids, is_close = self._encode_closely(text)
            if not is_close:
                return tokens + ids
            piece = self._text_of.get(ids[0])
            tokens += [self._byte_ids[byte] for byte in text[0].encode()] if piece is None else ids[:1]
            text = text[1 if piece is None else len(piece) :]
        return tokens

    def _begin_part(self, data: bytes) -> tuple[list[int], str]:
        """(tokens of the end of a character that bytes begin with, the text behind it)."""
        n_inside = next((i for i, byte in enumerate(data) if byte & 0xC0 != 0x80), len(data))
        return [self._byte_ids[byte] for byte in data[:n_inside]], data[n_inside:].decode()

    def encode_behind(self, ending: Ending, data: bytes) -> list[int] | None:
        """The tokens of the rest of a pre-token behind an ending; None where the ending's tokens are not canonical
        together with it."""
        tokens: list[int] = []
        at: Ending | None = ending
        place = 0
        while at is not None and at.spelled and place < len(data):
            tokens.append(self._byte_ids[data[place]])
            at = self.step(at, tokens[-1])
            place += 1
        if at is None or at.spelled:
            return None
        text = data[place:].decode()
        ways = self._ways(at, text)[1]
        stop, first, found = len(at.tail) + len(text), len(at.tail), []
        while stop > first:
            start, token = ways[stop]
            if start < first:
                return None
            part = text[start - first : stop - first]
            found.append([token] if token >= 0 else [self._byte_ids[byte] for byte in part.encode()])
            stop = start
        return tokens + [token for part in reversed(found) for token in part]
