"""The plain-Python twin of tokenizer_align.trie.build_trie: a tree of dicts, walked in preorder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["SlowNode", "slow_preorder"]


@dataclass
class SlowNode:
    """A node of the tree: byte and depth on the way in, ids that end here, one past its subtree in preorder."""

    byte: int = 0
    depth: int = 0
    ids: list[int] = field(default_factory=list)
    end: int = 0
    children: dict[int, SlowNode] = field(default_factory=dict)


def slow_preorder(token_bytes: Sequence[bytes | None]) -> list[SlowNode]:
    """All nodes in preorder, the root first; None and empty tokens are left out."""
    root = SlowNode()
    for i, data in enumerate(token_bytes):
        if not data:
            continue
        node = root
        for byte in data:
            node = node.children.setdefault(byte, SlowNode(byte, node.depth + 1))
        node.ids.append(i)
    nodes: list[SlowNode] = []

    def walk(node: SlowNode) -> None:
        nodes.append(node)
        for byte in sorted(node.children):
            walk(node.children[byte])
        node.end = len(nodes)

    walk(root)
    return nodes
