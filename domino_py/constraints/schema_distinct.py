"""The values of items of which there are finitely many: for arrays whose items must differ.

Two texts of one value are the same item (`1.0` and `1`), so values are what is counted. Scalars are listed by walking
their language; arrays and objects are known only where `enum` or `const` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokenizer_align.derivatives import heads, is_live
from tokenizer_align.expressions import K_ALT, K_CALL, Expr, words
from tokenizer_align.lengths import lengths

from .json_layout import JsonStyle
from .schema_claims import Atom
from .schema_keywords import JSON_TYPES
from .schema_values import any_of_values, scalar_spellings, value_key

if TYPE_CHECKING:
    from .schema_compile import SchemaCompiler

ItemValues = dict[Hashable, Expr | list[bytes]]  # value -> its texts

MAX_TEXTS = 12_000  # texts of all values together
MAX_LENGTH = 4_000  # bytes of one text


def item_values(compiler: SchemaCompiler, atoms: Iterable[Atom]) -> ItemValues | None:
    """The values that satisfy all these sub-schemas; None where they are too many, or infinitely many."""
    found: ItemValues = {}
    wanted = frozenset(atoms)
    for kind in JSON_TYPES:
        for conjunct in compiler.conjuncts(wanted, kind):
            ordered = compiler.in_order(conjunct)
            if compiler.listing(ordered):
                for value in compiler.listed(kind, ordered):
                    _add(found, value_key(value), _texts_of(value, compiler.style))
                continue
            if kind in ("array", "object"):
                return None
            texts = finite_texts(compiler.conjunct(kind, conjunct))
            if texts is None:
                return None
            for text in texts:
                _add(found, value_key(json.loads(text, parse_float=Decimal)), [text])
    return found if len(found) <= MAX_TEXTS else None


def _texts_of(value: Any, style: JsonStyle) -> Expr | list[bytes]:
    is_listed = not isinstance(value, list | dict) and style.number_spelling == "canonical"
    return scalar_spellings(value) if is_listed else any_of_values([value], style)


def _add(found: ItemValues, value: Hashable, texts: Expr | list[bytes]) -> None:
    known = found.get(value)
    if isinstance(known, list) and isinstance(texts, list):
        known += [text for text in texts if text not in known]
    elif known is None:
        found[value] = texts


def text_of(texts: Expr | list[bytes]) -> Expr:
    """The texts of one value as an expression."""
    return words(texts) if isinstance(texts, list) else texts


def finite_texts(expr: Expr) -> list[bytes] | None:
    """All texts of an expression, None where they are too many."""
    while expr.kind == K_CALL:
        expr = expr.data.body
    if expr.has_call:
        parts = [finite_texts(arg) for arg in expr.args] if expr.kind == K_ALT else [None]
        return None if None in parts else [text for part in parts for text in part or ()]
    longest = lengths(expr)[1]
    if longest is not None and longest > MAX_LENGTH:
        return None
    if _has_more(expr, MAX_TEXTS):
        return None
    found: list[bytes] = []
    work: list[tuple[bytes, Expr]] = [(b"", expr)]
    while work:
        text, here = work.pop()
        if here.memo_nullable:
            found.append(text)
        if len(found) + len(work) > MAX_TEXTS or len(text) > MAX_LENGTH:
            return None
        for mask, after in heads(here):
            if is_live(after):
                if mask.bit_count() * (len(found) + len(work) + 1) > MAX_TEXTS and mask.bit_count() > 32:
                    return None
                work += [(text + bytes([byte]), after) for byte in range(256) if mask >> byte & 1]
    return found


def _has_more(expr: Expr, most: int) -> bool:
    """Whether there are surely more texts than that, counted by state and not by text."""
    counts: dict[Expr, int | None] = {}  # None: being counted
    work = [expr]
    while work and len(counts) <= most:
        here = work[-1]
        afters = [pair for pair in heads(here) if is_live(pair[1])]
        if here not in counts:
            counts[here] = None
            if any(after in counts and counts[after] is None for _, after in afters):
                return True  # a circle
            work += [after for _, after in afters if after not in counts]
            continue
        work.pop()
        if counts[here] is None:
            n = sum(mask.bit_count() * (counts[after] or 0) for mask, after in afters)
            counts[here] = n + bool(here.memo_nullable)
            if n > most:
                return True  # every live state is reached by some text
    return False


def separable_texts(values: ItemValues) -> list[bytes] | None:
    """One text for each value where each has one, none the beginning of another: a key trie can tell them apart."""
    texts = []
    for found in values.values():
        if not isinstance(found, list) or len(found) != 1:
            return None
        texts += found
    if any(after.startswith(before) for before, after in pairwise(sorted(texts))):
        return None
    return texts
