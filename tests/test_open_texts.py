"""What texts that may follow say of tokens is what a search says of each; the texts themselves, by enumeration."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import domino_py as domino
from tests.reference.tiny_bpe import tiny_bpe
from tokenizer_align import expressions as ex
from tokenizer_align import kernels as k
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.canonical.open_texts import MAX_BYTES, MAX_NODES, OpenTexts
from tokenizer_align.canonical.search import bytes_in
from tokenizer_align.canonical.survival import Survival
from tokenizer_align.engine import Engine, Heads
from tokenizer_align.expressions import Expr
from tokenizer_align.vocabulary import Vocabulary

LETTERS = ex.byte_set(b"abcdeZ")
RECORD = {
    "type": "object",
    "properties": {"ab": {"type": "boolean"}, "abba": {"enum": ["ab", "it's", "a b"]}, "c d": {"type": "integer"}},
    "required": ["ab", "c d"],
    "additionalProperties": False,
}
TEXTS = {
    "letters": ex.repeat(LETTERS, 6, 6),
    "letters behind a sign": ex.seq(ex.repeat(LETTERS, 2, 5), ex.lit(b":"), ex.repeat(LETTERS, 1, 3)),
    "blanks": ex.seq(ex.repeat(ex.lit(b" "), 2, 4), ex.repeat(LETTERS, 1, 3)),
    "few words": ex.words([b"abab", b"abba", b"baab ab", b"cab{", b"it's"]),
    "a compact record": domino.json_schema(RECORD, whitespace="compact").expression,
    "a spaced record": domino.json_schema(RECORD).expression,
    "any record": domino.json_schema({"type": "object", "properties": {"ab": True}}).expression,
}


def places(survival: Survival, text: Expr) -> Iterator[tuple[Heads, int, np.ndarray]]:
    """(heads, state of P, tokens that lead there) from the first places of a text."""
    engine, paths = survival.engine, survival.paths
    seen, work = set(), [(engine.start(text), paths.start)]
    while work and len(seen) < 12:
        here = work.pop(0)
        if here in seen:
            continue
        seen.add(here)
        found: dict[tuple[Heads, int], list[int]] = {}
        for token in range(engine.vocabulary.n_rows):
            heads = engine.run_token(here[0], token)
            for _, p in paths.ends_of(here[1], token) if heads else ():
                found.setdefault((heads, p), []).append(token)
        for (heads, p), tokens in found.items():
            yield heads, p, np.array(tokens, np.int32)
        work += sorted(found, key=lambda node: (len(found[node]), node))[:3]


def decided(texts: OpenTexts, survival: Survival, heads: Heads, p: int, tokens: np.ndarray) -> list[int]:
    groups = survival.walks.groups(heads, np.zeros(0, np.int32))
    live = np.zeros((1, 4), np.uint64)
    codes, stacks = (np.array(one, np.int64) for one in zip(*heads, strict=True))
    groups = type(groups)(
        np.zeros(len(tokens), np.int32), np.array([0, len(heads)]), codes, stacks, live, np.zeros(1, np.bool_)
    )
    fates = np.full(len(tokens), -1, np.int32)
    firsts = np.array([0, len(tokens)])
    texts.decide(groups, np.array([[0, p]], np.int32), firsts, tokens, np.ones(1, np.bool_), fates)
    return fates.tolist()


@pytest.mark.parametrize("kind", ["gpt2", "llama3", "digits", "whole"])
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_texts_agree_with_the_search(name: str, kind: str) -> None:
    engine = Engine(Vocabulary.from_tokenizer(tiny_bpe(kind, 360), cache=None))
    survival = survival_for(engine)
    assert survival.texts is not None
    n_alive = n_dead = n_unknown = 0
    for heads, p, tokens in places(survival, TEXTS[name]):
        fates = decided(survival.texts, survival, heads, p, tokens)
        for token, fate in zip(tokens.tolist(), fates, strict=True):
            if fate >= 0:
                assert bool(fate) == bool(survival.full.survives(heads, p, token)), (heads, p, token)
            n_alive, n_dead, n_unknown = n_alive + (fate > 0), n_dead + (fate == 0), n_unknown + (fate < 0)
    assert n_alive
    assert name == "any record" or n_unknown < n_alive + n_dead


def enumerated(survival: Survival, heads: Heads, p: int) -> set[bytes]:
    """All texts up to a boundary, each also where a shorter one ended at one, by the steps of automaton and P."""
    found, work = set(), [(heads, p, b"")]
    while work:
        here, at, text = work.pop()
        for byte in bytes_in(survival.engine.live_bytes(here)):
            after = survival.engine.run_plain(here, np.array([byte], np.uint8))
            for bit, then in survival.paths.step(at, byte):
                if not bit and after:
                    if survival.full.is_settled(after, then):
                        found.add(text + bytes([byte]))
                    work.append((after, then, text + bytes([byte])))
    return found


@pytest.mark.parametrize("kind", ["gpt2", "llama3", "whole"])
@pytest.mark.parametrize("name", ["letters behind a sign", "blanks", "few words", "a compact record"])
def test_texts_are_listed_as_by_enumeration(name: str, kind: str) -> None:
    engine = Engine(Vocabulary.from_tokenizer(tiny_bpe(kind, 360), cache=None))
    survival = survival_for(engine)
    texts, n_all, n_settled = survival.texts, 0, 0
    assert texts is not None
    for heads, p, _ in places(survival, TEXTS[name]):
        for is_thorough in (False, True):
            text, path = np.zeros(1 << 16, np.uint8), np.zeros(1 << 16, np.int32)
            ends = np.zeros(2000, np.int64)
            while True:
                engine.load(heads)
                result, n, what = k.list_texts(
                    engine.tables.ctx, len(heads), p, is_thorough, (MAX_BYTES, MAX_NODES), (*texts._plan, True),
                    texts._rooms, (text, path, ends), 0,
                )  # fmt: skip
                if result == k.OK:
                    break
                engine._again(result)
            assert (what == 2) == survival.full.is_settled(heads, p)
            listed = {text[ends[i] : ends[i + 1]].tobytes() for i in range(n)}
            expected = enumerated(survival, heads, p) if what != 2 else set()
            assert listed <= expected
            assert what != 1 or listed == expected
            n_all, n_settled = n_all + (what == 1), n_settled + (what == 2)
    assert n_settled and (n_all or name == "letters behind a sign")
