"""Masks of constraints with markers and limits of tokens equal brute force: over drawn texts, token by token.

The reference reads markers as the codes that stand for them, so that it needs no trie, kernel or memo; limits are
checked against the same constraint without one, by what the limit is said to leave.
"""

from __future__ import annotations

import pickle
import random
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import domino_py as domino
from domino_py.compilation import compiled_for
from domino_py.constraints.base import Constraint
from tests.reference.brute_force import BruteForce
from tokenizer_align.canonical.encoding import canonical_between
from tokenizer_align.compiled import Compiled
from tokenizer_align.marked_engine import MarkedEngine
from tokenizer_align.markers import marker_code
from tokenizer_align.matcher import Matcher
from tokenizer_align.vocabulary import Vocabulary

PIECES = [
    b"a",
    b"b",
    b"c",
    b"<",
    b"/",
    b">",
    b"ab",
    b"ca",
    b"<a",
    b"a>",
    b"></",
    b"b</a>c",
    b"\xc3",
    b"\xa9",
    b"\xc3\xa9",
]
PIECES += [b"abc", b"bca", b"<a>", b"aa", b"\xff", b"\xfe", b"a\xff", b"\xa9<", b"</a", b">a", b"b<a>a</a><a>b"]


@lru_cache
def vocabulary(atomic: bool = True) -> Vocabulary:
    """Id 0 ends the text; markers <m>, <n>; duplicates; tokens with bytes of no text."""
    rows: list[bytes | None] = [None, *PIECES, b"ab", None, None, None]
    n = len(rows)
    if not atomic:
        rows[rows.index(b"/")] = None
    return Vocabulary.from_bytes(rows, [0], added={"<m>": n - 3, "<n>": n - 2, "<end>": 0}, special_ids=[n - 3, n - 2])


M, N = domino.token("<m>"), domino.token("<n>")
AB = domino.regex("[ab]{1,3}")
CONSTRAINTS: dict[str, Constraint] = {
    "one marker": M,
    "between texts": AB + M + domino.regex("c?") + N,
    "either": (M + AB) | (AB + N),
    "repeated": domino.repeat(AB + M, 1, 3),
    "a marker that is text": domino.token("<a>") + AB + M,
    "after a marker": domino.after("<m>", AB),
    "after text": domino.after("ab", domino.regex("c+|<")),
    "a trigger that ends in itself": domino.after("aa", AB, at_least=1),
    "one trigger at the end of another": domino.after({"a>": AB, "<a>": domino.choice(["c"])}, at_least=1),
    "overlapping triggers": domino.after({"ab": M, "bc": AB, "<m>": AB}, at_least=1, at_most=2),
    "no tail": domino.after({"<m>": AB, "ca": AB}, at_least=1, at_most=1, tail=False),
    "thoughts": domino.think(AB, start="<m>", end="<n>"),
    "thoughts in text": domino.think(AB, start="<a>", end="</a>"),
    "mixed": domino.think(AB, start="<a>", end="<n>"),
}


def walk(matcher: Matcher, rng: random.Random) -> int | None:
    ids = legal_ids(matcher)
    return rng.choice(sorted(ids)) if ids else None


def legal_ids(matcher: Matcher) -> set[int]:
    bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("atomic", [True, False])
def test_masks_equal_brute_force(name: str, atomic: bool) -> None:
    known = vocabulary(atomic)
    if not atomic and name == "thoughts in text":
        pytest.skip("this vocabulary cannot write the closing tag")
    compiled = compiled_for(CONSTRAINTS[name], known, "any")
    assert isinstance(compiled.engine, MarkedEngine)
    rows = [None if data and (0xFF in data or 0xFE in data) else data for data in known.token_bytes]
    for token in (known.added["<m>"], known.added["<n>"]):
        rows[token] = marker_code(token)
    reference = BruteForce(compiled.expr, rows, [0], max_visited=3000)
    rng = random.Random(name)
    for _ in range(12):
        matcher, here, text = compiled.matcher(), reference.start(), ""
        for _ in range(10):
            assert legal_ids(matcher) == reference.legal_ids(here)
            token = walk(matcher, rng)
            if token in (None, 0):
                break
            assert token is not None
            matcher.advance(token)
            here = reference.read(here, rows[token] or b"")
        rest = matcher.shortest_completion()
        text = (matcher.text_bytes() + rest).decode()
        assert CONSTRAINTS[name].matches(text), text


def test_markers_are_legal_nowhere_else() -> None:
    known = vocabulary()
    for constraint in (domino.regex(".{0,5}"), domino.choice(["a<b"]), domino.after("ab", AB)):
        matcher = compiled_for(constraint, known, "any").matcher()
        assert not legal_ids(matcher) & {known.added["<m>"], known.added["<n>"]}
    assert not compiled_for(domino.regex(".{0,5}"), known, "any").engine.markers


def test_a_spelled_marker_is_not_the_marker() -> None:
    rows: list[bytes | None] = [None, b"<", b"m", b">", b"a", None]
    known = Vocabulary.from_bytes(rows, [0], added={"<m>": 5})
    matcher = compiled_for(M + domino.regex("a"), known, "any").matcher()
    assert legal_ids(matcher) == {5}
    matcher = compiled_for(domino.after("<m>", domino.regex("a")), known, "any").matcher()
    for token in (1, 2):
        matcher.advance(token)
    assert legal_ids(matcher) == {0, 1, 2, 4, 5}  # not ">", which would spell it
    matcher.advance(5)
    assert matcher.text_bytes() == b"<m<m>" and legal_ids(matcher) == {4}


def test_an_end_of_sequence_token_is_no_marker() -> None:
    with pytest.raises(domino.ConstraintError, match="ends a text"):
        compiled_for(AB + domino.token("<end>"), vocabulary(), "any")


def reference_after_limit(text: bytes, end: bytes) -> list[bytes]:
    """What may be read from here to the end of the part: the rest of a character and what is left of the end."""
    n_open = 0
    while n_open < 4 and n_open < len(text) and 0x80 <= text[-1 - n_open] < 0xC0:
        n_open += 1
    lead = text[-1 - n_open] if n_open < len(text) else 0
    missing = max(0, (2 if 0xC0 <= lead < 0xE0 else 1) - 1 - n_open)
    rests = [end[i:] for i in range(len(end)) if i == 0 or (not missing and text.endswith(end[:i]))]
    return [b"\xa9" * missing + rest for rest in rests]


@pytest.mark.parametrize(("end", "limit"), [("</a>", 0), ("</a>", 1), ("</a>", 4), ("<n>", 3), ("aa", 2)])
@pytest.mark.parametrize("atomic", [True])
def test_a_limit_leaves_only_the_end(end: str, limit: int, atomic: bool) -> None:
    known = vocabulary(atomic)
    limited = domino.think(AB, start="<m>", end=end, max_tokens=limit, opened=False)
    compiled = compiled_for(limited, known, "any")
    plain = compiled_for(domino.think(AB, start="<m>", end=end, opened=False), known, "any")
    code = marker_code(known.added["<n>"]) if end == "<n>" else end.encode()
    rng = random.Random(end)
    for _ in range(40):
        matcher, free = compiled.matcher(), plain.matcher()
        inside, n = b"", -1  # the text of the part, and its tokens; -1 in front of it
        ways: list[bytes] = []
        for _ in range(limit + 12):
            expected = legal_ids(free)
            if n == limit:
                ways = reference_after_limit(inside, code)
            if n >= limit:
                rows = {t: code if t == known.added["<n>"] else known.token_bytes[t] or b"" for t in expected}
                expected = {
                    t for t, data in rows.items() if any(way.startswith(data) or data.startswith(way) for way in ways)
                }
            assert legal_ids(matcher) == expected, (matcher.text_bytes(), n)
            assert matcher.min_tokens() <= len(matcher.shortest_completion())
            token = walk(matcher, rng)
            if token in (None, 0):
                break
            assert token is not None
            matcher.advance(token)
            free.advance(token)
            data = known.token_bytes[token] or b""
            if n < 0:
                n = 0
            elif token == known.added["<n>"] or (end != "<n>" and end.encode() in inside + data):
                break
            else:
                inside, n = inside + data, n + 1
                if n > limit:
                    ways = [way[len(data) :] for way in ways if way.startswith(data)]


@pytest.mark.parametrize("law", ["any", "aligned", "canonical"])
def test_a_matcher_taken_back_is_as_a_fresh_one(law: str) -> None:
    from tests.tiny import tiny_tokenizer

    known = Vocabulary.from_tokenizer(tiny_tokenizer())
    constraint = domino.after({"<|user|>": AB, "<|system|>": domino.choice(["yes"])}, at_least=1, max_tokens=3)
    compiled = compiled_for(constraint, known, law)
    rng = random.Random(law)
    for _ in range(10):
        matcher = compiled.matcher()
        path: list[int] = []
        for _ in range(25):
            token = walk(matcher, rng)
            if token is None or token in known.eos_token_ids:
                break
            matcher.advance(token)
            path.append(token)
            if rng.random() < 0.3:
                n = rng.randint(0, min(4, len(path)))
                matcher.rollback(n)
                del path[len(path) - n :]
                fresh = compiled.matcher()
                for one in path:
                    fresh.advance(one)
                assert legal_ids(fresh) == legal_ids(matcher) == legal_ids(matcher.fork())
                assert fresh.state() == matcher.state() and fresh.min_tokens() == matcher.min_tokens()
        budget = matcher.min_tokens() + 2
        for left in range(budget, 0, -1):
            if matcher.is_complete():
                break
            row = matcher.mask_within(left)
            token = rng.choice(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())
            if token in known.eos_token_ids:
                break
            matcher.advance(token)
        assert matcher.is_complete()
        assert constraint.matches(matcher.text_bytes())


@pytest.mark.parametrize("law", ["aligned", "canonical"])
def test_laws_hold_between_markers(law: str) -> None:
    """Tokens are as the tokenizer's own, those in front of a marker as at a text's end; they are legal."""
    from tests.tiny import tiny_tokenizer

    known = Vocabulary.from_tokenizer(tiny_tokenizer())
    assert known.encode is not None
    user, system = known.added["<|user|>"], known.added["<|system|>"]
    word = domino.regex('[a-z "{:,]{1,6}')
    name, quick = domino.choice(["name", "quick brown"]), domino.choice(["the quick", "note"])
    both = name + domino.token("<|user|>") + quick + domino.token("<|system|>")
    constraints = [
        word + domino.token("<|user|>") + word + domino.token("<|system|>") + word,
        both,
        domino.after("<|user|>", name, at_least=1) + domino.token("<|system|>"),
    ]
    rng = random.Random(law)
    for constraint in constraints:
        compiled = compiled_for(constraint, known, law)
        for _ in range(30):
            matcher = compiled.matcher()
            path: list[int] = []
            for _ in range(14):
                ids = sorted(legal_ids(matcher) - set(known.eos_token_ids))
                if not ids:
                    break
                path.append(rng.choice(ids))
                matcher.advance(path[-1])
            assert matcher.given_up_at is None
            while not matcher.is_complete():
                left = matcher.mask_within(matcher.min_tokens())
                path.append(int(np.flatnonzero(np.unpackbits(left.view(np.uint8), bitorder="little"))[0]))
                matcher.advance(path[-1])
            if law == "canonical":
                assert canonical_between(known, path) == tuple(path)
    compiled = compiled_for(both, known, law)
    for first in ("name", "quick brown"):
        for second in ("the quick", "note"):  # what the tokenizer itself would write is legal
            matcher = compiled.matcher()
            for token in (*known.encode(first), user, *known.encode(second), system):
                matcher.advance(token)
            assert matcher.is_complete()


def test_a_new_part_counts_anew() -> None:
    rows: list[bytes | None] = [None, b"a", b"x", b"<", b">", b"></", b"a<x>a", b"<x>", b"xa<x>"]
    known = Vocabulary.from_bytes(rows, [0])
    constraint = domino.after("<x>", domino.regex("a"), at_least=3, max_tokens=2)
    matcher = compiled_for(constraint, known, "any").matcher()
    for token in (1, 1):  # "aa": the free text is used up
        matcher.advance(token)
    assert legal_ids(matcher) == {3, 7}  # "<" and "<x>"
    matcher.advance(7)
    matcher.advance(6)  # "a<x>a": a whole part between two regions in one token
    assert matcher.text_bytes() == b"aa<x>a<x>a"
    matcher.advance(1)
    assert len(legal_ids(matcher)) > 2
    matcher.advance(2)
    assert legal_ids(matcher) == {3, 7}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_are_values(name: str) -> None:
    one: Any = CONSTRAINTS[name]
    other = pickle.loads(pickle.dumps(one))
    assert other == one and hash(other) == hash(one) and one.holds_markers
    assert domino.check(one) == []


def test_an_engine_can_begin_anew_while_texts_run() -> None:
    known = vocabulary()
    constraint = domino.think(AB, start="<m>", end="</a>", max_tokens=3)
    compiled = compiled_for(constraint, known, "any")
    assert isinstance(compiled, Compiled)
    matcher, other = compiled.matcher(), compiled.matcher()
    for token in (known.added["<m>"], 1, 2, 3):
        matcher.advance(token)
        other.advance(token)
    expected = legal_ids(matcher)
    assert compiled.engine.drop_states()
    assert legal_ids(other) == expected
