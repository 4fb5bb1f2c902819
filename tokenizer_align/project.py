"""An expression restricted to the bytes that a vocabulary can write.

Bytes that no token holds are taken out before anything is built, so that no state leads only to them: a text that would
need such a byte is not legal *in this vocabulary*, and every state that is reached can be completed (law 1).
"""

from __future__ import annotations

from dataclasses import replace

from .expressions import (
    ALL_BYTES,
    EMPTY,
    K_ALT,
    K_BOTH,
    K_CALL,
    K_KEYS,
    K_LAZY,
    K_LIT,
    K_NEG,
    K_REPEAT,
    K_SEQ,
    K_SET,
    K_UNIQUE,
    K_WORDS,
    Expr,
    Rule,
    alt,
    both,
    byte_set,
    call,
    neg,
    repeat,
    seq,
    seq_parts,
    star,
    words,
)
from .members import Member, MemberSpec, Variant, keys_node
from .unique import CLOSING, OPENING, Need, tracked


class Projection:
    """Maps expressions to what they hold in the alphabet `usable` (256-bit mask). Memoized; rules stay lazy."""

    def __init__(self, usable: int) -> None:
        self.usable = usable
        self._memo: dict[Expr, Expr] = {}
        self._specs: dict[MemberSpec, MemberSpec] = {}
        self._missing = bytes(b for b in range(256) if not usable >> b & 1)

    def __call__(self, node: Expr) -> Expr:
        if self.usable == ALL_BYTES:
            return node
        found = self._memo.get(node)
        if found is None:
            found = self._memo[node] = self._project(node)
        return found

    def forget(self) -> None:
        """Let go of everything that was projected; what is asked for again is made anew."""
        self._memo.clear()
        self._specs.clear()

    def _project(self, node: Expr) -> Expr:
        kind = node.kind
        if kind == K_SET:
            return byte_set(node.data & self.usable)
        if kind == K_LIT:
            return EMPTY if self._lacks(node.data) else node
        if kind == K_WORDS:
            source, lo, hi, depth = node.data
            kept = [word[depth:] for word in source.items[lo:hi] if not self._lacks(word[depth:])]
            return node if len(kept) == hi - lo else words(kept)
        if kind == K_CALL:
            rule: Rule = node.data
            return call(Rule(rule.name).define(lambda: self(rule.body)))
        if kind == K_KEYS:
            spec, open_keys, count, position = node.data
            if position:
                raise AssertionError("only whole constraints are projected")
            projected = self._spec(spec)
            if projected is None:
                return EMPTY
            return keys_node(projected, projected.all_keys, count) if open_keys == spec.all_keys else EMPTY
        if kind == K_UNIQUE:
            part, needs = node.data
            if not self.usable >> OPENING[part] & 1 or not self.usable >> CLOSING[part] & 1:
                return EMPTY
            return tracked(part, self(node.args[0]), tuple(map(self._need, needs)))
        if kind == K_NEG:
            return both(neg(self(node.args[0])), star(byte_set(self.usable)))
        if kind == K_LAZY:
            return both(node, star(byte_set(self.usable)))
        if kind == K_SEQ:
            return seq(*(self(part) for part in seq_parts(node)))
        parts = [self(arg) for arg in node.args]
        if kind == K_ALT:
            return alt(*parts)
        if kind == K_REPEAT:
            return repeat(parts[0], *node.data)
        if kind == K_BOTH:
            return both(*parts)
        return node

    def _need(self, need: Need) -> Need:
        return Need(self(need.item), need.n, self(need.around))

    def _lacks(self, text: bytes) -> bool:
        return len(text.translate(None, self._missing)) != len(text)

    def _spec(self, spec: MemberSpec) -> MemberSpec | None:
        """The same members without those whose key cannot be written; None where a required one cannot."""
        if spec not in self._specs:
            lacking = [member for member in spec.members if self._lacks(member.text)]
            if any(member.required for member in lacking):
                return None
            writable = [member for member in spec.members if member not in lacking]
            extra = spec.extra_key is not None
            self._specs[spec] = MemberSpec(
                tuple(self._member(member) for member in writable),
                self(spec.separator),
                self(spec.close),
                self(spec.extra_key) if extra and spec.extra_key is not None else None,
                self(spec.extra_rest) if extra and spec.extra_rest is not None else None,
                spec.lo,
                spec.hi,
                spec.ordered,
                tuple(replace(kind, key=self(kind.key), rest=self(kind.rest)) for kind in spec.classes),
                spec.n_duties,
            )
        return self._specs[spec]

    def _member(self, member: Member) -> Member:
        others = tuple(Variant(self(other.rest), other.marks) for other in member.others)
        return Member(member.text, self(member.rest), member.required, others)
