"""Texts that a normalizer changes: their bytes never come out of encoding, so no tokenization of them is canonical."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

__all__ = ["keeps_text"]


def keeps_text(normalizer: str, texts: Iterable[bytes]) -> bool:
    """Whether a normalizer (JSON, as in `TokenizationRules`) leaves all of these texts as they are.

    >>> keeps_text('{"type": "Sequence", "normalizers": [{"type": "NFC"}]}', ["é".encode(), "e\\u0301".encode()])
    False
    """
    revived = _revive(normalizer)
    for text in texts:
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            return False
        if revived.normalize_str(decoded).replace("▁", " ") != decoded:
            return False
    return True


@lru_cache(maxsize=8)
def _revive(normalizer: str) -> Any:
    from tokenizers import normalizers

    empty: Any = normalizers.Sequence([])
    empty.__setstate__(json.dumps(json.loads(normalizer)).encode())
    return empty
