"""Which tokens may stand side by side within one pre-token: single pairs, and whole rows for masks.

A sequence of tokens inside a pre-token is what byte pair encoding writes exactly when each token is what its own bytes
give, and every adjacent pair is what the pair's bytes give. `Pairs` answers both, from the trees of merges and without
encoding (kernels and argument: `bpe_kernels`). For SentencePiece, byte pieces spell one character that has no piece:
what two neighbours can show of that is part of the pair test, the rest is the judge's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tokenizer_align.canonical import bpe_kernels as kernels
from tokenizer_align.canonical.byte_pieces import BytePieces
from tokenizer_align.canonical.merge_index import rows_by_symbol, spine_tree
from tokenizer_align.canonical.rules import TokenizationRules
from tokenizer_align.canonical.symbols import Symbols
from tokenizer_align.token_texts import TokenTexts

__all__ = ["Pairs"]

Words = npt.NDArray[np.uint32]

_MAX_PAIRS = 1 << 18


class Pairs:
    """The pair test of one tokenizer; shared between threads.

    n_words: of a row, ceil(n_rows / 32); token t is bit t & 31 of word t >> 5.
    never: uint32[n_words], tokens that stand in no canonical tokenization, whatever is around them.
    whole_only: ids that are canonical only as a whole pre-token (Llama 3: 588; only with `ignore_merges`).
    """

    def __init__(
        self,
        rules: TokenizationRules,
        token_bytes: Sequence[bytes | None],
        n_rows: int | None = None,
        max_row_bytes: int = 64 << 20,
        texts: TokenTexts | None = None,
    ) -> None:
        """Args:
        token_bytes: bytes per id, None for ids that are no text.
        n_rows: rows of the model's output.
        max_row_bytes: bound of the rows kept.
        texts: the same bytes in one array, where they are at hand.

        Raises:
            ValueError: a Unigram tokenizer, for which pairs decide nothing.
        """
        if rules.family == "unigram":
            raise ValueError("a Unigram tokenizer has no merges; pairs of tokens decide nothing there")
        self.rules = rules
        self.n_rows = len(token_bytes) if n_rows is None else n_rows
        self.n_words = (self.n_rows + 31) // 32
        self._max_rows = max(16, max_row_bytes // max(1, 4 * self.n_words))
        self._rows: OrderedDict[tuple[int, bool], Words] = OrderedDict()
        self._known: dict[int, bool] = {}
        self.symbols = Symbols.of_rules(rules)
        merges = rules.merges
        highest = max((int(ids.max()) for ids in (merges, rules.initial, rules.byte_ids) if ids.size), default=0)
        self._n_ids = n_ids = max(self.n_rows, len(token_bytes), highest + 1)
        lengths = (texts or TokenTexts.of(token_bytes)).lengths
        longest = int(lengths.max(initial=1))
        self._room_shape = (3, 2 * longest + 4)
        self._left, self._right = np.full(n_ids, -1, np.int32), np.full(n_ids, -1, np.int32)
        self._left[merges[:, 2]], self._right[merges[:, 2]] = merges[:, 0], merges[:, 1]
        self._phase, self._shared = np.empty(n_ids, np.int32), np.zeros(max(1, len(merges)), np.bool_)
        kernels.merge_phases(merges, self.symbols.ranks, self._phase, self._shared)
        merging = (merges, self.symbols.ranks, self.symbols.keys, self.symbols.rows)
        self._tables = (self._left, self._right, self._phase, self._shared, *merging)
        # Of the left neighbour's right spine, and of the right neighbour's left spine.
        phases = self._phase[merges[:, 2]]
        self._on_right_spine = spine_tree(self._right, merges, phases)
        self._on_left_spine = spine_tree(self._left, merges, phases)
        self._merges_of_left, self._merges_of_right = (
            rows_by_symbol(np.ascontiguousarray(merges[:, side]), phases, n_ids) for side in (0, 1)
        )
        self.byte_pieces = BytePieces(rules, self.symbols.of_code)
        is_piece = np.zeros(n_ids, np.bool_)
        is_piece[list(self.byte_pieces.byte_of)] = True
        # What `bpe_kernels.fates_by_texts` asks for: of spelling, and of pairs.
        self.texts_tables = (
            (self.symbols.of_byte, rules.family == "byte_level_bpe", is_piece),
            (*self._tables, np.empty(self._room_shape, np.int32)),
        )
        piece_bytes = np.full(n_ids, -1, np.int16)
        piece_bytes[list(self.byte_pieces.byte_of)] = list(self.byte_pieces.byte_of.values())
        # What `way_kernels.search_ways` asks for: of byte pieces, and of pairs.
        self.ways_tables = (piece_bytes, self.byte_pieces.second_bytes()), self.texts_tables[1]
        self.never, self.whole_only = self._settle_tokens(token_bytes, lengths > 0)
        self._whole = {token_bytes[i]: i for i in self.whole_only}

    def is_bad(self, a: int, b: int) -> bool:
        """Whether `a` followed by `b` within one pre-token is never canonical; 0.1 µs when asked before."""
        key = (a << 32) | b
        known = self._known.get(key)
        if known is None:
            known = self._test(a, b)
            if len(self._known) >= _MAX_PAIRS:
                self._known.clear()
            self._known[key] = known
        return known

    def bad_right(self, a: int) -> Words:
        """The tokens b for which (a, b) is bad, packed: uint32[n_words], not to be written to."""
        return self._row(a, True)

    def bad_left(self, b: int) -> Words:
        """The tokens a for which (a, b) is bad, packed: uint32[n_words], not to be written to."""
        return self._row(b, False)

    def joined(self, last: int, token: int) -> int:
        """What to remember as the left neighbour after `token` has followed `last` (a good pair).

        It is the token, except within a character that byte pieces spell: there it is a negative number that stands for
        all of the character's bytes so far, which `is_bad` and `bad_right` take in place of a token.
        """
        spelled = self.byte_pieces.spelling(self._begun(last), token)
        return -int.from_bytes(spelled, "big") if spelled and len(spelled) > 1 else token

    def _begun(self, last: int) -> bytes:
        """The bytes of the character that byte pieces have begun."""
        if last < 0:
            return (-last).to_bytes((-last).bit_length() // 8, "big")
        byte = self.byte_pieces.byte_of.get(last, 0)
        return bytes([byte]) if byte >= 0xC2 else b""

    def encode_pre_token(self, data: bytes) -> list[int]:
        """What byte pair encoding writes for one pre-token (for SentencePiece: a text between added tokens).

        Bytes that no token can write are left out, as the tokenizers library does.
        """
        whole = self._whole.get(data)
        return self.symbols.encode(data) if whole is None else [whole]

    def encode_part(self, data: bytes) -> list[int]:
        """What byte pair encoding writes for bytes within a pre-token, never looked up as a whole."""
        return self.symbols.encode(data)

    def _test(self, a: int, b: int) -> bool:
        if a < 0:
            return self.byte_pieces.spelling(self._begun(a), b) is None
        if self.byte_pieces.is_bad(a, b):
            return True
        room = np.empty(self._room_shape, np.int32)
        return bool(kernels.is_bad_pair(a, b, *self._tables, room))

    def _row(self, token: int, is_right: bool) -> Words:
        known = self._rows.get((token, is_right))
        if known is not None:
            return known
        if token < 0:
            return self._row_within_character(token)
        row = (self.byte_pieces.bad_right if is_right else self.byte_pieces.bad_left)(token, self.n_rows)
        kernels.bad_row(
            token,
            is_right,
            *self._tables,
            np.empty(self._room_shape, np.int32),
            *(self._merges_of_left if is_right else self._merges_of_right),
            *(self._on_left_spine if is_right else self._on_right_spine),
            row,
        )
        row.flags.writeable = False
        self._rows[(token, is_right)] = row
        while len(self._rows) > self._max_rows:
            self._rows.popitem(last=False)
        return row

    def _row_within_character(self, begun: int) -> Words:
        good = [i for i in self.byte_pieces.byte_of if i < self.n_rows and not self._test(begun, i)]
        bits = np.zeros(32 * self.n_words, np.bool_)
        bits[: self.n_rows] = True
        bits[good] = False
        row: Words = np.packbits(bits, bitorder="little").view(np.uint32)
        row.flags.writeable = False
        return row

    def _settle_tokens(
        self, token_bytes: Sequence[bytes | None], has_bytes: npt.NDArray[np.bool_]
    ) -> tuple[Words, frozenset[int]]:
        """(never, whole_only): tokens with bytes that merging their bytes does not give."""
        rules = self.rules
        given = rules.reproduced(len(token_bytes))
        matched_whole = [token.id for token in rules.added.values() if token.is_text and token.id < len(given)]
        given[matched_whole] = True
        given[[i for i in self.byte_pieces.impossible if i < len(given)]] = False
        lost: list[int] = np.flatnonzero(has_bytes & ~given).tolist()
        # Where an added token has the same bytes, it is found before pre-tokens are looked up.
        matched = {token_bytes[i] for i in matched_whole}
        whole_only = frozenset(i for i in lost if rules.ignore_merges and token_bytes[i] not in matched)
        never = np.zeros(32 * self.n_words, np.bool_)
        never[[i for i in lost if i < self.n_rows and i not in whole_only]] = True
        packed = np.packbits(never, bitorder="little").view(np.uint32)
        packed.flags.writeable = False
        return packed, whole_only
