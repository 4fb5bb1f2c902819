r"""Taking out groups, back-references and conditionals by following what each group has matched.

A group whose language has few words is split by word, and a reference becomes that word: `(a|b)-\1` is `a-a|b-b`. The
walk goes left to right with an environment (group -> what it matched) and gives, for every environment at the end,
the language that leads to it. A repetition is possible where each turn sets anew what it reads; the last turn's
groups stay visible.
"""

from __future__ import annotations

from typing import Final, NoReturn, cast

from tokenizer_align.errors import RegexError

from .char_classes import CaseRule, same_lower
from .pattern_nodes import (
    ALT,
    COND,
    EPSILON,
    GROUP,
    LOOK,
    REF,
    REPEAT,
    SEQ,
    Node,
    alt,
    chars,
    contains_kind,
    literal,
    look,
    repeat,
    seq,
    words_of,
)
from .regex_escapes import Dialect

MAX_WORDS: Final = 1_000

Word = tuple[int, ...]
Env = frozenset[tuple[int, Word | None]]  # (group, its word), or (group, None) where only conditionals ask for it
Ways = dict[Env, Node]

_START: Final[Env] = frozenset()


def expand_groups(node: Node, pattern: str, dialect: Dialect) -> Node:
    """The same language without groups, references and conditionals. Raises RegexError where it is not regular."""
    if not node.has_groups:
        return node
    return alt(*_Expansion(node, pattern, dialect).ways(node, _START).values())


class _Expansion:
    def __init__(self, node: Node, pattern: str, dialect: Dialect) -> None:
        self.pattern, self.dialect = pattern, dialect
        self.references = {ref: ref.data[0] for ref in contains_kind(node, REF)}
        self.named = set(self.references.values())
        self.conditionals = {cond: cond.data[0] for cond in contains_kind(node, COND)}
        self.asked = self.named | set(self.conditionals.values())

    def fail(self, node_or_group: Node | int, message: str, hint: str) -> NoReturn:
        """Refuse at a reference or conditional (or at the first one that asks for the group)."""
        if isinstance(node_or_group, int):
            asking = {**self.references, **self.conditionals}
            position = min(_position(node) for node, number in asking.items() if number == node_or_group)
        else:
            position = _position(node_or_group)
        raise RegexError(self.pattern, position, message, hint)

    def ways(self, node: Node, env: Env) -> Ways:
        """Every environment that reading `node` may end in, with the language that ends there."""
        if not node.has_groups:
            return {env: node}
        if node.kind == ALT:
            return _merge([self.ways(arg, env) for arg in node.args])
        if node.kind == COND:
            matched = any(number == node.data[0] for number, _ in env)
            return self.ways(node.args[0 if matched else 1], env)
        read = {
            SEQ: self._sequence,
            REPEAT: self._repetition,
            LOOK: self._look,
            GROUP: self._group,
            REF: self._reference,
        }
        return read[node.kind](node, env)

    def _sequence(self, node: Node, env: Env) -> Ways:
        current: Ways = {env: EPSILON}
        for part in node.args:
            following: Ways = {}
            for before, done in current.items():
                for after, item in self.ways(part, before).items():
                    joined = seq(done, item)
                    following[after] = alt(following[after], joined) if after in following else joined
            current = following
            if len(current) > MAX_WORDS:
                number = next(iter(next(iter(current))))[0]
                hint = "Each combination becomes an alternative of its own; refer to fewer groups."
                self.fail(number, f"references to groups with more than {MAX_WORDS:,} combinations of texts", hint)
        return current

    def _group(self, node: Node, env: Env) -> Ways:
        number = node.data
        inner = self.ways(node.args[0], frozenset(pair for pair in env if pair[0] != number))
        if number not in self.asked:
            return inner if inner else {}
        result: Ways = {}
        for after, body in inner.items():
            if number not in self.named:
                result[after | {(number, None)}] = body
                continue
            words = words_of(body, MAX_WORDS) if body.plain else None
            if words is None:
                message = f"a reference to group {number}, which " + (
                    f"can match more than {MAX_WORDS:,} texts" if body.plain else "holds a look-around or an anchor"
                )
                hint = "This is not a regular language. Give the group finitely many texts, or repeat its pattern."
                self.fail(number, message, hint)
            for word in words:
                key = after | {(number, word)}
                result[key] = alt(result[key], literal(word)) if key in result else literal(word)
        return result

    def _reference(self, node: Node, env: Env) -> Ways:
        number, case, _ = node.data
        for known, word in env:
            if known == number and word is not None:
                if case is None:
                    return {env: literal(word)}
                return {env: seq(*(chars(same_lower(c, cast(CaseRule, case))) for c in word))}
        return {env: EPSILON} if self.dialect == "ecma" else {}

    def _look(self, node: Node, env: Env) -> Ways:
        ahead, negative, position = node.data
        inside = {group.data for group in contains_kind(node, GROUP)} & self.asked
        own = set(contains_kind(node, REF)) | set(contains_kind(node, COND))
        for asking, number in {**self.references, **self.conditionals}.items():
            if number in inside and asking not in own:
                hint = "A look-around keeps only its first way to match; put the group outside of it."
                self.fail(asking, f"a reference to group {number}, which is inside a look-around", hint)
        body = alt(*self.ways(node.args[0], env).values())
        return {env: look(body, ahead=ahead, negative=negative, position=position)}

    def _repetition(self, node: Node, env: Env) -> Ways:
        item, (lo, hi) = node.args[0], node.data
        inside = {group.data for group in contains_kind(item, GROUP)}
        skipped: Ways = {env: EPSILON} if lo == 0 else {}
        first = frozenset(pair for pair in env if pair[0] not in inside) if self.dialect == "ecma" else env
        turn = self.ways(item, first)
        if set(turn) <= {env}:
            return {env: repeat(turn[env], lo, hi)} if turn else skipped
        if hi == 1:
            return _merge([skipped, turn])
        for after in turn:
            before = frozenset(pair for pair in after if pair[0] not in inside) if self.dialect == "ecma" else after
            if self.ways(item, before) != turn:
                asking = {**self.references, **self.conditionals}
                reader = next((node for node, number in asking.items() if number in inside), node)
                hint = "Write the turns of the repetition out, or set the group in every turn before it is read."
                self.fail(reader, "a reference to a group that an earlier turn of a repetition may have set", hint)
        earlier = repeat(alt(*turn.values()), max(lo - 1, 0), None if hi is None else hi - 1)
        return _merge([skipped, {after: seq(earlier, last) for after, last in turn.items()}])


def _position(node: Node) -> int:
    return int(node.data[-1])


def _merge(several: list[Ways]) -> Ways:
    result: Ways = {}
    for ways in several:
        for env, node in ways.items():
            result[env] = alt(result[env], node) if env in result else node
    return result
