r"""Lark's regexes, `/…/flags`: Python's patterns, each matched for itself.

What stands before or behind a terminal is not seen. So an assertion at its edge (`/if\b/`, `/^a/`) is refused where it
stands, and a look-ahead inside that could look further than the terminal goes is noted.
"""

from __future__ import annotations

import re
from typing import Final

from tokenizer_align.errors import RegexError
from tokenizer_align.productive import is_productive

from .grammar_model import UNREAD, Leaf
from .grammar_source import Reader
from .regex import compile_pattern, look_past_edges
from .regex_edges import ANCHORS, Edge

REGEXP: Final = re.compile(r"/(?!/)((?:\\.|[^/\\\n])*)/([imslux]*)")
LONG_REGEXP: Final = re.compile(r"/(?!/)((?:\\.|[^/\\])*)/([imslu]*x[imslux]*)", re.S)
_OPENING = re.compile(r"\(\?<?[=!]")
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "u": 0, "x": re.X}


def regex_leaf(reader: Reader, found: re.Match[str]) -> Leaf:
    """The leaf of a match of REGEXP. What is wrong is noted at its place inside the pattern."""
    pattern, begin = found.group(1), found.start()
    if "l" in found.group(2):
        reader.note("the flag 'l' depends on the machine and is not supported", found.start(2))
    flags = int(sum({_FLAGS[letter] for letter in found.group(2) if letter != "l"}))
    try:
        expr = compile_pattern(pattern, flags=flags).lower()
        passing = look_past_edges(pattern, flags)
    except RegexError as error:
        reader.note(error.message, found.start(1) + error.position, error.hint)
        return Leaf(UNREAD, begin)
    for edge in passing:
        _note(reader, found, edge)
    if any(edge.is_refused for edge in passing):
        return Leaf(UNREAD, begin)
    if not is_productive(expr):
        reader.note("no text matches this regex", begin)
        return Leaf(UNREAD, begin)
    return Leaf(expr, begin)


def _note(reader: Reader, found: re.Match[str], edge: Edge) -> None:
    pattern, offset = found.group(1), found.start(1) + edge.position
    what = _shown(pattern, edge.position)
    if not edge.is_refused:
        message = f"{what} sees this terminal's own text only, and could look past its {_END[edge.side]}"
        is_whole_word = edge.side == "ahead" and pattern.startswith("(", edge.position)
        hint = r"Where it means a whole word, say where that ends: (?!if\b)." if is_whole_word else None
        reader.note(message, offset, hint, "note")
        return
    if pattern.startswith(("^", "$", "\\A", "\\Z"), edge.position):
        hint = "Leave it out: a terminal's regex matches all of the terminal, wherever that stands."
    elif edge.side == "ahead" and pattern.startswith(("\\", "("), edge.position):
        hint = r"Exclude the word where a longer one may stand, as in /(?!if\b)[a-z]+/, or read a separator behind it."
    elif edge.side == "ahead":
        hint = "Without the + the texts are the same; exclude what must not follow where it is read."
    else:
        hint = "Exclude the text in the terminal that stands before, or read a separator between them."
    reader.note(f"{what} looks past the {_END[edge.side]} of its terminal, which is not seen", offset, hint)


_END = {"ahead": "end", "behind": "beginning"}


def _shown(pattern: str, position: int) -> str:
    """The assertion at a position, as messages name it."""
    for anchor in ANCHORS:
        if pattern.startswith(anchor, position):
            return anchor
    opening = _OPENING.match(pattern, position)
    if opening is not None:
        return f"the look-{'behind' if '<' in opening.group() else 'ahead'} {opening.group()}…)"
    return "what gives nothing back"
