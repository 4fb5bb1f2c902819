r"""Anchors, word boundaries, possessive quantifiers and atomic groups as look-arounds.

`^` is "no character before", `$` is "no character after" (in Python also "a newline and then none"), `\b` is one look
to each side. What a possessive quantifier takes is what a look-ahead forbids to go on with, as long as each turn can
match in one length only. So later steps know two operators in place of a dozen.
"""

from __future__ import annotations

import sys

from tokenizer_align.expressions import EMPTY as EMPTY_EXPR
from tokenizer_align.expressions import both
from tokenizer_align.utf8 import code_points, complement

from .char_classes import NEWLINE, Ranges
from .pattern_nodes import (
    ALL,
    ALT,
    ANY,
    EPSILON,
    GROUP,
    REF,
    REPEAT,
    SEQ,
    Node,
    alt,
    chars,
    contains_kind,
    look,
    lower,
    repeat,
    seq,
)

TEXT_START = look(ANY, ahead=False, negative=True)
TEXT_END = look(ANY, ahead=True, negative=True)
# `$` of Python without MULTILINE: at the end, or before a newline at the end.
PYTHON_END = alt(TEXT_END, look(seq(chars(NEWLINE), TEXT_END), ahead=True, negative=False))


def line_start(line_ends: Ranges) -> Node:
    """`^` under MULTILINE: at the start or after a line end."""
    return look(chars(complement(line_ends)), ahead=False, negative=True)


def line_end(line_ends: Ranges) -> Node:
    """`$` under MULTILINE: at the end or before a line end."""
    return look(chars(complement(line_ends)), ahead=True, negative=True)


def word_boundary(word: Ranges) -> Node:
    r"""`\b`: a word character on exactly one side."""
    inside = chars(word)
    before, not_before = (look(inside, ahead=False, negative=negative) for negative in (False, True))
    after, not_after = (look(inside, ahead=True, negative=negative) for negative in (False, True))
    return alt(seq(before, not_after), seq(not_before, after))


def no_word_boundary(word: Ranges, *, in_empty_text: bool) -> Node:
    r"""`\B`; before Python 3.14 it does not match in an empty text."""
    inside, outside = chars(word), chars(complement(word))
    after, not_after = (look(inside, ahead=True, negative=negative) for negative in (False, True))
    both_inside = seq(look(inside, ahead=False, negative=False), after)
    if in_empty_text:
        return alt(both_inside, seq(look(inside, ahead=False, negative=True), not_after))
    return alt(
        both_inside,
        seq(look(outside, ahead=False, negative=False), not_after),
        seq(TEXT_START, look(outside, ahead=True, negative=False)),
    )


PYTHON_B_IN_EMPTY_TEXT = sys.version_info >= (3, 14)


def possessive(item: Node, lo: int, hi: int | None) -> Node | None:
    """`item` repeated, giving nothing back. None where one turn can match in several lengths."""
    bare = without_groups(item)
    if bare is None or bare.min_width != bare.max_width or bare.min_width == 0:
        return None
    stop = look(bare, ahead=True, negative=True)
    if hi is None:
        return seq(repeat(item, lo, None), stop)
    if lo == hi:
        return repeat(item, lo, hi)
    return alt(seq(repeat(item, lo, hi - 1), stop), repeat(item, hi, hi))


def atomic(branches: list[Node], *, lazy: bool) -> Node | None:
    """An atomic group of these alternatives in order; `lazy`: it holds a lazy quantifier. None where not
    expressible."""
    bare = [without_groups(branch) for branch in branches]
    known = [branch for branch in bare if branch is not None]
    if len(known) < len(bare):
        return None
    if len(branches) == 1 and branches[0].kind == REPEAT and not lazy:
        made = possessive(branches[0].args[0], *branches[0].data)
        if made is not None:
            return made
    if all(branch.plain for branch in known) and _prefix_free(alt(*known)):
        return alt(*branches)
    if any(branch.min_width != branch.max_width for branch in known):
        return None
    result = []
    for i, branch in enumerate(branches):
        earlier = [look(known[k], ahead=True, negative=True) for k in range(i)]
        result.append(seq(*earlier, branch))
    return alt(*result)


def _prefix_free(node: Node) -> bool:
    """Whether no text of the node begins with another one, so that at most one length matches anywhere."""
    if node.min_width == node.max_width:
        return True
    shorter = lower(seq(node, ANY, ALL), code_points, {})
    return both(lower(node, code_points, {}), shorter) is EMPTY_EXPR


def without_groups(node: Node) -> Node | None:
    """The node with groups replaced by their bodies; None where it refers to a group."""
    if not node.has_groups:
        return node
    if node.kind > GROUP or any(True for _ in contains_kind(node, REF)):
        return None
    args = [without_groups(arg) for arg in node.args]
    found = [arg for arg in args if arg is not None]
    if len(found) < len(args):
        return None
    if node.kind == GROUP:
        return found[0]
    if node.kind == REPEAT:
        return repeat(found[0], *node.data)
    if node.kind in (SEQ, ALT):
        return (seq if node.kind == SEQ else alt)(*found) if found else EPSILON
    ahead, negative, position = node.data
    return look(found[0], ahead=ahead, negative=negative, position=position)
