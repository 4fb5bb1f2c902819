"""Budgets change what is kept, never what is answered: masks, completions and texts under way stay the same."""

from __future__ import annotations

import gc
import os
import random
import threading

import numpy as np
import pytest

from tests.reference.brute_force import BruteForce
from tests.test_fill import EXPRESSIONS, TEXTS, mask_alone, read
from tests.test_threads import TOKENS, VOCABULARY, tree
from tokenizer_align import expressions as ex
from tokenizer_align.budget import Budget
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.fill import fill
from tokenizer_align.matcher import Matcher

SMALL = {
    "nothing is kept": Budget(kept_bytes=1, state_bytes=1),
    "few masks": Budget(kept_bytes=4_000, state_bytes=10**9),
    "few states": Budget(kept_bytes=10**9, state_bytes=60_000),
    "little": Budget(kept_bytes=20_000, state_bytes=200_000),
}
N_SEEDS = 60 if os.environ.get("DOMINO_SLOW") else 10


def engine_with(budget: Budget) -> Engine:
    return Engine(VOCABULARY, memo_min_nodes=4, wide_bytes=4, budget=budget)


def trail(matcher: Matcher, seed: int, n_tokens: int = 40) -> list[object]:
    """All answers along a random text, with steps back."""
    choose, answers = random.Random(seed), list[object]()
    for _ in range(n_tokens):
        mask = matcher.mask()
        legal = [t for t in range(len(TOKENS)) if mask[t >> 5] >> (t & 31) & 1]
        answers.append((mask.tobytes(), matcher.is_complete(), matcher.forced_bytes(), matcher.determined_bytes()))
        answers.append((matcher.min_tokens(), matcher.shortest_completion(), matcher.can_continue()))
        if not legal:
            break
        token = choose.choice(legal)
        assert matcher.accepts(token)
        matcher.advance(token)
        if choose.random() < 0.2:
            matcher.rollback(min(matcher.n_tokens, choose.randrange(1, 9)))
    return answers


@pytest.mark.parametrize("budget", SMALL.values(), ids=SMALL)
def test_small_budgets_give_the_answers_of_large_ones(budget: Budget) -> None:
    engine, dropped = engine_with(budget), 0
    for seed in range(N_SEEDS):
        make = EXPRESSIONS[seed % len(EXPRESSIONS)]
        expected = trail(Compiled(make(), VOCABULARY, engine=engine_with(Budget())).matcher(), seed)
        assert trail(Compiled(make(), VOCABULARY, engine=engine).matcher(), seed) == expected
        dropped = engine.counters.generations + engine.counters.ages
    assert dropped > 1


def test_texts_under_way_go_on_when_everything_was_dropped() -> None:
    """Texts of several constraints advance by turns; each turn of one drops what the others stand on."""
    engine = engine_with(SMALL["nothing is kept"])
    compiled = [Compiled(make(), VOCABULARY, engine=engine) for make in EXPRESSIONS]
    matchers = [compiled[which].matcher() for which, _ in TEXTS]
    for step in range(30):
        for (_, tokens), matcher in zip(TEXTS, matchers, strict=True):
            if step < len(tokens):
                matcher.advance(tokens[step])
        assert engine.drop_states()
    out = np.zeros((len(TEXTS), engine.n_words), np.uint32)
    for _ in range(2):
        assert engine.drop_states()
        fill(matchers, out, 2)
        assert np.array_equal(out, np.stack([mask_alone(which, tokens) for which, tokens in TEXTS]))
    for (_, tokens), matcher in zip(TEXTS, matchers, strict=True):
        matcher.rollback(len(tokens) // 2)
    for (which, tokens), matcher in zip(TEXTS, matchers, strict=True):
        assert np.array_equal(matcher.mask(), mask_alone(which, tokens[: len(tokens) - len(tokens) // 2]))


@pytest.mark.parametrize("budget", SMALL.values(), ids=SMALL)
def test_masks_after_drops_equal_brute_force(budget: Budget) -> None:
    rule = ex.Rule("nested")
    rule.define(
        lambda: ex.alt(ex.lit(b"a"), ex.seq(ex.lit(b"["), ex.call(rule), ex.lit(b","), ex.call(rule), ex.lit(b"]")))
    )
    engine = engine_with(budget)
    compiled = Compiled(ex.call(rule), VOCABULARY, engine=engine)
    reference = BruteForce(ex.call(rule), VOCABULARY.token_bytes, VOCABULARY.eos_token_ids)
    for text in (b"", b"[", b"[a", b"[[", b"[[a,", b"[[a,a],", b"[[a,[a,a]]", b"[a,a]"):
        tokens = [VOCABULARY.ids_by_bytes[bytes([byte])][0] for byte in text]
        Compiled(tree(), VOCABULARY, engine=engine).matcher().mask()
        legal = reference.legal_ids(reference.read(reference.start(), text))
        assert set(compiled.ids(read(compiled, tokens).mask())) == legal


def test_threads_with_small_budgets_see_the_masks_of_one() -> None:
    engine = engine_with(Budget(kept_bytes=30_000, state_bytes=100_000))
    compiled = [Compiled(make(), VOCABULARY, engine=engine) for make in EXPRESSIONS]
    expected = [mask_alone(which, tokens).tobytes() for which, tokens in TEXTS]
    wrong: list[str] = []

    def work(first: int) -> None:
        try:
            for i in [*range(first, 64), *range(first)]:
                which, tokens = TEXTS[i]
                if read(compiled[which], tokens).mask().tobytes() != expected[i]:
                    wrong.append(f"{first} {i}")
        except BaseException as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(0, 64, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert engine.counters.generations > 1


def test_what_is_held_stays_within_the_budgets() -> None:
    budget = Budget(kept_bytes=60_000, state_bytes=300_000)
    engine = engine_with(budget)
    for seed in range(150):
        word = bytes(random.Random(seed).choices(b"abc:,", k=8))
        compiled = Compiled(ex.seq(ex.lit(word), tree()), VOCABULARY, engine=engine)
        trail(compiled.matcher(), seed, 8)
        assert engine.n_kept_bytes() <= budget.kept_bytes + 10_000
        assert engine.n_state_bytes() <= 2 * budget.state_bytes + 100_000


def test_expressions_of_dropped_constraints_are_freed() -> None:
    from tokenizer_align.nodes import _interned

    def compile_some(first: int) -> None:
        for seed in range(first, first + 40):
            word = bytes(random.Random(seed).choices(b"abc:,", k=12))
            body = ex.star(ex.lit(word))
            Compiled(ex.seq(ex.lit(word), ex.frame(body), tree()), VOCABULARY, engine=engine).matcher().mask()
        gc.collect()

    engine = engine_with(Budget(kept_bytes=100_000, state_bytes=300_000))
    compile_some(0)
    before = len(_interned)
    for first in range(40, 400, 40):
        compile_some(first)
    assert len(_interned) < 2 * before
