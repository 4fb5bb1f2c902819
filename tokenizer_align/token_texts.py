"""The bytes of all tokens in one array: what tables of a vocabulary are made from, and known again by."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class TokenTexts:
    """text: uint8[n_bytes]; the bytes of token t are text[starts[t]:starts[t + 1]], none where it is no text.

    starts: int64[n_rows + 1]. fingerprint: SHA-256 of both.
    """

    text: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    fingerprint: str

    @classmethod
    def of(cls, token_bytes: Sequence[bytes | None]) -> TokenTexts:
        """Those of a vocabulary: 40 ms at 262k; one from disk brings them along."""
        texts = [data or b"" for data in token_bytes]
        ends = accumulate(map(len, texts), initial=0)
        starts = np.fromiter(ends, np.int64, len(texts) + 1)
        text = b"".join(texts)
        return cls(np.frombuffer(text, np.uint8), starts, hashlib.sha256(starts.tobytes() + text).hexdigest())

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """int64[n_rows]: bytes of each token."""
        found: npt.NDArray[np.int64] = np.diff(self.starts)
        return found
