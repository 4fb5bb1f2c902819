"""A configuration's mask by the plain-Python twin of the walk in tests/reference: no memos, no short cuts."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.reference import plain_kernels
from tokenizer_align.compiled import Compiled, Configuration


def twin_mask(compiled: Compiled, here: Configuration) -> npt.NDArray[np.uint32]:
    """uint32[n_words], end-of-sequence included where the text is complete. Takes a second at 129k tokens."""
    plain_kernels.build_all(compiled.engine, here.heads, b"")
    mask = np.zeros(compiled.n_words, np.uint32)
    plain_kernels.walk(compiled.engine.tables, here.heads, mask)
    for token in compiled.eos_token_ids if here.complete else ():
        mask[token >> 5] |= np.uint32(1 << (token & 31))
    return mask
