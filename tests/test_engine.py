"""The engine: shared memos, arrays that grow under way, deep stacks, many heads, large counts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.brute_force import BruteForce
from tokenizer_align import expressions as ex
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.engine import Engine
from tokenizer_align.engines import engine_for
from tokenizer_align.expressions import Expr
from tokenizer_align.matcher import Matcher
from tokenizer_align.members import Member, MemberSpec, start_members
from tokenizer_align.vocabulary import Vocabulary

LETTERS = [bytes([b]) for b in range(256)]


def vocabulary_of(*tokens: bytes) -> Vocabulary:
    """All bytes, the given tokens, and one end id."""
    return Vocabulary.from_bytes([*LETTERS, *tokens, None], [256 + len(tokens)])


def matcher_after(expr: Expr, vocabulary: Vocabulary, text: bytes, **options: int) -> Matcher:
    matcher = Compiled(expr, vocabulary, engine=Engine(vocabulary, **options)).matcher()
    for byte in text:
        matcher.advance(byte)
    return matcher


def legal(matcher: Matcher) -> set[bytes]:
    """The tokens of several bytes that are legal."""
    tokens = matcher.compiled.vocabulary.token_bytes
    return {data for i, data in enumerate(tokens) if data is not None and len(data) > 1 and matcher.accepts(i)}


def masked(matcher: Matcher) -> set[bytes]:
    """The same, read from the mask."""
    tokens, mask = matcher.compiled.vocabulary.token_bytes, matcher.mask()
    return {
        data for i, data in enumerate(tokens) if data is not None and len(data) > 1 and mask[i >> 5] >> (i & 31) & 1
    }


def test_equal_vocabularies_share_an_engine() -> None:
    one, other = vocabulary_of(b"shared"), vocabulary_of(b"shared")
    engine = engine_for(one)
    assert engine_for(other) is engine
    assert engine_for(vocabulary_of(b"not shared")) is not engine


def test_memos_are_made_once_for_all_constraints() -> None:
    vocabulary = vocabulary_of(b"abc", b'abc"', b'abc",', b'abc"}')
    engine = Engine(vocabulary, memo_min_nodes=1)
    body = ex.star(ex.byte_set(ex.ALL_BYTES & ~(1 << 0x22)))
    string = ex.frame(ex.seq(ex.lit(b'"'), body, ex.lit(b'"')))
    first = Compiled(ex.seq(string, ex.lit(b",")), vocabulary, engine=engine).matcher()
    first.advance(0x22)
    assert masked(first) == {b"abc", b'abc"', b'abc",'}
    n_memos = engine.counters.memos
    second = Compiled(ex.seq(string, ex.lit(b"}")), vocabulary, engine=engine).matcher()
    second.advance(0x22)
    assert masked(second) == {b"abc", b'abc"', b'abc"}'}
    assert n_memos > 0
    assert engine.counters.memos == n_memos


def open_object(extra_rest: Expr) -> Expr:
    """Declared keys `ab` and `b` hold 1, others what `extra_rest` says."""
    members = (Member(b'"ab"', ex.lit(b":1"), True), Member(b'"b"', ex.lit(b":1")))
    body = ex.star(ex.byte_set(ex.ALL_BYTES & ~(1 << 0x22)))
    key = ex.minus(ex.seq(ex.lit(b'"'), body, ex.lit(b'"')), ex.words([m.text for m in members]))
    spec = MemberSpec(members, ex.lit(b","), ex.lit(b"}"), key, extra_rest)
    return ex.frame(ex.seq(ex.lit(b"{"), start_members(spec)))


OBJECT_TOKENS = (b'ab":1', b'ab":2', b'ab":', b'b":1', b'b":2', b'x":2', b'x":1', b'abc":2', b'ab"', b"ab", b'ab":1}')
OBJECT_TOKENS += (
    b'b":1}',
    b'x":2}',
    b'"ab',
    b'"ab":1',
    b'"ab":2',
    b'":2',
    b'":1',
    b'b":1,"',
    b'b":2,"',
    b'ab":1,"x":2',
)


@pytest.mark.parametrize("memo_min_nodes", [1, 2, 300])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            b'{"',
            {
                b'ab":1',
                b'ab":',
                b'b":1',
                b'x":2',
                b'abc":2',
                b'ab"',
                b"ab",
                b'ab":1}',
                b'":2',
                b'b":1,"',
                b'ab":1,"x":2',
            },
        ),
        (b'{"b":1,"', {b'ab":1', b'ab":', b'x":2', b'abc":2', b'ab"', b"ab", b'ab":1}', b'":2', b'ab":1,"x":2'}),
        (b'{"ab":1,"', {b'b":1', b'b":1}', b'x":2', b'x":2}', b'abc":2', b"ab", b'":2', b'b":1,"'}),
        (b'{"a', {b'b":1', b'b":1}', b'b":1,"', b'x":2', b'abc":2', b'ab":2', b'ab":', b'ab"', b"ab", b'":2'}),
    ],
)
def test_declared_keys_are_no_undeclared_ones(memo_min_nodes: int, text: bytes, expected: set[bytes]) -> None:
    """Memos of undeclared keys are put right below the declared ones."""
    vocabulary = vocabulary_of(*OBJECT_TOKENS)
    options = {"memo_min_nodes": memo_min_nodes, "wide_bytes": min(memo_min_nodes, 48)}
    assert masked(matcher_after(open_object(ex.lit(b":2")), vocabulary, text, **options)) == expected


@pytest.mark.parametrize("memo_min_nodes", [1, 300])
def test_two_objects_at_once_keep_each_other_s_tokens(memo_min_nodes: int) -> None:
    """What corrects the memo of one object must not take away what another way allows."""
    vocabulary = vocabulary_of(*OBJECT_TOKENS)
    other = ex.frame(ex.seq(ex.lit(b'{"a'), ex.frame(ex.star(ex.byte_set(b'"abx:2')))))
    expr = ex.alt(ex.seq(open_object(ex.lit(b":2")), ex.lit(b";")), ex.seq(other, ex.lit(b"!")))
    matcher = matcher_after(expr, vocabulary, b'{"', memo_min_nodes=memo_min_nodes, wide_bytes=1)
    reference = BruteForce(expr, vocabulary.token_bytes, vocabulary.eos_token_ids, max_visited=20_000)
    here = reference.read(reference.start(), b'{"')
    tokens = [i for i, data in enumerate(vocabulary.token_bytes) if data and reference.read(here, data)]
    assert masked(matcher) == {vocabulary.token_bytes[i] for i in tokens if i >= 256}
    assert b'ab":2' in masked(matcher)


@pytest.mark.parametrize("n_read", [0, 1, 6, 4985, 4989, 4990, 4994, 4999, 5000])
def test_masks_of_large_counts_equal_those_of_every_token(n_read: int) -> None:
    """Counts beyond the longest token are left out of masks, never out of what is legal."""
    tokens = [b"a" * n for n in range(2, 11)] + [b"a" * n + b"b" for n in range(1, 11)]
    vocabulary = vocabulary_of(*tokens)
    matcher = matcher_after(ex.seq(ex.repeat(ex.lit(b"a"), 4995, 5000), ex.lit(b"b")), vocabulary, b"a" * n_read)
    left = 5000 - n_read
    expected = {b"a" * n for n in range(2, 11) if n <= left}
    expected |= {b"a" * n + b"b" for n in range(1, 11) if 4995 <= n_read + n <= 5000}
    assert masked(matcher) == expected == legal(matcher)


def test_masks_of_large_counts_are_shared() -> None:
    vocabulary = vocabulary_of(b"aa", b"aaaa")
    engine = Engine(vocabulary)
    matcher = Compiled(ex.repeat(ex.byte_set(b"ab"), 0, 5000), vocabulary, engine=engine).matcher()
    for _ in range(1000):
        matcher.mask()
        matcher.advance(0x61)
    assert engine.counters.walks < 5


def test_large_counts_of_characters_cost_a_state_each() -> None:
    from tokenizer_align.utf8 import ANY_CHAR

    vocabulary = vocabulary_of("é".encode(), "日本".encode())
    engine = Engine(vocabulary)
    matcher = Compiled(ex.repeat(ANY_CHAR, 0, 5000), vocabulary, engine=engine).matcher()
    for byte in "é日🥐x".encode() * 20:
        matcher.mask()
        matcher.advance(byte)
    assert engine.automaton.n_built < 1000
    for byte in "é".encode() * 4920:
        matcher.advance(byte)
    assert matcher.is_complete()
    assert not matcher.can_continue()


def test_very_long_sequences_are_read_to_their_end() -> None:
    """Regression: looking for counts in long sequences ran out of Python's stack."""
    letters = [ex.byte_set(b"ab") if i % 2 else ex.byte_set(b"bc") for i in range(3000)]
    vocabulary = vocabulary_of(b"bb", b"ab", b"bc", b"bbbb")
    matcher = matcher_after(ex.seq(*letters, ex.repeat(ex.lit(b"x"), 0, 900)), vocabulary, b"")
    assert masked(matcher) == {b"bb", b"bbbb"}
    for _ in range(750):
        matcher.advance(259)
    assert matcher.is_complete()


def brackets() -> Expr:
    rule = ex.Rule("brackets")
    rule.define(lambda: ex.seq(ex.lit(b"["), ex.optional(ex.call(rule)), ex.lit(b"]")))
    return ex.call(rule)


def test_recursion_of_ten_thousand_levels() -> None:
    vocabulary = vocabulary_of(b"[[", b"]]", b"[[[[[[[[", b"]]]]]]]]", b"[]")
    matcher = matcher_after(brackets(), vocabulary, b"[" * 10_000)
    assert masked(matcher) == {b"[[", b"]]", b"[[[[[[[[", b"]]]]]]]]", b"[]"}
    assert matcher.shortest_completion() == b"]" * 10_000
    for _ in range(9_999):
        matcher.advance(0x5D)
    assert masked(matcher) == set()
    assert legal(matcher) == set()
    assert matcher.forced_bytes() == b"]"
    matcher.advance(0x5D)
    assert matcher.is_complete()


def test_more_stacks_than_the_arrays_begin_with() -> None:
    """Every way to cut the text into words is kept apart by what must follow each cut."""
    rule = ex.Rule("cut")
    ends = [ex.frame(ex.star(ex.byte_set([0x61, 0x62 + i]))) for i in range(3)]
    rule.define(lambda: ex.alt(ex.lit(b"a"), *(ex.seq(ex.lit(b"a"), ex.call(rule), end) for end in ends)))
    vocabulary = vocabulary_of(b"aa", b"ab", b"bc")
    matcher = matcher_after(ex.call(rule), vocabulary, b"a" * 9)
    reference = BruteForce(ex.call(rule), vocabulary.token_bytes, vocabulary.eos_token_ids)
    here = reference.read(reference.start(), b"a" * 9)
    assert masked(matcher) == {data for data in (b"aa", b"ab", b"bc") if reference.read(here, data)}


def test_forced_bytes_survive_full_arrays() -> None:
    """Regression: bytes that were open did not show where the stacks just filled their array."""
    spec = MemberSpec((Member(b'"key"', ex.lit(b":1"), True),), ex.lit(b","), ex.lit(b"}"))
    item = ex.frame(ex.seq(ex.lit(b"{"), start_members(spec)))
    expr = ex.seq(ex.star(ex.frame(ex.seq(ex.byte_set(b"ab"), item))), ex.lit(b";"))
    vocabulary = vocabulary_of()
    compiled = compile_expression(expr, vocabulary)
    for n in range(400):
        matcher = compiled.matcher()
        for byte in (b'a{"key":1}' if n % 2 else b'b{"key":1}') * (n % 7) + b"a":
            matcher.advance(byte)
        assert matcher.forced_bytes() == b'{"key":1}'


def test_many_kinds_of_branches_at_one_trie_node() -> None:
    """Regression: the walk of one frame wrote past its scratch space where a path has thousands of siblings."""
    tokens = [b"a" * depth + bytes([b]) for depth in range(1, 40) for b in range(256)]
    vocabulary = vocabulary_of(*tokens)
    matcher = matcher_after(ex.star(ex.byte_set(ex.ALL_BYTES & ~1)), vocabulary, b"", memo_min_nodes=1)
    assert len(masked(matcher)) == len({t for t in tokens if b"\0" not in t})


def test_counters_say_what_was_done_and_is_held() -> None:
    vocabulary = vocabulary_of(b"abc", b'abc"')
    engine = Engine(vocabulary, memo_min_nodes=1, wide_bytes=4)
    compiled = Compiled(ex.seq(ex.frame(ex.star(ex.byte_set(b"abcdef"))), ex.lit(b'"')), vocabulary, engine=engine)
    before = compiled.counters()
    assert before["walks"] == before["memo_hits"] == 0
    matcher = compiled.matcher()
    matcher.mask()
    matcher.advance(0x61)
    matcher.mask()
    after = compiled.counters()
    assert after["walks"] > 0
    assert after["nodes_visited"] > 0
    assert after["memos"] > 0
    assert after["memo_hits"] > 0
    assert after["runs"] > before["runs"]
    assert after["states_built"] > 0
    for kind in ("trie", "states", "memos", "kept"):
        assert after[f"bytes_{kind}"] > 0
    assert set(before) == set(after)


def test_bytes_held_are_counted() -> None:
    engine = Engine(vocabulary_of(b"ab"))
    before = engine.tables.n_bytes()
    engine.mask(engine.start(ex.star(ex.lit(b"abc"))))
    assert engine.tables.n_bytes() >= before > 0


def test_an_engine_of_a_vocabulary_without_tokens() -> None:
    vocabulary = Vocabulary.from_bytes([None, None], [1])
    matcher = Compiled(ex.star(ex.lit(b"a")), vocabulary).matcher()
    assert matcher.mask().tolist() == [0b10]
    assert np.count_nonzero(matcher.mask()) == 1
