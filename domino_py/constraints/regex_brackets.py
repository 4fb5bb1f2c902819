r"""Everything in round brackets: groups, references to them, look-arounds, conditionals, scoped and global flags.

Error messages and positions follow `re._parser`. Groups are kept in the node only where a pattern refers to one.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Final

from . import char_classes as cc
from . import regex_assertions as assertions
from .pattern_nodes import EPSILON, Node, alt, chars, conditional, group, look, reference
from .regex_escapes import ASCII, DIGITS, DOTALL, IGNORECASE, LOCALE, MULTILINE, UNICODE, VERBOSE, Dialect, Reader

MAX_DEPTH: Final = 100  # keeps recursive descent far from Python's recursion limit

_TYPE_FLAGS: Final = ASCII | UNICODE | LOCALE
_FLAGS: Final = {"i": IGNORECASE, "L": LOCALE, "m": MULTILINE, "s": DOTALL, "x": VERBOSE}
_FLAGS_OF: Final[dict[Dialect, dict[str, int]]] = {
    "python": {**_FLAGS, "a": ASCII, "u": UNICODE},
    "ecma": {letter: _FLAGS[letter] for letter in "ims"},
}
_REFERS: Final = re.compile(r"\\[1-9]|\\k<|\(\?P=|\(\?\(")
_OCTAL: Final = re.compile(r"[0-7]{3}", re.ASCII)


class BracketReader(Reader):
    """A reader that knows which groups there are; `branches` and `sequence` are the grammar's."""

    def __init__(self, pattern: str, dialect: Dialect, flags: int) -> None:
        super().__init__(pattern, dialect, flags)
        self.keeps_groups = _REFERS.search(pattern) is not None
        self.n_groups = 0
        self.closed: set[int] = set()
        self.names: dict[str, int] = {}
        self.depth = 0
        self.n_lazy = 0
        self.behind_from: int | None = None  # groups from this number on were opened inside the look-behind being read
        self.later: list[tuple[int, int]] = []  # (number, position) of groups that may still come

    @abstractmethod
    def branches(self, top: bool = False) -> list[Node]: ...

    @abstractmethod
    def sequence(self, at_start: bool = False) -> Node: ...

    def bracket(self, start: int, at_start: bool) -> Node | None:
        """What an opening bracket at `start` begins; None for comments and global flags."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"brackets are nested more than {MAX_DEPTH} deep", start)
        node = self._bracket(start, at_start)
        self.depth -= 1
        return node

    def _bracket(self, start: int, at_start: bool) -> Node | None:
        if not self.take("?"):
            return self._capture(start, None)
        char = self.peek()
        if not char:
            self.fail("unexpected end of pattern")
        self.i += 1
        if char == ":":
            return alt(*self._closed_branches(start))
        if char == "P":
            return self._python_extension(start)
        if char == "#":
            self.i = self.pattern.find(")", self.i) + 1
            if self.i == 0:
                self.fail("missing ), unterminated comment", start)
            return None
        if char in "=!":
            return look(alt(*self._closed_branches(start)), ahead=True, negative=char == "!", position=start)
        if char == "<":
            return self._after_less(start)
        if char == ">" and self.dialect == "python":
            return self._atomic(start)
        if char == "(" and self.dialect == "python":
            return self._conditional(start)
        if char in _FLAGS_OF[self.dialect] or char == "-":
            return self._flagged(start, at_start)
        self.fail(f"unknown extension ?{char}", start + 1)

    def _closed_branches(self, start: int) -> list[Node]:
        """Alternatives up to the closing bracket, which is passed over."""
        flags = self.flags
        found = self.branches()
        if not self.take(")"):
            self.fail("missing ), unterminated subpattern", start)
        self.flags = flags
        return found

    def _capture(self, start: int, name: str | None) -> Node:
        self.n_groups += 1
        number = self.n_groups
        if name is not None:
            self.names[name] = number
        body = alt(*self._closed_branches(start))
        self.closed.add(number)
        return group(body, number) if self.keeps_groups else body

    def _named_capture(self, start: int) -> Node:
        name = self.take_until(">", "group name")
        at = self.i - 1 - len(name)
        self._check_name(name, at)
        if name in self.names:
            known = f"redefinition of group name {name!r} as group {self.n_groups + 1}; was group {self.names[name]}"
            self.fail(known, at)
        return self._capture(start, name)

    def _python_extension(self, start: int) -> Node:
        if self.take("<"):
            return self._named_capture(start)
        if self.dialect == "python" and self.take("="):
            name = self.take_until(")", "group name")
            return self.named_reference(name, self.i - 1 - len(name))
        if not self.peek():
            self.fail("unexpected end of pattern")
        self.fail(f"unknown extension ?P{self.peek()}", start + 1)

    def _after_less(self, start: int) -> Node:
        """A look-behind, or in ECMA-262 a named group."""
        char = self.peek()
        if not char:
            self.fail("unexpected end of pattern")
        if char not in "=!":
            if self.dialect == "ecma":
                return self._named_capture(start)
            self.fail(f"unknown extension ?<{char}", start + 1, "A named group is written (?P<name>...).")
        self.i += 1
        outer = self.behind_from
        if outer is None:
            self.behind_from = self.n_groups + 1
        body = alt(*self._closed_branches(start))
        self.behind_from = outer
        return look(body, ahead=False, negative=char == "!", position=start)

    def _atomic(self, start: int) -> Node:
        n_lazy = self.n_lazy
        branches = self._closed_branches(start)
        node = assertions.atomic(branches, lazy=self.n_lazy > n_lazy)
        if node is None:
            hint = "Without (?> the language is larger; say what must not follow with a look-ahead (?!...)."
            self.fail("an atomic group that can match in several lengths", start, hint)
        return node

    def _conditional(self, start: int) -> Node:
        name = self.take_until(")", "group name")
        at = self.i - 1 - len(name)
        if name.isidentifier():
            if name not in self.names:
                self.fail(f"unknown group name {name!r}", at)
            number = self.names[name]
        else:
            if not (name.isascii() and name.isdecimal()):
                self.fail(f"bad character in group name {name!r}", at)
            number = int(name)
            if number == 0:
                self.fail("bad group number", at)
            self.later.append((number, at))
        yes = self.sequence()
        no = EPSILON
        if self.take("|"):
            no = self.sequence()
            if self.peek() == "|":
                self.fail("conditional backref with more than two branches")
        if not self.take(")"):
            self.fail("missing ), unterminated subpattern", start)
        return conditional(number, yes, no, start)

    # Flags.

    def _flagged(self, start: int, at_start: bool) -> Node | None:
        self.i -= 1
        added = self._read_flags(on=True)
        if self.take(")"):
            if not at_start:
                self.fail("global flags not at the start of the expression", start)
            self._turn_on(added)
            return None
        removed = 0
        if self.take("-"):
            removed = self._read_flags(on=False)
        if not self.take(":"):
            ends = "missing -, : or )" if not removed else "missing :"
            self.fail(self._unknown_flag(ends))
        if added & removed:
            self.fail("bad inline flags: flag turned on and off", self.i - 1)
        outer = self.flags
        self._turn_on(added)
        self.flags &= ~removed
        branches = self._closed_branches(start)
        self.flags = outer
        return alt(*branches)

    def _turn_on(self, added: int) -> None:
        if added & _TYPE_FLAGS:
            self.flags &= ~_TYPE_FLAGS
        self.flags |= added

    def _unknown_flag(self, message: str) -> str:
        return "unknown flag" if self.peek().isalpha() else message

    def _read_flags(self, *, on: bool) -> int:
        known = _FLAGS_OF[self.dialect]
        found = 0
        if not on and self.peek() not in known:
            self.fail(self._unknown_flag("missing flag"))
        while (char := self.peek()) in known:
            self.i += 1
            if char == "L":
                self.fail("bad inline flags: cannot use 'L' flag with a str pattern")
            if not on and known[char] & _TYPE_FLAGS:
                self.fail("bad inline flags: cannot turn off flags 'a', 'u' and 'L'")
            found |= known[char]
            if found & _TYPE_FLAGS not in (0, ASCII, UNICODE):
                self.fail("bad inline flags: flags 'a', 'u' and 'L' are incompatible")
        return found

    # References.

    def digits(self, start: int) -> Node:
        """An octal escape or a reference by number."""
        if self.dialect == "ecma":
            while self.peek() in DIGITS and self.peek():
                self.i += 1
            number = int(self.pattern[start + 1 : self.i])
            self.later.append((number, start))
            return reference(number, self.case_rule, start)
        octal = _OCTAL.match(self.pattern, start + 1)
        if octal:
            self.i = octal.end()
            if int(octal.group(), 8) > 0o377:
                self.fail(f"octal escape value \\{octal.group()} outside of range 0-0o377", start)
            return chars(self.fold(cc.one(int(octal.group(), 8))))
        if self.peek() in DIGITS and self.peek():
            self.i += 1
        number = int(self.pattern[start + 1 : self.i])
        if number > self.n_groups:
            self.fail(f"invalid group reference {number}", start + 1)
        return self._reference(number, start, start)

    def _reference(self, number: int, error_at: int, start: int) -> Node:
        if self.dialect == "python":
            if number not in self.closed:
                self.fail("cannot refer to an open group", error_at)
            self._check_behind(number)
        return reference(number, self.case_rule, start)

    def _check_behind(self, number: int) -> None:
        if self.behind_from is not None and number >= self.behind_from:
            self.fail("cannot refer to group defined in the same lookbehind subpattern")

    def named_reference(self, name: str, at: int) -> Node:
        """A reference to the group `name`, whose name stands at `at`."""
        self._check_name(name, at)
        if name not in self.names:
            self.fail(f"unknown group name {name!r}", at)
        return self._reference(self.names[name], at, at)

    def _check_name(self, name: str, at: int) -> None:
        if not name.replace("$", "_" if self.dialect == "ecma" else "$").isidentifier():
            self.fail(f"bad character in group name {name!r}", at)
