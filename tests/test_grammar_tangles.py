"""Rules that call each other in many ways cost what they are, and not what their paths are."""

from __future__ import annotations

import itertools
import time

import pytest

import domino_py as domino
from domino_py.constraints.base import Constraint
from tokenizer_align import moves
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.errors import TooComplex
from tokenizer_align.expressions import byte_set, repeat
from tokenizer_align.recognizer import matches
from tokenizer_align.vocabulary import Vocabulary

DEPTH = 40  # two ways at each level are more than can ever be walked


def compiled(constraint: Constraint) -> Compiled:
    tokens = [*(bytes([byte]) for byte in range(128)), b"if", b"else", None]
    return compile_expression(constraint.expression, Vocabulary.from_bytes(tokens, (len(tokens) - 1,)))


def chain(step: str, leaf: str, n: int = DEPTH) -> Constraint:
    """Rules r0 to rn; `step` says what one makes of the next, called N in it."""
    rules = [f"r{i} ::= {step.replace('N', f'r{i + 1}')}" for i in range(n)]
    return domino.grammar("\n".join(["root ::= r0", *rules, f"r{n} ::= {leaf}"]), syntax="gbnf")


@pytest.mark.parametrize("step", ["N N", "N? N?", "N* N*", "(N N)*", "N{2,3}"])
@pytest.mark.parametrize("leaf", ['"a"?', '("a" r0 "b")?'])
def test_doubling_rules_that_may_be_empty(step: str, leaf: str) -> None:
    """Regression: 2^40 ways to the same place were walked, before the first text was read or behind it."""
    grammar = chain(step, leaf)
    assert grammar.matches("")
    assert grammar.matches("aa" if leaf == '"a"?' else "abaabb")
    assert not grammar.matches("b")
    made = compiled(grammar)
    matcher = made.matcher()
    assert matcher.is_complete() and not matcher.accepts(ord("b"))
    matcher.advance(ord("a"))
    assert matcher.accepts(ord("a")) and matcher.accepts(ord("b")) == ("b" in leaf)


@pytest.mark.parametrize("step", ["N N", 'N "-" N'])
def test_what_no_model_can_write_is_said(step: str) -> None:
    """Regression: 2^40 letters were built in memory."""
    made = compiled(chain(step, '"a"'))
    with pytest.raises(TooComplex, match="no model writes so much"):
        made.matcher().shortest_completion()


def test_a_way_that_is_too_long_does_not_hide_a_short_one() -> None:
    made = compiled(domino.grammar('root ::= "a"{2000000} "b" | "a" "c" | "ad" root', syntax="gbnf"))
    matcher = made.matcher()
    matcher.advance(ord("a"))
    assert matcher.shortest_completion() == b"c"


@pytest.mark.parametrize(
    ("step", "text"), [('N | "x"', "x"), ('N "x" | "y"', "yxxx"), ('("y" N "x")?', "yyxx"), ("N", "a")]
)
def test_chains_longer_than_pythons_stack(step: str, text: str) -> None:
    for leaf in ('"a"', '"(" r0 ")" | "a"', 'r0 "+" | "a"'):
        grammar = chain(step, leaf, 1500)
        assert grammar.matches(text), leaf
        assert not grammar.matches("zz")


def test_rules_in_one_long_left_cycle() -> None:
    """Regression: each of n rules asked for what follows each other one."""
    rules = [f'r{i} ::= r{(i + 1) % 200} "{chr(97 + i % 26)}" | "-"' for i in range(200)]
    grammar = domino.grammar("\n".join(["root ::= r0", *rules]), syntax="gbnf")
    assert grammar.matches("-ba") and grammar.matches("-dcba") and not grammar.matches("-ab")


@pytest.mark.parametrize("step", ['"if" root | "if" root "else" root', '"if" root ("else" root)?'])
def test_a_dangling_else_at_every_depth(step: str) -> None:
    grammar = domino.grammar(f'root ::= {step} | "x"', syntax="gbnf")
    assert grammar.matches("if" * 300 + "x" + "elsex" * 300)
    assert not grammar.matches("if" * 300 + "x" + "elsex" * 301)


def test_counts_inside_each_other_are_one_where_none_is_left_out() -> None:
    item = byte_set(b"a")
    assert repeat(repeat(item, 1, 3), 2, 4) is repeat(item, 2, 12)
    assert repeat(repeat(item, 0, 3), 2, 4) is repeat(item, 0, 12)
    assert repeat(repeat(item, 1, None), 0, 2) is repeat(item, 0, None)
    several = repeat(repeat(item, 2, 2), 1, 3)
    assert [n for n in range(9) if matches(several, b"a" * n)] == [2, 4, 6]


PAIRS = {
    "behind each other": ('A "x" | B "y"', 'A "z" | B "w"', "ax" + "x" * 39, "by"),
    "left of it or alone": ('A "x" | B', 'B "y" | A', "a" + "x" * 40, "ay" * 3),
    "in front of it": ('A B | "x" A', 'A B | "y" B', "x" * 40 + "a", "x" * 39 + "a"),
}


@pytest.mark.parametrize("leaf", ['"a"', '"a" | L "c"'], ids=["a letter", "left-recursive"])
@pytest.mark.parametrize(("one", "other", "text", "wrong"), PAIRS.values(), ids=PAIRS.keys())
def test_two_rules_that_both_call_both_of_the_next(one: str, other: str, text: str, wrong: str, leaf: str) -> None:
    """Regression: each of 2^40 ways down was a stack of its own."""
    steps = [
        f"{name}{i} ::= {step.replace('A', f'a{i + 1}').replace('B', f'b{i + 1}')}"
        for i in range(DEPTH)
        for name, step in (("a", one), ("b", other))
    ]
    leaves = [f"a{DEPTH} ::= {leaf.replace('L', f'a{DEPTH}')}", f'b{DEPTH} ::= "b"']
    grammar = domino.grammar("\n".join(["root ::= a0", *steps, *leaves]), syntax="gbnf")
    assert grammar.matches(text) and not grammar.matches(wrong)
    matcher = compiled(grammar).matcher()
    for byte in text.encode():
        assert matcher.accepts(byte)
        matcher.mask()
        matcher.advance(byte)
    assert matcher.is_complete() and len(matcher.configuration.heads) < 100


def test_stacks_that_are_joined_stay_the_same_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against an enumeration, where more stacks follow a byte than are kept side by side."""
    ends = ["".join(word) for n in (1, 2, 3) for word in itertools.product("xyz", repeat=n)]
    chosen = ends[::2]
    assert len(chosen) > moves.MAX_WAYS
    rules = [f'h{i} ::= "a" tail?\ne{i} ::= "{end}" tail?' for i, end in enumerate(chosen)]
    ways = " | ".join(f"h{i} e{i}" for i in range(len(chosen)))
    n_joined, joined = [], moves._joined
    monkeypatch.setattr(moves, "_joined", lambda found: n_joined.append(len(found)) or joined(found))
    grammar = domino.grammar("\n".join([f"root ::= {ways}", *rules, 'tail ::= "(" tail? ")"']), syntax="gbnf")
    made = compiled(grammar)
    assert max(n_joined) > moves.MAX_WAYS
    for first, last, end in itertools.product(("", "()", "(())", "()()"), ("", "()", "(())", "("), ends):
        word, is_legal = f"a{first}{end}{last}", end in chosen and first != "()()" and last != "("
        assert grammar.matches(word) == is_legal, word
        matcher, read = made.matcher(), 0
        while read < len(word) and matcher.accepts(ord(word[read])):
            matcher.advance(ord(word[read]))
            read += 1
        assert (read == len(word) and matcher.is_complete()) == is_legal, word


def test_what_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a rule has too many ways after all, nobody waits for ever."""
    monkeypatch.setattr(moves, "MAX_MOVES_S", -1.0)
    made = chain('"(" N ")" | "x" N?', '"a" r0?')
    with pytest.raises(TooComplex, match="too many ways"):
        compiled(made).matcher().advance(ord("("))
        made.matches("(" * DEPTH + "a" + ")" * DEPTH)


@pytest.mark.parametrize("step", ['N N | N "b"', 'N N "b" | N', 'N? N? | "b" N', 'N N | N "b" | "c" N'])
def test_doubling_rules_that_may_be_empty_and_go_on(step: str) -> None:
    """Regression: each letter made new states of all that might follow, twice as many as the one before."""
    grammar = chain(step, '"a"?', 10)
    made = compiled(grammar)
    matcher = made.matcher()
    started_s = time.thread_time()
    for i, letter in enumerate("aababaababbabaaa"):
        assert matcher.is_complete() == grammar.matches("aababaababbabaaa"[:i])
        matcher.advance(ord(letter))
    assert time.thread_time() - started_s < 20  # minutes before
    assert made.engine.automaton.n_built < 1_000


def test_too_many_ways_behind_one_byte_are_said() -> None:
    """Regression: unions of stacks went on without end."""
    matcher = compiled(chain('(N | "b")* N', '"a"?', 14)).matcher()
    with pytest.raises(TooComplex, match="can be read in too many ways"):
        for letter in "aababaababbabaaa":
            matcher.advance(ord(letter))
