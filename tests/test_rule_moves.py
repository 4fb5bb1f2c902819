"""What a grammar's rules do is derived with the grammar, once for all vocabularies, and within bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import domino_py as domino
from tokenizer_align import choices, derivatives, moves, rule_moves
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import Expr
from tokenizer_align.vocabulary import Vocabulary

SUMS = 'start: start ("+" | "-") term | term\nterm: /[0-9]+/ | "(" start ")" | "x" start? "y"'
VOCABULARY = Vocabulary.from_bytes([bytes([byte]) for byte in range(256)], ())


def noting(derived: list[Expr], function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which notes the expression that it is asked for."""

    def noted(node: Expr, *rest: Any) -> Any:
        derived.append(node)
        return function(node, *rest)

    return noted


def test_first_texts_derive_nothing_that_the_grammar_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    expr = domino.grammar(SUMS, syntax="lark").expression
    derived = list[Expr]()
    for module, name in ((moves, "_moves"), (derivatives, "_heads"), (choices, "_plan")):
        monkeypatch.setattr(module, name, noting(derived, getattr(module, name)))
    matcher = Compiled(expr, VOCABULARY, engine=Engine(VOCABULARY)).matcher()
    for byte in b"12+(x3-4y)":
        matcher.mask()
        matcher.advance(byte)
    assert derived == []
    assert matcher.is_complete()


def test_a_large_grammar_is_derived_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_moves, "MAX_RULES", 2)
    monkeypatch.setattr(rule_moves, "MAX_FRAMES", 3)
    rules = "".join(f'r{i}: "{i}" r{i + 1}? "." | r{i} "!"\n' for i in range(9))
    constraint = domino.grammar(f'start: r0\n{rules}r9: "9" start? "."', syntax="lark")
    assert constraint.matches("01.!.")
    assert not constraint.matches("01.!")


def test_the_last_byte_before_a_wide_rule_shares_its_frame() -> None:
    words = " | ".join(f'"{chr(97 + i)}{i}"' for i in range(12))
    expr = domino.grammar(f'start: word (" and " word)*\nword: {words} | "(" word ")"', syntax="lark").expression
    matcher = Compiled(expr, VOCABULARY, engine=Engine(VOCABULARY)).matcher()
    for byte in b"a0 and":
        matcher.advance(byte)
    assert len(matcher.configuration.heads) == 1
    assert matcher.configuration.compiled.engine.automaton.expr_of(matcher.configuration.heads[0][0]).has_call
