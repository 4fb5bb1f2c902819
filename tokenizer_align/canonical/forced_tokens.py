"""Whether a constraint can force a text to spell an added token that is no text.

The laws take for granted that behind a boundary of pre-tokens anything legal can be written canonically. That fails
where all legal texts spell such a token ("<|im_end|>" in an enum), so those constraints are searched to their ends.

A byte is *free* if every text can be completed without it: it is in no literal, no set of bytes holds free ones only,
and it can give way to a byte that no token's content holds, the *stand-in*: inside intersections every set that holds
it holds the stand-in too, and inside complements no set tells the two apart. A token that has a free byte is never
forced. Nor is one with two neighbouring bytes that a completion without free bytes never has side by side: they are in
no literal, and the first ends none or the second begins none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..expressions import ALL_BYTES, K_BOTH, K_CALL, K_KEYS, K_LAZY, K_LIT, K_NEG, K_SET, K_UNIQUE, K_WORDS, Expr
from ..members import MemberSpec


def may_force(expr: Expr, contents: Sequence[bytes]) -> bool:
    """Whether some text may have no completion without one of the contents; it may say yes too often."""
    if not contents:
        return False
    candidates, left = _mask_of(b"".join(contents)), list(contents)
    for choices in (
        b"~^%#@!?=",
        b"zqxjkvZQXJKV",
    ):  # where one stand-in does not show that nothing is forced, a letter may
        stand_in = next((1 << byte for byte in choices if not candidates >> byte & 1), 0)
        bound = _Bound(candidates, stand_in or ~candidates & ALL_BYTES & -(~candidates & ALL_BYTES))
        bound.read(expr)
        left = [content for content in left if bound.holds(content)]
        if not left:
            return False
    return True


_ALONE, _IN_BOTH, _IN_COMPLEMENT = 0, 1, 2  # what a part stands in


class _Bound:
    """The candidates that are not free, and how they may stand side by side.

    firsts, lasts: those that may begin and end what is written as one (256-bit masks); pairs: two bytes within one.
    """

    def __init__(self, candidates: int, stand_in: int) -> None:
        self.candidates, self.stand_in = candidates, stand_in
        self.bytes = self.firsts = self.lasts = 0
        self.pairs: set[bytes] = set()

    def holds(self, content: bytes) -> bool:
        """Whether a completion without free bytes may spell this content."""
        return not _mask_of(content) & ~self.bytes and all(
            content[i : i + 2] in self.pairs or (self.lasts >> content[i] & 1 and self.firsts >> content[i + 1] & 1)
            for i in range(len(content) - 1)
        )

    def add_set(self, mask: int) -> None:
        self.bytes |= mask
        self.firsts |= mask
        self.lasts |= mask

    def add_text(self, text: bytes) -> None:
        # Where two parts must hold, or one must not, a byte that one text alone asks for precedes that text's next.
        if text:
            self.bytes |= _mask_of(text)
            self.firsts |= 1 << text[0]
            self.lasts |= 1 << text[-1]
            self.pairs.update(text[i : i + 2] for i in range(len(text) - 1))

    def read(self, expr: Expr) -> None:
        """Enter all parts of an expression."""
        seen: set[tuple[Expr, int]] = set()
        work = [(expr, _ALONE)]
        while work:
            node, inside = item = work.pop()
            if item in seen:
                continue
            seen.add(item)
            kind = node.kind
            if kind == K_SET:
                self._read_set(node.data, inside)
            elif kind == K_LIT:
                self.add_text(node.data)
            elif kind == K_WORDS:
                source, first, last, depth = node.data
                for word in source.items[first:last]:
                    self.add_text(word[depth:])
            elif kind == K_CALL:
                work.append((node.data.body, inside))
            elif kind == K_KEYS:
                spec = node.data[0]
                for member in spec.members:
                    self.add_text(member.text)
                work += ((part, inside) for part in _parts_of(spec))
            elif kind == K_UNIQUE:
                work += ((need.item, _IN_COMPLEMENT) for need in node.data[1])
                work.append((node.args[0], inside))
            elif kind == K_LAZY:
                work.append((node.data.body, _IN_COMPLEMENT))
            else:
                inside = max(inside, _IN_BOTH if kind == K_BOTH else _IN_COMPLEMENT if kind == K_NEG else _ALONE)
                work += ((part, inside) for part in node.args)

    def _read_set(self, data: int, inside: int) -> None:
        candidates, stand_in = self.candidates, self.stand_in
        if inside == _ALONE:
            if not data & ~candidates:
                self.add_set(data)
        elif not data & stand_in:
            self.add_set(candidates & data)
        elif inside == _IN_COMPLEMENT:
            self.add_set(candidates & ~data)


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
