"""Plain-Python twins of the kernels that the laws of tokenization add; see `plain_kernels`."""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference import plain_kernels as plain
from tokenizer_align import kernels as k
from tokenizer_align.engine import Heads
from tokenizer_align.tables import Tables


def unread(tables: Tables, code: int, sets: Sequence[int], knows_literals: bool = False) -> set[int] | None:
    """The sets of bytes (256-bit masks) of which a state reads none; None for ends, inside a character, and for
    literals unless these count as what they read."""
    is_row = 0 < code < k.LIT_BASE and tables.state_kind.array[code] in (k.ROW, k.KEYS)
    if code < k.KEY_BASE and not is_row and not (knows_literals and code >= k.LIT_BASE):
        return None
    live = plain.live_bytes(tables, ((code, -1),))
    if any(live >> byte & 1 for byte in range(0x80, 0xC0)):
        return None
    return {i for i, one in enumerate(sets) if not live & one}


def walk_narrow(
    tables: Tables,
    heads: Heads,
    texts: Sequence[bytes | None],
    sets: Sequence[int],
    behind: Sequence[set[int]],
    knows_literals: bool = False,
) -> set[int]:
    """The tokens that can be read whole, and behind each head of which one of their sets is unread, one by one; not
    those behind which some head goes on with the middle of a character alone.

    behind: the sets of each token; knows_literals: see `unread`.
    """
    found = set()
    for token, text in enumerate(texts):
        after = plain.run_bytes(tables, heads, text) if text else []
        left = [unread(tables, code, sets, knows_literals) for code, _ in after]
        lives = [plain.live_bytes(tables, (head,)) for head in after]
        is_inside = any(live and all(0x80 <= byte < 0xC0 for byte in range(256) if live >> byte & 1) for live in lives)
        if after and not is_inside and all(one is None or one & behind[token] for one in left):
            found.add(token)
    return found


def heads_below(tables: Tables, stack: int) -> set[plain.Head]:
    """The closed heads when the frame above some stacks has ended."""
    below = [
        (k.ACCEPT, -1) if member < 0 else (int(tables.cell_state[member]), int(tables.cell_parent[member]))
        for member in plain.members(tables, stack)
    ]
    return set(plain.close_heads(tables, below))


def end_groups(
    tables: Tables, heads: Heads, tokens: Sequence[int], texts: Sequence[bytes | None]
) -> list[tuple[frozenset[plain.Head], int, bool] | None]:
    """Per token: (heads behind it, the bytes that may come next, whether the text may end); None: cannot be read."""
    found: list[tuple[frozenset[plain.Head], int, bool] | None] = []
    for token in tokens:
        after = plain.run_bytes(tables, heads, texts[token] or b"")
        live = plain.live_bytes(tables, tuple(after))
        found.append((frozenset(after), live, (k.ACCEPT, -1) in after) if after else None)
    return found


def narrow_keys(tables: Tables, code: int, texts: Sequence[bytes | None]) -> set[int]:
    """The tokens that read the beginning of a declared key from a place in an object's keys, and those that read on
    behind a whole one, or behind what no key that may still come begins with."""
    index, start = (code - k.KEY_BASE) >> k.KEY_SHIFT, (code - k.KEY_BASE) & ((1 << k.KEY_SHIFT) - 1)
    root, bits, n_words, extra = tables.instances.row(index).tolist()[:4]
    allowed = sum(int(tables.key_bits.array[bits + i]) << (64 * i) for i in range(n_words))
    found = set()
    for token, text in enumerate(texts):
        node, goes_on = root + start, True
        for byte in text or b"":
            node = int(tables.key_child.array[node])
            while node >= 0 and tables.key_byte.array[node] != byte:
                node = int(tables.key_sibling.array[node])
            if node < 0:
                break
            is_open = allowed & ((1 << int(tables.key_hi.array[node])) - (1 << int(tables.key_lo.array[node])))
            goes_on = bool(is_open or (extra and tables.key_extra.array[node] >= 0)) and tables.key_ends.array[node] < 0
            if not goes_on:
                break
        if text and node >= 0:
            found.add(token)
    return found


def below_keys(tables: Tables, code: int, stack: int) -> set[plain.Head]:
    """The closed heads behind an undeclared key."""
    _, _, _, _, after, _, n_keys, _ = tables.instances.row((code - k.KEY_BASE) >> k.KEY_SHIFT).tolist()
    return set(plain.close_heads(tables, [(after + n_keys, stack)]))
