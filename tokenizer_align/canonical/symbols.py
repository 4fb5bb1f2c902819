"""The symbols that merging starts from, and encoding with our own byte pair encoder.

Byte-level: one symbol a byte. SentencePiece: one a character, or one a byte of a character that has no piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_align.canonical.bpe_kernels import encode_symbols, merge_table
from tokenizer_align.canonical.rules import TokenizationRules

__all__ = ["Symbols"]

IntArray = npt.NDArray[np.int32]
_BLANK = 0x2581  # "▁"


@dataclass(frozen=True, slots=True)
class Symbols:
    """Initial symbols and merges of one tokenizer, ready to encode.

    of_code: byte (byte-level) or code point -> id.
    of_byte: int32[256], the same for bytes (byte-level) or ASCII characters, -1 where there is none.
    ranks, keys, rows: of the merges, see `bpe_kernels.merge_table`.
    """

    rules: TokenizationRules
    of_code: dict[int, int]
    of_byte: IntArray
    ranks: IntArray
    keys: npt.NDArray[Any]
    rows: npt.NDArray[Any]

    @classmethod
    def of_rules(cls, rules: TokenizationRules) -> Symbols:
        """Build the tables (0.1 s at most)."""
        of_code = dict(zip(rules.initial[:, 0].tolist(), rules.initial[:, 1].tolist(), strict=True))
        if rules.family != "byte_level_bpe" and 0x20 in of_code:
            of_code[_BLANK] = of_code[0x20]
        others = [-1] * 256 if rules.family == "byte_level_bpe" else rules.byte_ids.tolist()
        of_byte = np.array([of_code.get(byte, others[byte]) for byte in range(256)], np.int32)
        return cls(rules, of_code, of_byte, rules.row_ranks, *merge_table(rules.merges))

    def spell(self, data: bytes) -> IntArray:
        """The symbols of a text: int32[n]; what no symbol can write is left out."""
        if self.rules.family == "byte_level_bpe" or data.isascii():
            symbols: IntArray = self.of_byte[np.frombuffer(data, np.uint8)]
            return symbols[symbols >= 0]
        ids: list[int] = []
        for character in data.decode("utf-8", "surrogateescape"):
            known = self.of_code.get(ord(character))
            if known is None:
                spelled = character.encode("utf-8", "surrogateescape")
                ids.extend(int(self.rules.byte_ids[byte]) for byte in spelled)
            else:
                ids.append(known)
        return np.array([i for i in ids if i >= 0], dtype=np.int32)

    def encode(self, data: bytes) -> list[int]:
        """What merging the symbols of one pre-token gives."""
        symbols = self.spell(data)
        if not len(symbols):
            return []
        ids: list[int] = encode_symbols(symbols, self.rules.merges, self.ranks, self.keys, self.rows).tolist()
        return ids
