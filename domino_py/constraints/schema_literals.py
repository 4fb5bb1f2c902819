"""What the source of a pattern says about the first characters of every string it finds, for quick comparisons."""

from __future__ import annotations

from functools import lru_cache

_SPECIAL = frozenset(r".*+?()[]{}|^$\/")


@lru_cache(maxsize=1024)
def literal_start(pattern: str) -> tuple[str, bool] | None:
    r"""(characters that each string begins with, whether that is the whole string); None where nothing is known.

    >>> literal_start("^pkg:npm/.+"), literal_start("^Abs$"), literal_start("a|b")
    (('pkg:npm/', False), ('Abs', True), None)
    """
    if not pattern.startswith("^") or _has_choice(pattern):
        return None
    found, at = "", 1
    while at < len(pattern):
        char, width = pattern[at], 1
        if char == "\\":
            char, width = pattern[at + 1 : at + 2], 2
            if char not in _SPECIAL or not char:
                break
        elif char in _SPECIAL and char != "/":
            break
        after = pattern[at + width : at + width + 1]
        if after in ("*", "?", "{"):
            break
        found += char
        at += width
        if after == "+":
            break
    return found, pattern[at:] == "$"


def _has_choice(pattern: str) -> bool:
    """Whether alternatives stand outside every group (or it is hard to say)."""
    depth, at, in_class = 0, 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            return True
        at += 1
    return False


def start_apart(one: tuple[str, bool], other: tuple[str, bool]) -> bool:
    """Whether no string begins both ways."""
    (short, is_whole), (long, _) = sorted((one, other), key=lambda start: len(start[0]))
    return not long.startswith(short) or (is_whole and len(short) < len(long))
