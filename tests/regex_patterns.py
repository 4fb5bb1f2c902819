"""Hypothesis strategies for regular expressions in Python's syntax, and for short texts that tend to match them."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

ALPHABET = "abAB1_ -\né"

_CHARACTERS = [
    *"abA1_ é",
    r"\n",
    ".",
    r"\w",
    r"\W",
    r"\d",
    r"\s",
    r"\S",
    "[ab]",
    "[^a]",
    r"[^ab\n]",
    "[a-b1]",
    r"[\w-]",
]
_ATOMS = st.sampled_from([*_CHARACTERS, r"[^\s1]", "ab", "ba", r"\x61", r"\u0061", r"\141", "[A-Z_]", r"\-", "[-a]"])
_ANCHORS = st.sampled_from(["^", "$", r"\A", r"\Z", r"\b", r"\B"])
_QUANTIFIERS = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,3}", "{,2}", "{2,}", "*?", "+?", "??", "{1,3}?"])
_POSSESSIVE = st.sampled_from(["*+", "++", "?+", "{1,2}+"])
_FLAGS = st.sampled_from(["i", "s", "m", "a", "im", "is", "-i", "s-i"])
_BEHIND = st.sampled_from(["a", "ab", "^", "[^b]", r"\W", "^a", "(?<!b)a", "a|b", r"\A", "b|(?<=a)1"])
_GROUP_BODIES = st.sampled_from(["a", "a|b", "ab|", "[ab1]", "a|A", "b?"])


@dataclass
class _Groups:
    n_opened: int = 0
    closed: list[int] = field(default_factory=list)


@st.composite
def _item(draw: st.DrawFn, depth: int, groups: _Groups) -> str:
    kind = draw(st.integers(0, 17 if depth else 5))
    if kind <= 2:
        return draw(_ATOMS)
    if kind == 3:
        return draw(_ANCHORS)
    if kind == 4:
        return draw(st.sampled_from(_CHARACTERS)) + draw(_QUANTIFIERS)
    if kind == 5:
        if groups.closed and draw(st.booleans()):
            return f"\\{draw(st.sampled_from(groups.closed))}(?:)"
        return draw(st.sampled_from(["a", "[ab]", "."])) + draw(_POSSESSIVE)
    if kind == 6:
        return f"(?#note){draw(_ATOMS)}"
    if kind <= 8:
        groups.n_opened += 1
        number = groups.n_opened
        body = draw(_alternation(depth - 1, groups) if draw(st.booleans()) else _GROUP_BODIES)
        groups.closed.append(number)
        return f"({body})" + draw(st.sampled_from(["", "", "?", "*", "{1,2}"]))
    if kind == 16:
        return f"(?<{draw(st.sampled_from('=!'))}{draw(_BEHIND)})"
    if kind == 17 and groups.closed and draw(st.booleans()):
        return f"(?({draw(st.sampled_from(groups.closed))}){draw(_ATOMS)}|{draw(_ATOMS)})"
    body = draw(_alternation(depth - 1, groups))
    if kind <= 10:
        return f"(?:{body})"
    if kind <= 12:
        return f"(?:{body}){draw(_QUANTIFIERS)}"
    if kind == 13:
        return f"(?{draw(_FLAGS)}:{body})"
    return f"(?{draw(st.sampled_from('=!'))}{body})" if kind <= 15 else f"(?>{body})"


@st.composite
def _sequence(draw: st.DrawFn, depth: int, groups: _Groups) -> str:
    return "".join([draw(_item(depth, groups)) for _ in range(draw(st.integers(0, 3)))])


@st.composite
def _alternation(draw: st.DrawFn, depth: int, groups: _Groups) -> str:
    return "|".join([draw(_sequence(depth, groups)) for _ in range(draw(st.integers(1, 2)))])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """A pattern with flags, anchors, look-arounds, counts and references; `re` takes nearly all of them."""
    start = draw(st.sampled_from(["", "", "", "(?i)", "(?m)", "(?s)", "(?a)", "(?im)"]))
    return start + draw(_alternation(2, _Groups()))


texts = st.text(st.sampled_from(ALPHABET), max_size=6)
