"""Law 1 where items or keys must differ: the mask is the set of tokens after which the text can be completed.

Arrays of drawn items (strings with escapes, numbers in several spellings, literals, arrays, objects), in a vocabulary
of pieces that hold several items; after each token of a random walk, brute force says what is legal.
"""

from __future__ import annotations

import os
import random

import numpy as np
import numpy.typing as npt
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.reference.brute_force import BruteForce, Undecided
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.errors import EmptyLanguage
from tokenizer_align.expressions import Expr, alt, byte_set, frame, lit, minus, optional, repeat, seq, star, words
from tokenizer_align.members import Member, MemberSpec, start_members
from tokenizer_align.unique import Need, tracked
from tokenizer_align.vocabulary import Vocabulary

EXAMPLES = 400 if os.environ.get("DOMINO_SLOW") else 25
SINGLES = [bytes([byte]) for byte in b'[]{}",:ab12.e0truse\\u6']
PIECES = (
    rb'","|",|a"|["|["a|"a"|"]|1,1|1,|,1|},{|"a":|","a|a","|a",|"}|"},{"|[]|true,|,true|":"|"a":1|}]|],[|ab|"",""|'
    rb',""|12|10|0061|\u0061"|a"]|a"}|a","b|[1,1]|{"a":"a"}|1.0,1|["a","a'
).split(b"|")
NUMBERS = [lit(text) for text in (b"1", b"1.0", b"10", b"2", b"1e1", b"12")]


def ids_of(mask: npt.NDArray[np.uint32]) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist())


def array_of(item: Expr, lo: int, hi: int | None) -> Expr:
    """Different items; more than one must come only where there are infinitely many."""
    some = seq(item, repeat(seq(lit(b","), item), max(lo - 1, 0), None if hi is None else hi - 1))
    return tracked("array", some if lo else optional(some))


def string_of(lo: int, hi: int | None) -> Expr:
    return seq(lit(b'"'), repeat(alt(byte_set(b"ab"), lit(b"\\u0061")), lo, hi), lit(b'"'))


def object_of(rnd: random.Random) -> Expr:
    keys = [b'"a"', b'"b"'][: rnd.choice([1, 2])]
    members = tuple(Member(key, seq(lit(b":"), item_of(rnd, 0)), rnd.random() < 0.7) for key in keys)
    is_open = rnd.random() < 0.4
    extra = minus(string_of(1, 2), words(keys)) if is_open else None
    rest = seq(lit(b":"), lit(b"1")) if is_open else None
    found = seq(lit(b"{"), start_members(MemberSpec(members, lit(b","), lit(b"}"), extra_key=extra, extra_rest=rest)))
    return alt(found, lit(b"{}")) if rnd.random() < 0.3 else frame(found)


def item_of(rnd: random.Random, depth: int = 1) -> Expr:
    ways = [
        lambda: string_of(0, None),
        lambda: string_of(0, rnd.choice([1, 2])),
        lambda: alt(lit(b"true"), string_of(1, 1)),
        lambda: frame(alt(*rnd.sample(NUMBERS, 3))),
        lambda: seq(byte_set(b"12"), star(byte_set(b"12"))),
        lambda: seq(lit(b'"'), words([b"a", b"b", b"ab"]), lit(b'"')),
        lambda: alt(string_of(0, None), lit(b"true"), lit(b"1")),
    ]
    if depth:
        ways += [
            lambda: object_of(rnd),
            lambda: array_of(item_of(rnd, 0), rnd.choice([0, 0, 1]), rnd.choice([None, 2])),
        ]
    return rnd.choice(ways)()


def keys_of(rnd: random.Random, lo: int) -> Expr:
    """An object with undeclared keys, at least `lo` different ones."""
    extra = minus(string_of(0, rnd.choice([None, 3])), words([b'"b"']))
    members = (Member(b'"b"', lit(b":1"), rnd.random() < 0.5),)
    spec = MemberSpec(members, lit(b","), lit(b""), extra_key=extra, extra_rest=lit(b":1"), lo=lo)
    return tracked("object", start_members(spec))


def constraint_of(rnd: random.Random) -> Expr:
    if rnd.random() < 0.2:
        return keys_of(rnd, rnd.choice([2, 3]))
    if rnd.random() < 0.2:
        item = string_of(0, None)
        return tracked("array", seq(item, repeat(seq(lit(b","), item), 1, None)), (Need(item, 2),))
    expr = array_of(item_of(rnd), rnd.choice([0, 0, 1]), rnd.choice([None, None, 2, 3]))
    if rnd.random() < 0.3:
        expr = alt(expr, lit(b'["a","a"]'))
    return seq(lit(b"{"), expr, lit(b"}")) if rnd.random() < 0.3 else expr


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 10**9))
def test_mask_equals_brute_force_where_parts_must_differ(seed: int) -> None:
    rnd = random.Random(seed)
    expr = constraint_of(rnd)
    tokens = SINGLES + rnd.sample(PIECES, 14)
    vocabulary = Vocabulary.from_bytes([*tokens, b"</s>"], [len(tokens)])
    reference = BruteForce(expr, vocabulary.token_bytes, vocabulary.eos_token_ids, max_visited=3000)
    try:
        engine = Engine(vocabulary, memo_min_nodes=rnd.choice([1, 2, 300]), wide_bytes=rnd.choice([1, 4, 48]))
        compiled = Compiled(expr, vocabulary, engine=engine)
    except EmptyLanguage:
        assume(False)
    matcher, here = compiled.matcher(), reference.start()
    try:
        for _ in range(14):
            legal = reference.legal_ids(here)
            text = matcher.text_bytes()
            assert ids_of(matcher.mask()) == legal, text
            completion = matcher.shortest_completion()
            assert reference.is_complete(reference.read(here, completion)), (text, completion)
            n = matcher.min_tokens()
            within = ids_of(matcher.mask_within(n + 1)) - reference.eos_token_ids
            assert within <= legal and (within or not n)
            for token in sorted(within)[:5]:
                assert matcher.accepts_within(token, n + 1)
            forced = matcher.forced_bytes()
            for token in legal - reference.eos_token_ids:
                data = vocabulary.token_bytes[token] or b""
                assert data.startswith(forced) or forced.startswith(data)
            going_on = sorted(legal - reference.eos_token_ids)
            if not going_on:
                break
            token = rnd.choice(going_on)
            matcher.advance(token)
            here = reference.read(here, vocabulary.token_bytes[token] or b"")
    except Undecided:
        assume(False)
