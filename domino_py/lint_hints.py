"""What would let the model have its way: a hint for a step at which a constraint overruled it.

A hint names an option of this library or a keyword of JSON Schema; where nothing is known to help there is none. The
texts are compared as they stand: nothing here changes what is legal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from domino_py.constraints.base import Constraint

__all__ = ["Place", "hint_for", "place_after"]

JSON_KINDS = ("json", "json_schema", "type")
_LITERALS = {"t": "boolean", "f": "boolean", "n": "null"}
_OPENINGS = set('{["-0123456789tfn')


@dataclass(frozen=True, slots=True)
class Place:
    """Where a JSON text stands: inside a string (so far `string`), whether a key is, or would be next, last mark."""

    in_string: bool
    is_key: bool
    string: str
    last: str


def place_after(text: str) -> Place:
    """The place behind the beginning of a JSON text.

    >>> place_after('{"a": "b').string, place_after('{"a": 1, ').is_key, place_after('{"a": [1, ').is_key
    ('b', True, False)
    """
    stack: list[str] = []
    in_string = escaped = is_key = False
    string, last = "", ""
    for char in text:
        if in_string:
            if not escaped and char == '"':
                in_string = False
            else:
                string += char
            escaped = char == "\\" and not escaped
            continue
        if char.isspace():
            continue
        if char == '"':
            in_string, is_key, string = True, stack[-1:] == ["{"] and last in "{,", ""
        elif char in "{[":
            stack.append(char)
        elif char in "}]" and stack:
            stack.pop()
        last = char
    if not in_string:
        is_key = stack[-1:] == ["{"] and last in ("{", ",")
    return Place(in_string, is_key, string, last)


def hint_for(before: str, wanted: str, got: str, because: str, constraint: Constraint | None) -> str:
    """A hint, or "" where none is known. `wanted` is "<end>" for an end of the text."""
    if because == "budget":
        return "raise max_new_tokens: the text had to be closed in time"
    if constraint is not None and constraint.kind in JSON_KINDS:
        return _json_hint(before, wanted, got, constraint)
    if _is_other_case(wanted, got):
        return "the model writes another case: add that spelling" + (
            ", or (?i) to the pattern" if constraint is not None and constraint.kind == "regex" else ""
        )
    if wanted == "<end>":
        return "the model would end here: make what follows optional"
    if wanted[:1].isspace() and not got[:1].isspace():
        end = "let the constraint begin with a blank, or pass heal_prompt=True" if not before else "allow blanks here"
        return f"the model writes a blank here: {end}"
    return ""


def _json_hint(before: str, wanted: str, got: str, constraint: Constraint) -> str:
    place = place_after(before)
    bare, taken = wanted.strip(), got.strip()
    if not before.strip() and bare and bare[0] not in _OPENINGS:
        what = "a code fence" if bare.startswith("`") else "prose"
        return f"the model begins with {what}: ask in the prompt for bare JSON, or show an example"
    if wanted == "<end>":
        return "the model would end here: is every required key, and every item of minItems, needed?"
    if place.in_string:
        return _string_hint(place, wanted, got, constraint)
    if _differ_in_blanks(wanted, got):
        return _blank_hint(constraint)
    if place.is_key:
        return _key_hint(bare.lstrip("{,").strip(), taken, constraint)
    return _value_hint(before, bare, taken, constraint)


def _blank_hint(constraint: Constraint) -> str:
    allowed = constraint.option("whitespace", "flexible")
    wider = {"compact": "flexible", "flexible": "unbounded"}.get(allowed)
    if wider is None:
        return ""
    other = ", or show an example of the compact form in the prompt, and let strings begin with a letter (pattern)"
    return f'allow whitespace="{wider}"' + (other if allowed == "compact" else "")


def _key_hint(wanted: str, got: str, constraint: Constraint) -> str:
    if wanted[:1] == "}":
        return "the model would close the object: is the next key required?"
    name = wanted.strip('"')
    if not name or not wanted.startswith('"'):
        return ""
    return _name_hint(name, constraint)


def _name_hint(name: str, constraint: Constraint) -> str:
    """For the beginning of a key that the model wanted."""
    declared = [known for known in _declared(constraint) if known.startswith(name)]
    if declared and constraint.option("key_order") == "declared":
        return f'the model writes "{declared[0]}" first: allow key_order="any"'
    if declared:
        return ""
    near = [known for known in _declared(constraint) if known.casefold().startswith(name.casefold())]
    if near:
        return f'the model writes another case: name the key as the model does, or say "{near[0]}" in the prompt'
    return "the model writes a key that is not declared: declare it, or name the keys in the prompt"


def _value_hint(before: str, wanted: str, got: str, constraint: Constraint) -> str:
    first, other = wanted[:1], got[:1]
    if before[-1:].isdigit() and first and first in ".eE":
        spelled = constraint.kind != "json" and constraint.option("number_spelling", "canonical") == "canonical"
        return 'allow number_spelling="any", or "type": "number"' if spelled else ""
    if before[-1:].isdigit() and first.isdigit() and not other.isdigit():
        return "the model writes more digits: a wider maximum (or multipleOf, max_digits) would allow them"
    if _is_other_case(wanted, got):
        return "the model writes another case: JSON has true, false and null"
    if first and first in "}]" and other == ",":
        return "the model would close here: fewer required keys, or a smaller minItems, would allow it"
    if first == "," and other and other in "}]":
        return "the model would go on: a larger maxItems, or more keys, would allow it"
    kinds = {'"': "string", "{": "object", "[": "array", **_LITERALS, **dict.fromkeys("-0123456789", "number")}
    if first in kinds and kinds[first] != kinds.get(other) and (other in kinds or not other):
        return f'"type" could allow "{kinds[first]}" here'
    return ""


def _string_hint(place: Place, wanted: str, got: str, constraint: Constraint) -> str:
    if place.is_key:
        return _name_hint((place.string + wanted).partition('"')[0], constraint)
    if _is_other_case(place.string + wanted, place.string + got):
        return "the model writes another case: list that spelling in the enum"
    if got.startswith('"') and not wanted.startswith('"'):
        return "the model writes a longer string: a larger maxLength, or a wider enum or pattern, would allow it"
    if wanted.startswith('"'):
        return "the model would close the string: a smaller minLength, or a wider enum or pattern, would allow it"
    return ""


def _differ_in_blanks(wanted: str, got: str) -> bool:
    """Whether the model wanted a blank where the two part.

    >>> _differ_in_blanks("{\\n", "{"), _differ_in_blanks(' "', " ")
    (True, False)
    """
    n_common = next((i for i, pair in enumerate(zip(wanted, got, strict=False)) if pair[0] != pair[1]), len(got))
    return wanted[n_common : n_common + 1].isspace()


def _is_other_case(wanted: str, got: str) -> bool:
    n = min(len(wanted), len(got))
    return n > 0 and wanted[:n] != got[:n] and wanted[:n].casefold() == got[:n].casefold()


def _declared(constraint: Constraint) -> list[str]:
    """All names under "properties" anywhere in a schema, in order."""
    if constraint.kind == "json":
        return []
    from domino_py.constraints.schema_source import read_source

    names: dict[str, None] = {}
    todo: list[Any] = [read_source(constraint.source)]
    while todo:
        node = todo.pop(0)
        if isinstance(node, dict):
            properties = node.get("properties")
            names.update(dict.fromkeys(properties) if isinstance(properties, dict) else {})
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return list(names)
