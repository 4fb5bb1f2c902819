"""A name for a call-free expression that is the same in every process: SHA-256 over its structure.

Alternatives and intersections are named by their parts' sorted names, since the order of the parts themselves depends
on what was built before. States that a front end builds as it goes (`LazyState`) have no name.
"""

from __future__ import annotations

import hashlib

from .expressions import K_ALT, K_BOTH, K_LAZY, K_LIT, K_SEQ, K_SET, K_WORDS, Expr, seq_parts

MAX_NODES = 50_000  # a larger expression is not worth a name
MAX_NAMES = 1 << 16

_names: dict[int, bytes] = {}  # by the node's uid, which is never given again: states of one constraint share parts


def fingerprint(node: Expr) -> bytes | None:
    """32 bytes, equal for equal expressions in all processes; None where there is none."""
    found = _names.get(node.uid)
    if found is not None:
        return found
    known: dict[Expr, bytes] = {}
    work = [node]
    while work:
        here = work[-1]
        if here in known:
            work.pop()
            continue
        found = _names.get(here.uid)
        if found is not None:
            known[work.pop()] = found
            continue
        if here.has_call or here.kind == K_LAZY or len(known) + len(work) > MAX_NODES:
            return None
        parts = seq_parts(here) if here.kind == K_SEQ else here.args
        waiting = [part for part in parts if part not in known]
        work += waiting
        if not waiting:
            names = [known[part] for part in parts]
            if here.kind in (K_ALT, K_BOTH):
                names.sort()
            content = f"{here.kind} {len(names)} ".encode() + _own(here)
            known[here] = hashlib.sha256(content + b"".join(names)).digest()
            work.pop()
    if len(_names) > MAX_NAMES:
        _names.clear()
    _names.update((one.uid, name) for one, name in known.items())
    return known[node]


def _own(node: Expr) -> bytes:
    """What a node holds besides its parts."""
    if node.kind == K_SET:
        return node.data.to_bytes(32, "little")  # type: ignore[no-any-return]
    if node.kind == K_LIT:
        return bytes(node.data)
    if node.kind == K_WORDS:
        source, first, last, depth = node.data
        rests = [word[depth:] for word in source.items[first:last]]
        return b"".join(len(rest).to_bytes(4, "little") + rest for rest in rests)
    return repr(node.data).encode()  # bounds of a repetition, or None
