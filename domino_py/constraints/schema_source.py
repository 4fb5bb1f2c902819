"""From what the caller gives (dict, JSON text, True or False) to one canonical JSON text, and back to values.

The text is the constraint's identity. It is read again with exact decimals, so a bound of `0.1` is one tenth and
not a binary fraction. What is not JSON (NaN, keys given twice, other Python objects, endless nesting) is an error
that says where it stands.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from tokenizer_align.errors import Problem, UnsupportedSchema

MAX_DEPTH = 300  # levels of JSON nesting in a schema
MAX_NUMBER_LENGTH = 1200  # characters of a number in a schema
MAX_SHOWN = 20  # problems of one kind that are listed
_PLAIN_TYPES = frozenset((str, bool, type(None)))


def escape_token(token: str) -> str:
    """One reference token of a JSON Pointer (RFC 6901).

    >>> escape_token("a/b~c")
    'a~1b~0c'
    """
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def unescape_token(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def canonical_source(schema: Any) -> str:
    """The schema as JSON text: compact, keys in the order given. Raises UnsupportedSchema for what is not JSON."""
    return read_schema(schema)[0]


def read_schema(schema: Any) -> tuple[str, Any]:
    """(the schema as canonical JSON text, the values that this text reads as). Raises UnsupportedSchema for what is not
    JSON."""
    given = schema
    if isinstance(given, str):
        schema = read_source(given)
    if not isinstance(schema, dict | bool):
        found = kind_of(schema)
        hint = "Write of_type(...) for a Python type." if isinstance(schema, type) else None
        raise UnsupportedSchema(
            [Problem("", None, f"a schema is an object, true or false, and not {found},", hint=hint)]
        )
    if is_plain(schema):
        text = json.dumps(schema, separators=(",", ":"))
        return text, schema if isinstance(given, str) else read_source(text)  # what the caller gave may change later
    text = _written(schema)
    return text, read_source(text)


def is_plain(schema: Any) -> bool:
    """Whether Python's own encoder writes the schema as `_write` does: no fractions, keys are strings, not too deep.

    It takes a tenth of the time.
    """
    if type(schema) is not dict:
        return isinstance(schema, bool)
    level: list[Any] = [schema]
    depth = 0
    while level:
        if depth > MAX_DEPTH:
            return False
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                for key in item:
                    if type(key) is not str:
                        return False
                inside = item.values()
            else:
                inside = item
            for value in inside:
                kind = type(value)
                if kind is dict or kind is list:
                    below.append(value)
                elif kind not in _PLAIN_TYPES and not (kind is int and value.bit_length() < MAX_NUMBER_LENGTH):
                    return False
        level, depth = below, depth + 1
    return True


def _written(schema: Any) -> str:
    problems: list[Problem] = []
    text = _write(schema, "", 0, problems)
    if problems:
        raise UnsupportedSchema(problems[:MAX_SHOWN])
    return text


def kind_of(value: Any) -> str:
    """What a value is, with its article: "an array" or, where it is not of JSON, the name of its Python type."""
    names = {list: "an array", tuple: "an array", str: "a string", type(None): "null"}
    names |= dict.fromkeys((int, float, Decimal), "a number")
    return names.get(type(value), f"the Python object {type(value).__name__}")


def _write(value: Any, pointer: str, depth: int, problems: list[Problem]) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if value is None or value is True or value is False:
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return _write_number(value, pointer, problems)
    if depth > MAX_DEPTH:
        if not any("nested" in problem.message for problem in problems):
            problems.append(Problem(pointer[:200], None, f"nested more than {MAX_DEPTH} levels deep"))
        return "null"
    if isinstance(value, dict):
        parts = []
        for key, item in value.items():
            if not isinstance(key, str):
                problems.append(Problem(pointer, None, f"the key {key!r} is not a string"))
            else:
                written = _write(item, f"{pointer}/{escape_token(key)}", depth + 1, problems)
                parts.append(f"{json.dumps(key)}:{written}")
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(_write(item, f"{pointer}/{i}", depth + 1, problems) for i, item in enumerate(value)) + "]"
    problems.append(Problem(pointer, None, f"a {type(value).__name__} is not a JSON value"))
    return "null"


def _write_number(value: int | float | Decimal, pointer: str, problems: list[Problem]) -> str:
    if isinstance(value, float):
        if math.isfinite(value):
            return repr(float(value))
        problems.append(Problem(pointer, None, f"{value} is not a JSON number"))
        return "null"
    if isinstance(value, int) and value.bit_length() > 3 * MAX_NUMBER_LENGTH:
        problems.append(Problem(pointer, None, f"a number of more than {MAX_NUMBER_LENGTH:,} digits"))
        return "null"
    return str(int(value)) if isinstance(value, int) else str(value)


def read_source(text: str) -> Any:
    """JSON text as values, decimals exact. Raises UnsupportedSchema for what is not JSON (RFC 8259, keys unique)."""
    try:
        return json.loads(
            text,
            parse_float=_read_decimal,
            parse_int=_read_int,
            parse_constant=_refuse_constant,
            object_pairs_hook=_unique_keys,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UnsupportedSchema([Problem("", None, f"the schema is not JSON ({error.msg}: {place})")]) from None
    except RecursionError:
        raise UnsupportedSchema([Problem("", None, "nested too deeply")]) from None


def _read_decimal(text: str) -> Decimal:
    if len(text) > MAX_NUMBER_LENGTH:
        raise UnsupportedSchema([Problem("", None, f"a number of more than {MAX_NUMBER_LENGTH:,} characters")])
    try:
        value = Decimal(text)
    except ArithmeticError:
        value = Decimal("NaN")
    if value.is_nan() or (value and abs(value.adjusted()) > MAX_NUMBER_LENGTH):
        raise UnsupportedSchema([Problem("", None, f"the number {text[:40]} has too many digits")])
    return value if value else Decimal(0) if value.as_tuple().exponent != -1 else value


def _read_int(text: str) -> int:
    if len(text) > MAX_NUMBER_LENGTH:
        raise UnsupportedSchema([Problem("", None, f"a number of more than {MAX_NUMBER_LENGTH:,} characters")])
    return int(text)


def _refuse_constant(text: str) -> Any:
    raise UnsupportedSchema([Problem("", None, f"{text} is not a JSON number")])


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise UnsupportedSchema([Problem("", None, f"the key {twice!r} stands twice in one object")])
    return result
