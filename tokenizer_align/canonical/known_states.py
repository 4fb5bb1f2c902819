"""What the walk for narrow tokens (`kernels.walk_narrow`) remembers of an automaton's states."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .. import kernels as k
from ..engine import Engine
from .token_paths import TokenPaths

MIN_SUBTREE = 24  # nodes; smaller ones are walked without a look at what lies ahead
MAX_AHEAD = 256  # states that are looked at for what a state leads to


class KnownStates:
    """What `kernels.walk_narrow` remembers of states: which sets of bytes they do not read, and which bytes lead only
    to states that read some of each, or of all but those that the state itself reads no byte of."""

    def __init__(self, n: int) -> None:
        self._make(n)

    def _make(self, n: int) -> None:
        self.unread = np.zeros(n, np.uint64)
        self.safe = (
            np.zeros((n, 8, 4), np.uint64), np.zeros((n, 8), np.int64), np.zeros(n, np.int64),
            np.zeros(MAX_AHEAD, np.int64), np.array([1, 1, MIN_SUBTREE]), np.zeros((8, 4), np.uint64),
        )  # fmt: skip

    def reserve(self, n: int) -> None:
        """Room for so many states; what was remembered is found again where there was too little."""
        if n > len(self.unread):
            self._make(2 * n)
        self.safe[4][1] = int(4 * math.log2(n))  # with so many more, what lay behind unbuilt ones is looked at anew


def sets_of_subtrees(engine: Engine, paths: TokenPaths, of_token: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """uint64[n_nodes]: the sets of all tokens at or below a node of the vocabulary's trie, as bits; kept with the
    paths, whose tokens' own they mostly are."""
    is_own = of_token is paths.sets_behind
    if is_own and paths.sets_below is not None:
        return paths.sets_below
    found = np.zeros(engine.n_vocabulary_nodes, np.uint64)
    k.sets_of_subtrees(engine.tables.ctx, of_token, found)
    if is_own:
        paths.sets_below = found
    return found
