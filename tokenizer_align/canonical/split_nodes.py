"""Nodes of pre-tokenizers' patterns. A set of code points is kept as the text that names it in the pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Alternatives", "Behind", "Characters", "End", "Look", "Node", "Repeat", "Sequence", "may_be_empty"]


@dataclass(frozen=True, slots=True)
class Characters:
    """One code point out of a set, named by a regular expression that matches one code point."""

    name: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; nothing at all where `parts` is empty."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The first that leads to a match wins."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """`least` to `most` times (None: no bound); possessive: what was taken is never given back."""

    part: Node
    least: int
    most: int | None
    kind: Literal["greedy", "lazy", "possessive"]


@dataclass(frozen=True, slots=True)
class Look:
    """What follows begins, or does not begin, with a match of `part`; nothing is read."""

    part: Node
    negated: bool


@dataclass(frozen=True, slots=True)
class Behind:
    """The code point before is in one of the sets, or not, `negated`; `at_start` is what holds where there is none."""

    names: tuple[str, ...]
    at_start: bool
    negated: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """The end of the text."""


Node = Characters | Sequence | Alternatives | Repeat | Look | Behind | End


def may_be_empty(node: Node) -> bool:
    """Whether a match may read nothing."""
    if isinstance(node, Sequence):
        return all(map(may_be_empty, node.parts))
    if isinstance(node, Alternatives):
        return any(map(may_be_empty, node.parts))
    if isinstance(node, Repeat):
        return node.least == 0 or may_be_empty(node.part)
    return not isinstance(node, Characters)
