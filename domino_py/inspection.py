"""`inspect(constraint, after)`: what a constraint allows at the start of a text or after some of it, without a model.

The constraint runs over a vocabulary of the 256 bytes, so what it says of bytes is exact for every kind of constraint;
of a compiled constraint, or with a tokenizer, it also says which tokens are legal there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from domino_py.arguments import as_constraint
from domino_py.constraints.base import Constraint
from domino_py.constraints.check import check
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.errors import InvalidOption, Problem
from tokenizer_align.expressions import Expr
from tokenizer_align.lengths import lengths
from tokenizer_align.matcher import Matcher
from tokenizer_align.readings import without_calls
from tokenizer_align.vocabulary import Vocabulary
from tokenizer_align.warm_up import warm_up

_MAX_SHOWN = 100  # characters of a text
_MAX_TOKENS = 12  # tokens that are shown


@dataclass(frozen=True, slots=True, repr=False)
class Inspection:
    """What a constraint allows after a text; `print` shows it.

    n_legal_bytes: how many bytes of `after` may begin a legal text; where it is fewer than all, the rest speaks of the
    place behind those. next_bytes: the bytes that may follow, ascending. forced: what must follow (at most 512 bytes).
    completion: the shortest rest of a legal text. shortest_n_bytes, longest_n_bytes: of whole texts; the longest is an
    upper bound, None where there is none or it is not known. n_states: of the automaton, as far as it was built.
    n_legal_tokens, tokens: how many tokens may follow, and the first of them by id; None without a tokenizer.
    """

    constraint: str
    parts: tuple[tuple[str, str], ...]
    after: str
    n_legal_bytes: int
    is_complete: bool
    next_bytes: bytes
    forced: str
    completion: str
    shortest_n_bytes: int
    longest_n_bytes: int | None
    n_states: int
    problems: tuple[Problem, ...]
    n_legal_tokens: int | None = None
    tokens: tuple[tuple[int, bytes], ...] = ()

    @property
    def is_legal(self) -> bool:
        """Whether the whole of `after` may begin a legal text."""
        return self.n_legal_bytes == len(self.after.encode("utf-8", "surrogatepass"))

    def __str__(self) -> str:
        shown = list(lines_of(self))
        width = max(len(name) for name, _ in shown)
        return "\n".join(f"{name:<{width}}  {value}".replace("\n", "\n" + " " * (width + 2)) for name, value in shown)

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(style="bold", no_wrap=True)
        table.add_column()
        styles = {"error": "bold red", "warning": "yellow", "not legal": "bold red"}
        for name, value in lines_of(self):
            table.add_row(name, Text(value, styles.get(name, "")))
        return table


def inspect(constraint: Any, after: str = "", *, tokenizer: Any = None) -> Inspection:
    """What a constraint, type, schema dict or compiled constraint allows after the text `after`.

    Raises InvalidOption for what is none of these, and what compiling raises.

    >>> from domino_py.constraints.regex import regex
    >>> seen = inspect(regex("[0-9]{4}-[0-9]{2}"), "1815")
    >>> seen.forced, seen.completion, seen.is_complete
    ('-', '-00', False)
    """
    if not isinstance(after, str):
        raise InvalidOption("after", f"after is the text so far, a str, not {type(after).__name__}.")
    compiled, made = (constraint, None) if isinstance(constraint, Compiled) else (None, as_constraint(constraint))
    if compiled is None and made is None:
        raise InvalidOption("constraint", "inspect needs a constraint; free text (None) allows everything.")
    if compiled is None and made is not None and tokenizer is not None:
        from domino_py.chat import settle
        from domino_py.compilation import compile

        made = settle(made, tokenizer)
        compiled = compile(made, tokenizer)
    expr = made.expression if made is not None else compiled.expr if compiled is not None else None
    assert expr is not None
    warm_up(laws=False)
    matcher = Compiled(expr, _bytes(), Engine(_bytes())).matcher()  # an engine of its own: its states are counted
    shortest_n_bytes = len(matcher.shortest_completion())
    n_legal = _read(matcher, after.encode("utf-8", "surrogatepass"))
    n_tokens, tokens = (None, ()) if compiled is None else _tokens(compiled, matcher.text_bytes())
    return Inspection(
        constraint="compiled constraint" if made is None else _title(made),
        parts=() if made is None else tuple((place, _title(part)) for place, part in _parts(made)),
        after=after,
        n_legal_bytes=n_legal,
        is_complete=matcher.is_complete(),
        next_bytes=bytes(token for token in matcher.compiled.ids(matcher.mask()) if token < 256),
        forced=matcher.forced_bytes().decode("utf-8", "replace"),
        completion=matcher.shortest_completion().decode("utf-8", "replace"),
        shortest_n_bytes=shortest_n_bytes,
        longest_n_bytes=_longest(expr),
        n_states=matcher.compiled.counters()["states"],
        problems=() if made is None else tuple(check(made)),
        n_legal_tokens=n_tokens,
        tokens=tokens,
    )


@lru_cache(maxsize=1)
def _bytes() -> Vocabulary:
    """A vocabulary of the 256 bytes and an end: token b is byte b."""
    return Vocabulary.from_bytes([*(bytes([byte]) for byte in range(256)), None], eos_token_ids=[256])


def _read(matcher: Matcher, data: bytes) -> int:
    """Read bytes as long as they are legal; how many were."""
    for at, byte in enumerate(data):
        if not matcher.accepts(byte):
            return at
        matcher.advance(byte)
    return len(data)


def _tokens(compiled: Compiled, data: bytes) -> tuple[int | None, tuple[tuple[int, bytes], ...]]:
    """How many tokens are legal behind these bytes in the tokenizer's own tokens, and the first few; None where that
    is not known."""
    vocabulary = compiled.vocabulary
    matcher = compiled.matcher()
    if data and vocabulary.encode is None:
        return None, ()
    for token in vocabulary.encode(data.decode("utf-8", "replace")) if data and vocabulary.encode else ():
        if not matcher.accepts(token):
            return None, ()
        matcher.advance(token)
    ids = [token for token in compiled.ids(matcher.mask()) if token not in compiled.eos_token_ids]
    return len(ids), tuple((token, vocabulary.token_bytes[token] or b"") for token in ids[:_MAX_TOKENS])


def _longest(expr: Expr) -> int | None:
    plain = without_calls(expr)
    return None if plain is None else lengths(plain)[1]


def _parts(constraint: Constraint) -> Iterator[tuple[str, Constraint]]:
    """The parts of a combined constraint, each with its place."""
    from domino_py.constraints.findings import KINDS, named_parts

    if constraint.kind in KINDS:
        yield from ((place or "part", part) for place, part in named_parts(constraint))


def _title(constraint: Constraint) -> str:
    """A constraint in one line: its kind, and what it was made from as far as that is short."""
    if constraint.kind == "type" and constraint.extra is not None:
        return _cut(f"type {getattr(constraint.extra, '__name__', repr(constraint.extra))}")
    source = constraint.source[0] if constraint.kind == "template" else constraint.source
    if constraint.kind == "repeat":
        return f"repeat from {source[1]} to {'any number' if source[2] is None else source[2]} times"
    if constraint.kind in ("sequence", "alternatives", "select"):
        return f"{constraint.kind} of {len(source)} parts"
    if constraint.kind == "choice":
        return _cut(f"choice {', '.join(map(repr, source))}")
    return _cut(f"{constraint.kind} {source}") if isinstance(source, str) else constraint.kind


def _cut(text: str) -> str:
    text = text.replace("\n", "⏎")
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def lines_of(seen: Inspection) -> Iterator[tuple[str, str]]:
    """(name, value) of everything that is known, in reading order."""
    yield "constraint", seen.constraint
    yield from ((f"  {place}", title) for place, title in seen.parts)
    upper = "" if seen.longest_n_bytes is None else f", at most {seen.longest_n_bytes:,}"
    yield "size", f"texts of at least {seen.shortest_n_bytes:,} bytes{upper}; {seen.n_states:,} states built"
    if seen.after:
        yield "after", _quoted(seen.after)
    if not seen.is_legal:
        data = seen.after.encode("utf-8", "surrogatepass")
        read, wrong = data[: seen.n_legal_bytes], data[seen.n_legal_bytes :].decode("utf-8", "replace")
        place = f"from byte {len(read)} on ({_quoted(wrong)}); what follows is about the place before it"
        yield "not legal", place
    yield "complete", "yes" if seen.is_complete else "no"
    yield "next byte", shown_bytes(seen.next_bytes) or "nothing but the end"
    if seen.forced:
        yield "forced", _quoted(seen.forced)
    if seen.completion:
        yield "shortest rest", _quoted(seen.completion)
    if seen.n_legal_tokens is not None:
        shown = " ".join(f"`{data.decode('utf-8', 'replace')}`" for _, data in seen.tokens).replace("\n", "⏎")
        yield (
            "tokens",
            f"{seen.n_legal_tokens:,} legal{': ' if shown else ''}{shown}"
            + (" …" if seen.n_legal_tokens > len(seen.tokens) else ""),
        )
    yield from ((problem.severity, str(problem)) for problem in seen.problems)


def _quoted(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= _MAX_SHOWN else shown[: _MAX_SHOWN - 2] + "…" + shown[0]


def shown_bytes(members: bytes) -> str:
    """Bytes in words: ranges of ASCII, `\\n` and others by their escapes, the first bytes of other characters.

    >>> shown_bytes(b"\\n +-0123456789abc\\xc3\\xc4")
    '\\\\n blank + - 0-9 a-c other characters'
    """
    ascii_bytes = [byte for byte in members if byte < 0x80]
    if len(ascii_bytes) == 0x80 and len(members) > 0x80:
        return "any character"
    ranges: list[list[int]] = []
    for byte in ascii_bytes:
        joins = ranges and byte == ranges[-1][1] + 1 and _kind(byte) == _kind(ranges[-1][1])
        if joins:
            ranges[-1][1] = byte
        else:
            ranges.append([byte, byte])
    words = []
    for low, high in ranges:
        few = [_word(byte) for byte in range(low, high + 1)]
        words += few if len(few) < 3 else [f"{few[0]}-{few[-1]}"]
    if len(ascii_bytes) < len(members):
        words.append("other characters")
    return " ".join(words)


def _kind(byte: int) -> str:
    char = chr(byte)
    if char.isalpha():
        return "upper" if char.isupper() else "lower"
    return "digit" if char.isdigit() else "control" if byte < 0x20 else "sign"


def _word(byte: int) -> str:
    return "blank" if byte == 0x20 else repr(chr(byte))[1:-1] if byte not in (0x27, 0x5C) else chr(byte)
