"""States that are built with a grammar are those that a text would have built, under other codes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

import domino_py as domino
from domino_py.constraints.base import built_expressions
from tokenizer_align import automaton
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.errors import TooComplex
from tokenizer_align.expressions import K_REPEAT, Expr, seq, seq_parts
from tokenizer_align.prebuilt import Prebuilt
from tokenizer_align.vocabulary import Vocabulary

PIECES = [b"SEL", b"ECT * ", b" FROM", b" (", b"))", b"a.b", b"12", b"1.5", b" + ", b"def", b" if ", b"<a", b" " * 16]
TEXTS = {
    "sql": b"SELECT a.b, COUNT(*) FROM t1 JOIN t2 ON a = 1.5 WHERE b IN (SELECT c FROM d) ORDER BY a LIMIT 12;",
    "arithmetic": b"-(1 + 2.50) * 12345678 / ((3))",
    "python_expression": b"f(a, b)[1:2].c if not x else {'k': [1, 2.5]}",
    "graphql": b"query Q($a: Int = 1) { user(id: $a) { name ...F @skip(if: true) } }",
    "promql": b'sum by (job) (rate(http_requests_total{code=~"5..",job="a"}[5m])) > 0.5',
    "c_statements": b"int a = 1;\nwhile (a < 10) {\n    a = a + 1;\n}\n",
    "markdown_table": b"| a | b |\n| --- | :-: |\n| 1 | 2 |\n",
    "chess": b"1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O",
    "date": b"2024-02-29",
}
COUNTED = 'start: word ("," word)*\nword: LETTER~1..5 | "(" start ")" | DIGIT~2..3 "!"\nLETTER: /[a-f]/\nDIGIT: /[0-9]/'


def vocabulary_of(pieces: list[bytes]) -> Vocabulary:
    tokens = [*(bytes([byte]) for byte in range(256)), *pieces, None]
    return Vocabulary.from_bytes(tokens, (len(tokens) - 1,))


def masks(expr: Expr, vocabulary: Vocabulary, text: bytes) -> Iterator[tuple[bytes, int]]:
    """The mask before each byte, and which bytes may come."""
    compiled = Compiled(expr, vocabulary, engine=Engine(vocabulary))
    matcher = compiled.matcher()
    for byte in text:
        yield matcher.mask().tobytes(), compiled.engine.live_bytes(matcher.configuration.heads)
        matcher.advance(byte)
    yield matcher.mask().tobytes(), int(matcher.is_complete())


@pytest.mark.parametrize("name", TEXTS)
def test_masks_of_ready_grammars_are_the_same_without(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expr, vocabulary = getattr(domino.grammars, name).expression, vocabulary_of(PIECES)
    with_states = list(masks(expr, vocabulary, TEXTS[name]))
    monkeypatch.setattr(Prebuilt, "enter", lambda self, automaton: None)
    assert with_states == list(masks(expr, vocabulary, TEXTS[name]))
    assert with_states[-1][1] or name == "chess"


@pytest.mark.parametrize("name", ["sql", "arithmetic"])
def test_texts_build_hardly_any_states(name: str) -> None:
    expr, vocabulary = getattr(domino.grammars, name).expression, vocabulary_of(PIECES)
    compiled = Compiled(expr, vocabulary, engine=Engine(vocabulary))
    builds, matcher = compiled.engine.counters.builds, compiled.matcher()
    for byte in TEXTS[name]:
        matcher.mask()
        matcher.advance(byte)
    assert compiled.engine.counters.builds - builds <= 2  # counts beyond short tokens


@pytest.mark.parametrize("longest", [1, 3, 40])
def test_counts_are_those_of_the_vocabulary(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A count is clamped to the longest token: states are taken over only where nothing is."""
    expr, vocabulary = domino.grammar(COUNTED, syntax="lark").expression, vocabulary_of([b"a" * longest])
    assert prebuilt_of(expr).longest == 4
    text = b"abcde,(12!,f,(345!,a)),abc"
    with_states = list(masks(expr, vocabulary, text))
    monkeypatch.setattr(Prebuilt, "enter", lambda self, automaton: None)
    assert with_states == list(masks(expr, vocabulary, text))


def prebuilt_of(expr: Expr) -> Prebuilt:
    from tokenizer_align.choices import known_body

    found = known_body(expr).memo_states
    assert isinstance(found, Prebuilt)
    return found


def test_an_engine_takes_over_only_what_it_does_not_know() -> None:
    """Grammars with the same names and keywords share their states, in whichever order they come."""
    name = r"NAME: /(?!(?:ab|aba|zab)\b)[a-z]+/"
    first = domino.grammar(f'start: NAME ("," NAME)*\n{name}', syntax="lark").expression
    second = domino.grammar(f'start: "(" start ")" | NAME "=" NAME\n{name}', syntax="lark").expression
    vocabulary = vocabulary_of([b"ab", b"aba", b"x,", b"z=", b"abc"])
    texts = {first: b"abb,x,zabz", second: b"((abb=x))", seq(first, second): b"abz(abb=za)"}
    alone = {expr: list(masks(expr, vocabulary, text)) for expr, text in texts.items()}
    for order in ([first, second], [second, first], [seq(first, second), first, second]):
        engine, n_less = Engine(vocabulary), list[int]()
        for expr in order:
            matcher, found = Compiled(expr, vocabulary, engine=engine).matcher(), list[tuple[bytes, int]]()
            for byte in texts[expr]:
                found.append((matcher.mask().tobytes(), engine.live_bytes(matcher.configuration.heads)))
                matcher.advance(byte)
            assert found == alone[expr][:-1]
            n_less.append(len(engine.automaton.less_at))
        assert n_less[0] == n_less[-1] > 0


@pytest.mark.parametrize("end", ["", ' "!"?'])
def test_a_grammar_may_be_built_again_and_hold_what_was_built(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: a part that had states of its own was taken over while the whole was built."""
    name, vocabulary = r"NAME: /(?!(?:ab|aba|zab)\b)[a-z]+/", vocabulary_of([b"ab", b"aba", b"x,"])
    rules = f'list: NAME ("," NAME)*\n{name}'
    held = domino.grammar(f"start: list\n{rules}", syntax="lark").expression
    assert prebuilt_of(held).begins
    built_expressions.clear()
    again = domino.grammar(f"start: list{end}\n{rules}", syntax="lark").expression
    found = list(masks(again, vocabulary, b"abx,zabz"))
    assert prebuilt_of(again).begins
    monkeypatch.setattr(Prebuilt, "enter", lambda self, automaton: None)
    assert found == list(masks(again, vocabulary, b"abx,zabz"))


def test_states_go_with_their_grammar() -> None:
    grammar = domino.grammar('start: "<" start ">" | "unlikely in any other test"', syntax="lark")
    held = weakref.ref(prebuilt_of(grammar.expression).rows)
    assert held() is not None
    built_expressions.clear()
    del grammar
    gc.collect()
    assert held() is None


def test_parts_that_are_counted_too_far_are_left_to_the_text() -> None:
    expr = domino.grammar('start: "a"~3..300 | "(" start ")"', syntax="lark").expression
    prebuilt = prebuilt_of(expr)
    counted = [one for one in prebuilt.exprs if one is not None and one.counts and not one.has_call]
    assert counted and all(seq_parts(one)[0].kind == K_REPEAT for one in counted)
    assert all(prebuilt.kind[prebuilt.exprs.index(one)] == 0 for one in counted)
    assert prebuilt.longest == 0


def test_states_that_cannot_be_built_in_time_are_left_to_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: on a slow machine a name whose keywords were half built ended in a KeyError."""
    less_targets, calls = automaton.less_targets, []

    def too_slow(*arguments: object) -> object:
        calls.append(less_targets(*arguments))  # type: ignore[arg-type]
        raise TooComplex("time is up")

    monkeypatch.setattr(automaton, "less_targets", too_slow)
    text = 'start: "(" start ")" | NAME\nNAME: /(?!(?:if|iff|fi)\\b)[a-z]+/'
    expr = domino.grammar(text, syntax="lark").expression
    assert calls and not prebuilt_of(expr).begins.keys() - set(prebuilt_of(expr).less)
    monkeypatch.undo()
    vocabulary = vocabulary_of([b"if", b"iff", b"ifs"])
    found = list(masks(expr, vocabulary, b"((ifs))"))
    monkeypatch.setattr(Prebuilt, "enter", lambda self, automaton: None)
    assert found == list(masks(expr, vocabulary, b"((ifs))"))
