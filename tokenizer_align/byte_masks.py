"""256-bit masks of bytes as arrays."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt


@lru_cache(maxsize=4096)
def bytes_of(mask: int) -> npt.NDArray[np.intp]:
    """The members of a 256-bit mask as an index array."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(mask.to_bytes(32, "little"), np.uint8), bitorder="little"))


def words_of(mask: int) -> npt.NDArray[np.uint64]:
    """A 256-bit mask as four words."""
    return np.frombuffer(mask.to_bytes(32, "little"), np.uint64)


@lru_cache(maxsize=1024)
def byte_classes(masks: tuple[int, ...]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint64], int]:
    """Of each byte, one more than the place of the mask (none shares bytes with another) that holds it, 0 where none
    does: intp[256]; all bytes of the masks as four words, and how many they are."""
    classes = np.zeros(256, np.intp)
    union = 0
    for place, mask in enumerate(masks):
        classes[bytes_of(mask)] = place + 1
        union |= mask
    return classes, words_of(union), union.bit_count()
