"""Members of a JSON-like object whose keys may come in any order, each at most once.

A `MemberSpec` says which keys exist, what follows each, what other keys may look like, and how members are separated
and closed. A K_KEYS node is "a member must come now, with these keys still open": (spec, open keys as bits, members so
far, position in the key trie). So n keys need no 2^n states up front: a set of open keys exists once a text reached it.
"""

from __future__ import annotations

from functools import partial

from . import member_steps
from .expressions import EMPTY, EPSILON, K_BOTH, K_KEYS, Expr, alt, both_unchecked, intern_node, neg, seq, words
from .member_spec import KeyClass, Member, MemberSpec, Variant, clip, frames_of, keys_below, walk_keys
from .member_steps import Clause, MadeOnDemand

Moves = list[tuple[int, tuple[Expr, ...]]]


def start_members(spec: MemberSpec) -> Expr:
    """At least one member, then the rest of the object with its closing bracket."""
    return keys_node(spec, spec.all_keys, 0)


def may_be_empty(spec: MemberSpec) -> bool:
    """Whether an object without members is allowed."""
    return spec.lo == 0 and not spec.required_keys and not spec.n_duties


def keys_node(spec: MemberSpec, open_keys: int, count: int, position: int = 0) -> Expr:
    """A member must come now; `position` is the node reached in the key trie."""
    if spec.is_plain:
        if not allowed_keys(spec, open_keys, count) and not extra_allowed(spec, open_keys, count):
            return EMPTY
    elif not member_steps.may_go_on(spec, open_keys, count):
        return EMPTY
    return intern_node(K_KEYS, (), (spec, open_keys, clip(spec, count), position))


def _declared_after(spec: MemberSpec, rank: int) -> int:
    """Bits of the keys declared after the one with this rank."""
    place = spec.order.index(rank)
    return sum(1 << other for other in spec.order[place + 1 :])


def open_after(spec: MemberSpec, open_keys: int, rank: int) -> int:
    """Which keys stay open once the key with this rank was written; beyond the ranks: an undeclared key."""
    if rank >= len(spec.members):
        return 0 if spec.ordered else open_keys
    rest = open_keys & ~(1 << rank)
    return rest & _declared_after(spec, rank) if spec.ordered else rest


def _fits(spec: MemberSpec, open_after: int, count: int) -> bool:
    """Whether the object can still be finished after `count` members with these keys left open."""
    required = (open_after & spec.required_keys).bit_count()
    if spec.hi is not None and count + required > spec.hi:
        return False
    return spec.extra_key is not None or count + open_after.bit_count() >= spec.lo


def allowed_keys(spec: MemberSpec, open_keys: int, count: int) -> int:
    """Bits of the declared keys that may be written next."""
    if not spec.is_plain:
        return member_steps.allowed_keys(spec, open_keys, count)
    if not spec.ordered and spec.hi is None and spec.lo <= 1:
        return open_keys
    result, required = 0, open_keys & spec.required_keys
    for rank in spec.order:
        if open_keys >> rank & 1:
            after = open_after(spec, open_keys, rank)
            skipped = required & ~after & ~(1 << rank)
            if not skipped and _fits(spec, after, count + 1):
                result |= 1 << rank
    return result


def extra_allowed(spec: MemberSpec, open_keys: int, count: int) -> bool:
    """Whether a member with an undeclared key may be written next."""
    if spec.extra_key is None:
        return False
    if spec.ordered and open_keys & spec.required_keys:
        return False
    return _fits(spec, open_keys, count + 1)


def after_member(spec: MemberSpec, open_keys: int, count: int) -> Expr:
    """What may follow a member: the separator and one more, or the end of the object."""
    more = seq(spec.separator, keys_node(spec, open_keys, count))
    return alt(more, spec.close) if is_done(spec, open_keys, count) else more


def is_done(spec: MemberSpec, open_keys: int, count: int) -> bool:
    """Whether the object may end after so many members, with these keys left open."""
    if spec.n_duties:
        return member_steps.is_done(spec, open_keys, count)
    return not open_keys & spec.required_keys and count >= spec.lo


def after_key(spec: MemberSpec, open_keys: int, count: int, rank: int) -> tuple[Expr, ...]:
    """The frames after the key with this rank was written in full."""
    member = spec.by_rank(rank)
    return frames_of(member.rest, after_member(spec, open_after(spec, open_keys, rank), count + 1))


def after_extra(spec: MemberSpec, open_keys: int, count: int) -> tuple[Expr, ...]:
    """The frames after an undeclared key was written in full."""
    assert spec.extra_rest is not None
    return frames_of(spec.extra_rest, after_member(spec, open_after(spec, open_keys, len(spec.members)), count + 1))


def extra_state(spec: MemberSpec, position: int) -> Expr:
    """The undeclared key's expression after the bytes on the way to this node of the key trie."""
    if not spec.extra_states:
        assert spec.extra_key is not None
        spec.extra_states.update(walk_keys(spec, spec.extra_key))
    return spec.extra_states.get(position, EMPTY)


def plain_extra_state(spec: MemberSpec, position: int) -> Expr:
    """The same where the expression may also spell declared keys, which the key trie decides.

    So objects with other declared keys share it, and its masks.
    """
    if position == 0:
        return _without_exclusion(spec)
    if not spec.plain_states:
        assert spec.extra_key is not None
        spec.plain_states.update(walk_keys(spec, _without_exclusion(spec)))
    return spec.plain_states.get(position, EMPTY)


def inside_keys(spec: MemberSpec) -> Expr | None:
    """The one state of undeclared keys at all places inside declared ones, where that is easily told.

    So it is where a key may go on in any way after its first byte, as in JSON, and no declared key has a byte that does
    otherwise (an escape, say). Finitely many declared keys never exhaust what may follow.
    """
    if "inside" not in spec.memo:
        spec.memo["inside"] = _inside_keys(spec)
    found: Expr | None = spec.memo["inside"]
    return found


def _inside_keys(spec: MemberSpec) -> Expr | None:
    from .derivatives import heads

    whole = _without_exclusion(spec)
    firsts = {member.text[0] for member in spec.members}
    if len(firsts) != 1 or not whole.plain:
        return None
    first = firsts.pop()
    inside = next((after for mask, after in heads(whole) if mask >> first & 1), EMPTY)
    own = next((mask for mask, after in heads(inside) if after is inside), 0)
    used = set(b"".join(member.text[1:-1] for member in spec.members))
    return inside if used and all(own >> byte & 1 for byte in used) else None


def may_be_extra(spec: MemberSpec, position: int) -> bool:
    """Whether some undeclared key begins with the bytes on the way to this node of the key trie."""
    from .derivatives import is_live

    if inside_keys(spec) is not None:
        return spec.nodes[position].ends < 0
    return is_live(extra_state(spec, position))


def _without_exclusion(spec: MemberSpec) -> Expr:
    assert spec.extra_key is not None
    declared = neg(words(member.text for member in spec.members))
    parts = spec.extra_key.args if spec.extra_key.kind == K_BOTH else ()
    if declared not in parts:
        return spec.extra_key
    return both_unchecked(*(part for part in parts if part is not declared))


def is_whole(spec: MemberSpec) -> bool:
    """Whether every part of the specification holds some text: then counting keys tells what can be completed."""
    from .productive import is_productive

    if not spec.whole:
        parts = [member.rest for member in spec.members] + [spec.separator, spec.close]
        if spec.extra_key is not None and spec.extra_rest is not None:
            parts += [spec.extra_key, spec.extra_rest]
        spec.whole.append(all(is_productive(part) for part in parts))
    return spec.whole[0]


def open_ways(spec: MemberSpec, open_keys: int, count: int) -> tuple[int, bool]:
    """(bits of the declared keys that may come next, whether an undeclared one may): only what can be completed."""
    from .productive import is_productive

    allowed, extra = allowed_keys(spec, open_keys, count), extra_allowed(spec, open_keys, count)
    if is_whole(spec):
        return allowed, extra
    for rank in range(len(spec.members)):
        if allowed >> rank & 1 and not all(map(is_productive, after_key(spec, open_keys, count, rank))):
            allowed &= ~(1 << rank)
    if extra and spec.extra_key is not None:
        extra = is_productive(spec.extra_key) and all(map(is_productive, after_extra(spec, open_keys, count)))
    return allowed, extra


def key_moves(node: Expr) -> Moves:
    """Moves of a K_KEYS node, as `moves.moves` gives them."""
    from .derivatives import heads, is_live

    spec, open_keys, count, position = node.data
    if not spec.is_plain:
        return member_steps.key_moves(node)
    here = spec.nodes[position]
    allowed, extra = open_ways(spec, open_keys, count)
    result: Moves = []
    listed = 0
    for byte, child in here.children.items():
        listed |= 1 << byte
        target = spec.nodes[child]
        if target.ends >= 0:
            if allowed >> target.ends & 1:
                result.append((1 << byte, after_key(spec, open_keys, count, target.ends)))
        elif allowed & keys_below(target) or (extra and may_be_extra(spec, child)):
            result.append((1 << byte, (intern_node(K_KEYS, (), (spec, open_keys, clip(spec, count), child)),)))
    if extra:
        below = after_extra(spec, open_keys, count)
        # Behind a byte that begins no declared key the ones with and without declared keys are one.
        inside = inside_keys(spec)
        rest = extra_state(spec, position) if inside is None else inside if position else plain_extra_state(spec, 0)
        for mask, after in heads(rest):
            if mask & ~listed and is_live(after):
                result.append((mask & ~listed, below if after is EPSILON else (after, *below)))
    return result


def clauses(node: Expr) -> list[Clause]:
    """For productivity: the members can be completed exactly if every clause holds."""
    from .derivatives import is_live

    spec, open_keys, count, position = node.data
    if not spec.is_plain:
        return member_steps.clauses(node)
    with_extra = spec.extra_key is not None and spec.extra_rest is not None and is_live(spec.extra_key)
    if position:
        allowed = allowed_keys(spec, open_keys, count) & keys_below(spec.nodes[position])
        ways = [partial(_all_after_key, node, rank) for rank in range(len(spec.members)) if allowed >> rank & 1]
        if with_extra and extra_allowed(spec, open_keys, count) and may_be_extra(spec, position):
            ways.append(partial(_all_after_key, node, len(spec.members)))
        return [(1, MadeOnDemand(ways))]
    required = open_keys & spec.required_keys
    needed = [member.rest for rank, member in spec.ranked if required >> rank & 1]
    missing = max(max(spec.lo - count, 1) - len(needed), 0)
    if spec.hi is not None and count + len(needed) + missing > spec.hi:
        return [(1, ())]
    pool = [member.rest for rank, member in spec.ranked if (open_keys & ~required) >> rank & 1]
    if with_extra and spec.extra_rest is not None:
        pool += [spec.extra_rest] * missing
    fixed = [spec.close, spec.separator] if len(needed) + missing > 1 else [spec.close]
    return [(len(fixed), tuple(fixed)), (len(needed), tuple(needed)), (missing, tuple(pool))]


def _all_after_key(node: Expr, rank: int) -> Expr:
    """All that follows a key in one; beyond the ranks: an undeclared one."""
    spec, open_keys, count, _ = node.data
    if rank < len(spec.members):
        return seq(*after_key(spec, open_keys, count, rank))
    return seq(*after_extra(spec, open_keys, count))


__all__ = [
    "KeyClass",
    "Member",
    "MemberSpec",
    "Variant",
    "after_extra",
    "after_key",
    "after_member",
    "allowed_keys",
    "clauses",
    "extra_allowed",
    "extra_state",
    "inside_keys",
    "is_done",
    "is_whole",
    "key_moves",
    "keys_node",
    "may_be_empty",
    "open_after",
    "open_ways",
    "plain_extra_state",
    "start_members",
]
