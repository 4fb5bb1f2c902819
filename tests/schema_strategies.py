"""Hypothesis strategies for JSON Schemas of the supported keywords, for instances near them, and random legal texts.

Numbers are whole or have a fraction that binary floats hold exactly, so that the checker's arithmetic is exact as
well; the patterns mean the same in ECMA-262 and in Python's `re`.
"""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st

from tokenizer_align import recognizer
from tokenizer_align.expressions import Expr
from tokenizer_align.moves import moves
from tokenizer_align.shortest import shortest

KEYS = ["a", "b", "ab", 'q"', "é", ""]
TEXTS = ["", "a", "b", "ab", "ba", "aab", "b1", "12", "é", "😀a", 'x"y', "a b"]
PATTERNS = ["^a", "b$", "[0-9]+", "^[ab]*$", "a.*b", "^(a|b1|é)$", r"\d", "^.{2,3}$", "[^a]", "^$"]

numbers = st.one_of(
    st.integers(-12, 12), st.sampled_from([0.5, 1.5, -0.25, 2.75, -3.5, 10.5]), st.integers(-2000, 2000)
)
scalars = st.one_of(st.none(), st.booleans(), numbers, st.sampled_from(TEXTS))
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from([*KEYS, "zz", "z1"]), inner, max_size=4)
    ),
    max_leaves=8,
)

_counts = st.integers(0, 4)
_number_keywords = st.fixed_dictionaries(
    {},
    optional={
        "minimum": numbers,
        "maximum": numbers,
        "exclusiveMinimum": numbers,
        "exclusiveMaximum": numbers,
        "multipleOf": st.sampled_from([1, 2, 3, 5, 7, 10, 0.5, 0.25, 1.5]),
    },
)
_string_keywords = st.fixed_dictionaries(
    {}, optional={"minLength": _counts, "maxLength": _counts, "pattern": st.sampled_from(PATTERNS)}
)


def _array_keywords(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "items": schemas,
            "prefixItems": st.lists(schemas, min_size=1, max_size=3),
            "minItems": _counts,
            "maxItems": _counts,
            "uniqueItems": st.booleans(),
            "contains": schemas,
            "minContains": st.integers(0, 2),
            "maxContains": st.integers(0, 2),
            "unevaluatedItems": schemas,
        },
    )


def _object_keywords(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(KEYS), schemas, max_size=4),
            "required": st.lists(st.sampled_from(KEYS), max_size=3, unique=True),
            "additionalProperties": schemas,
            "patternProperties": st.dictionaries(st.sampled_from(PATTERNS), schemas, max_size=2),
            "propertyNames": st.one_of(_string_keywords, st.fixed_dictionaries({"enum": st.just(KEYS[:3])})),
            "minProperties": st.integers(0, 3),
            "maxProperties": st.integers(0, 3),
            "dependentRequired": st.dictionaries(
                st.sampled_from(KEYS[:3]), st.lists(st.sampled_from(KEYS[:3]), max_size=2, unique=True), max_size=1
            ),
            "dependentSchemas": st.dictionaries(st.sampled_from(KEYS[:3]), schemas, max_size=1),
            "unevaluatedProperties": schemas,
        },
    )


@st.composite
def _merged(draw: st.DrawFn, schemas: st.SearchStrategy[Any]) -> Any:
    """A few groups of keywords beside each other, most often with a type."""
    types = ["null", "boolean", "integer", "number", "string", "array", "object"]
    result: dict[str, Any] = {}
    if draw(st.integers(0, 3)):
        named = draw(st.lists(st.sampled_from(types), min_size=1, max_size=3, unique=True))
        result["type"] = named[0] if len(named) == 1 else named
    groups = [_number_keywords, _string_keywords, _array_keywords(schemas), _object_keywords(schemas)]
    for group in draw(st.lists(st.sampled_from(groups), max_size=2)):
        result |= draw(group)
    if draw(st.integers(0, 7)) == 0:
        result["enum"] = draw(st.lists(values, min_size=1, max_size=4))
    if draw(st.integers(0, 11)) == 0:
        result["const"] = draw(values)
    for keyword in ("anyOf", "allOf", "oneOf"):
        if draw(st.integers(0, 6)) == 0:
            result[keyword] = draw(st.lists(schemas, min_size=1, max_size=3))
    for keyword in ("not", "if", "then", "else"):
        if draw(st.integers(0, 5)) == 0:
            result[keyword] = draw(schemas)
    if draw(st.integers(0, 9)) == 0:
        result["$ref"] = draw(st.sampled_from(["#/$defs/one", "#/$defs/two"]))
    return result


schemas: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.booleans(), st.just({}), _merged(st.booleans())), lambda inner: _merged(inner), max_leaves=6
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A whole schema, with two definitions that references may name."""
    root = draw(schemas.filter(lambda schema: isinstance(schema, dict)))
    return {**root, "$defs": {"one": draw(schemas), "two": draw(schemas)}}


def write(value: Any) -> str:
    """The text of an instance."""
    return json.dumps(value, ensure_ascii=False)


def changed(value: Any, rng: random.Random) -> Any:
    """The value with one change somewhere: a key or item more or less, a neighbouring number or text, another type."""
    if isinstance(value, dict | list) and value and rng.random() < 0.6:
        copy: Any = value.copy()
        place = rng.choice(list(copy)) if isinstance(copy, dict) else rng.randrange(len(copy))
        copy[place] = changed(copy[place], rng)
        return copy
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if rng.random() < 0.7}
        return kept if rng.random() < 0.5 else {**kept, rng.choice([*KEYS, "zz"]): rng.choice([None, 1, "a", []])}
    if isinstance(value, list):
        kept_items = [item for item in value if rng.random() < 0.7]
        return kept_items if rng.random() < 0.5 else [*kept_items, rng.choice([None, 1, "a", *value])]
    if isinstance(value, str) and rng.random() < 0.7:
        cut = rng.randint(0, len(value))
        return value[:cut] + rng.choice(["", "a", "b", "1", "é"]) + value[cut + rng.randint(0, 1) :]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.7:
        return value + rng.choice([-2, -1, 1, 2, 0.5])
    return rng.choice([None, True, False, 0, 3, -1.5, "", "ab", [], [1], {}, {"a": 1}])


def random_text(expression: Expr, rng: random.Random, n_bytes: int) -> bytes | None:
    """A legal text by a random walk of about `n_bytes`, then closed by the shortest way; None where there is none.

    A walk may come to repeat a part where parts must differ; then another one is tried, a shorter one in the end.
    """
    for n_left in range(60, 0, -1):
        text = _walked_text(expression, rng, max(1, min(n_bytes, n_left)))
        if text is None or recognizer.matches(expression, text):
            return text
    return None


def _walked_text(expression: Expr, rng: random.Random, n_bytes: int) -> bytes | None:
    stacks, text = recognizer.start(expression), b""
    for _ in range(rng.randrange(n_bytes)):
        if recognizer.accepts_end(stacks) and rng.random() < 0.3:
            return text
        masks = [mask for frame in frames_on_top(recognizer.closure(stacks)) for mask, _ in moves(frame)]
        if not masks:
            break
        mask = rng.choice(masks)
        byte = rng.choice([i for i in range(256) if mask >> i & 1])
        text += bytes([byte])
        stacks = recognizer.step(stacks, byte)
    if recognizer.accepts_end(stacks):
        return text
    while not stacks.has_bottom:
        if not stacks.tops:
            return text  # a part came twice
        frame, stacks = min(stacks.tops, key=repr)
        rest = shortest(frame.anchor if isinstance(frame, recognizer.Anchored) else frame)
        if rest is None:
            return None
        text += rest
    return text


def frames_on_top(stacks: recognizer.Stacks) -> list[Expr]:
    """The frames that may come next."""
    return [frame.anchor if isinstance(frame, recognizer.Anchored) else frame for frame, _ in stacks.tops]
