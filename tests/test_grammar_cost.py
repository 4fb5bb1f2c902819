"""What grammars cost does not grow with the depth of a text, nor with the number of ways to read it."""

from __future__ import annotations

import numpy as np
import pytest

import domino_py as domino
from tokenizer_align.compiled import Compiled, compile_expression
from tokenizer_align.vocabulary import Vocabulary

PIECES = [b"((", b"))", b"aa", b"aaaa", b"a)", b"(a", b"+", b"+("]
AMBIGUOUS = {
    "two of itself": 'start: s\ns: s s | "a"',
    "one or two of itself, or nothing": 'start: s\ns: s s | s | "a" |',
    "three of itself": 'start: s\ns: s s s | s s | "a"',
    "sums without precedence": 'start: e\ne: e "+" e | e e | "(" e ")" | "a"',
}


def compiled(text: str) -> Compiled:
    tokens = [*(bytes([byte]) for byte in range(128)), *PIECES, None]
    vocabulary = Vocabulary.from_bytes(tokens, (len(tokens) - 1,))
    return compile_expression(domino.grammar(text, syntax="lark").expression, vocabulary)


@pytest.mark.parametrize("text", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_ambiguity_adds_no_heads_along_a_long_text(text: str) -> None:
    """Exponentially many readings are as many situations as behind the first letters."""
    assert domino.grammar(text, syntax="lark").matches("a" * 2_000)
    assert not domino.grammar(text, syntax="lark").matches("a" * 2_000 + "b")
    matcher = compiled(text).matcher()
    sizes = []
    for _ in range(2_000):
        matcher.advance(ord("a"))
        sizes.append(len(matcher.configuration.heads))
    assert max(sizes) == max(sizes[:10]) <= 8
    assert matcher.is_complete()


@pytest.mark.parametrize("depth", [5, 200])
def test_masks_of_a_nested_text_are_those_of_a_shallow_one(depth: int) -> None:
    """Behind the third bracket no new mask is made, however deep the text goes: each is looked up."""
    grammar = compiled('start: e\ne: e "+" t | t\nt: "(" e ")" | "a"')
    first = grammar.matcher()
    for token in b"((((a))))":
        first.mask()
        first.advance(token)
    walks = grammar.engine.counters.walks
    matcher = grammar.matcher()
    for token in b"(" * depth + b"a+a" + b")" * depth:
        matcher.mask()
        matcher.advance(token)
    assert matcher.is_complete()
    assert grammar.engine.counters.walks - walks <= 4


def test_repetitions_side_by_side_are_one() -> None:
    several = domino.grammar("start: " + '"ab"? ' * 3000 + '"ab"~2..3 "c"', syntax="lark")
    assert several.expression is domino.grammar('start: "ab"~2..3003 "c"', syntax="lark").expression
    assert several.matches("ab" * 3003 + "c")
    assert not several.matches("abc")


def test_text_between_elements_is_one_frame() -> None:
    """Regression: `(element | text)*` was split at every character, which took seconds in large vocabularies."""
    grammar = domino.grammar(
        'start: "<a>" (element | text)* "</a>"\n'
        'element: "<b>" (start | text)+ "</b>"\n'
        "text: (TEXT | ENTITY)+\n"
        "TEXT: /[^<>&]/\n"
        'ENTITY: "&lt;" | "&amp;"\n',
        syntax="lark",
    )
    for text, legal in (
        ("<a></a>", True),
        ("<a>x&lt;y<b>z</b>x<b><a></a></b></a>", True),
        ("<a><b></b></a>", False),
        ("<a><b>x<a>y</a>z</b>&amp;</a>", True),
        ("<a>x&y</a>", False),
        ("<a><b>x</a></b>", False),
    ):
        assert grammar.matches(text) is legal, text
    vocabulary = Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], (256,))
    made = compile_expression(grammar.expression, vocabulary)
    texts = [np.frombuffer(b"<a>" + b"x" * n, np.uint8) for n in (1, 50)]
    few, many = (len(made.engine.run(made.start.heads, text)) for text in texts)
    assert few == many <= 3


def test_runs_that_may_be_empty_stay_so_when_they_are_repeated() -> None:
    """`(element | text*)+` holds the empty text, `(element | text+)+` does not."""
    for run, empty in (("TEXT*", True), ("TEXT+", False), ("TEXT", False), ("TEXT?", True)):
        text = f'start: "(" (start | text)+ ")"\ntext: {run}\nTEXT: /[^()]/\n'
        grammar = domino.grammar(text, syntax="lark")
        assert grammar.matches("()") is empty, run
        assert grammar.matches("(a(b)cd(e(f)))") and not grammar.matches("(a(b)cd(e(f))"), run
