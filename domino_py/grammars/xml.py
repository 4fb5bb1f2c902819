"""XML whose elements come from a given set of tags, each closed by its own end tag."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from domino_py.constraints.base import Constraint
from tokenizer_align.errors import InvalidOption

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ATTRIBUTES = r"""
value: (VALUE | ENTITY)*
VALUE: /[^<>&"\x00-\x1f\x7f-\x9f\uFFFE\uFFFF]/
"""
_REST = r"""
text: (TEXT | ENTITY)+
TEXT: /[^<>&\x00-\x08\x0b-\x1f\x7f-\x9f\uFFFE\uFFFF]/
ENTITY: "&amp;" | "&lt;" | "&gt;" | "&quot;" | "&apos;"
"""


def xml(tags: Iterable[str] | Mapping[str, Iterable[str]], root: str | None = None) -> Constraint:
    """One XML element, with text and elements of these tags inside.

    `tags`: names, or a mapping from each name to the attributes that it may have (each at most once, in this order).
    `root`: the tag of the outermost element; by default any. Raises InvalidOption for what is no name or list of names,
    and for an attribute that is listed twice.

    >>> xml(["a", "b"]).matches("<a>x<b/></a>"), xml(["a", "b"]).matches("<a>x<b></a>")
    (True, False)
    """
    from domino_py.constraints.grammar import grammar

    known = _attributes_of(tags)
    if root is not None and root not in known:
        raise InvalidOption("root", f"root={root!r} is none of the tags {', '.join(known)}.", known)
    places = {name: f"e{index}" for index, name in enumerate(known)}
    lines = [
        f"start: {places[root]}" if root is not None else "start: element",
        f"element: {' | '.join(places.values())}",
    ]
    for name, attributes in known.items():
        written = " ".join(f'(" {attribute}=\\"" value "\\"")?' for attribute in attributes)
        lines.append(f'{places[name]}: "<{name}" {written} ("/>" | ">" (element | text)* "</{name}>")')
    rest = _ATTRIBUTES + _REST if any(known.values()) else _REST  # a rule without use would be warned of
    return grammar("\n".join(lines) + rest, syntax="lark")


def _attributes_of(tags: Iterable[str] | Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The attributes of each tag, checked."""
    if isinstance(tags, str | bytes) or not isinstance(tags, Iterable):
        raise InvalidOption(
            "tags", f"tags is a list of names, or a mapping from names to their attributes, not {tags!r}."
        )
    given: list[tuple[str, Iterable[str]]]
    given = [*tags.items()] if isinstance(tags, Mapping) else [(name, ()) for name in tags]
    if not given:
        raise InvalidOption("tags", "tags has no name; XML needs one element.")
    known: dict[str, tuple[str, ...]] = {}
    for name, attributes in given:
        if isinstance(attributes, str | bytes) or not isinstance(attributes, Iterable):
            hint = f" Did you mean [{attributes!r}]?" if isinstance(attributes, str) else ""
            raise InvalidOption("tags", f"The attributes of {name!r} are a list of names, not {attributes!r}.{hint}")
        own = tuple(attributes)
        for written in (name, *own):
            if not isinstance(written, str) or not _NAME.fullmatch(written):
                raise InvalidOption("tags", f"{written!r} is not a name of XML.")
        for attribute in own:
            if own.count(attribute) > 1:
                raise InvalidOption("tags", f"The attribute {attribute!r} of {name!r} is listed twice.")
        known[name] = own
    return known
