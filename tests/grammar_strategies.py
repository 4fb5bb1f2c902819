"""Hypothesis strategies: small grammars in Lark's notation, left-recursive, nullable and ambiguous ones among them."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

import domino_py as domino
from domino_py.constraints.base import Constraint

NAMES = ("start", "a", "b", "c")
_SIGNS = st.sampled_from(["", "", "", "?", "*", "+", "~2", "~1..2"])


@st.composite
def grammars(draw: st.DrawFn, letters: str, ignores: bool = False) -> str:
    """Rules over these letters; `ignores`: some of them ignore blanks between terminals."""
    terminal = st.sampled_from([f'"{letter}"' for letter in letters] + [f'"{letters[:2]}"'])

    def part(depth: int) -> str:
        kind = draw(st.integers(0, 9))
        if kind < 4 or depth > 1:
            return draw(terminal) + (draw(_SIGNS) if kind == 3 else "")
        if kind < 8:
            return draw(st.sampled_from(NAMES)) + (draw(_SIGNS) if kind == 7 else "")
        return f"({choice(depth + 1)}){draw(_SIGNS)}"

    def choice(depth: int) -> str:
        n_least = 0 if depth == 0 else 1
        ways = [
            " ".join(part(depth) for _ in range(draw(st.integers(n_least, 3 - min(depth, 1)))))
            for _ in range(draw(st.integers(1, 3 - min(depth, 1))))
        ]
        return " | ".join(ways)

    lines = [f"{name}: {choice(0)}" for name in NAMES]
    return "\n".join(lines + (['%ignore " "'] if ignores and draw(st.booleans()) else []))


def grammar_or_reject(text: str) -> Constraint:
    """The grammar; an example whose rules cannot all end is dropped."""
    try:
        return domino.grammar(text, syntax="lark")
    except domino.GrammarError as error:
        assert all(
            "can never end" in str(p) or "without ever" in str(p) or p.severity != "error" for p in error.problems
        )
        assume(False)
        raise
