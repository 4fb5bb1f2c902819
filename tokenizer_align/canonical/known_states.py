"""What the walk for narrow tokens (`kernels.walk_narrow`) remembers of an automaton's states."""

from __future__ import annotations

import math

import numpy as np

MIN_SUBTREE = 24  # nodes; smaller ones are walked without a look at what lies ahead
MAX_AHEAD = 256  # states that are looked at for what a state leads to


class KnownStates:
    """What `kernels.walk_narrow` remembers of states: which sets of bytes they do not read, and which bytes lead only
    to states that read some of each."""

    def __init__(self, n: int) -> None:
        self._make(n)

    def _make(self, n: int) -> None:
        self.unread = np.zeros(n, np.uint64)
        self.safe = (
            np.zeros((n, 4, 4), np.uint64), np.zeros((n, 4), np.int64), np.zeros(n, np.int64),
            np.zeros(MAX_AHEAD, np.int64), np.array([1, 1, MIN_SUBTREE]), np.zeros((4, 4), np.uint64),
        )  # fmt: skip

    def reserve(self, n: int) -> None:
        """Room for so many states; what was remembered is found again where there was too little."""
        if n > len(self.unread):
            self._make(2 * n)
        self.safe[4][1] = int(4 * math.log2(n))  # with so many more, what lay behind unbuilt ones is looked at anew
