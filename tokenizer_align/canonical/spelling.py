"""The canonical tokens of bytes that follow a text, from the states in which that text left the pre-tokenizer."""

from __future__ import annotations

from itertools import pairwise

from .survival import Survival
from .token_paths import States

MAX_MEMO = 1 << 14


class Speller:
    """Spells completions; remembers what it spelled."""

    def __init__(self, survival: Survival) -> None:
        self._survival = survival
        self._memo: dict[tuple[States, int, bytes], tuple[int, ...] | None] = {}

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
        cuts = self._boundaries(states, text)
        return bool(cuts) and cuts is not None and cuts[0] == 0

    def _spell(self, states: States, last: int, text: bytes) -> tuple[int, ...] | None:
        cuts = self._boundaries(states, text)
        if cuts is None:
            return None
        edges = [0, *(cut for cut in cuts if cut), len(text)]
        tokens: list[int] = []
        for first, stop in pairwise(edges):
            pairs = self._survival.pairs
            is_whole = first > 0 or 0 in cuts
            tokens += (pairs.encode_pre_token if is_whole else pairs.encode_part)(text[first:stop])
        if last >= 0 and tokens and 0 not in cuts and self._survival.pairs.is_bad(last, tokens[0]):
            return None
        return tuple(tokens)

    def _boundaries(self, states: States, text: bytes) -> list[int] | None:
        """Places of the boundaries of pre-tokens in the text, along the run of P that can end behind it."""
        paths = self._survival.paths
        layers: list[dict[int, tuple[int, int]]] = []  # state -> (state before, bit)
        here = list(states)
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
        cuts: list[int] = []
        p = ending[0]
        for at in range(len(text) - 1, -1, -1):
            p, bit = layers[at][p]
            if bit:
                cuts.append(at)
        return cuts[::-1]
