"""Masks on real vocabularies equal appending the bytes of every token; all tokenizations of a legal text are legal.

The check is plain Python: the recognizer's configurations are numbered, and one pass over the vocabulary's trie in
preorder reads every token's bytes. States are sampled at cuts of legal texts; DOMINO_SLOW takes more of them.
"""

from __future__ import annotations

import os
import random
from functools import cache

import numpy as np
import pytest

from tests.real.mask_cases import CASES
from tests.real.tokenizers import real_vocabulary
from tokenizer_align import recognizer
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.expressions import Expr
from tokenizer_align.matcher import Matcher
from tokenizer_align.project import Projection
from tokenizer_align.recognizer import Stacks
from tokenizer_align.vocabulary import Vocabulary

NAMES = ("smollm2", "gemma3", "qwen", "deepseek", "mistral")
IS_SLOW = bool(os.environ.get("DOMINO_SLOW"))
N_STATES = 25 if IS_SLOW else 3
DEAD = -1


class Numbered:
    """The recognizer's configurations as numbers, with the rows that were asked for."""

    def __init__(self, expr: Expr) -> None:
        self._stacks: list[Stacks] = []
        self._numbers: dict[Stacks, int] = {}
        self.rows: list[list[int | None]] = []
        self.start = self._number(recognizer.start(expr))

    def _number(self, stacks: Stacks) -> int:
        if not stacks:
            return DEAD
        if stacks not in self._numbers:
            self._numbers[stacks] = len(self._stacks)
            self._stacks.append(stacks)
            self.rows.append([None] * 256)
        return self._numbers[stacks]

    def step(self, here: int, byte: int) -> int:
        after = self.rows[here][byte]
        if after is None:
            after = self.rows[here][byte] = self._number(recognizer.step(self._stacks[here], byte))
        return after

    def read(self, here: int, data: bytes) -> int:
        for byte in data:
            here = self.step(here, byte)
        return here

    def is_complete(self, here: int) -> bool:
        return recognizer.accepts_end(self._stacks[here])


@cache
def preorder(name: str) -> tuple[list[int], list[int], list[int]]:
    """(byte, depth, end) of the trie as lists."""
    trie = real_vocabulary(name).trie
    return trie.byte.tolist(), trie.depth.tolist(), trie.end.tolist()


def legal_ids(name: str, numbered: Numbered, here: int) -> np.ndarray:
    """The ids of all tokens that can be read whole from a configuration, ascending."""
    trie, (byte, depth, end) = real_vocabulary(name).trie, preorder(name)
    at, rows = [here] * (trie.max_depth + 1), numbered.rows
    live = np.zeros(trie.n_nodes, bool)
    node, n_nodes = 1, trie.n_nodes
    while node < n_nodes:
        before = at[depth[node] - 1]
        after = rows[before][byte[node]]
        if after is None:
            after = numbered.step(before, byte[node])
        if after == DEAD:
            node = end[node]
        else:
            at[depth[node]] = after
            live[node] = True
            node += 1
    counts = np.diff(trie.token_start)
    return np.sort(trie.token_ids[np.repeat(live, counts)])


def random_tokens(vocabulary: Vocabulary, text: bytes, choose: random.Random) -> list[int]:
    """A random tokenization of a text."""
    ids: list[int] = []
    at = 0
    while at < len(text):
        options = [
            i for n in range(1, 12) for i in vocabulary.ids_by_bytes.get(text[at : at + n], ()) if at + n <= len(text)
        ]
        ids.append(choose.choice(options))
        at += len(vocabulary.token_bytes[ids[-1]] or b"")
    return ids


def after(compiled: Compiled, ids: list[int]) -> Matcher:
    matcher = compiled.matcher()
    for token in ids:
        assert matcher.accepts(token)
        matcher.advance(token)
    return matcher


def check_tokenizations(compiled: Compiled, text: bytes, choose: random.Random) -> None:
    """Canonical, byte-wise and random tokens of a legal text are legal one by one, then it may end."""
    vocabulary = compiled.vocabulary
    ways = [[vocabulary.ids_by_bytes[bytes([b])][-1] for b in text], random_tokens(vocabulary, text, choose)]
    if vocabulary.encode is not None:
        ways.append(vocabulary.encode(text.decode()))
        assert vocabulary.decode(ways[-1]) == text
    for ids in ways:
        matcher = after(compiled, ids)
        assert matcher.is_complete()
        assert all(matcher.accepts(end) for end in vocabulary.eos_token_ids)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", NAMES)
def test_masks_equal_appending_every_token(name: str, case: str) -> None:
    vocabulary, choose = real_vocabulary(name), random.Random(f"{name} {case}")
    build, texts = CASES[case]
    built = build()
    expr = built if isinstance(built, Expr) else built.expression
    compiled = compile_expression(expr, vocabulary)
    numbered = Numbered(Projection(vocabulary.usable_bytes)(expr))
    for text in texts:
        check_tokenizations(compiled, text.encode(), choose)
    for _ in range(N_STATES):
        text = choose.choice(texts).encode()
        text = text[: choose.randrange(len(text) + 1)]
        matcher, here = after(compiled, random_tokens(vocabulary, text, choose)), numbered.read(numbered.start, text)
        expected = legal_ids(name, numbered, here)
        if numbered.is_complete(here):
            expected = np.sort(np.concatenate([expected, np.array(vocabulary.eos_token_ids, np.int32)]))
        found = np.flatnonzero(np.unpackbits(matcher.mask().view(np.uint8), bitorder="little"))
        assert found.tolist() == expected.tolist(), text
        forced = matcher.forced_bytes()
        assert not forced or all(t.startswith(forced[:1]) for t in map(vocabulary.token_bytes.__getitem__, found) if t)
