"""Byte-level BPE: GPT-2's alphabet, in which each of the 256 bytes is written as one printable character.

`decode` of one id replaces incomplete UTF-8 by U+FFFD, so bytes come from the alphabet itself
(transformers' `bytes_to_unicode`, first in GPT-2's encoder.py). A piece with a character outside the alphabet is
literal text, as in the decoder of the tokenizers library.
"""

from __future__ import annotations

__all__ = ["BYTE_OF_CHARACTER", "CHARACTER_OF_BYTE", "piece_bytes"]


def _alphabet() -> dict[int, int]:
    """Byte -> code point: printable Latin-1 stands for itself, the other 68 are shifted to U+0100 and on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    shifted = [byte for byte in range(256) if byte not in printable]
    return {byte: byte for byte in printable} | {byte: 256 + rank for rank, byte in enumerate(shifted)}


CHARACTER_OF_BYTE: dict[int, int] = _alphabet()
BYTE_OF_CHARACTER: dict[int, int] = {character: byte for byte, character in CHARACTER_OF_BYTE.items()}
# Latin-1 characters outside the alphabet (such as a blank) must not pass for the byte of the same number.
_TO_LATIN_1 = {code: BYTE_OF_CHARACTER.get(code, 0x100) for code in range(0x180)}


def piece_bytes(piece: str) -> bytes:
    """The bytes that a piece of a byte-level vocabulary stands for.

    >>> piece_bytes("Ġcaf"), piece_bytes("Ã"), piece_bytes("a b")
    (b' caf', b'\\xc3', b'a b')
    """
    try:
        return piece.translate(_TO_LATIN_1).encode("latin-1")
    except UnicodeEncodeError:
        return piece.encode()
