"""Law 1: at every step the mask is the set of tokens after which the text can be completed in this vocabulary.

Vocabularies and constraints are drawn; a random walk over legal tokens compares every answer of the matcher with the
brute-force reference, with memos and residual tries switched on for tries of any size.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.grammar_strategies import grammar_or_reject, grammars
from tests.reference.brute_force import UNREACHABLE, BruteForce, Undecided, live_bytes
from tests.reference.languages import DrawnVocabulary, duties, objects, regular, structured, vocabularies
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import SHAPE_MIN_NODES, Engine
from tokenizer_align.errors import EmptyLanguage, TooComplex
from tokenizer_align.expressions import Expr
from tokenizer_align.kernels import SHAPE_LIMIT
from tokenizer_align.matcher import Matcher
from tokenizer_align.recognizer import Stacks
from tokenizer_align.vocabulary import Vocabulary

EXAMPLES = 1000 if os.environ.get("DOMINO_SLOW") else 100
MEMO_SIZES = st.sampled_from([1, 1, 2, 4, 300, -1, -1, -2])


def ids_of(mask: npt.NDArray[np.uint32]) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist())


def engine_with(vocabulary: Vocabulary, memo_min_nodes: int) -> Engine:
    """An engine that keeps memos from so many trie nodes on; for small numbers of nearly every state. Below zero states
    go through the trie by shape first; at -2 hardly far."""
    size = abs(memo_min_nodes)
    engine = Engine(vocabulary, size, min(size, 48), shape_min_nodes=0 if memo_min_nodes < 0 else SHAPE_MIN_NODES)
    if memo_min_nodes == -2:
        engine.tables.ctx[SHAPE_LIMIT] = 2
    return engine


def compile_or_none(expr: Expr, vocabulary: Vocabulary, memo_min_nodes: int) -> Compiled | None:
    """The compiled constraint; None where the language is empty in this vocabulary."""
    try:
        return Compiled(expr, vocabulary, engine=engine_with(vocabulary, memo_min_nodes))
    except EmptyLanguage:
        return None


def check_completion(reference: BruteForce, here: Stacks, matcher: Matcher, data: st.DataObject) -> None:
    text = matcher.shortest_completion()
    assert reference.is_complete(reference.read(here, text)), text
    assert reference.can_spell(text), text
    fewest, n_tokens = reference.fewest_tokens(here), matcher.min_tokens()
    assert fewest <= n_tokens < UNREACHABLE
    assert (n_tokens == 0) == reference.is_complete(here)
    runner = matcher.fork()
    budget = n_tokens + data.draw(st.integers(0, 2), label="more budget")
    while True:
        legal = ids_of(runner.mask_within(budget)) - reference.eos_token_ids
        assert legal <= ids_of(runner.mask())
        assert legal == {t for t in ids_of(runner.mask()) - reference.eos_token_ids if runner.accepts_within(t, budget)}
        if not legal:
            break
        runner.advance(data.draw(st.sampled_from(sorted(legal)), label="within budget"))
        budget -= 1
    assert runner.is_complete() and budget >= 0


def check_forced(reference: BruteForce, here: Stacks, matcher: Matcher, is_atomic: bool) -> None:
    forced = matcher.forced_bytes()
    for i in range(len(forced) if is_atomic else 0):
        step = reference.read(here, forced[:i])
        assert not reference.is_complete(step)
        assert live_bytes(reference, step) == {forced[i]}
    if is_atomic and len(forced) < 512:
        after = reference.read(here, forced)
        assert reference.is_complete(after) or len(live_bytes(reference, after)) > 1
    for token in reference.legal_ids(here) - reference.eos_token_ids:
        token_bytes = reference.token_bytes[token] or b""
        if reference.is_live(reference.read(here, token_bytes)):
            assert token_bytes.startswith(forced) or forced.startswith(token_bytes)
    if forced:
        assert not reference.is_complete(here)


def check_step(reference: BruteForce, here: Stacks, matcher: Matcher, data: st.DataObject) -> set[int]:
    """Compare every answer of the matcher at one step; returns the legal ids."""
    vocabulary = matcher.compiled.vocabulary
    expected = reference.legal_ids(here)
    if data.draw(st.booleans(), label="accepts before mask"):
        assert {t for t in range(vocabulary.n_rows) if matcher.accepts(t)} == expected
    assert ids_of(matcher.mask()) == expected
    assert {t for t in range(vocabulary.n_rows) if matcher.accepts(t)} == expected
    assert matcher.is_complete() == reference.is_complete(here)
    assert matcher.can_continue() == bool(expected - reference.eos_token_ids)
    assert expected or reference.is_complete(here), "a dead end"
    check_forced(reference, here, matcher, vocabulary.is_atomic)
    check_completion(reference, here, matcher, data)
    return expected


def check_walk(expr: Expr, drawn: DrawnVocabulary, memo_min_nodes: int, data: st.DataObject) -> None:
    """Walk along random legal tokens and compare at every step."""
    vocabulary = Vocabulary.from_bytes(drawn.token_bytes, drawn.eos_token_ids)
    reference = BruteForce(expr, drawn.token_bytes, drawn.eos_token_ids)
    compiled = compile_or_none(expr, vocabulary, memo_min_nodes)
    here = reference.start()
    assert (compiled is not None) == reference.is_live(here)
    if compiled is None:
        return
    matcher = compiled.matcher()
    path: list[int] = []
    trail = [here]
    for _ in range(data.draw(st.integers(1, 7), label="steps")):
        legal = check_step(reference, here, matcher, data) - reference.eos_token_ids
        if not legal:
            break
        token = data.draw(st.sampled_from(sorted(legal)), label="token")
        matcher.advance(token)
        path.append(token)
        here = reference.read(here, reference.token_bytes[token] or b"")
        trail.append(here)
    back = data.draw(st.integers(0, len(path)), label="rollback")
    fork = matcher.fork()
    matcher.rollback(back)
    fresh = compile_or_none(expr, vocabulary, memo_min_nodes)
    assert fresh is not None
    twin = fresh.matcher()
    for token in path[: len(path) - back]:
        twin.advance(token)
    assert matcher.mask().tolist() == twin.mask().tolist()
    assert matcher.text_bytes() == twin.text_bytes()
    check_step(reference, trail[len(path) - back], matcher, data)
    assert ids_of(fork.mask()) == reference.legal_ids(here)


def check(expr: Expr, drawn: DrawnVocabulary, memo_min_nodes: int, data: st.DataObject) -> None:
    try:
        check_walk(expr, drawn, memo_min_nodes, data)
    except (Undecided, TooComplex):
        assume(False)


@settings(max_examples=EXAMPLES)
@given(regular, vocabularies(), MEMO_SIZES, st.data())
def test_mask_equals_brute_force_for_regular_languages(
    expr: Expr, drawn: DrawnVocabulary, memo_min_nodes: int, data: st.DataObject
) -> None:
    check(expr, drawn, memo_min_nodes, data)


@settings(max_examples=2 * EXAMPLES)
@given(structured, vocabularies(is_atomic=True), MEMO_SIZES, st.data())
def test_mask_equals_brute_force_for_frames_rules_and_objects(
    expr: Expr, drawn: DrawnVocabulary, memo_min_nodes: int, data: st.DataObject
) -> None:
    check(expr, drawn, memo_min_nodes, data)


@settings(max_examples=EXAMPLES)
@given(objects(regular), vocabularies(is_atomic=True), MEMO_SIZES, st.data())
def test_mask_equals_brute_force_for_objects(
    expr: Expr, drawn: DrawnVocabulary, memo_min_nodes: int, data: st.DataObject
) -> None:
    check(expr, drawn, memo_min_nodes, data)


@settings(max_examples=EXAMPLES)
@given(duties(regular), vocabularies(is_atomic=True), MEMO_SIZES, st.data())
def test_mask_equals_brute_force_for_objects_with_duties(
    expr: Expr, drawn: DrawnVocabulary, memo_min_nodes: int, data: st.DataObject
) -> None:
    check(expr, drawn, memo_min_nodes, data)


@settings(max_examples=EXAMPLES)
@given(structured, vocabularies(is_atomic=False), MEMO_SIZES, st.data())
def test_mask_equals_brute_force_where_some_bytes_are_no_tokens(
    expr: Expr, drawn: DrawnVocabulary, memo_min_nodes: int, data: st.DataObject
) -> None:
    check(expr, drawn, memo_min_nodes, data)


@settings(max_examples=2 * EXAMPLES)
@given(grammars("abc[]"), vocabularies(), MEMO_SIZES, st.data())
def test_mask_equals_brute_force_for_grammars(
    text: str, drawn: DrawnVocabulary, memo_min_nodes: int, data: st.DataObject
) -> None:
    check(grammar_or_reject(text).expression, drawn, memo_min_nodes, data)


@pytest.mark.parametrize("memo_min_nodes", [1, 300])
def test_a_bytes_only_token_leads_through_a_dead_byte_prefix(memo_min_nodes: int) -> None:
    """`b` exists only inside `ab`: after `a` nothing can complete `ab`, so `a` is illegal although it is a prefix."""
    from tokenizer_align import expressions as ex

    vocabulary = Vocabulary.from_bytes([b"a", b"ab", None], [2])
    compiled = compile_or_none(ex.lit(b"ab"), vocabulary, memo_min_nodes)
    assert compiled is not None
    assert ids_of(compiled.matcher().mask()) == {1}
