"""What an expression means, straight from the definition: no derivatives, no stacks, no automaton.

`ends(node, text, i)` is the set of places where a text of the node that begins at `i` may end. Calls are decided by
least fixed point over (rule, place), objects by trying every member at every place.
"""

from __future__ import annotations

from tokenizer_align.expressions import (
    K_ALT,
    K_BOTH,
    K_CALL,
    K_EMPTY,
    K_EPSILON,
    K_KEYS,
    K_LAZY,
    K_LIT,
    K_NEG,
    K_REPEAT,
    K_SEQ,
    K_SET,
    K_WORDS,
    Expr,
    Rule,
)
from tokenizer_align.members import MemberSpec

Ends = frozenset[int]
Written = frozenset[bytes | None]  # the keys so far; None: an undeclared one
SoFar = tuple[Written, int, frozenset[int], frozenset[int]]  # ..., members, duties to be done, guarded duties


class Denotation:
    """All questions about one text."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._rules: dict[tuple[Rule, int], Ends] = {}
        self._changed = False

    def matches(self, node: Expr) -> bool:
        """Whether the whole text belongs to the node."""
        while True:
            self._changed = False
            ends = self.ends(node, 0)
            if not self._changed:
                return len(self.text) in ends

    def ends(self, node: Expr, at: int) -> Ends:
        """Where a text of the node that begins at `at` may end, as far as is known in this round."""
        kind, text = node.kind, self.text
        if kind == K_EMPTY:
            return frozenset()
        if kind == K_EPSILON:
            return frozenset({at})
        if kind == K_SET:
            return frozenset({at + 1}) if at < len(text) and node.data >> text[at] & 1 else frozenset()
        if kind == K_LIT:
            return self._word(node.data, at)
        if kind == K_WORDS:
            source, lo, hi, depth = node.data
            return frozenset().union(*(self._word(word[depth:], at) for word in source.items[lo:hi]))
        if kind == K_SEQ:
            return self._sequence(node.args, at)
        if kind == K_ALT:
            return frozenset().union(*(self.ends(arg, at) for arg in node.args))
        if kind == K_BOTH:
            return frozenset.intersection(*(self.ends(arg, at) for arg in node.args))
        if kind == K_NEG:
            return frozenset(range(at, len(text) + 1)) - self.ends(node.args[0], at)
        if kind == K_REPEAT:
            return self._repeat(node.args[0], *node.data, at)
        if kind == K_LAZY:
            return self.ends(node.data.body, at) | ({at} if node.data.is_nullable else set())
        if kind == K_CALL:
            return self._call(node.data, at)
        assert kind == K_KEYS and node.data[3] == 0
        spec, open_keys, count, _ = node.data
        written: Written = frozenset(m.text for rank, m in spec.ranked if not open_keys >> rank & 1)
        flags = open_keys >> len(spec.members)
        pending = frozenset(d for d in range(spec.n_duties) if flags >> d & 1)
        guarded = frozenset(d for d in range(spec.n_duties) if flags >> (spec.n_duties + d) & 1)
        return self._members(spec, (written, count, pending, guarded), at, set())

    def _word(self, word: bytes, at: int) -> Ends:
        return frozenset({at + len(word)}) if self.text.startswith(word, at) else frozenset()

    def _sequence(self, parts: tuple[Expr, ...], at: int) -> Ends:
        places = frozenset({at})
        for part in parts:
            places = frozenset().union(*(self.ends(part, place) for place in places))
        return places

    def _repeat(self, item: Expr, lo: int, hi: int | None, at: int) -> Ends:
        places, result, seen, n = frozenset({at}), set[int](), set[tuple[int, Ends]](), 0
        while places and (hi is None or n <= hi):
            if n >= lo:
                result |= places
            if (min(n, lo), places) in seen and hi is None:
                break
            seen.add((min(n, lo), places))
            places = frozenset().union(*(self.ends(item, place) for place in places))
            n += 1
        return frozenset(result)

    def _call(self, rule: Rule, at: int) -> Ends:
        key = (rule, at)
        if key in self._rules:
            return self._rules[key]
        self._rules[key] = frozenset()
        while True:  # least fixed point: recursion to the same place sees what was found so far
            found = self.ends(rule.body, at)
            if found == self._rules[key]:
                return found
            self._changed = True
            self._rules[key] = found

    def _members(self, spec: MemberSpec, so_far: SoFar, at: int, result: set[int]) -> Ends:
        """Ends of "a member, then separator and member ..., then close", in plain words of the specification."""
        written, count, pending, guarded = so_far
        for member in spec.members:
            if member.text not in written and not (spec.ordered and _comes_late(spec, written, member.text)):
                for key_end in self._word(member.text, at):
                    for rest, marks in [(member.rest, 0), *((v.rest, v.marks) for v in member.others)]:
                        done = _duties(spec, marks)
                        after = (written | {member.text}, count + 1, pending - done, guarded - done)
                        for end in self.ends(rest, key_end):
                            self._after(spec, after, end, result)
        kinds = [(kind.key, kind.rest, kind.marks, kind.collides) for kind in spec.classes]
        if spec.extra_key is not None and spec.extra_rest is not None:
            kinds.append((spec.extra_key, spec.extra_rest, 0, 0))
        for key, rest, marks, collides in kinds:
            done = _duties(spec, marks)
            if guarded & _duties(spec, collides) <= done:
                after = (written | {None}, count + 1, pending - done, guarded | (pending & done))
                for key_end in self.ends(key, at):
                    for end in self.ends(rest, key_end):
                        self._after(spec, after, end, result)
        return frozenset(result)

    def _after(self, spec: MemberSpec, so_far: SoFar, at: int, result: set[int]) -> None:
        written, count, pending, _ = so_far
        if spec.hi is not None and count > spec.hi:
            return
        if count >= spec.lo and not pending and all(m.text in written for m in spec.members if m.required):
            result |= self.ends(spec.close, at)
        for end in self.ends(spec.separator, at):
            self._members(spec, so_far, end, result)


def _duties(spec: MemberSpec, marks: int) -> frozenset[int]:
    return frozenset(duty for duty in range(spec.n_duties) if marks >> duty & 1)


def _comes_late(spec: MemberSpec, written: Written, text: bytes) -> bool:
    """In declared order: a later key, or an undeclared one, was written before."""
    order = [m.text for m in spec.members]
    return None in written or any(other in written for other in order[order.index(text) + 1 :])


def matches(node: Expr, text: bytes) -> bool:
    """Whether the text belongs to the expression."""
    return Denotation(text).matches(node)
