r"""Where a pattern looks past the edge of the text that it matches: look-arounds, anchors and word boundaries.

A regex in a grammar is matched for itself; what stands before or behind it belongs to other terminals and is not seen.
An assertion with nothing between itself and the edge on the side that it looks at would ask about that, and is refused.
One inside sees the terminal's own text only, which is worth a note where it can look further than that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from .pattern_nodes import ALT, COND, GROUP, LOOK, REF, REPEAT, SEQ, Node, alt, conditional, group, look, repeat, seq

ANCHORS: Final = ("^", "$", "\\A", "\\Z", "\\b", "\\B")


class Edge(NamedTuple):
    """An assertion that looks past an edge: `side` ahead or behind, `at` the edge itself or near it."""

    position: int
    side: Literal["ahead", "behind"]
    is_refused: bool


def placed(node: Node, position: int) -> Node:
    """The node with this position in all look-arounds that have none."""
    if node.plain:
        return node
    args = [placed(arg, position) for arg in node.args]
    if node.kind == LOOK:
        ahead, negative, known = node.data
        return look(args[0], ahead=ahead, negative=negative, position=known or position)
    if node.kind in (SEQ, ALT):
        return (seq if node.kind == SEQ else alt)(*args)
    if node.kind == REPEAT:
        return repeat(args[0], *node.data)
    if node.kind == GROUP:
        return group(args[0], node.data)
    if node.kind == COND:
        return conditional(node.data[0], args[0], args[1], node.data[1])
    assert node.kind == REF
    return node


def edges(node: Node, pattern: str) -> list[Edge]:
    """All assertions of a node without groups that look past its edges, one a position, in the pattern's order."""
    found: dict[int, Edge] = {}
    for edge in _edges(node, pattern, 0, 0, inside=False):
        if edge.position not in found or edge.is_refused > found[edge.position].is_refused:
            found[edge.position] = edge
    return [found[position] for position in sorted(found)]


def _edges(node: Node, pattern: str, before: int, after: int, *, inside: bool) -> Iterator[Edge]:
    """`before`, `after`: the fewest characters between the node and the edges; `inside`: of a look-ahead."""
    if node.plain:
        return
    if node.kind == LOOK:
        ahead, _, position = node.data
        body, width = node.args[0], after if ahead else before
        reach, is_anchor = _reach(body), pattern.startswith(("$", "\\Z"), position)
        if ahead and inside:
            if is_anchor:  # the end of the terminal, where a lexer would take the end of the text
                yield Edge(position, "ahead", False)
        elif width == 0:
            yield Edge(position, "ahead" if ahead else "behind", True)
        elif (reach is None or reach > width) and (is_anchor or not _ends_itself(body)):
            yield Edge(position, "ahead" if ahead else "behind", is_anchor)
        if ahead:
            yield from _edges(body, pattern, before, 0, inside=True)
        return
    parts = node.args
    if node.kind == SEQ:
        for at, part in enumerate(parts):
            earlier, later = (sum(other.min_width for other in others) for others in (parts[:at], parts[at + 1 :]))
            yield from _edges(part, pattern, before + earlier, after + later, inside=inside)
    else:
        for part in parts:
            yield from _edges(part, pattern, before, after, inside=inside)


def _reach(body: Node) -> int | None:
    """How many characters a look-around may look at; None: without bound."""
    if body.plain:
        return body.max_width
    reaches = [_reach(arg) for arg in body.args]
    known = [reach for reach in reaches if reach is not None]
    if len(known) < len(reaches):
        return None
    if body.kind == SEQ:
        return sum(known)
    if body.kind == REPEAT:
        return None if body.data[1] is None else known[0] * int(body.data[1])
    return max(known)


def _ends_itself(body: Node) -> bool:
    r"""Whether a look-ahead says itself where its text ends, as `(?!(?:if|else)\b)` does: it asks about whole words."""
    if body.kind == LOOK:
        return bool(body.data[0])
    if body.kind == SEQ:
        return bool(body.args) and _ends_itself(body.args[-1])
    return body.kind == ALT and all(_ends_itself(arg) for arg in body.args)
