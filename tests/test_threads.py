"""Threads that share one compiled constraint see the masks that one thread sees."""

from __future__ import annotations

import random
import threading

from tests.reference.languages import ALPHABET
from tokenizer_align import expressions as ex
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.members import Member, MemberSpec, start_members
from tokenizer_align.vocabulary import Vocabulary

RANDOM = random.Random(7)
TOKENS = [bytes([b]) for b in ALPHABET] + [bytes(RANDOM.choices(ALPHABET, k=RANDOM.randint(2, 5))) for _ in range(400)]
VOCABULARY = Vocabulary.from_bytes([*TOKENS, None], [len(TOKENS)])


def tree() -> ex.Expr:
    rule = ex.Rule("tree")
    body = ex.star(ex.byte_set(b"abc[]{},:"))
    string = ex.frame(ex.seq(ex.lit(b'"'), body, ex.lit(b'"')))
    value = ex.alt(
        string, ex.call(rule), ex.seq(ex.lit(b"["), ex.star(ex.seq(ex.call(rule), ex.lit(b","))), ex.lit(b"]"))
    )
    key = ex.minus(ex.seq(ex.lit(b'"'), body, ex.lit(b'"')), ex.words([b'"a"', b'"bc"']))
    members = (Member(b'"a"', ex.seq(ex.lit(b":"), value), True), Member(b'"bc"', ex.seq(ex.lit(b":"), value)))
    spec = MemberSpec(members, ex.lit(b","), ex.lit(b"}"), key, ex.seq(ex.lit(b":"), value))
    rule.define(lambda: ex.seq(ex.lit(b"{"), start_members(spec)))
    return ex.call(rule)


def walk(compiled: Compiled, seed: int) -> list[tuple[int, bytes, int, bytes]]:
    """A random walk: at each step the token, the mask, the tokens to complete, the forced bytes."""
    choose, matcher, trail = random.Random(seed), compiled.matcher(), []
    for _ in range(40):
        mask = matcher.mask()
        legal = [t for t in range(len(TOKENS)) if mask[t >> 5] >> (t & 31) & 1]
        if not legal:
            break
        token = choose.choice(legal)
        matcher.advance(token)
        matcher.shortest_completion()
        trail.append((token, mask.tobytes(), matcher.min_tokens(), matcher.forced_bytes()))
    return trail


def test_eight_threads_get_the_masks_of_one() -> None:
    def fresh() -> Compiled:
        return Compiled(tree(), VOCABULARY, engine=Engine(VOCABULARY, memo_min_nodes=4, wide_bytes=4))

    alone, shared = fresh(), fresh()
    expected = {seed: [(t, m, f) for t, m, _, f in walk(alone, seed)] for seed in range(24)}
    found: dict[int, list[tuple[int, bytes, bytes]]] = {}
    errors: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for seed in range(first, 24, 8):
                found[seed] = [(t, m, f) for t, m, _, f in walk(shared, seed)]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert found == expected
