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
