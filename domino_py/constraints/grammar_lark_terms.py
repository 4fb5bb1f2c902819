r"""Lark's texts, and the terminals of its `common` library.

A text in quotes knows the escapes \n \t \r \f \" \\ \x.. \u.... \U........; a backslash before anything else stands for
itself, as in Lark. The common terminals are Lark's as a reader of its library would take them: a
string ends at its first unescaped quote, a comment at its first end sign.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from tokenizer_align.expressions import Expr

from .grammar_model import Leaf
from .grammar_source import Failure, Source, code_point
from .regex import compile_pattern

STRING: Final = re.compile(r'"((?:\\.|[^"\\\n])*)"(i?)')
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", '"': '"', "\\": "\\"}

_INT = "[0-9]+"
_SIGN = "[+-]?"
_DECIMAL = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)"
_FLOAT = rf"(?:[0-9]+[eE][+-]?[0-9]+|{_DECIMAL}(?:[eE][+-]?[0-9]+)?)"

COMMON: Final = {
    "DIGIT": "[0-9]",
    "HEXDIGIT": "[a-fA-F0-9]",
    "INT": _INT,
    "SIGNED_INT": _SIGN + _INT,
    "DECIMAL": _DECIMAL,
    "_EXP": "[eE][+-]?[0-9]+",
    "FLOAT": _FLOAT,
    "SIGNED_FLOAT": _SIGN + _FLOAT,
    "NUMBER": f"(?:{_FLOAT}|{_INT})",
    "SIGNED_NUMBER": f"{_SIGN}(?:{_FLOAT}|{_INT})",
    "_STRING_INNER": r"[^\n]*",
    "_STRING_ESC_INNER": r"(?:[^\n]*[^\\\n])?(?:\\\\)*",
    "ESCAPED_STRING": r'"(?:[^"\\\n]|\\[^\n])*"',
    "LCASE_LETTER": "[a-z]",
    "UCASE_LETTER": "[A-Z]",
    "LETTER": "[A-Za-z]",
    "WORD": "[A-Za-z]+",
    "CNAME": "[_A-Za-z][_A-Za-z0-9]*",
    "WS_INLINE": r"[ \t]+",
    "WS": r"[ \t\f\r\n]+",
    "CR": r"\r",
    "LF": r"\n",
    "NEWLINE": r"(?:\r?\n)+",
    "SH_COMMENT": r"#[^\n]*",
    "CPP_COMMENT": r"//[^\n]*",
    "C_COMMENT": r"/\*(?:[^*]|\*+[^*/])*\*+/",
    "SQL_COMMENT": r"--[^\n]*",
}


@lru_cache(maxsize=64)
def common_terminal(name: str) -> Expr:
    """The language of a terminal of Lark's `common` library. Raises KeyError where there is none."""
    return compile_pattern(COMMON[name]).lower()


def text_of(source: Source, body: str, offset: int) -> str:
    """The characters that a quoted body stands for; `offset` is where the body begins."""
    result, at = [], 0
    for escape in _ESCAPE.finditer(body):
        result.append(body[at : escape.start()])
        digits = escape.group(1) or escape.group(2) or escape.group(3)
        if digits:
            result.append(chr(code_point(source, digits, offset + escape.start())))
        elif escape.group(4) in "xuU":
            needed = {"x": 2, "u": 4, "U": 8}[escape.group(4)]
            message = f"\\{escape.group(4)} needs {needed} hexadecimal digits"
            raise Failure(source.problem(offset + escape.start(), message))
        else:
            result.append(_SIMPLE.get(escape.group(4), escape.group()))
        at = escape.end()
    return "".join(result) + body[at:]


def string_leaf(source: Source, found: re.Match[str]) -> Leaf:
    """The leaf of a match of STRING."""
    text = text_of(source, found.group(1), found.start(1))
    return Leaf(compile_pattern(re.escape(text), flags=re.I if found.group(2) else 0).lower(), found.start())
