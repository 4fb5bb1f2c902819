"""What the members of a JSON-like object may be: declared keys, kinds of undeclared ones, counts and duties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .expressions import EMPTY, EPSILON, Expr


@dataclass(frozen=True, slots=True)
class Variant:
    """Another way to go on after a key; `marks`: the duties (bits) that a member so written fulfils."""

    rest: Expr
    marks: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    """One declared key. `text`: the key as written, both quotes included, no key text a prefix of another."""

    text: bytes
    rest: Expr  # what follows the key text: colon, blanks, value
    required: bool = False
    others: tuple[Variant, ...] = ()  # beside `rest`, which fulfils no duty; several may fit one text


@dataclass(frozen=True, slots=True)
class KeyClass:
    """Members with undeclared keys of one kind; `key` as `MemberSpec.extra_key`. Classes may share keys.

    `collides`: the duties that, once an undeclared key fulfilled them, only members that fulfil them too may follow:
    the same key could come again, and its last value counts.
    """

    key: Expr
    rest: Expr
    marks: int = 0
    collides: int = 0


class KeyNode(NamedTuple):
    """A node of the key trie: children by byte, the interval of (sorted) keys below it, the key ending here or -1."""

    children: dict[int, int]
    lo: int
    hi: int
    ends: int
    depth: int  # bytes on the way here


class ContentKey:
    """Nested tuples of plain values that are compared often: the hash is computed once."""

    __slots__ = ("_hash", "_value")

    def __init__(self, value: object) -> None:
        self._value, self._hash = value, hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, ContentKey) and self._hash == other._hash and self._value == other._value


def _named(part: object) -> object:
    """A part of a specification with its expressions' uids in their stead."""
    if isinstance(part, Expr):
        return part.uid
    if isinstance(part, tuple):
        return tuple(_named(item) for item in part)
    if isinstance(part, Member):
        return (part.text, part.rest.uid, part.required, _named(part.others) if part.others else ())
    if isinstance(part, KeyClass | Variant):
        return tuple(_named(getattr(part, name)) for name in part.__slots__)
    return part


@dataclass(frozen=True, eq=False)
class MemberSpec:
    """The members of an object after its opening bracket.

    `extra_key` (call-free, quotes included) and `extra_rest`: members with keys that are not declared; their text must
    not spell a declared key otherwise than as in `Member.text`. `separator`: between members. `close`: blanks and
    closing bracket after the last member. `lo`, `hi`: bounds of the number of members. `ordered`: declared keys in
    their order. `classes`: undeclared keys of several kinds, in place of `extra_key`. `n_duties`: each must be done
    by some member before the end. Objects with either, or with variants, are stepped by `member_steps`.
    """

    members: tuple[Member, ...]  # in declared order
    separator: Expr
    close: Expr
    extra_key: Expr | None = None
    extra_rest: Expr | None = None
    lo: int = 0
    hi: int | None = None
    ordered: bool = False
    classes: tuple[KeyClass, ...] = ()
    n_duties: int = 0
    extra_states: dict[int, Expr] = field(default_factory=dict, repr=False)
    plain_states: dict[int, Expr] = field(default_factory=dict, repr=False)
    order: list[int] = field(default_factory=list, repr=False)  # declared -> sorted index
    ranked: list[tuple[int, Member]] = field(default_factory=list, repr=False)

    named: list[ContentKey] = field(default_factory=list, repr=False)
    whole: list[bool] = field(default_factory=list, repr=False)
    memo: dict[object, Any] = field(default_factory=dict, repr=False)  # of `member_steps`

    @property
    def key(self) -> ContentKey:
        """The content by name: equal for equal specifications, and it keeps nothing alive."""
        return self.named[0]

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, MemberSpec) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __post_init__(self) -> None:
        fixed = (self.separator, self.close, self.extra_key, self.extra_rest)
        numbers = (self.lo, self.hi, self.ordered, self.n_duties)
        self.named.append(ContentKey((_named(self.members), _named(fixed), numbers, _named(self.classes))))
        texts = [member.text for member in self.members]
        if len(set(texts)) != len(texts):
            raise ValueError("a key is declared twice")
        ranks = {text: rank for rank, text in enumerate(sorted(texts))}
        self.order.extend([ranks[text] for text in texts])
        by_text = dict(zip(texts, self.members, strict=True))
        self.ranked.extend([(rank, by_text[text]) for text, rank in ranks.items()])

    @property
    def nodes(self) -> list[KeyNode]:
        """The key trie, a node before its children; made when a text is read, or where the answer needs it."""
        found: list[KeyNode] | None = self.memo.get("nodes")
        if found is None:
            found = self.memo["nodes"] = _trie_nodes([member.text for _, member in self.ranked])
        return found

    def by_rank(self, rank: int) -> Member:
        """The member with this place in the sorted order (bits of `open_keys` count in that order)."""
        return self.ranked[rank][1]

    @property
    def is_plain(self) -> bool:
        """Whether counting keys is all there is to it."""
        found = self.memo.get("plain")
        if found is None:
            has_variants = any(member.others for member in self.members)
            found = self.memo["plain"] = not (self.classes or self.n_duties or has_variants)
        return bool(found)

    @property
    def all_keys(self) -> int:
        """The bits of an object that begins: every key is open, and every duty (above the keys) is still to be done."""
        return (1 << (len(self.members) + self.n_duties)) - 1

    @property
    def required_keys(self) -> int:
        found = self.memo.get("required")
        if found is None:
            required = (1 << rank for rank, member in zip(self.order, self.members, strict=True) if member.required)
            found = self.memo["required"] = sum(required)
        return int(found)


def _trie_nodes(texts: list[bytes]) -> list[KeyNode]:
    """The key trie of sorted texts."""
    nodes: list[KeyNode] = []
    work = [(0, len(texts), 0, -1, 0)]
    while work:
        lo, hi, depth, parent, byte = work.pop()
        index = len(nodes)
        if parent >= 0:
            nodes[parent].children[byte] = index
        if hi - lo == 1:  # one key is left: its bytes one after the other
            text = texts[lo]
            for at in range(depth, len(text)):
                index += 1
                nodes.append(KeyNode({text[at]: index}, lo, hi, -1, at))
            nodes.append(KeyNode({}, lo, hi, lo, len(text)))
            continue
        nodes.append(KeyNode({}, lo, hi, -1, depth))
        start = lo
        while start < hi:
            byte, end = texts[start][depth], start
            while end < hi and texts[end][depth] == byte:
                end += 1
            work.append((start, end, depth + 1, index, byte))
            start = end
    return nodes


def keys_below(node: KeyNode) -> int:
    """Bits of the keys below a node of the key trie."""
    return (1 << node.hi) - (1 << node.lo)


def clip(spec: MemberSpec, count: int) -> int:
    """Counts above every bound are alike."""
    limit = spec.lo if spec.hi is None else spec.hi
    return min(count, limit)


def frames_of(*parts: Expr) -> tuple[Expr, ...]:
    return tuple(part for part in parts if part is not EPSILON)


def walk_keys(spec: MemberSpec, state: Expr) -> dict[int, Expr]:
    """The expression of undeclared keys after the bytes on the way to each node of the key trie."""
    from .derivatives import heads

    states: dict[int, Expr] = {}
    work = [(0, state)]
    while work:
        place, here = work.pop()
        states[place] = here
        pairs = heads(here)
        for byte, child in spec.nodes[place].children.items():
            after = next((after for mask, after in pairs if mask >> byte & 1), EMPTY)
            work.append((child, after))
    return states
