"""Which tokens are text, and where in them each byte stands that often ends one: quotes, brackets, line breaks.

A string goes on as it is behind every character but a few. So its mask is that of all tokens that are UTF-8, without
those that hold such a byte; only where one may follow is anything walked, from the places where it comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .shape_kernels import read_text
from .shapes import parents_of
from .trie import Trie

__all__ = ["TextTokens", "text_tokens_of"]

N_ASCII = 128

_LETTERS = [byte for byte in range(N_ASCII) if chr(byte).isalnum()]

# UTF-8 byte by byte: the state behind a byte, 8 for none. 0: between characters; 1, 2, 3: so many bytes are missing;
# 4 to 7: behind E0, ED, F0, F4, which not every byte may follow.
_UTF8 = np.full((9, 256), 8, np.int64)
_UTF8[0, :0x80] = 0
_UTF8[0, 0xC2:0xE0], _UTF8[0, 0xE1:0xF0], _UTF8[0, 0xF1:0xF4] = 1, 2, 3
_UTF8[0, [0xE0, 0xED, 0xF0, 0xF4]] = 4, 5, 6, 7
_UTF8[1, 0x80:0xC0], _UTF8[2, 0x80:0xC0], _UTF8[3, 0x80:0xC0] = 0, 1, 2
_UTF8[4, 0xA0:0xC0], _UTF8[5, 0x80:0xA0], _UTF8[6, 0x90:0xC0], _UTF8[7, 0x80:0x90] = 1, 1, 2, 2


@dataclass(frozen=True, slots=True)
class TextTokens:
    """Of a vocabulary's trie.

    ids: int32[n], tokens that are UTF-8 from the beginning of a character on, the last one perhaps cut off.
    starts: int32[129], nodes: int32[m]: where an ASCII byte that is no letter or digit comes first on the way to a
    node, behind whole characters: nodes[starts[byte]:starts[byte + 1]]; above: uint64[m, 2], the ASCII bytes on the way
    to each of these nodes, its own left out.
    """

    ids: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    nodes: npt.NDArray[np.int32]
    above: npt.NDArray[np.uint64]


def text_tokens_of(trie: Trie) -> TextTokens:
    """The tokens of a trie that are text."""
    parent = parents_of(trie)
    states, above = np.zeros(trie.n_nodes, np.int64), np.zeros((trie.n_nodes, 2), np.uint64)
    one, byte = np.uint64(1), trie.byte
    read_text(parent, byte, _UTF8, states, above)
    code = byte.astype(np.uint64)
    is_first = (byte < N_ASCII) & (states[parent] == 0) & (np.arange(trie.n_nodes) > 0)
    is_first &= above[np.arange(trie.n_nodes), (code >> np.uint64(6)) & one] >> (code & np.uint64(63)) & one == 0
    is_first &= ~np.isin(byte, _LETTERS)
    found = np.flatnonzero(is_first)
    found = found[np.argsort(byte[found], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(byte[found], minlength=N_ASCII))])
    is_text = np.repeat(states < len(_UTF8) - 1, np.diff(trie.token_start))
    return TextTokens(trie.token_ids[is_text], starts.astype(np.int32), found.astype(np.int32), above[found])
