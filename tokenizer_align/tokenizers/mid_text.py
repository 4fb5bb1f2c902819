"""Encoding of text from the middle of a longer text, with a copy of a tokenizer.

The copy shares the model (merges and pieces) with the original, so it costs nothing, but has no special-token template,
no prefix blank (no Prepend, Metaspace "never", ByteLevel without prefix), no truncation, and no added tokens besides
those that are ordinary text: "<|im_end|>" within a text is spelled, not turned into its id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tokenizer_align.tokenizers.fidelity import Part
from tokenizer_align.tokenizers.table import is_text_like

__all__ = ["MidTextEncoder", "without_prefix"]

_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")


class MidTextEncoder:
    """Callable str -> ids, over a prefix-free copy of a `tokenizers.Tokenizer`."""

    def __init__(self, tokenizer: Any, blocked: Mapping[int, str], renumbered: Mapping[int, int]) -> None:
        """Args:
        tokenizer: the copy.
        blocked: id -> content of ids that may not come out of a text.
        renumbered: id in the copy -> id, for added tokens that lie outside the model's own vocabulary.
        """
        self._tokenizer = tokenizer
        self._blocked, self._renumbered = dict(blocked), dict(renumbered)
        # Unigram takes the text "<0x41>" for the byte piece of that name; SentencePiece itself never does.
        self._spells_bytes = type(tokenizer.model).__name__ == "Unigram" and tokenizer.token_to_id("<0x41>") is not None

    @classmethod
    def of_backend(cls, backend: Any, special_ids: frozenset[int]) -> MidTextEncoder:
        """The encoder of a `tokenizers.Tokenizer`, read from the object itself (no JSON of the vocabulary)."""
        text_like = []
        blocked = {i: str(backend.id_to_token(i)) for i in special_ids}
        for i, token in backend.get_added_tokens_decoder().items():
            if is_text_like(token.content, token.special) and i not in special_ids:
                text_like.append((i, token))
            else:
                blocked[i] = token.content
        copy = _copy(backend, text_like)
        ids = ((copy.token_to_id(token.content), i) for i, token in text_like)
        return cls(copy, blocked, {there: here for there, here in ids if there != here})

    @property
    def tokenizer(self) -> Any:
        """The prefix-free `tokenizers.Tokenizer`."""
        return self._tokenizer

    def __call__(self, text: str) -> list[int]:
        """Ids whose bytes are those of `text`; bytes that no token has are left out."""
        if self._spells_bytes:
            match = _BYTE_PIECE.search(text)
            if match is not None:
                cut = match.start() + 1
                return self(text[:cut]) + self(text[cut:])
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        if self._renumbered:
            ids = [self._renumbered.get(i, i) for i in ids]
        wrong = next((i for i in ids if i in self._blocked), None)
        if wrong is None:
            return ids
        content = self._blocked[wrong]
        place = text.find(content)
        if place < 0 or len(content) < 2:  # unknown characters: no id says them
            return [i for i in ids if i not in self._blocked]
        cut = place + 1
        return self(text[:cut]) + self(text[cut:])

    def normalize(self, text: str) -> str:
        """What encoding does to `text` first, with blanks as blanks."""
        normalizer = self._tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text)).replace("▁", " ")


def without_prefix(part: Part | None) -> Part | None:
    """A normalizer or pre-tokenizer that puts nothing in front of the text.

    >>> without_prefix({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False})
    {'type': 'Metaspace', 'replacement': '▁', 'prepend_scheme': 'never', 'split': False}
    """
    if part is None or part["type"] == "Prepend":
        return None
    if part["type"] == "Metaspace":
        return {**part, "prepend_scheme": "never"}
    if part["type"] == "ByteLevel" and "add_prefix_space" in part:
        return {**part, "add_prefix_space": False}
    if part["type"] == "Sequence":
        key = next(name for name in part if name != "type")
        children = [child for child in map(without_prefix, part[key]) if child is not None]
        return {**part, key: children}
    return part


def _state(component: Any) -> Part | None:
    if component is None:
        return None
    state = json.loads(component.__getstate__())
    # An empty sequence is written as null by some versions.
    return state if isinstance(state, dict) else None


def _revive(empty: Any, part: Part | None) -> Any:
    if part is None:
        return None
    empty.__setstate__(json.dumps(part).encode())
    return empty


def _copy(backend: Any, text_like: list[tuple[int, Any]]) -> Any:
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    copy = Tokenizer(backend.model)
    normalizer = without_prefix(_state(backend.normalizer))
    pre_tokenizer = without_prefix(_state(backend.pre_tokenizer))
    if normalizer is not None:
        copy.normalizer = _revive(normalizers.Sequence([]), normalizer)
    if pre_tokenizer is not None:
        copy.pre_tokenizer = _revive(pre_tokenizers.Sequence([]), pre_tokenizer)
    copy.add_tokens([token for _, token in text_like])
    return copy
