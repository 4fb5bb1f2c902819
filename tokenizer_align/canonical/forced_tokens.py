"""Whether a constraint can force a text to spell an added token that is no text.

The laws take for granted that behind a boundary of pre-tokens anything legal can be written canonically. That fails
where all legal texts spell such a token ("<|im_end|>" in an enum), so those constraints are searched to their ends.

A byte is *free* if every text can be completed without it: it is in no literal, no set of bytes holds free ones only,
and inside intersections and complements no set tells it from a byte that no token's content holds. A token that has a
free byte is never forced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..expressions import ALL_BYTES, K_BOTH, K_CALL, K_KEYS, K_LAZY, K_LIT, K_NEG, K_SET, K_UNIQUE, K_WORDS, Expr
from ..members import MemberSpec


def may_force(expr: Expr, contents: Sequence[bytes]) -> bool:
    """Whether some text may have no completion without one of the contents; it may say yes too often."""
    if not contents:
        return False
    candidates = _mask_of(b"".join(contents))
    outside = ~candidates & ALL_BYTES
    stand_in = outside & -outside
    for byte in b"~^%#@!?=":
        if outside >> byte & 1:
            stand_in = 1 << byte
            break
    free = candidates & ~_bound_bytes(expr, candidates, stand_in)
    return not all(_mask_of(content) & free for content in contents)


def _bound_bytes(expr: Expr, candidates: int, stand_in: int) -> int:
    """The candidates that are not free."""
    bound = 0
    seen: set[tuple[Expr, bool]] = set()
    work = [(expr, False)]
    while work:
        node, is_inside = item = work.pop()
        if item in seen:
            continue
        seen.add(item)
        kind = node.kind
        if kind == K_SET:
            if is_inside and node.data & candidates not in (0, candidates):
                bound |= candidates & (~node.data if node.data & stand_in else node.data)
            elif is_inside and bool(node.data & stand_in) != bool(node.data & candidates):
                bound |= candidates
            elif not node.data & ~candidates:
                bound |= node.data
        elif kind == K_LIT:
            bound |= _mask_of(node.data)
        elif kind == K_WORDS:
            source, first, last, depth = node.data
            bound |= _mask_of(b"".join(word[depth:] for word in source.items[first:last]))
        elif kind == K_CALL:
            work.append((node.data.body, is_inside))
        elif kind == K_KEYS:
            spec = node.data[0]
            bound |= _mask_of(b"".join(member.text for member in spec.members))
            work += ((part, is_inside) for part in _parts_of(spec))
        elif kind == K_UNIQUE:
            work += ((need.item, True) for need in node.data[1])
            work.append((node.args[0], is_inside))
        elif kind == K_LAZY:
            work.append((node.data.body, True))
        else:
            work += ((part, is_inside or kind in (K_BOTH, K_NEG)) for part in node.args)
    return bound


def _parts_of(spec: MemberSpec) -> Iterable[Expr]:
    yield from (spec.separator, spec.close)
    yield from (part for part in (spec.extra_key, spec.extra_rest) if part is not None)
    for kind in spec.classes:
        yield from (kind.key, kind.rest)
    for member in spec.members:
        yield member.rest
        yield from (other.rest for other in member.others)


def _mask_of(data: bytes) -> int:
    return sum(1 << byte for byte in set(data))
