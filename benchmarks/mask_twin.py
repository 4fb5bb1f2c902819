"""A configuration's mask by the plain-Python twins in tests/reference: no memos of frames, no residual tries.

One step of the twin is looked up where the same heads read the same byte before, so a mask of 129,280 tokens takes a
second or two and not minutes. States are built by running the byte through the engine first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.reference import plain_kernels
from tokenizer_align.compiled import Compiled, Configuration
from tokenizer_align.engine import Engine, Heads
from tokenizer_align.unique_runs import groups_of

Mask = npt.NDArray[np.uint32]


def differs_from_twin(compiled: Compiled, here: Configuration) -> bool:
    """Whether a configuration's mask is another one than the twin's.

    Where parts must differ from what came (`unique`), the masks of the automaton alone are compared.
    """
    engine = compiled.engine
    if not compiled.tracks:
        twin = walked_by_twin(engine, here.heads)
        for token in compiled.eos_token_ids if here.complete else ():
            twin[token >> 5] |= np.uint32(1 << (token & 31))
        return bool((twin != compiled.mask(here)).any())
    groups = [heads for heads, _ in groups_of(here.heads)]
    return any((walked_by_twin(engine, heads) != engine.walked(engine.clamped(heads))).any() for heads in groups)


def walked_by_twin(engine: Engine, heads: Heads) -> Mask:
    """uint32[n_words], the tokens that the heads can read, node by node over the vocabulary's trie."""
    mask: Mask = np.zeros(engine.n_words, np.uint32)
    trie = engine.vocabulary.trie
    ends, trie_bytes = trie.end.tolist(), trie.byte.tolist()
    starts, ids = trie.token_start.tolist(), trie.token_ids.tolist()
    steps: dict[tuple[Heads, int], Heads] = {}
    legal: list[int] = []
    work = [(0, heads)]
    while work:
        node, before = work.pop()
        child = node + 1
        while child < ends[node]:
            key = before, trie_bytes[child]
            after = steps.get(key)
            if after is None:
                engine.run_plain(before, np.array([trie_bytes[child]], np.uint8))
                after = steps[key] = tuple(plain_kernels.step(engine.tables, list(before), trie_bytes[child]))
            if after:
                legal += ids[starts[child] : starts[child + 1]]
                work.append((child, after))
            child = ends[child]
    for token in legal:
        mask[token >> 5] |= np.uint32(1 << (token & 31))
    return mask
