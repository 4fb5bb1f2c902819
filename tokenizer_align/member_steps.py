"""Objects whose members do more than be counted: keys with variants, several kinds of undeclared keys, and duties.

A *duty* is a claim about some member ("a value under this key fails that schema"); it must be fulfilled before the end.
The bits of a state are: keys still open, then duties still to be done, then duties that an undeclared key fulfilled
(`KeyClass.collides`). What may come next is a list of `Step`s, kept only where the object can still be finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from .expressions import EMPTY, EPSILON, K_KEYS, Expr, intern_node, lit, seq
from .member_spec import MemberSpec, clip, frames_of, keys_below, walk_keys

Moves = list[tuple[int, tuple[Expr, ...]]]


class MadeOnDemand:
    """Parts of a clause that are made one by one: where one that holds some text is enough, mostly the first is."""

    __slots__ = ("_makers",)

    def __init__(self, makers: Sequence[Callable[[], Expr]]) -> None:
        self._makers = makers

    def __len__(self) -> int:
        return len(self._makers)

    def __iter__(self) -> Iterator[Expr]:
        return (make() for make in self._makers)


Clause = tuple[int, tuple[Expr, ...] | MadeOnDemand]  # how many of these expressions must hold some text


@dataclass(frozen=True, slots=True)
class Step:
    """One way to write a member: its declared key (`rank`, else -1) or class, what follows the key, the bits then."""

    rank: int
    index: int  # of the class
    rest: Expr
    bits: int


def is_done(spec: MemberSpec, bits: int, count: int) -> bool:
    """Whether the object may end here."""
    return not bits & (spec.required_keys | _duties(spec)) and count >= spec.lo


def _duties(spec: MemberSpec) -> int:
    return ((1 << spec.n_duties) - 1) << len(spec.members)


def _declared_steps(spec: MemberSpec, bits: int, rank: int) -> Iterator[Step]:
    """Ways to write an open declared key, whatever comes later."""
    member, n = spec.by_rank(rank), len(spec.members)
    rest = bits & ~(1 << rank)
    if spec.ordered:
        place = spec.order.index(rank)
        later = sum(1 << other for other in spec.order[place + 1 :])
        skipped = bits & ~later & ~(1 << rank) & ((1 << n) - 1)
        if skipped & spec.required_keys:
            return
        rest &= ~skipped
    if member.rest is not EMPTY:
        yield Step(rank, -1, member.rest, rest)
    for other in member.others:
        fulfilled = other.marks << n | other.marks << (n + spec.n_duties)
        yield Step(rank, -1, other.rest, rest & ~fulfilled)


def _class_steps(spec: MemberSpec, bits: int) -> Iterator[Step]:
    n = len(spec.members)
    keys = (1 << n) - 1
    if spec.ordered:
        if bits & spec.required_keys:
            return
        bits &= ~keys
    pending, guarded = bits >> n & ((1 << spec.n_duties) - 1), bits >> (n + spec.n_duties)
    for index, kind in enumerate(spec.classes):
        if not guarded & kind.collides & ~kind.marks:
            done = pending & kind.marks
            yield Step(-1, index, kind.rest, bits & ~(done << n) | done << (n + spec.n_duties))


def _all_steps(spec: MemberSpec, bits: int, count: int, is_live: bool) -> Iterator[Step]:
    """Every step that leaves the count in its bounds; where `is_live`, only of parts that hold some text."""
    if spec.hi is not None and count >= spec.hi:
        return
    for rank in spec.order:
        if bits >> rank & 1:
            yield from (step for step in _declared_steps(spec, bits, rank) if not is_live or _holds_text(spec, step))
    yield from (step for step in _class_steps(spec, bits) if not is_live or _holds_text(spec, step))


def _holds_text(spec: MemberSpec, step: Step) -> bool:
    from .productive import is_productive

    return is_productive(step.rest) and (step.rank >= 0 or is_productive(spec.classes[step.index].key))


def _after_bulk(spec: MemberSpec, bits: int, count: int) -> tuple[list[int], int, int]:
    """(required keys that can be written in one way only, bits and count once they are all written)."""
    if spec.ordered:
        return [], bits, count
    needed = bits & spec.required_keys
    bulk = [rank for rank in spec.order if needed >> rank & 1 and not spec.by_rank(rank).others]
    return bulk, bits & ~sum(1 << rank for rank in bulk), count + len(bulk)


def _useful_steps(spec: MemberSpec, bits: int, count: int, is_live: bool) -> Iterator[Step]:
    """Enough steps (after the bulk) to reach the end in every way that matters: each does what must be done."""
    pending, required = bits & _duties(spec), bits & spec.required_keys
    first_duty = pending & -pending
    first_key = 0 if spec.ordered else required & -required
    for step in _all_steps(spec, bits, count, is_live):
        key = 1 << step.rank if step.rank >= 0 else 0
        if spec.ordered:
            is_useful = bool(key & required or pending & ~step.bits) or count < spec.lo
        elif first_key:
            is_useful = key == first_key
        else:
            is_useful = bool(first_duty & ~step.bits) if pending else count < spec.lo
        if is_useful:
            yield step


def can_finish(spec: MemberSpec, bits: int, count: int, is_live: bool = False) -> bool:
    """Whether some members bring the object to its end, if every part (that `is_live`) holds some text."""
    bulk, bits, count = _after_bulk(spec, bits, count)
    if spec.hi is not None and count > spec.hi:
        return False
    key = ("can finish", bits, clip(spec, count), tuple(bulk) if is_live else ())
    found = spec.memo.get((is_live, key))
    if found is None:
        found = not is_live or all(_holds_text(spec, Step(rank, -1, spec.by_rank(rank).rest, 0)) for rank in bulk)
        if found and not is_done(spec, bits, count):
            ways = _useful_steps(spec, bits, count, is_live)
            found = any(can_finish(spec, step.bits, count + 1, is_live) for step in ways)
        spec.memo[is_live, key] = found
    return bool(found)


def steps(spec: MemberSpec, bits: int, count: int, is_live: bool = False) -> tuple[Step, ...]:
    """What may come next, by counting keys and duties."""
    key = ("steps", bits, clip(spec, count), is_live)
    found: tuple[Step, ...] | None = spec.memo.get(key)
    if found is None:
        ways = _all_steps(spec, bits, count, is_live)
        found = tuple(step for step in ways if can_finish(spec, step.bits, count + 1, is_live))
        spec.memo[key] = found
    return found


def may_go_on(spec: MemberSpec, bits: int, count: int) -> bool:
    """Whether any member may come next, as `steps` says; without all of them where the first one will do."""
    key = ("may go on", bits, clip(spec, count))
    found = spec.memo.get(key)
    if found is None:
        ways = _all_steps(spec, bits, count, is_live=False)
        found = spec.memo[key] = any(can_finish(spec, step.bits, count + 1) for step in ways)
    return bool(found)


def live_steps(spec: MemberSpec, bits: int, count: int) -> tuple[Step, ...]:
    """Those after which the object can be completed: counting decides, over the parts that hold some text."""
    from .productive import is_productive

    if not is_productive(spec.close):
        return ()
    if is_productive(spec.separator):
        return steps(spec, bits, count, is_live=True)
    return tuple(step for step in steps(spec, bits, count, is_live=True) if is_done(spec, step.bits, count + 1))


def frames_after(spec: MemberSpec, step: Step, count: int) -> tuple[Expr, ...]:
    """The frames after the key of a step."""
    from .members import after_member

    return frames_of(step.rest, after_member(spec, step.bits, count + 1))


def allowed_keys(spec: MemberSpec, bits: int, count: int) -> int:
    """Bits of the declared keys that may be written next."""
    result = 0
    for step in steps(spec, bits, count):
        if step.rank >= 0:
            result |= 1 << step.rank
    return result


def class_state(spec: MemberSpec, index: int, position: int) -> Expr:
    """What is left of the keys of a class after the bytes on the way to a node of the key trie."""
    key = ("class", index)
    found = spec.memo.get(key)
    if found is None:
        found = spec.memo[key] = walk_keys(spec, spec.classes[index].key)
    state: Expr = found.get(position, EMPTY)
    return state


def key_moves(node: Expr) -> Moves:
    """Moves of a K_KEYS node, as `moves.moves` gives them.

    Undeclared keys go their own ways from the first byte on; a declared one does where no other begins like it.
    """
    from .derivatives import heads, is_live

    spec, bits, count, position = node.data
    possible = live_steps(spec, bits, count)
    result: Moves = []
    for byte, child in spec.nodes[position].children.items():
        target = spec.nodes[child]
        ranks = {step.rank for step in possible if target.lo <= step.rank < target.hi}
        if len(ranks) == 1:
            rest = spec.by_rank(ranks.pop()).text[target.depth :]
            below = [frames_after(spec, step, count) for step in possible if target.lo <= step.rank < target.hi]
            result += [(1 << byte, (lit(rest), *frames) if rest else frames) for frames in below]
        elif ranks:
            result.append((1 << byte, _to_fork(spec, bits, count, child, min(ranks), max(ranks))))
    for step in possible if position == 0 else ():
        if step.rank < 0:
            below_class = frames_after(spec, step, count)
            for mask, after in heads(spec.classes[step.index].key):
                if is_live(after):
                    result.append((mask, below_class if after is EPSILON else (after, *below_class)))
    for _, frames in result:
        for frame in frames:
            frame.memo_productive = True  # counting has decided it; by clauses it would take a search
    return result


def _to_fork(spec: MemberSpec, bits: int, count: int, position: int, first: int, last: int) -> tuple[Expr, ...]:
    """The frames inside keys of which these are the first and last that may come: what they have in common in one go,
    not byte by byte, then the place where they part."""
    texts = spec.by_rank(first).text, spec.by_rank(last).text
    start = depth = spec.nodes[position].depth
    while texts[0][depth] == texts[1][depth]:  # no key begins another
        position = spec.nodes[position].children[texts[0][depth]]
        depth += 1
    fork = intern_node(K_KEYS, (), (spec, bits, count, position))
    return frames_of(lit(texts[0][start:depth]), fork)


def clauses(node: Expr) -> list[Clause]:
    """For productivity: the members can be completed exactly if every clause holds."""
    from .derivatives import is_live

    spec, bits, count, position = node.data
    if position:
        keys = keys_below(spec.nodes[position])
        ways = [
            partial(_all_after, spec, step, count)
            for step in steps(spec, bits, count)
            if (keys >> step.rank & 1 if step.rank >= 0 else is_live(class_state(spec, step.index, position)))
        ]
        return [(1, MadeOnDemand(ways))]
    bulk, bits, count = _after_bulk(spec, bits, count)
    needed = tuple(spec.by_rank(rank).rest for rank in bulk)
    if bulk and is_done(spec, bits, count):
        fixed: tuple[Expr, ...] = (spec.close, spec.separator) if len(bulk) > 1 else (spec.close,)
        return [(len(fixed), fixed), (len(needed), needed)]
    fixed = (spec.separator,) if bulk else ()
    is_end = is_done(spec, bits, count)
    choices = steps(spec, bits, count) if is_end else _finishing(spec, bits, count)
    ways = [
        partial(_all_before, step.rest, spec.close) if is_end else partial(_all_after, spec, step, count)
        for step in choices
        if step.rank >= 0 or is_live(spec.classes[step.index].key)
    ]
    return [(len(fixed), fixed), (len(needed), needed), (1, MadeOnDemand(ways))]


def _all_after(spec: MemberSpec, step: Step, count: int) -> Expr:
    return seq(*frames_after(spec, step, count))


def _all_before(rest: Expr, close: Expr) -> Expr:
    return seq(*frames_of(rest, close))


def _finishing(spec: MemberSpec, bits: int, count: int) -> list[Step]:
    return [step for step in _useful_steps(spec, bits, count, False) if can_finish(spec, step.bits, count + 1)]


Texts = Iterable[bytes | None]


def shortest(
    node: Expr, text_of: Callable[[Expr], bytes | None], best: Callable[[Texts], bytes | None]
) -> bytes | None:
    """The shortest text of a K_KEYS node, by `text_of` for its parts; None where there is none (yet)."""
    spec, bits, count, position = node.data
    if position:
        keys, depth = keys_below(spec.nodes[position]), spec.nodes[position].depth
        found = (
            _text(spec, step, count, text_of, depth, position)
            for step in steps(spec, bits, count)
            if step.rank < 0 or keys >> step.rank & 1
        )
        return best(found)
    bulk, bits, count = _after_bulk(spec, bits, count)
    members = [(spec.by_rank(rank).text, text_of(spec.by_rank(rank).rest)) for rank in bulk]
    separator = text_of(spec.separator) if len(bulk) > 1 or not is_done(spec, bits, count) else b""
    if bulk and is_done(spec, bits, count):
        last = text_of(spec.close)
    else:
        is_end = is_done(spec, bits, count)
        choices = steps(spec, bits, count) if is_end else _finishing(spec, bits, count)
        last = best(_text(spec, step, count, text_of, 0, 0) for step in choices)
        if bulk and last is not None and separator is not None:
            last = separator + last
    if last is None or (separator is None and len(bulk) > 1) or any(rest is None for _, rest in members):
        return None
    return (separator or b"").join(text + rest for text, rest in members if rest is not None) + last


def _text(
    spec: MemberSpec, step: Step, count: int, text_of: Callable[[Expr], bytes | None], depth: int, position: int
) -> bytes | None:
    """A member from inside its key on, and the shortest end of the object after it."""
    if step.rank >= 0:
        key: bytes | None = spec.by_rank(step.rank).text[depth:]
    else:
        key = text_of(class_state(spec, step.index, position))
    is_end = not position and not depth and is_done(spec, step.bits, count + 1)
    frames = frames_of(step.rest, spec.close) if is_end else frames_after(spec, step, count)
    parts = [key, *(text_of(frame) for frame in frames)]
    return None if None in parts else b"".join(part for part in parts if part is not None)
