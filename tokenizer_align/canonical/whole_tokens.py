"""Tokens that are written only as a whole pre-token (`ignore_merges`): looked up before anything is merged.

Merging never gives them, so inside a longer pre-token they do not occur, and a pre-token with just their bytes is never
spelled in pieces. The automaton gets a trie of them: where a pre-token begins, a run either takes the path of such a
token (*inside* states, at the end a *whole* one, behind which a boundary must follow), or goes on in pieces, remembers
the node, and finds no boundary where the pre-token so far is such a token. Nodes with equal futures are one state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tokenizer_align.canonical.added_splits import INSIDE, WHOLE
from tokenizer_align.canonical.transducers import Arcs
from tokenizer_align.canonical.utf8_arcs import ByteAutomaton

__all__ = ["with_whole_tokens"]


@dataclass(slots=True)
class _Node:
    children: dict[int, _Node] = field(default_factory=dict)
    is_token: bool = False


@dataclass(slots=True)
class _Path:
    """What is left of the trie in a state of the automaton: numbers of the states that remember it, -1 for none."""

    at: int
    is_token: bool
    children: dict[int, list[tuple[int, _Path]]]  # byte -> (state of the automaton, path)
    pieces: int = -1
    inside: int = -1
    whole: int = -1


def with_whole_tokens(automaton: ByteAutomaton, tokens: Iterable[bytes]) -> ByteAutomaton:
    """The automaton in which pre-tokens that are one of `tokens` lie on a path of their own."""
    root = _trie(tokens)
    result = ByteAutomaton(list(automaton.arcs), list(automaton.ends), list(automaton.tags))
    builder = _Builder(automaton, result)
    for state in range(len(automaton.arcs)):
        for byte, child in root.children.items():
            for bit, after in automaton.arcs[state].get(byte, ()):
                if bit and not automaton.tags[after]:
                    builder.add_path(after, byte, child)
    builder.link()
    return result


def _trie(tokens: Iterable[bytes]) -> _Node:
    root = _Node()
    for token in tokens:
        node = root
        for byte in token:
            node = node.children.setdefault(byte, _Node())
        node.is_token = True
    return root


class _Builder:
    def __init__(self, automaton: ByteAutomaton, result: ByteAutomaton) -> None:
        self._automaton, self._result = automaton, result
        self._paths: dict[tuple[int, int], _Path | None] = {}  # by state and id of the node
        self._equal: dict[tuple[object, ...], _Path] = {}
        self._entry: dict[tuple[int, int], _Path] = {}  # by the state after the first byte, and that byte
        self._whole: dict[int, int] = {}
        self._may_close = [
            end or any(bit for pairs in arcs.values() for bit, _ in pairs)
            for arcs, end in zip(automaton.arcs, automaton.ends, strict=True)
        ]

    def add_path(self, after: int, byte: int, child: _Node) -> None:
        """Let pre-tokens that begin with `byte`, into the state `after`, go along the trie."""
        path = self._path(after, child)
        if path is not None:
            self._entry[after, byte] = path

    def _path(self, state: int, node: _Node) -> _Path | None:
        """The path of a node in a state; None where no token can be completed. No recursion: tokens may be long."""
        waiting = [(state, node)]
        while waiting:
            at, here = waiting[-1]
            below = [
                (byte, after, child)
                for byte, child in here.children.items()
                for bit, after in self._automaton.arcs[at].get(byte, ())
                if not bit
            ]
            missing = [(after, child) for _, after, child in below if (after, id(child)) not in self._paths]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            children: dict[int, list[tuple[int, _Path]]] = {}
            for byte, after, child in below:
                path = self._paths[after, id(child)]
                if path is not None:
                    children.setdefault(byte, []).append((after, path))
            is_token = here.is_token and self._may_close[at]
            self._paths[at, id(here)] = self._shared(at, is_token, children) if children or is_token else None
        return self._paths[state, id(node)]

    def _shared(self, at: int, is_token: bool, children: dict[int, list[tuple[int, _Path]]]) -> _Path:
        name = (at, is_token, tuple((byte, q, id(path)) for byte, some in sorted(children.items()) for q, path in some))
        path = self._equal.get(name)
        if path is None:
            path = self._equal[name] = _Path(at, is_token, children)
            path.pieces = self._new(self._automaton.ends[at] and not is_token, 0)
            if children:
                path.inside = self._new(False, INSIDE)
            if is_token:
                if at not in self._whole:
                    self._whole[at] = self._new(self._automaton.ends[at], WHOLE)
                path.whole = self._whole[at]
        return path

    def _new(self, end: bool, tag: int) -> int:
        self._result.arcs.append({})
        self._result.ends.append(end)
        self._result.tags.append(tag)
        return len(self._result.arcs) - 1

    def link(self) -> None:
        """Set the arcs of all states."""
        arcs = self._result.arcs
        for state, row in enumerate(self._automaton.arcs):
            arcs[state] = {byte: tuple(self._entered(byte, pairs)) for byte, pairs in row.items()}
        for state, whole in self._whole.items():
            closed = {byte: tuple(pair for pair in pairs if pair[0]) for byte, pairs in arcs[state].items()}
            arcs[whole] = {byte: pairs for byte, pairs in closed.items() if pairs}
        for path in self._equal.values():
            row = {}
            for byte, pairs in arcs[path.at].items():
                on = dict(path.children.get(byte, ()))
                kept = [
                    (bit, on[after].pieces if not bit and after in on else after)
                    for bit, after in pairs
                    if not (bit and path.is_token)
                ]
                if kept:
                    row[byte] = tuple(kept)
            arcs[path.pieces] = row
            if path.children:
                arcs[path.inside] = {
                    byte: tuple((0, one) for _, below in some for one in (below.inside, below.whole) if one >= 0)
                    for byte, some in path.children.items()
                }

    def _entered(self, byte: int, pairs: Arcs) -> Iterator[tuple[int, int]]:
        for bit, after in pairs:
            path = self._entry.get((after, byte)) if bit else None
            if path is None:
                yield bit, after
            else:
                yield from ((bit, one) for one in (path.pieces, path.inside, path.whole) if one >= 0)
