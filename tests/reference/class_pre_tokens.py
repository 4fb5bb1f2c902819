"""A small pre-tokenizer automaton for tests: a boundary lies wherever the class of the character changes.

Over ASCII: letters, digits, blanks, and every other character; what `[a-z]+|[0-9]+|\\s+|[^a-z0-9\\s]+` splits. It is
deterministic, so nothing is guessed.
"""

from __future__ import annotations

import numpy as np


def class_of(byte: int) -> int:
    """0 letters, 1 digits, 2 blanks, 3 others."""
    char = chr(byte)
    return 0 if char.isalpha() else 1 if char.isdigit() else 2 if char.isspace() else 3


class ClassPreTokens:
    """States: 0 the start, 1 + class afterwards. Non-ASCII bytes cannot be read."""

    def __init__(self) -> None:
        self.start, self.n_states = 0, 5
        self.ends = np.ones(5, np.bool_)
        self.inside, self.whole, self.whole_ids = np.zeros(5, np.bool_), np.zeros(5, np.bool_), np.zeros(0, np.int32)
        first, arcs = [0], []
        for p in range(5):
            for byte in range(256):
                if byte < 128:
                    arcs.append((int(p > 0 and p - 1 != class_of(byte)), 1 + class_of(byte)))
                first.append(len(arcs))
        self.first, self.arcs = np.array(first, np.int32), np.array(arcs, np.int32).reshape(-1, 2)

    def step(self, p: int, byte: int) -> tuple[tuple[int, int], ...]:
        place = p * 256 + byte
        return tuple((int(b), int(t)) for b, t in self.arcs[self.first[place] : self.first[place + 1]])
