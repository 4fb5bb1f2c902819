"""Constrained decoding for Hugging Face models.

    import domino_py as domino
    model, tokenizer = domino.load_default()
    domino.generate(model, tokenizer, "Is water wet? ", domino.choice(["yes", "no"])).text

What stands in `__all__` is public; everything else may change. Names are imported when first used (PEP 562), so `import
domino_py` takes milliseconds and loads neither torch nor transformers nor numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from domino_py.compilation import compile as compile
    from domino_py.constraints.base import Constraint as Constraint
    from domino_py.constraints.check import check as check
    from domino_py.constraints.choice import choice as choice
    from domino_py.constraints.combine import repeat as repeat
    from domino_py.constraints.grammar import grammar as grammar
    from domino_py.constraints.json import json as json
    from domino_py.constraints.regex import regex as regex
    from domino_py.constraints.regions import Region as Region
    from domino_py.constraints.regions import after as after
    from domino_py.constraints.schema import json_schema as json_schema
    from domino_py.constraints.select import Selected as Selected
    from domino_py.constraints.select import select as select
    from domino_py.constraints.template import template as template
    from domino_py.constraints.think import think as think
    from domino_py.constraints.tokens import token as token
    from domino_py.constraints.tools import tools as tools
    from domino_py.constraints.types import of_type as of_type
    from domino_py.default_model import load_default as load_default
    from domino_py.extraction import FailedRecord as FailedRecord
    from domino_py.extraction import extract as extract
    from domino_py.generation import generate as generate
    from domino_py.inspection import Inspection as Inspection
    from domino_py.inspection import inspect as inspect
    from domino_py.partial_json import NOTHING as NOTHING
    from domino_py.records import RecordError as RecordError
    from domino_py.report import Intervention as Intervention
    from domino_py.report import Report as Report
    from domino_py.results import GenerationResult as GenerationResult
    from domino_py.streaming import Stream as Stream
    from domino_py.streaming import StreamPart as StreamPart
    from domino_py.streaming import aextract as aextract
    from domino_py.streaming import agenerate as agenerate
    from domino_py.streaming import astream as astream
    from domino_py.streaming import stream as stream
    from domino_py.tool_calls import ToolCall as ToolCall
    from tokenizer_align.compiled import Compiled as Compiled
    from tokenizer_align.errors import BudgetTooSmall as BudgetTooSmall
    from tokenizer_align.errors import ConstraintError as ConstraintError
    from tokenizer_align.errors import DominoError as DominoError
    from tokenizer_align.errors import EmptyLanguage as EmptyLanguage
    from tokenizer_align.errors import GrammarError as GrammarError
    from tokenizer_align.errors import IllegalToken as IllegalToken
    from tokenizer_align.errors import InvalidOption as InvalidOption
    from tokenizer_align.errors import MissingPackage as MissingPackage
    from tokenizer_align.errors import Problem as Problem
    from tokenizer_align.errors import RegexError as RegexError
    from tokenizer_align.errors import TemplateError as TemplateError
    from tokenizer_align.errors import TooComplex as TooComplex
    from tokenizer_align.errors import UnsupportedSchema as UnsupportedSchema
    from tokenizer_align.errors import VocabularyError as VocabularyError
    from tokenizer_align.fill import fill as fill
    from tokenizer_align.matcher import Matcher as Matcher
    from tokenizer_align.vocabulary import Vocabulary as Vocabulary

_HOMES = {
    "BudgetTooSmall": "tokenizer_align.errors",
    "Compiled": "tokenizer_align.compiled",
    "Constraint": "domino_py.constraints.base",
    "ConstraintError": "tokenizer_align.errors",
    "DominoError": "tokenizer_align.errors",
    "EmptyLanguage": "tokenizer_align.errors",
    "FailedRecord": "domino_py.extraction",
    "GenerationResult": "domino_py.results",
    "GrammarError": "tokenizer_align.errors",
    "IllegalToken": "tokenizer_align.errors",
    "Inspection": "domino_py.inspection",
    "Intervention": "domino_py.report",
    "InvalidOption": "tokenizer_align.errors",
    "Matcher": "tokenizer_align.matcher",
    "MissingPackage": "tokenizer_align.errors",
    "NOTHING": "domino_py.partial_json",
    "Problem": "tokenizer_align.errors",
    "RecordError": "domino_py.records",
    "RegexError": "tokenizer_align.errors",
    "Region": "domino_py.constraints.regions",
    "Report": "domino_py.report",
    "Selected": "domino_py.constraints.select",
    "Stream": "domino_py.streaming",
    "StreamPart": "domino_py.streaming",
    "TemplateError": "tokenizer_align.errors",
    "TooComplex": "tokenizer_align.errors",
    "ToolCall": "domino_py.tool_calls",
    "UnsupportedSchema": "tokenizer_align.errors",
    "Vocabulary": "tokenizer_align.vocabulary",
    "VocabularyError": "tokenizer_align.errors",
    "aextract": "domino_py.streaming",
    "after": "domino_py.constraints.regions",
    "agenerate": "domino_py.streaming",
    "astream": "domino_py.streaming",
    "check": "domino_py.constraints.check",
    "choice": "domino_py.constraints.choice",
    "compile": "domino_py.compilation",
    "extract": "domino_py.extraction",
    "fill": "tokenizer_align.fill",
    "generate": "domino_py.generation",
    "grammar": "domino_py.constraints.grammar",
    "inspect": "domino_py.inspection",
    "json": "domino_py.constraints.json",
    "json_schema": "domino_py.constraints.schema",
    "load_default": "domino_py.default_model",
    "of_type": "domino_py.constraints.types",
    "regex": "domino_py.constraints.regex",
    "repeat": "domino_py.constraints.combine",
    "select": "domino_py.constraints.select",
    "stream": "domino_py.streaming",
    "template": "domino_py.constraints.template",
    "think": "domino_py.constraints.think",
    "token": "domino_py.constraints.tokens",
    "tools": "domino_py.constraints.tools",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605  (a test holds that the imports for type checkers above name the same)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("domino-decoding")
    if name == "grammars":
        return importlib.import_module("domino_py.grammars")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'domino_py' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
