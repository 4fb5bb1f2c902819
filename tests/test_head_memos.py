"""Masks put together of what single heads read are the masks of all heads together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import domino_py as domino
from tests.reference.drawn_walks import assert_masks_are_what_can_be_read
from tests.reference.languages import DrawnVocabulary, is_settled, objects, regular, structured, vocabularies
from tokenizer_align import head_memos
from tokenizer_align import kernels as k
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import SHAPE_MIN_NODES, Engine
from tokenizer_align.errors import EmptyLanguage
from tokenizer_align.expressions import Expr
from tokenizer_align.vocabulary import Vocabulary

GRAMMARS = {
    "sums in brackets": 'start: start ("+" | "-") term | term\nterm: /[0-9]+/ | "(" start ")" | NAME ("(" start ")")?\n'
    r"NAME: /(?!(?:ab|b)\b)[a-z]+/",
    "ambiguous": 'start: start start | "a" start? "b" | "a"',
    "names beside names": 'start: (LONG | SHORT ":") ("," start)*\n'
    r"LONG: /(?!(?:ab|abb|b)\b)[a-z]+/" + "\n" + r"SHORT: /(?!(?:a|bab)\b)[ab]{1,9}/",
    "wide rules behind a byte": 'start: "+"? word ("-ab-" word | "+"? "," "+"? word | ",0" start)*\n'
    'word: "ab0" | "ba1" | "0a-" | "1b+" | "a-0" | "b+1" | "01a" | "10b" | "aa" | "bb" | "00" | "11"\n'
    '    | "(" (word | start)? ")" | word ",a"',
    "lists in lists": 'start: "(" (item ("," item)*)? ")"\nitem: start | /[a-z]+/ | /[ab]*[0-9]?/',
}
TOKENS = st.lists(st.text("ab+-(),01", min_size=1, max_size=4).map(str.encode), max_size=12)


@pytest.fixture(autouse=True)
def every_head_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_memos, "MIN_HEADS", 1)


def engine_for(vocabulary: Vocabulary, shape_min_nodes: int) -> Engine:
    """An engine that keeps what every head reads, however short its walk is."""
    engine = Engine(vocabulary, 1, wide_bytes=1, shape_min_nodes=shape_min_nodes, cache=None)
    engine.tables.ctx[k.HEAD_VISITS] = 0
    return engine


@pytest.mark.parametrize("text", GRAMMARS.values(), ids=GRAMMARS.keys())
def test_masks_of_grammars_are_exact(text: str) -> None:
    expr = domino.grammar(text, syntax="lark").expression
    n_kept = []

    @settings(max_examples=25, deadline=None)
    @given(TOKENS, st.sampled_from([0, SHAPE_MIN_NODES]), st.data())
    def check(tokens: list[bytes], shape_min_nodes: int, data: st.DataObject) -> None:
        vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), *tokens], ())
        compiled = Compiled(expr, vocabulary, engine=engine_for(vocabulary, shape_min_nodes))
        for _ in range(3):
            assert_masks_are_what_can_be_read(compiled, expr, data, 4)
        n_kept.append(compiled.engine.tables.head_memos.n)

    check()
    assert sum(n_kept) > 0


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(structured, objects(regular)), vocabularies(), st.sampled_from([0, SHAPE_MIN_NODES]), st.data())
def test_masks_of_drawn_constraints_are_exact(
    expr: Expr, drawn: DrawnVocabulary, shape_min_nodes: int, data: st.DataObject
) -> None:
    vocabulary = Vocabulary.from_bytes(drawn.token_bytes, drawn.eos_token_ids)
    assume(vocabulary.is_atomic)
    engine = engine_for(vocabulary, shape_min_nodes)
    assume(is_settled(engine.project(expr)))
    try:
        compiled = Compiled(expr, vocabulary, engine=engine)
    except EmptyLanguage:
        return
    for _ in range(2):
        matcher = compiled.matcher()
        for _ in range(4):
            here = matcher.configuration
            assert (engine.walked(here.heads) == (compiled.mask(here) & ~compiled._eos_bits)).all()
            going_on = [token for token in compiled.ids(engine.walked(here.heads)) if token not in drawn.eos_token_ids]
            if not going_on:
                break
            matcher.advance(data.draw(st.sampled_from(going_on)))


def test_masks_where_keys_may_come_are_exact() -> None:
    """What a walk by itself sets for undeclared keys is put right at its end, which a short look does not reach."""
    member = {"type": "object", "properties": {"ab": {"type": "integer"}, "b": {"enum": ["a", "ab"]}}}
    expr = domino.json_schema({"anyOf": [member, {"type": "array", "items": member}, {"enum": ["b", 1]}]}).expression

    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.text('{}[]"ab:,1 ', min_size=1, max_size=5).map(str.encode), max_size=30), st.data())
    def check(tokens: list[bytes], data: st.DataObject) -> None:
        vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), *tokens], ())
        compiled = Compiled(expr, vocabulary, engine=engine_for(vocabulary, SHAPE_MIN_NODES))
        for _ in range(3):
            matcher = compiled.matcher()
            for token in (*b'{"ab', None, None, None):
                here = matcher.configuration
                assert (compiled.engine.walked(here.heads) == compiled.mask(here)).all()
                legal = compiled.ids(matcher.mask())
                if not legal:
                    break
                matcher.advance(data.draw(st.sampled_from(legal)) if token is None else token)

    check()


def test_a_walk_without_the_lock_keeps_nothing_by_itself() -> None:
    """The last nodes that it visits, where a head only ends, do not count: it may be over before it is called long."""
    tokens = [bytes([byte, behind]) for byte in b",;:.!" for behind in b"ab"]
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), *tokens], ())
    text = 'start: (T S x)+\nx: "(" T x ")" | T\nS: /[,;:.!]/\n' + r"T: /(?!(?:ab|b)\b)[ab]+/"
    engine = engine_for(vocabulary, SHAPE_MIN_NODES)
    engine.tables.ctx[k.HEAD_VISITS] = 1
    start = engine.start(engine.project(domino.grammar(text, syntax="lark").expression))
    heads = engine.run(start, np.frombuffer(b"a", np.uint8))
    answer, row = k.NEED_BUILD, np.zeros(engine.n_words, np.uint32)
    while answer == k.NEED_BUILD:
        held, walker = engine.walkers.take_one(engine.tables, len(heads) + 1)
        with held:
            walker.load(heads)
            answer = k.walk_apart(walker.ctx, len(heads), row, k.ANY_VISITS, False)
        if answer == k.NEED_BUILD:
            engine.make(walker.wanted())
    assert answer == k.NEED_HEADS
    assert engine.tables.head_memos.n == 0
