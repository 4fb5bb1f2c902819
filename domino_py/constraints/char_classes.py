r"""Classes of characters as inclusive code point ranges: \d \w \s, Unicode properties, and case-insensitive closures.

The classes of Python's `re` are read off `re` itself (one scan over all code points, cached), those of `\p{...}` off
the `regex` module, so that they follow the Unicode version that is installed. ECMA-262's classes are constants of its
text.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final, Literal

from tokenizer_align.utf8 import complement, normalize

Ranges = tuple[tuple[int, int], ...]
CaseRule = Literal["unicode", "ascii", "ecma"]

NOTHING: Final[Ranges] = ()
ANYTHING: Final[Ranges] = complement(())
NEWLINE: Final[Ranges] = ((10, 10),)
ASCII_DIGIT: Final[Ranges] = ((48, 57),)
ASCII_WORD: Final[Ranges] = ((48, 57), (65, 90), (95, 95), (97, 122))
ASCII_SPACE: Final[Ranges] = ((9, 13), (32, 32))
# ECMA-262, WhiteSpace and LineTerminator.
ECMA_SPACE: Final[Ranges] = normalize(
    [(9, 13), (0x2000, 0x200A), (0x2028, 0x2029)]
    + [(c, c) for c in (0x20, 0xA0, 0x1680, 0x202F, 0x205F, 0x3000, 0xFEFF)]
)
ECMA_LINE_ENDS: Final[Ranges] = ((10, 10), (13, 13), (0x2028, 0x2029))

# str.lower() and str.upper() give several characters for some; these have a simple mapping of their own.
_SIMPLE_LOWER: Final = {0x130: 0x69}
_CASED_LIMIT: Final = 0x1F000  # beyond it no character has a case (a test holds it)


def one(code_point: int) -> Ranges:
    """The class of a single code point; empty for a surrogate, which no UTF-8 text holds."""
    return () if 0xD800 <= code_point <= 0xDFFF else ((code_point, code_point),)


def union(parts: Iterable[Ranges]) -> Ranges:
    return normalize(pair for part in parts for pair in part)


def intersect(a: Ranges, b: Ranges) -> Ranges:
    result = []
    i = j = 0
    while i < len(a) and j < len(b):
        lo, hi = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if lo <= hi:
            result.append((lo, hi))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(result)


def contains(ranges: Ranges, code_point: int) -> bool:
    index = bisect_right(ranges, (code_point, 0x110000)) - 1
    return index >= 0 and ranges[index][0] <= code_point <= ranges[index][1]


def every_code_point() -> str:
    """All code points in order as one text (surrogates included, so that index and code point are the same)."""
    return array("I", range(0x110000)).tobytes().decode("utf-32-le", "surrogatepass")


def _runs(found: Iterable[Any]) -> Ranges:
    """The ranges that matches of `re` or `regex` over all code points cover."""
    return normalize((match.start(), match.end() - 1) for match in found)


@lru_cache(maxsize=64)
def python_class(letter: str) -> Ranges:
    r"""\d, \w or \s of Python's `re` for text patterns, by letter; upper case for the complement."""
    if letter.isupper():
        return complement(python_class(letter.lower()))
    return _runs(re.finditer(f"\\{letter}+", every_code_point()))


@lru_cache(maxsize=64)
def ascii_class(letter: str) -> Ranges:
    r"""\d, \w or \s under re.ASCII."""
    ranges = {"d": ASCII_DIGIT, "w": ASCII_WORD, "s": ASCII_SPACE}[letter.lower()]
    return complement(ranges) if letter.isupper() else ranges


@lru_cache(maxsize=64)
def ecma_class(letter: str) -> Ranges:
    r"""\d, \w or \s of ECMA-262."""
    ranges = {"d": ASCII_DIGIT, "w": ASCII_WORD, "s": ECMA_SPACE}[letter.lower()]
    return complement(ranges) if letter.isupper() else ranges


@lru_cache(maxsize=256)
def property_class(name: str) -> Ranges:
    r"""The characters of `\p{name}`: a category, script, block or binary property. Raises KeyError where unknown."""
    import regex

    try:
        pattern = regex.compile(r"\p{" + name + "}+", regex.V0)
    except regex.error:
        raise KeyError(name) from None
    return _runs(pattern.finditer(every_code_point()))


def _simple_lower(code_point: int) -> int:
    lowered = chr(code_point).lower()
    return ord(lowered) if len(lowered) == 1 else _SIMPLE_LOWER.get(code_point, code_point)


def _simple_fold(code_point: int) -> int:
    """Simple case folding (CaseFolding.txt, statuses C and S), as ECMA-262 uses it with the u flag."""
    text = chr(code_point)
    for folded in (text.casefold(), text.lower()):
        if len(folded) == 1:
            return ord(folded)
    return code_point


def _cased_code_points() -> Iterator[int]:
    """A superset of the characters with a case: whole blocks of 64, so that most are passed over at once."""
    text = every_code_point()[:_CASED_LIMIT]
    for start in range(0, _CASED_LIMIT, 64):
        block = text[start : start + 64]
        if not block == block.lower() == block.upper():
            yield from range(start, start + 64)


@lru_cache(maxsize=4)
def _same_case(rule: CaseRule) -> dict[int, tuple[int, ...]]:
    """code point -> all code points that match it case-insensitively, for those that have more than themselves."""
    if rule == "ascii":
        return _ASCII_CASE[rule]
    groups: dict[int, list[int]] = {}
    for c in _cased_code_points():
        groups.setdefault(_simple_lower(c) if rule == "unicode" else _simple_fold(c), []).append(c)
    if rule == "unicode":
        # `re` also joins lower-case letters whose upper case is the same (s and U+017F), see re._casefix.
        by_upper: dict[str, list[int]] = {}
        for lowered in groups:
            upper = chr(lowered).upper()
            if upper != chr(lowered):
                by_upper.setdefault(upper, []).append(lowered)
        for same in by_upper.values():
            joined = [c for lowered in same for c in groups[lowered]]
            for lowered in same:
                groups[lowered] = joined
    return {c: tuple(sorted(group)) for group in groups.values() if len(group) > 1 for c in group}


def same_lower(code_point: int, rule: CaseRule) -> Ranges:
    """What a back-reference takes for a character under IGNORECASE: the same lower case, without extra pairs."""
    if rule == "ascii":
        return union(one(c) for c in _same_case(rule).get(code_point, (code_point,)))
    lower = _simple_lower if rule == "unicode" else _simple_fold
    others = _same_case(rule).get(code_point, (code_point,))
    return union(one(c) for c in others if lower(c) == lower(code_point))


def _ascii_case(**others: str) -> dict[int, tuple[int, ...]]:
    """`_same_case` of the ASCII letters, which patterns mostly need; `others`: what more equals a letter."""
    letters = range(ord("a"), ord("z") + 1)
    pairs = {c: (c - 32, c, *map(ord, others.get(chr(c), ""))) for c in letters}
    return pairs | {c - 32: same for c, same in pairs.items()}


_ASCII_CASE: Final[dict[CaseRule, dict[int, tuple[int, ...]]]] = {
    "unicode": _ascii_case(i="\u0130\u0131", k="\u212a", s="\u017f"),
    "ascii": _ascii_case(),
    "ecma": _ascii_case(k="\u212a", s="\u017f"),
}


@lru_cache(maxsize=1024)
def ignore_case(ranges: Ranges, rule: CaseRule) -> Ranges:
    """The ranges with everything that equals one of their characters when case is ignored."""
    if not ranges:
        return ranges
    table = _ASCII_CASE[rule] if ranges[-1][1] < 128 else _same_case(rule)
    found: list[tuple[int, int]] = list(ranges)
    for lo, hi in ranges:
        members = range(lo, hi + 1) if hi - lo < 3000 else (c for c in table if lo <= c <= hi)
        for c in members:
            found += [(other, other) for other in table.get(c, ())]
    return normalize(found)


def dot_class(dot_all: bool) -> Ranges:
    """What `.` matches in Python."""
    return ANYTHING if dot_all else complement(NEWLINE)
