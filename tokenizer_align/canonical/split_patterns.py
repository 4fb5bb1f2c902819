"""Patterns of pre-tokenizers: from the text of a regular expression to nodes.

Two dialects are read: Oniguruma's (the tokenizers library) and fancy-regex's (tiktoken). A set of characters is kept as
the text that names it, such as "[^\\s\\p{L}]" or "(?i:s)": which code points it holds is asked of the engine itself
(code_point_sets.py), so that no table and no Unicode version of ours can differ from the tokenizer's.

Back references, atomic groups with choices and looks behind at more than one character are refused.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from tokenizer_align.canonical.split_nodes import (
    Alternatives,
    Behind,
    Characters,
    End,
    Look,
    Node,
    Repeat,
    Sequence,
)
from tokenizer_align.errors import VocabularyError

__all__ = [
    "Alternatives",
    "Behind",
    "Characters",
    "Dialect",
    "End",
    "Look",
    "Node",
    "Repeat",
    "Sequence",
    "parse_pattern",
]

Dialect = Literal["oniguruma", "fancy"]

_WORD = Characters("\\w")
_START = Behind((), at_start=True)
_EDGE = Alternatives(
    (
        Sequence((Behind(("\\w",), at_start=False), Look(_WORD, negated=True))),
        Sequence((Behind(("\\w",), at_start=False, negated=True), Look(_WORD, negated=False))),
    )
)
_NO_EDGE = Alternatives(
    (
        Sequence((Behind(("\\w",), at_start=False), Look(_WORD, negated=False))),
        Sequence((Behind(("\\w",), at_start=False, negated=True), Look(_WORD, negated=True))),
    )
)
_INTERVAL = re.compile(r"\{(\d*)(,?)(\d*)\}")
_PROPERTY = re.compile(r"\\[pP](?:\{\^?[^}]*\}|[A-Za-z])")
_HEX = re.compile(r"\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{1,2})|u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4}))")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
_FLAGS = re.compile(r"\(\?([a-z]*)(?:-([a-z]+))?([:)])")


def parse_pattern(pattern: str, dialect: Dialect) -> Node:
    """The node of a pattern.

    Raises:
        VocabularyError: something that cannot be represented, with its place.
    """
    parser = _Parser(pattern, dialect)
    node = parser.alternatives(ignore_case=False)
    if parser.at < len(pattern):
        parser.refuse("an unopened parenthesis")
    _refuse_folds(node, pattern)
    return node


class _Parser:
    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.pattern, self.dialect, self.at = pattern, dialect, 0

    def refuse(self, what: str) -> None:
        raise VocabularyError(
            f"the pre-tokenizer's pattern {self.pattern!r} holds {what} at position {self.at}, which is not supported"
        )

    def alternatives(self, ignore_case: bool) -> Node:
        parts = [self._sequence(ignore_case)]
        while self._next("|"):
            parts.append(self._sequence(ignore_case))
        return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))

    def _next(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def _sequence(self, ignore_case: bool) -> Node:
        parts: list[Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            flags = _FLAGS.match(self.pattern, self.at)
            if flags and flags[3] == ")":  # "(?i)": until the group ends, its later alternatives included
                if parts:
                    self.refuse("flags in the middle of a group")  # here the dialects differ
                self.at = flags.end()
                parts.append(self.alternatives(self._ignores_case(flags, ignore_case)))
                break
            part, start = self._item(ignore_case), self.at
            while self.at < len(self.pattern):
                part = self._quantified(part)
                if self.at == start:
                    break
                start = self.at
            parts.append(part)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _item(self, ignore_case: bool) -> Node:
        sign = self.pattern[self.at]
        if sign == "(":
            return self._group(ignore_case)
        if sign == "[":
            return _characters(self._bracket(), ignore_case)
        if sign == "\\":
            return self._escape(ignore_case)
        if sign == "$":
            self.at += 1
            newline = Sequence((Characters("\\n"),))
            return Look(Alternatives((End(), newline)), negated=False) if self.dialect == "oniguruma" else End()
        if sign == "^":
            self.at += 1
            return _START if self.dialect == "fancy" else Behind(("\\n",), at_start=True)
        if sign in "*+?":
            self.refuse("a quantifier with nothing before it")
        self.at += 1
        if sign == ".":
            return Characters("[^\\n]")
        return _literal(sign, ignore_case)

    def _group(self, ignore_case: bool) -> Node:
        flags = _FLAGS.match(self.pattern, self.at)
        if flags:
            self.at = flags.end()
            return self._closed(self.alternatives(self._ignores_case(flags, ignore_case)))
        for opening, negated in (("(?=", False), ("(?!", True)):
            if self._next(opening):
                return Look(self._closed(self.alternatives(ignore_case)), negated)
        if self._next("(?>"):
            return self._atomic(self._closed(self.alternatives(ignore_case)))
        for opening, negated in (("(?<=", False), ("(?<!", True)):
            if self._next(opening):
                names = _one_character(self._closed(self.alternatives(ignore_case)))
                if names is None:
                    self.refuse("a look-behind at more than one character")
                return Behind(names or (), at_start=False, negated=negated)
        if self.pattern.startswith("(?", self.at) and not re.match(r"\(\?P?<\w+>", self.pattern[self.at :]):
            self.refuse("a group of an unknown kind")
        named = re.compile(r"\((?:\?P?<\w+>)?").match(self.pattern, self.at)
        self.at = named.end() if named else self.at
        return self._closed(self.alternatives(ignore_case))

    def _closed(self, node: Node) -> Node:
        if not self._next(")"):
            self.refuse("a parenthesis that is not closed")
        return node

    def _ignores_case(self, flags: re.Match[str], before: bool) -> bool:
        on, off = flags[1], flags[2] or ""
        if (set(on) | set(off)) - {"i"}:
            self.refuse(f"the flags {on + off!r}")
        return (before and "i" not in off) or "i" in on

    def _atomic(self, node: Node) -> Node:
        if isinstance(node, Repeat) and isinstance(node.part, Characters) and node.kind == "greedy":
            return Repeat(node.part, node.least, node.most, "possessive")
        if _has_choice(node):
            self.refuse("an atomic group with choices")
        return node

    def _bracket(self) -> str:
        """The text of a bracket expression, nested ones included."""
        start, depth = self.at, 0
        while self.at < len(self.pattern):
            sign = self.pattern[self.at]
            self.at += 2 if sign == "\\" else 1
            if sign == "[":
                depth += 1
                self._next("^")
                if self.pattern.startswith("]", self.at):  # a bracket that comes first is a character
                    self.at += 1
            elif sign == "]":
                depth -= 1
                if depth == 0:
                    return self.pattern[start : self.at]
        self.refuse("a bracket that is not closed")
        return ""

    def _escape(self, ignore_case: bool) -> Node:
        for kind in (_PROPERTY, _HEX):
            match = kind.match(self.pattern, self.at)
            if match:
                self.at = match.end()
                if kind is _PROPERTY:
                    return _characters(match[0], ignore_case)
                return _literal(chr(int(next(digits for digits in match.groups() if digits), 16)), ignore_case)
        sign = self.pattern[self.at + 1 : self.at + 2]
        if sign in "dDsSwW" and sign:
            self.at += 2
            return Characters(f"\\{sign}")
        if sign in _CONTROLS:
            self.at += 2
            return _literal(_CONTROLS[sign], ignore_case=False)
        if sign == "z" or (sign == "Z" and self.dialect == "oniguruma"):
            self.at += 2
            if sign == "z":
                return End()
            return Look(Sequence((Repeat(Characters("\\n"), 0, 1, "greedy"), End())), negated=False)
        if sign in "bBA" and sign:
            self.at += 2
            return _EDGE if sign == "b" else _NO_EDGE if sign == "B" else _START
        if not sign or sign.isalnum():
            self.refuse(f"the escape \\{sign}")
        self.at += 2
        return _literal(sign, ignore_case)

    def _quantified(self, part: Node) -> Node:
        """`part` with the quantifier that stands here; unchanged where there is none."""
        sign = self.pattern[self.at]
        interval = _INTERVAL.match(self.pattern, self.at) if sign == "{" else None
        if interval and (interval[1] or interval[3]):
            self.at = interval.end()
            least = int(interval[1] or 0)
            most = (int(interval[3]) if interval[3] else None) if interval[2] else least
        elif sign in "*+?":
            self.at += 1
            least, most = int(sign == "+"), 1 if sign == "?" else None
        else:
            return part
        if isinstance(part, Look | Behind | End) or part in (_EDGE, _NO_EDGE):
            self.refuse("a quantified assertion")
        if interval and self.dialect == "oniguruma" and self.pattern.startswith("+", self.at):
            return Repeat(part, least, most, "greedy")  # Oniguruma's "{1,3}+" repeats the group once more
        if interval and not interval[2] and self.pattern.startswith("?", self.at):
            self.refuse("a lazy quantifier without a choice")
        if self._next("?"):
            return Repeat(part, least, most, "lazy")
        if self._next("+"):
            if not isinstance(part, Characters):
                self.refuse("a possessive quantifier of more than one character")
            return Repeat(part, least, most, "possessive")
        return Repeat(part, least, most, "greedy")


def _characters(name: str, ignore_case: bool) -> Characters:
    return Characters(f"(?i:{name})" if ignore_case else name)


def _one_character(node: Node) -> tuple[str, ...] | None:
    """The sets of a node that is one code point; None of any other."""
    if isinstance(node, Characters):
        return (node.name,)
    if isinstance(node, Alternatives):
        names: list[str] = []
        for part in node.parts:
            some = _one_character(part)
            if some is None:
                return None
            names += some
        return tuple(names)
    return None


def _literal(character: str, ignore_case: bool) -> Characters:
    name = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character) or re.escape(character)
    return _characters(name, ignore_case and character.lower() != character.upper())


def _has_choice(node: Node) -> bool:
    if isinstance(node, Sequence):
        return any(map(_has_choice, node.parts))
    if isinstance(node, Repeat):
        return node.least != node.most or _has_choice(node.part)
    return isinstance(node, Alternatives)


def _refuse_folds(node: Node, pattern: str) -> None:
    """Without regard to case "ss" also matches one "ß": a set of code points cannot say that."""
    if isinstance(node, Alternatives | Sequence):
        for part in node.parts:
            _refuse_folds(part, pattern)
    elif isinstance(node, Repeat | Look):
        _refuse_folds(node.part, pattern)
    if isinstance(node, Sequence):
        names = [part.name if isinstance(part, Characters) else "" for part in node.parts]
        letters = [name[4:-1] if name.startswith("(?i:") else "" for name in names]
        runs = "".join(letter if len(letter) == 1 else " " for letter in letters).casefold()
        if any(len(run) > 1 for run in runs.split()) and any(fold in runs for fold in _long_folds()):
            raise VocabularyError(
                f"the pre-tokenizer's pattern {pattern!r} ignores the case of letters that one character may stand for"
            )


@cache
def _long_folds() -> frozenset[str]:
    """What single code points become, where that is more than one, without regard to case."""
    return frozenset(fold for fold in (chr(i).casefold() for i in range(0x10000)) if len(fold) > 1)
