r"""The grammar of patterns: Python's `re` (CPython 3.11 to 3.13) and ECMA-262 as JSON Schema uses it.

Gives a node of `pattern_nodes`, with groups and references still inside. What is malformed is refused with the
position that `re` gives; what no automaton can do is refused with the position of the construct. Laziness does not
change a language, so lazy quantifiers are read as greedy ones.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from tokenizer_align.utf8 import complement

from . import char_classes as cc
from . import regex_assertions as assertions
from .char_classes import Ranges
from .pattern_nodes import ANY, Node, alt, character, chars, repeat, seq
from .regex_brackets import BracketReader
from .regex_edges import ANCHORS, placed
from .regex_escapes import DIGITS, DOTALL, IGNORECASE, MULTILINE, VERBOSE

MAX_REPEAT: Final = 10_000

_LITERALS: Final = re.compile(r"[^\\\[\](){}*+?.^$|]+(?![*+?{])")
_WHITESPACE: Final = frozenset(" \t\n\r\v\f")
_COUNTS: Final = re.compile(r"\{(?=[^}])([0-9]*)(,?)([0-9]*)\}", re.ASCII)
_ECMA_OPEN_COUNT: Final = re.compile(r"\{,[0-9]*\}", re.ASCII)


class PatternParser(BracketReader):
    """Reads one pattern by recursive descent. `places`: anchors, too, know where they stand (`regex_edges`)."""

    places = False

    def parse(self) -> Node:
        node = alt(*self.branches(top=True))
        if self.peek():
            self.fail("unbalanced parenthesis")
        for number, position in self.later:
            if number > self.n_groups:
                self.fail(f"invalid group reference {number}", position)
        return node

    def branches(self, top: bool = False) -> list[Node]:
        """Alternatives up to a closing bracket or the end, in order."""
        found = [self.sequence(at_start=top)]
        while self.take("|"):
            found.append(self.sequence())
        return found

    def sequence(self, at_start: bool = False) -> Node:
        parts: list[Node] = []
        before: Literal["nothing", "item", "repeat"] = "nothing"  # what a quantifier would find
        while (char := self.peek()) and char not in "|)":
            start = self.i
            if not self.flags & (IGNORECASE | VERBOSE) and (run := _LITERALS.match(self.pattern, start)):
                parts += [character(ord(c)) for c in run.group()]
                before = "item"
                self.i = run.end()
                continue
            if self.flags & VERBOSE and self._skip_layout():
                continue
            if char in "*+?" or (char == "{" and self._at_counts()):
                lo, hi = self._counts()
                if before != "item":
                    self.fail("multiple repeat" if before == "repeat" else "nothing to repeat", start)
                item = self._quantified(parts[-1], lo, hi, start)
                parts[-1] = placed(item, start) if self.places else item
                before = "repeat"
                continue
            node = self._atom(start, at_start and not parts)
            if node is not None:
                parts.append(placed(node, start) if self.places else node)
                anchor = self.pattern.startswith(ANCHORS, start)
                before = "nothing" if anchor else "item"
        return seq(*parts)

    def _skip_layout(self) -> bool:
        """Pass over a blank or a comment of a verbose pattern."""
        if self.peek() in _WHITESPACE:
            self.i += 1
            return True
        if self.peek() == "#":
            end = self.pattern.find("\n", self.i)
            self.i = len(self.pattern) if end < 0 else end + 1
            return True
        return False

    def _at_counts(self) -> bool:
        if self.dialect == "ecma" and _ECMA_OPEN_COUNT.match(self.pattern, self.i):
            self.fail("a count without its lower bound", self.i, "Write {0,n}: the two syntaxes differ in {,n}.")
        return _COUNTS.match(self.pattern, self.i) is not None

    def _counts(self) -> tuple[int, int | None]:
        """The bounds of the quantifier that comes next, which is passed over."""
        char = self.peek()
        start = self.i + 1
        self.i += 1
        if char != "{":
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        found = _COUNTS.match(self.pattern, start - 1)
        assert found is not None
        self.i = found.end()
        low, comma, high = found.groups()
        lo = int(low) if low else 0
        hi = (int(high) if high else None) if comma else lo
        if max(lo, hi or 0) > MAX_REPEAT:
            self.fail(
                f"a count above {MAX_REPEAT:,}", start, f"Counts may go up to {MAX_REPEAT:,}; leave the bound open."
            )
        if hi is not None and hi < lo:
            self.fail("min repeat greater than max repeat", start)
        return lo, hi

    def _quantified(self, item: Node, lo: int, hi: int | None, start: int) -> Node:
        if self.take("?"):
            self.n_lazy += 1
        elif self.dialect == "python" and self.take("+"):
            node = assertions.possessive(item, lo, hi)
            if node is None:
                hint = "Without the + the language is larger; say what must not follow with a look-ahead (?!...)."
                self.fail("a possessive quantifier on something that can match in several lengths", start, hint)
            return node
        return repeat(item, lo, hi)

    def _atom(self, start: int, at_start: bool) -> Node | None:
        """One item; None for what stands for nothing (comments, global flags)."""
        char = self.peek()
        if char == "\\":
            return self._escape(start, self.take_escape_letter())
        self.i += 1
        if char == "(":
            return self.bracket(start, at_start)
        if char == "[":
            return chars(self.read_set())
        if char == ".":
            if self.flags & DOTALL:
                return ANY
            return chars(complement(self._line_ends()))
        if char == "^":
            return assertions.line_start(self._line_ends()) if self.flags & MULTILINE else assertions.TEXT_START
        if char == "$":
            if self.flags & MULTILINE:
                return assertions.line_end(self._line_ends())
            return assertions.TEXT_END if self.dialect == "ecma" else assertions.PYTHON_END
        return chars(self.fold(cc.one(ord(char))))

    def _line_ends(self) -> Ranges:
        return cc.ECMA_LINE_ENDS if self.dialect == "ecma" else cc.NEWLINE

    def _escape(self, start: int, letter: str) -> Node:
        if letter in "bB":
            if letter == "b":
                return assertions.word_boundary(self.word_class())
            in_empty_text = self.dialect == "ecma" or assertions.PYTHON_B_IN_EMPTY_TEXT
            return assertions.no_word_boundary(self.word_class(), in_empty_text=in_empty_text)
        if self.dialect == "python":
            if letter in "AZ":
                return assertions.TEXT_START if letter == "A" else assertions.TEXT_END
        elif letter == "k":
            if not self.take("<"):
                self.fail("missing <, a named reference is \\k<name>")
            name = self.take_until(">", "group name")
            return self.named_reference(name, self.i - 1 - len(name))
        if letter in DIGITS and letter != "0":
            return self.digits(start)
        found = self.class_or_char(letter, start, in_set=False)
        return chars(self.fold(cc.one(found)) if isinstance(found, int) else found)
