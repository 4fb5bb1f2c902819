"""The kernels of the laws of tokenization against their plain-Python twins, on drawn vocabularies and constraints."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.reference import plain_kernels as plain
from tests.reference import plain_law_kernels as twins
from tests.reference.languages import DrawnVocabulary, is_settled, objects, regular, structured, vocabularies
from tests.test_kernels import engine_for, texts
from tokenizer_align import kernels as k
from tokenizer_align.canonical.constraint_walks import ConstraintWalks
from tokenizer_align.canonical.path_kernels import take_followers
from tokenizer_align.canonical.token_paths import words_of_all
from tokenizer_align.engine import Engine, Heads
from tokenizer_align.expressions import Expr

anything = st.one_of(regular, structured, objects(regular))
cut_sets = st.lists(st.sets(st.integers(0, 127), min_size=1, max_size=60), max_size=2)


class _Paths:
    """What walks need of TokenPaths."""

    def __init__(self, engine: Engine, cuts: list[set[int]]) -> None:
        data = [text or b"" for text in engine.vocabulary.token_bytes]
        self.text_start = np.cumsum([0, *(len(text) for text in data)]).astype(np.int64)
        self.text = np.frombuffer(b"".join(data), np.uint8)
        self.cuts = self.weak_cuts = [sum(1 << b for b in some) for some in cuts]
        self.cut_sets = words_of_all(self.cuts)
        rng = random.Random(repr(cuts))
        self.behind = [{i for i in range(len(cuts)) if rng.random() < 0.6} for _ in data]
        self.sets_behind = np.array([sum(1 << i for i in one) | 1 << 62 for one in self.behind], np.uint64)
        self.sets_below = None


def prepared(expr: Expr, drawn: DrawnVocabulary, text: bytes, memo_min_nodes: int = 300) -> tuple[Engine, Heads]:
    """An engine, and the heads after the text, or before it where it is not legal."""
    engine = engine_for(drawn, memo_min_nodes)
    projected = engine.project(expr)
    assume(is_settled(projected))
    start = engine.start(projected)
    plain.build_all(engine, start, text)
    heads = engine.run(start, np.frombuffer(text, np.uint8)) or start
    for token in range(engine.vocabulary.n_rows):
        engine.live_bytes(engine.run_token(heads, token))  # builds the states behind it
    return engine, heads


@settings(max_examples=60)
@given(anything, vocabularies(), texts, cut_sets)
def test_narrow_tokens_and_groups_equal_their_twins(
    expr: Expr, drawn: DrawnVocabulary, text: bytes, cuts: list[set[int]]
) -> None:
    engine, heads = prepared(expr, drawn, text)
    paths, token_bytes = _Paths(engine, cuts), engine.vocabulary.token_bytes
    walks = ConstraintWalks(engine, paths)  # type: ignore[arg-type]
    walks._known.safe[4][2] = 0  # looks ahead everywhere
    narrow = walks._walk(0, heads).tolist()
    assert len(narrow) == len(set(narrow))
    readable = set(np.flatnonzero(np.unpackbits(engine.mask(heads).view(np.uint8), bitorder="little")).tolist())
    assert twins.walk_narrow(engine.tables, heads, token_bytes, paths.cuts, paths.behind) <= set(narrow) <= readable
    tokens = np.array([i for i, data in enumerate(token_bytes) if data], np.int32)
    groups = walks.groups(heads, tokens)
    for g, twin in zip(
        groups.group.tolist(), twins.end_groups(engine.tables, heads, tokens.tolist(), token_bytes), strict=True
    ):
        assert (twin is None) == (g < 0)
        if twin is not None:
            live = int.from_bytes(groups.live[g].tobytes(), "little")
            assert twin == (frozenset(groups.heads[g]), live, bool(groups.complete[g]))


@settings(max_examples=60)
@given(anything, vocabularies(), texts)
def test_heads_below_equal_their_twins(expr: Expr, drawn: DrawnVocabulary, text: bytes) -> None:
    engine, heads = prepared(expr, drawn, text)
    for _, stack in heads:
        if stack >= 0:
            result, n = k.heads_below(engine.tables.ctx, np.int64(stack))
            assert result == k.OK
            assert set(engine.unload(n)) == twins.heads_below(engine.tables, stack)


@settings(max_examples=100)
@given(objects(regular), vocabularies(), st.sampled_from([b"{", b'{"', b'{"a', b'{"ab']))
def test_narrow_keys_equal_their_twin(expr: Expr, drawn: DrawnVocabulary, text: bytes) -> None:
    engine, heads = prepared(expr, drawn, text)
    tables, walks = engine.tables, ConstraintWalks(engine, _Paths(engine, []))  # type: ignore[arg-type]
    for code, stack in heads:
        if 0 <= code < k.LIT_BASE and tables.state_kind.array[code] == k.KEYS:
            code = int(k.key_code(tables.ctx, np.int64(code)))
        if code >= k.KEY_BASE and k.memo_state(tables.ctx, np.int64(code)) >= 0:  # undeclared keys may come
            found, below = walks._beside_keys(code, stack)
            assert set(below) == twins.below_keys(tables, code, stack)
            assert sorted(found.tolist()) == sorted(twins.narrow_keys(tables, code, engine.vocabulary.token_bytes))


@settings(max_examples=60)
@given(anything, vocabularies(), texts, cut_sets)
def test_memos_lose_no_narrow_token(expr: Expr, drawn: DrawnVocabulary, text: bytes, cuts: list[set[int]]) -> None:
    engine, heads = prepared(expr, drawn, text, memo_min_nodes=1)
    paths, token_bytes = _Paths(engine, cuts), engine.vocabulary.token_bytes
    walks = ConstraintWalks(engine, paths)  # type: ignore[arg-type]
    engine.walked(heads)  # makes the memos
    walks._known.safe[4][2] = 0
    # A memo may belong to a state that reads the same and writes a literal as states.
    assert set(walks.narrow_tokens(heads).tolist()) >= twins.walk_narrow(
        engine.tables, heads, token_bytes, paths.cuts, paths.behind, knows_literals=True
    )


def test_followers_come_behind_a_boundary_or_in_a_good_pair() -> None:
    row0, row1, bad = np.random.default_rng(2).integers(0, 2**32, (3, 40), np.uint32)
    out = np.empty(40, np.uint32)
    take_followers(row0, row1, bad, out)
    assert (out == row1 | (row0 & ~bad)).all()
