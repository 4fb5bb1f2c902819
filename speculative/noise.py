"""Sampling noise that is a pure function of (seed, row, position, token): the coupling behind laws 2 and 4 of
DESIGN.md.

Gumbel-max: the index of the largest `score + noise` is a sample of softmax(score). The noise of a token does not
depend on which other tokens are legal, on how many positions one pass verifies, or on which rows share a batch. So a
constrained run, an unconstrained run and a run with drafts that see the same scores choose the same token wherever
they may.

Each (seed, row, position) seeds one SplitMix64 stream (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", 2014), whose t-th output belongs to token t. Being counter-based, it also gives any few tokens alone.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

__all__ = ["gumbel", "gumbel_at", "stream_key", "uniform_at"]

_GAMMA = 0x9E3779B97F4A7C15
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def stream_key(seed: int, row: int, position: int) -> int:
    """Return the 64-bit start of the stream of one position; any integers are keys."""
    return int.from_bytes(blake2b(f"{seed}/{row}/{position}".encode(), digest_size=8).digest(), "little")


def gumbel(seed: int, row: int, position: int, n_tokens: int) -> npt.NDArray[np.float64]:
    """Return standard Gumbel noise for tokens 0..n_tokens-1, float64[n_tokens]."""
    return _gumbel_of(_uniform(_offsets(n_tokens) + np.uint64(stream_key(seed, row, position))))


def gumbel_at(seed: int, row: int, position: int, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the noise of these tokens only: `gumbel(seed, row, position, n)[ids]`."""
    return _gumbel_of(uniform_at(seed, row, position, ids))


def uniform_at(seed: int, row: int, position: int, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the uniform numbers in (0, 1) behind the noise of these tokens."""
    offsets = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(_GAMMA)
    return _uniform(offsets + np.uint64(stream_key(seed, row, position)))


@lru_cache(maxsize=4)
def _offsets(n_tokens: int) -> npt.NDArray[np.uint64]:
    offsets: npt.NDArray[np.uint64] = np.arange(1, n_tokens + 1, dtype=np.uint64) * np.uint64(_GAMMA)
    offsets.flags.writeable = False
    return offsets


def _uniform(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """SplitMix64's output function, then the middle of one of 2**53 equal intervals; overwrites `state`."""
    state ^= state >> np.uint64(30)
    state *= _MIX_1
    state ^= state >> np.uint64(27)
    state *= _MIX_2
    state ^= state >> np.uint64(31)
    state >>= np.uint64(11)
    return (state.astype(np.float64) + 0.5) * 2.0**-53


def _gumbel_of(uniform: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    np.log(uniform, out=uniform)
    np.negative(uniform, out=uniform)
    np.log(uniform, out=uniform)
    return np.negative(uniform, out=uniform)
