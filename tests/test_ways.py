"""The compiled search over listed ways says of tokens what the plain search says; ways are listed as by enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.tiny_bpe import tiny_bpe
from tests.test_open_texts import TEXTS, places
from tokenizer_align import expressions as ex
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.canonical.constraint_walks import Groups
from tokenizer_align.canonical.pairs import Pairs
from tokenizer_align.canonical.search import Search
from tokenizer_align.canonical.survival import Survival
from tokenizer_align.canonical.ways import Ways
from tokenizer_align.engine import Engine, Heads
from tokenizer_align.vocabulary import Vocabulary

CHARACTER = ex.alt(ex.byte_set(range(0x20, 0x7B)), ex.seq(ex.byte_set([0xC3]), ex.byte_set(range(0x80, 0xC0))))
ALL_TEXTS = TEXTS | {
    "open strings": ex.seq(ex.lit(b'"'), ex.repeat(CHARACTER, 0, 3), ex.lit(b'"}')),
    "letters in brackets": ex.seq(ex.lit(b"["), ex.repeat(ex.byte_set(b"ab\xc3"), 3, 3), ex.lit(b"]")),
}


def survival_of(kind: str) -> Survival:
    return survival_for(Engine(Vocabulary.from_tokenizer(tiny_bpe(kind, 360), cache=None)))


def fates_of(ways: Ways, heads: Heads, p: int, tokens: np.ndarray, is_shallow: bool = False) -> list[int]:
    codes, stacks = (np.array(one, np.int64) for one in zip(*heads, strict=True))
    n, live = len(tokens), np.zeros((1, 4), np.uint64)
    groups = Groups(np.zeros(n, np.int32), np.array([0, len(heads)]), codes, stacks, live, np.zeros(1, np.bool_))
    rows = np.column_stack([tokens, np.zeros(n), np.full(n, p), np.zeros(n)]).astype(np.int32)
    fates = np.full(n, -1, np.int32)
    ways.decide(groups, np.full_like(stacks, -1) if is_shallow else stacks, rows, np.arange(n), fates)
    return fates.tolist()


@pytest.mark.parametrize("kind", ["gpt2", "llama3", "digits", "whole"])
@pytest.mark.parametrize("name", sorted(ALL_TEXTS))
def test_compiled_search_agrees_with_the_plain_one(name: str, kind: str) -> None:
    survival = survival_of(kind)
    assert isinstance(survival.pairs, Pairs)
    ways = Ways(survival.walks, survival.paths, survival.pairs, None)
    plain = Search(survival.walks, survival.paths, survival.pairs, may_end=True)
    n_alive = n_dead = n_unknown = 0
    for heads, p, tokens in places(survival, ALL_TEXTS[name]):
        for _ in range(2):  # what was found is the same again
            fates = fates_of(ways, heads, p, tokens)
            for token, fate in zip(tokens.tolist(), fates, strict=True):
                if fate >= 0:
                    assert bool(fate) == bool(plain.survives(heads, p, token)), (heads, p, token)
        n_alive += sum(fate > 0 for fate in fates)
        n_dead, n_unknown = n_dead + fates.count(0), n_unknown + fates.count(-1)
    assert n_alive and not n_unknown
    assert n_dead or name not in ("few words", "a compact record", "letters in brackets")


@pytest.mark.parametrize("kind", ["gpt2", "llama3"])
@pytest.mark.parametrize("name", ["a compact record", "a spaced record", "open strings", "any record"])
def test_what_is_shown_without_the_frames_below_holds_with_them(name: str, kind: str) -> None:
    survival, n_shown = survival_of(kind), 0
    assert isinstance(survival.pairs, Pairs)
    for heads, p, tokens in places(survival, ALL_TEXTS[name]):
        if survival.walks.cut_off(heads) is None:
            continue
        for below in {0, survival.walks.bytes_below(heads[0][1]) if len(heads) == 1 else 0}:
            ways = Ways(survival.walks, survival.paths, survival.pairs, below)
            for token, fate in zip(tokens.tolist(), fates_of(ways, heads, p, tokens, True), strict=True):
                assert fate <= 0 or survival.full.survives(heads, p, token), (heads, p, token)
                n_shown += fate > 0
    assert n_shown or name == "open strings"


@pytest.mark.parametrize("kind", ["gpt2", "digits", "whole"])
@pytest.mark.parametrize("name", ["letters behind a sign", "few words", "a spaced record"])
def test_ways_are_listed_as_by_enumeration(name: str, kind: str) -> None:
    survival = survival_of(kind)
    assert isinstance(survival.pairs, Pairs)
    engine, paths, n_open = survival.engine, survival.paths, 0
    for heads, p, _ in places(survival, ALL_TEXTS[name]):
        ways = Ways(survival.walks, paths, survival.pairs, None)
        good, others, kind_of = ways.listed(heads, p)
        expected = set()
        for token in range(engine.vocabulary.n_rows):
            after = engine.run_plain(heads, engine.token_text(token)) if len(engine.token_text(token)) else ()
            if after:
                expected |= {(token, bit, after, q) for bit, q in paths.ends_of(p, token)}
        plainly = {one for one in expected if survival.full._is_plainly_live(survival.full.place(one[2]), one[3])}
        is_settled = survival.full.is_settled(heads, p) or any(bit for _, bit, _, _ in plainly)
        assert (kind_of == 2) == is_settled
        if not is_settled:
            assert (set(good), others) == ({token for token, _, _, _ in plainly}, expected - plainly)
            n_open += len(good) + len(others)
    assert n_open
