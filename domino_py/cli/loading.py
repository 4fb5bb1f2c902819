"""What commands load by name: models and tokenizers, and types or schemas from files and modules."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tokenizer_align.errors import DominoError, Problem, TemplateError, UnsupportedSchema

DTYPES = ("auto", "float32", "bfloat16", "float16")
_HUB_NAME = re.compile(r"(\w[\w.-]*/)?\w[\w.-]*")


class NotFound(DominoError):
    """A model, schema or type that was named on the command line cannot be loaded."""


def load_model(name: str | None, dtype: str = "auto", device: str = "cpu") -> tuple[Any, Any]:
    """(model, tokenizer) of a folder or hub name, or the embedded default. Raises NotFound."""
    if dtype not in DTYPES:
        raise NotFound(f"--dtype {dtype}: one of {', '.join(DTYPES)} was expected.")
    if name is None:
        from domino_py.default_model import load_default

        model, tokenizer = load_default(dtype="float32" if dtype == "auto" else dtype)
        return _moved(model, device), tokenizer
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name, dtype=dtype).eval()
    except (OSError, ValueError) as error:
        if not Path(name).exists() and not _HUB_NAME.fullmatch(name):
            raise NotFound(f"--model {name}: there is no such folder, and it is no name of the hub.") from error
        raise NotFound(f"the model {name!r} cannot be loaded: {str(error).strip().splitlines()[0]}") from error
    return _moved(model, device), tokenizer


def _moved(model: Any, device: str) -> Any:
    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:  # torch built without CUDA raises AssertionError
        raise NotFound(f"--device {device}: {str(error).strip().splitlines()[0]}") from error


def load_schema(name: str) -> Any:
    """The schema in a JSON file, or the type of `module:Type` or `file.py:Type`. Raises NotFound."""
    path = Path(name)
    if path.suffix in (".gbnf", ".lark", ".ebnf"):
        raise NotFound(f"{name} is a grammar: write --grammar {name}.")
    if path.suffix == ".json" or path.is_file():
        return _schema_of_file(path)
    if name.lstrip().startswith(("{", "[")):
        raise NotFound("JSON text stands where the name of a schema was expected; write the schema to a .json file.")
    module_name, _, attribute = name.rpartition(":")
    if not module_name:
        raise NotFound(f"{name}: a JSON file, module:Type or file.py:Type was expected.")
    found: Any = _module_of(module_name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise NotFound(f"{name}: {module_name} has no {attribute!r}.")
        found = getattr(found, part)
    return found


def load_grammar(name: str, syntax: str | None, start: str | None = None) -> Any:
    """The constraint of a grammar file. Raises InvalidOption where it cannot be read, and GrammarError."""
    from domino_py.constraints.grammar import grammar

    return grammar(Path(name), syntax=syntax, start=start)  # type: ignore[arg-type]  # checked there


def load_template(name: str, holes: list[str]) -> Any:
    """The template in a file, or whose text is given; `holes` are NAME=WHAT. Raises NotFound, TemplateError."""
    from domino_py.constraints.template import template

    path = Path(name)
    text = name
    try:
        if "{" not in name or path.is_file():
            text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NotFound(f"{path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise NotFound(f"{path}: not UTF-8 ({error.reason} at byte {error.start}).") from error
    filled: dict[str, Any] = {}
    for one in holes:
        hole, sign, what = one.partition("=")
        if not sign or not hole.isidentifier() or not what:
            raise NotFound(f"--hole {one}: NAME=WHAT was expected, such as age=int.")
        if hole in filled:
            raise NotFound(f"--hole {hole}= was given twice.")
        filled[hole] = _hole(hole, what)
    try:
        return template(text, **filled)
    except TemplateError as error:
        raise TemplateError([_as_option(problem) for problem in error.problems]) from error


def _as_option(problem: Problem) -> Problem:
    """The same problem with the names that the command line has for holes."""
    pointer = f"--hole {problem.pointer}" if problem.pointer.endswith("=") else problem.pointer
    hint = None if problem.hint is None else re.sub(r"^Pass (\w+)= \(.*\)", r"Pass --hole \1=WHAT", problem.hint)
    return replace(problem, pointer=pointer, hint=hint)


def load_tools(name: str, tool_choice: str, tool_format: str) -> Any:
    """The constraint of a JSON file with tool definitions. Raises NotFound, and InvalidOption for what is wrong."""
    import json

    from domino_py.constraints.tools import tools

    path = Path(name)
    try:
        given = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise NotFound(f"{path}: {error.strerror or error}.") from error
    except ValueError as error:
        raise NotFound(f"{path}: not JSON ({error}).") from error
    if not isinstance(given, list):
        raise NotFound(f"{path}: a list of tool definitions was expected.")
    return tools(given, tool_choice=tool_choice, format=tool_format)


def _hole(name: str, what: str) -> Any:
    """What a hole holds: a type's name, `regex:`, `choice:` or what `load_schema` takes."""
    import datetime

    from domino_py.constraints.choice import choice
    from domino_py.constraints.regex import regex

    types = {"int": int, "float": float, "bool": bool, "str": str, "date": datetime.date}
    if what in types:
        return types[what]
    if what.startswith("regex:"):
        return regex(what.removeprefix("regex:"))
    if what.startswith("choice:"):
        return choice(what.removeprefix("choice:").split("|"))
    if re.fullmatch(r"\w+", what) and not Path(what).is_file():
        near = get_close_matches(what, types, 1, 0.4)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        known = ", ".join(types)
        raise NotFound(
            f"--hole {name}={what}: {known}, regex:…, choice:a|b, a JSON file or module:Type was expected.{meant}"
        )
    return load_schema(what)


def _schema_of_file(path: Path) -> Any:
    """A schema as `json_schema` would read the text: decimals exact, keys unique. A byte order mark is skipped."""
    from domino_py.constraints.schema_source import kind_of, read_source

    try:
        schema = read_source(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise NotFound(f"{path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise NotFound(f"{path}: not UTF-8 ({error.reason} at byte {error.start}).") from error
    except UnsupportedSchema as error:
        raise NotFound(f"{path}: {'; '.join(problem.message for problem in error.problems)}.") from None
    if not isinstance(schema, dict | bool):
        raise NotFound(f"{path}: a JSON Schema is an object or true or false, not {kind_of(schema)}.")
    return schema


def _module_of(name: str) -> Any:
    if name.endswith(".py"):
        path = Path(name)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if not path.is_file() or spec is None or spec.loader is None:
            raise NotFound(f"{path}: no such file.")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module  # types look their module up by name when hints are resolved
        try:
            spec.loader.exec_module(module)
        except Exception as error:  # whatever a user's file may raise
            raise NotFound(f"{path} cannot be run: {type(error).__name__}: {error}.") from error
        return module
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except Exception as error:  # whatever a user's module may raise
        raise NotFound(f"the module {name!r} cannot be imported: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.remove("")
