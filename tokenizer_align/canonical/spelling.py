"""The canonical tokens of bytes that follow a text, from the states in which that text left the pre-tokenizer."""

from __future__ import annotations

from typing import NamedTuple

from .path_kernels import BEHIND_WHOLE
from .survival import Survival
from .token_paths import States

MAX_MEMO = 1 << 14


class Part(NamedTuple):
    """A pre-token: whether it begins here, and whether it is one token that is written only as a whole pre-token."""

    text: bytes
    is_begun: bool
    is_token: bool


class Speller:
    """Spells completions; remembers what it spelled."""

    def __init__(self, survival: Survival) -> None:
        self._survival = survival
        self._memo: dict[tuple[States, int, bytes], tuple[int, ...] | None] = {}
        token_bytes = survival.engine.vocabulary.token_bytes
        whole_ids: list[int] = survival.paths.pre_tokens.whole_ids.tolist()
        self._whole = {token_bytes[i] or b"": i for i in whole_ids}  # what only stands as a whole pre-token

    def spell(self, states: States, last: int, text: bytes) -> tuple[int, ...] | None:
        """The tokens of `text` to its end, the last token of what stands before being `last` (-1: any).

        None where they would not be canonical together with `last`, or P cannot end behind the text.
        """
        key = (states, last, text)
        if key not in self._memo:
            if len(self._memo) >= MAX_MEMO:
                self._memo.clear()
            self._memo[key] = self._spell(states, last, text)
        return self._memo[key]

    def begins_pre_token(self, states: States, text: bytes) -> bool:
        """Whether a boundary lies before a text that can be spelled from these states."""
        parts = self._parts(states, text)
        return bool(parts) and parts is not None and parts[0].is_begun

    def _spell(self, states: States, last: int, text: bytes) -> tuple[int, ...] | None:
        parts = self._parts(states, text)
        if parts is None:
            return None
        tokens = [token for part in parts for token in self._tokens_of(part)]
        if last >= 0 and tokens and not parts[0].is_begun and self._survival.pairs.is_bad(last, tokens[0]):
            return None
        return tuple(tokens)

    def _tokens_of(self, part: Part) -> list[int]:
        return [self._whole[part.text]] if part.is_token else self._survival.pairs.encode_part(part.text)

    def _parts(self, states: States, text: bytes) -> list[Part] | None:
        """The text's pre-tokens, along the run of P that can end behind it."""
        paths = self._survival.paths
        layers: list[dict[int, tuple[int, int]]] = []  # state -> (state before, bit)
        here = list(paths.open(states))
        for byte in text:
            layer: dict[int, tuple[int, int]] = {}
            for p in here:
                for bit, after in paths.step(p, byte):
                    layer.setdefault(after, (p, bit))
            layers.append(layer)
            here = list(layer)
        ending = [p for p in here if paths.ends[p]]
        if not ending:
            return None
        parts: list[Part] = []
        p, stop = ending[0], len(text)
        end = p
        for at in range(len(text) - 1, -1, -1):
            p, bit = layers[at][p]
            if bit or at == 0:
                parts.append(Part(text[at:stop], bool(bit), paths.stops[end] == BEHIND_WHOLE))
                end, stop = p, at
        return parts[::-1]
