"""Programs of a backtracking machine: a pattern's node as instructions, in the order in which a match is tried.

As in Thompson's and Pike's machines (Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009): a thread
is a place in the program, `Fork` makes two of which the first is preferred. A possessive repetition of one character
needs no machinery of its own: it stops only where such a character does not follow, which is a look ahead.
"""

from __future__ import annotations

from dataclasses import dataclass

from tokenizer_align.canonical.split_nodes import (
    Alternatives,
    Behind,
    Characters,
    End,
    Look,
    Node,
    Repeat,
    Sequence,
    may_be_empty,
)
from tokenizer_align.errors import VocabularyError

__all__ = ["Fork", "Glance", "Instruction", "Jump", "Match", "Program", "Read", "Scan", "compile_program"]

_MAX_INSTRUCTIONS = 20_000


@dataclass(frozen=True, slots=True)
class Read:
    """Read one code point of a set and go on with the next instruction."""

    name: str


@dataclass(frozen=True, slots=True)
class Fork:
    """Go on at both places; the first is preferred."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Jump:
    """Go on elsewhere."""

    to: int


@dataclass(frozen=True, slots=True)
class Glance:
    """Go on if the next code point is in one of the sets (or the text ends, where `at_end`), or if not, `negated`."""

    names: tuple[str, ...]
    at_end: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class Scan:
    """Go on if a match of the program at `body` begins here, or if none does, where `negated`."""

    body: int
    negated: bool


@dataclass(frozen=True, slots=True)
class Match:
    """The end of the program."""


Instruction = Read | Fork | Jump | Glance | Behind | Scan | Match


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions; a match is tried from the first one on."""

    instructions: tuple[Instruction, ...]

    def set_names(self) -> tuple[str, ...]:
        """The sets of code points that the program asks for, each once."""
        names: dict[str, None] = {}
        for one in self.instructions:
            if isinstance(one, Read):
                names[one.name] = None
            elif isinstance(one, Glance | Behind):
                names.update(dict.fromkeys(one.names))
        return tuple(names)


def compile_program(node: Node) -> Program:
    """The program of a pattern.

    Raises:
        VocabularyError: a repetition of what may be empty, or a pattern too long.
    """
    compiler = _Compiler()
    compiler.emit(node)
    compiler.add(Match())
    for at, body in compiler.bodies:  # bodies of looks lie behind the program
        fixed = compiler.code[at]
        assert isinstance(fixed, Scan)
        compiler.code[at] = Scan(len(compiler.code), fixed.negated)
        compiler.emit(body)
        compiler.add(Match())
    return Program(tuple(compiler.code))


class _Compiler:
    def __init__(self) -> None:
        self.code: list[Instruction] = []
        self.bodies: list[tuple[int, Node]] = []  # grows while it is worked off: looks within looks

    def add(self, instruction: Instruction) -> int:
        if len(self.code) >= _MAX_INSTRUCTIONS:
            raise VocabularyError(f"the pre-tokenizer's pattern needs more than {_MAX_INSTRUCTIONS} instructions")
        self.code.append(instruction)
        return len(self.code) - 1

    def emit(self, node: Node) -> None:
        if isinstance(node, Characters):
            self.add(Read(node.name))
        elif isinstance(node, Sequence):
            for part in node.parts:
                self.emit(part)
        elif isinstance(node, Alternatives):
            self._alternatives(node.parts)
        elif isinstance(node, Repeat):
            self._repeat(node)
        elif isinstance(node, Behind):
            self.add(node)
        else:
            self._look(node)

    def _alternatives(self, parts: tuple[Node, ...]) -> None:
        leaves = []
        for part in parts[:-1]:
            fork = self.add(Match())
            self.emit(part)
            leaves.append(self.add(Match()))
            self.code[fork] = Fork(fork + 1, len(self.code))
        self.emit(parts[-1])
        for leave in leaves:
            self.code[leave] = Jump(len(self.code))

    def _repeat(self, node: Repeat) -> None:
        if node.most != 1 and may_be_empty(node.part):
            raise VocabularyError("the pre-tokenizer's pattern repeats what may be empty, which is not supported")
        for _ in range(node.least):
            self.emit(node.part)
        if node.most is None:
            fork = self.add(Match())
            self.emit(node.part)
            self.add(Jump(fork))
            self._leave(node, [fork])
        else:
            forks = []
            for _ in range(node.most - node.least):
                forks.append(self.add(Match()))
                self.emit(node.part)
            self._leave(node, forks)

    def _leave(self, node: Repeat, forks: list[int]) -> None:
        """Settle forks that either go on with the instruction behind them or leave for the present end."""
        end = len(self.code)
        if node.kind == "possessive" and forks:
            assert isinstance(node.part, Characters)
            # Who has taken all that it may goes past the glance.
            full = self.add(Match())
            end = self.add(Glance((node.part.name,), at_end=False, negated=True))
            self.code[full] = Jump(len(self.code))
        for fork in forks:
            more = fork + 1
            self.code[fork] = Fork(end, more) if node.kind == "lazy" else Fork(more, end)

    def _look(self, node: Look | End) -> None:
        if isinstance(node, End):
            self.add(Glance((), at_end=True, negated=False))
            return
        names, at_end = _one_step(node.part)
        if names is not None:
            self.add(Glance(names, at_end, node.negated))
        else:
            self.bodies.append((self.add(Scan(-1, node.negated)), node.part))


def _one_step(node: Node) -> tuple[tuple[str, ...] | None, bool]:
    """(sets, whether the end will do) of a look that the next code point decides; (None, False) of any other."""
    if isinstance(node, Characters):
        return (node.name,), False
    if isinstance(node, End):
        return (), True
    if isinstance(node, Sequence) and len(node.parts) == 1:
        return _one_step(node.parts[0])
    if isinstance(node, Alternatives):
        names: list[str] = []
        at_end = False
        for part in node.parts:
            some, end = _one_step(part)
            if some is None:
                return None, False
            names += some
            at_end |= end
        return tuple(names), at_end
    return None, False
