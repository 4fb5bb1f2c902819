r"""Look-arounds outside of repetitions, as intersections and complements (exact).

A node is read as the whole rest of the text. A look-ahead then is an intersection with that rest, `$` asks whether
the rest may be empty, and a look-behind of one character (`^`, `\b`) is decided by what can stand before it: the
start of the text or the last characters of what was read. Where that does not decide, or a look-around is repeated,
`NeedsStates` is raised and `regex_states` does the work. What this module makes keeps its counted repetitions, so it
is preferred.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tokenizer_align import expressions as ex
from tokenizer_align.derivatives import heads, is_live
from tokenizer_align.expressions import Expr
from tokenizer_align.lengths import bytes_of
from tokenizer_align.project import Projection

from .char_classes import ANYTHING, NOTHING, Ranges, intersect, union
from .pattern_nodes import ALL, ALT, ANY, CHARS, LOOK, REPEAT, SEQ, Encoder, Node, alt, lower, repeat, seq


class NeedsStates(Exception):
    """The node needs an automaton that remembers what it has read."""


class Before(NamedTuple):
    """What may stand before a place: perhaps the start of the text, or one of these characters."""

    start: bool
    last: Ranges


TEXT_BEGIN: Final = Before(True, NOTHING)
INSIDE: Final = Before(False, ANYTHING)
MAX_WRITTEN_OUT: Final = 2  # turns of a repetition with look-arounds that are written out


class Resolver:
    """Turns nodes into byte expressions for one encoder; memoized."""

    def __init__(self, encode: Encoder) -> None:
        self.encode = encode
        self.lowered: dict[Node, Expr] = {}
        self._memo: dict[tuple[Node, Before], Expr] = {}
        self._last: dict[Node, Ranges] = {}

    def lower(self, node: Node) -> Expr:
        return lower(node, self.encode, self.lowered)

    def whole(self, node: Node) -> Expr:
        """The texts that match from start to end."""
        return self.resolve(node, TEXT_BEGIN)

    def search(self, node: Node) -> Expr:
        """The texts that hold a match anywhere."""
        if not node.behinds:
            return self.resolve(seq(ALL, node, ALL), TEXT_BEGIN)
        at_start = self.resolve(seq(node, ALL), TEXT_BEGIN)
        later = self.resolve(seq(node, ALL), INSIDE)
        return ex.alt(at_start, ex.seq(self.lower(repeat(ANY, 1, None)), later))

    def resolve(self, node: Node, before: Before) -> Expr:
        """The rests of a text that match `node` to the end, at a place with this before it."""
        if node.plain:
            return self.lower(node)
        key = (node, before if node.behinds else TEXT_BEGIN)
        if key not in self._memo:
            self._memo[key] = self._resolve(*key)
        return self._memo[key]

    def _resolve(self, node: Node, before: Before) -> Expr:
        parts = node.args if node.kind == SEQ else (node,)
        first = next(i for i, part in enumerate(parts) if not part.plain)
        if first:
            head = seq(*parts[:first])
            return ex.seq(self.lower(head), self.resolve(seq(*parts[first:]), self._after(head, before)))
        item, rest = parts[0], seq(*parts[1:])
        if item.kind == LOOK:
            return self._look(item, rest, before)
        if item.kind == ALT:
            plain = [choice for choice in item.args if choice.plain]
            ways = [choice for choice in item.args if not choice.plain]
            if plain:
                ways.append(alt(*plain))
            return ex.alt(*(self.resolve(seq(way, rest), before) for way in ways))
        lo, hi = item.data
        if item.kind != REPEAT or hi is None or hi > MAX_WRITTEN_OUT:
            raise NeedsStates
        turn = self.resolve(seq(item.args[0], repeat(item.args[0], max(lo - 1, 0), hi - 1), rest), before)
        return turn if lo else ex.alt(turn, self.resolve(rest, before))

    def _look(self, item: Node, rest: Node, before: Before) -> Expr:
        (body,), (ahead, negative, _) = item.args, item.data
        if not ahead:
            return self.resolve(rest, before) if self._stands_before(body, before) != negative else ex.EMPTY
        after = self.resolve(rest, before)
        if body is ANY and negative:
            return ex.EPSILON if after.memo_nullable else ex.EMPTY
        if body.plain:
            wanted = ex.seq(self.lower(body), ex.ALL)
        else:
            wanted = self.resolve(seq(body, ALL), before)
        if not negative:
            return ex.both(wanted, after)
        if not body.plain and after.plain:
            wanted = _within(wanted, bytes_of(after))
        return ex.both(ex.neg(wanted), after)

    def _stands_before(self, body: Node, before: Before) -> bool:
        """Whether a look-behind of one character is fulfilled."""
        if body.kind != CHARS:
            raise NeedsStates
        common = intersect(body.data, before.last)
        if not common:
            return False
        if before.start or common != before.last:
            raise NeedsStates
        return True

    def _after(self, head: Node, before: Before) -> Before:
        """What may stand behind a plain node."""
        if head.min_width:
            return Before(False, self._last_characters(head))
        return Before(before.start, union([before.last, self._last_characters(head)]))

    def _last_characters(self, node: Node) -> Ranges:
        if node.kind == CHARS:
            ranges: Ranges = node.data
            return ranges
        if node not in self._last:
            found: list[Ranges] = []
            for arg in reversed(node.args):
                found.append(self._last_characters(arg))
                if node.kind == SEQ and arg.min_width:
                    break
            self._last[node] = union(found)
        return self._last[node]


def _within(node: Expr, alphabet: int) -> Expr:
    r"""What a node holds in the alphabet (256-bit mask). `if\b` is `if` among identifiers: finitely many words, which
    the automaton takes out of a frame cheaply (`exclusions`)."""

    def simplified(part: Expr) -> Expr:
        if part.kind == ex.K_ALT:
            return ex.alt(*map(simplified, part.args))
        if part.kind == ex.K_SEQ:
            return ex.seq(*map(simplified, ex.seq_parts(part)))
        if part.kind == ex.K_BOTH and part.memo_nullable and not any(is_live(after) for _, after in heads(part)):
            return ex.EPSILON
        return part

    return simplified(Projection(alphabet)(node))
