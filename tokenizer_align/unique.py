"""Arrays whose items must differ and objects whose keys must differ, where their values are too many to be listed.

Which items came is no state of the automaton: it runs the array as if items might repeat. A *tracked* node only leaves
an anchor on the stack, a frame of its own that reads the closing bracket, so that it is known which arrays are open.
Beside the stack, one `Level` for every anchor knows the values that came and what was read of the next (`unique_runs`
for masks, `recognizer` for whole texts); where an item ends with a value that came, the text is not legal.

Where that leaves a choice at all: an item is completed to another value as long as there is one (by search), and there
are enough values for those items that must still come (`Need`, checked when the node is made).
"""

from __future__ import annotations

from dataclasses import dataclass

from .derivatives import heads, is_live
from .errors import TooComplex
from .expressions import EMPTY, EPSILON, K_ANCHOR, K_CALL, K_KEYS, K_UNIQUE, Expr, intern_node
from .partial_json import OBJECT_START, START, Partial, Value, read_on, repeats_key, still_possible

OPENING, CLOSING = {"array": 0x5B, "object": 0x7B}, {"array": 0x5D, "object": 0x7D}
MAX_COUNTED = 20_000  # states looked at to see that there are enough texts
MAX_LOOKED_AT = 5_000  # nodes of a constraint searched for tracked ones
_some_exist: list[bool] = []  # filled with the first tracked node: without one nothing is looked for
_BLANK = frozenset(b" \t\r\n")


@dataclass(frozen=True, slots=True)
class Need:
    """At least `n` different strings of `item`, a call-free node, must exist, and some text of `around`.

    `around` is what such strings stand in, or beside: where that holds nothing, there are no such items.
    """

    item: Expr
    n: int
    around: Expr = EPSILON


def tracked(kind: str, body: Expr, needs: tuple[Need, ...] = ()) -> Expr:
    """An "array" (or "object"): its bracket, `body`, and the closing bracket, without equal items (keys)."""
    if body is EMPTY or not all(holds_at_least(need.item, need.n) for need in needs):
        return EMPTY
    if not _some_exist:
        _some_exist.append(True)
    return intern_node(K_UNIQUE, (body,), (kind, needs))


def holds_tracked(expr: Expr) -> bool:
    """Whether a constraint may hold a tracked node; where it is large, it is taken to hold one."""
    from .member_spec import MemberSpec

    found, work = {expr}, [expr] if _some_exist else []
    while work:
        node = work.pop()
        if node.kind == K_UNIQUE or len(found) > MAX_LOOKED_AT:
            return True
        parts: tuple[Expr, ...] = node.args
        if node.kind == K_CALL:
            parts = (node.data.body,)
        elif node.kind == K_KEYS:
            spec: MemberSpec = node.data[0]
            rests = [rest for m in spec.members for rest in (m.rest, *(other.rest for other in m.others))]
            parts = (*rests, *(kind.rest for kind in spec.classes), spec.separator, spec.close)
            parts = (*parts, spec.extra_rest) if spec.extra_rest is not None else parts
        for part in parts:
            if part.has_call and part not in found:
                found.add(part)
                work.append(part)
    return False


def anchor(kind: str) -> Expr:
    """The closing bracket of a tracked array or object."""
    return intern_node(K_ANCHOR, (), kind)


def tracked_moves(node: Expr) -> list[tuple[int, tuple[Expr, ...]]]:
    """Moves of both kinds of nodes, as `moves.moves` gives them."""
    if node.kind == K_ANCHOR:
        return [(1 << CLOSING[node.data], ())]
    kind, body = node.data[0], node.args[0]
    return [(1 << OPENING[kind], (anchor(kind),) if body is EPSILON else (body, anchor(kind)))]


def holds_at_least(item: Expr, n: int) -> bool:
    """Whether a call-free node holds at least `n` strings: by counting the ways through its states, by length."""
    if n <= 1:
        return is_live(item)
    level: dict[Expr, int] = {item: 1}
    found, left = 0, MAX_COUNTED
    while level:
        found += sum(ways for node, ways in level.items() if node.memo_nullable)
        if found >= n:
            return True
        left -= len(level)
        if left < 0:
            raise TooComplex(f"whether there are {n:,} different items is too hard to decide")
        following: dict[Expr, int] = {}
        for node, ways in level.items():
            for mask, after in heads(node):
                if is_live(after):
                    following[after] = min(following.get(after, 0) + ways * mask.bit_count(), n)
        level = following
    return False


@dataclass(frozen=True, slots=True)
class Level:
    """One open array or object. `used`: its values so far; `item`: what was read of the next one, None between items.

    `rivals`: the values of `used` that the item may still turn out to have; `is_due`: an item may or must come next.
    """

    used: frozenset[Value]
    item: Partial | None
    rivals: tuple[Value, ...] = ()
    is_due: bool = True

    @property
    def is_at_risk(self) -> bool:
        """Whether the item that runs or comes next may turn out to be one that came."""
        if self.item is None:
            return self.is_due and bool(self.used)
        return bool(self.rivals) or repeats_key(self.item)


_STARTS = {"array": Level(frozenset(), None), "object": Level(frozenset(), OBJECT_START)}


def first_level(kind: str) -> Level:
    """What is known behind the opening bracket."""
    return _STARTS[kind]


def read_level(level: Level, data: bytes) -> Level | None:
    """The level after more bytes, None where something came twice; what follows its own closing bracket is not read."""
    after = read_values(level, data)
    if after is None or after.item is None:
        return after
    is_new = level.item is None or after.used is not level.used
    rivals = still_possible(after.item, tuple(after.used) if is_new else level.rivals)
    return Level(after.used, after.item, rivals, after.is_due)


def read_values(level: Level, data: bytes) -> Level | None:
    """The same without rivals: enough to see what came twice, at a cost that does not grow with what came before."""
    used, item, is_due = level.used, level.item, level.is_due
    at, n = 0, len(data)
    while at < n:
        if item is None:
            byte = data[at]
            if byte in _BLANK or byte == 0x2C:
                at, is_due = at + 1, is_due or byte == 0x2C
                continue
            if byte == 0x5D:
                break
            item = START
        after = read_on(item, data, at)
        if isinstance(after, Partial):
            item = after
            break
        if after.value is None or after.value in used:
            return None
        used, item, is_due, at = used | {after.value}, None, False, after.at
    return Level(used, item, (), is_due)
