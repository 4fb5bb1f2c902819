"""`tools`: formats, choices, parallel calls, definitions, parsed calls, and what prompts show."""

from __future__ import annotations

import datetime
import json
import pickle
from typing import Any, Literal

import pytest

import domino_py as domino
from domino_py.chat import find_think_tags, find_tool_format, settle, shown_tools
from domino_py.constraints.tool_formats import FORMATS
from domino_py.prompts import ShownTools, encode_chat
from tests.tiny import tiny_model, tiny_tokenizer


def weather(city: str, days: int = 3, unit: Literal["c", "f"] = "c") -> str:
    """Forecast the weather.

    Args:
        city (str): where, in
            English
        days: how far ahead
    Returns:
        text
    """
    return f"{city} {days} {unit}"


def book(when: datetime.date, seats: list[int]) -> tuple[datetime.date, list[int]]:
    """Book seats."""
    return when, seats


LOOKUP = {
    "type": "function",
    "function": {
        "name": "look.up-2",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
    },
}
ARGUMENTS = '{"city": "Rome", "days": 2}'
ONE = {
    "hermes": f'<tool_call>\n{{"name": "weather", "arguments": {ARGUMENTS}}}\n</tool_call>',
    "llama3": f'{{"name": "weather", "parameters": {ARGUMENTS}}}',
    "mistral": f'[TOOL_CALLS][{{"name": "weather", "arguments": {ARGUMENTS}}}]',
    "mistral-args": f"[TOOL_CALLS]weather[ARGS]{ARGUMENTS}",
}
TWO = {
    "hermes": ONE["hermes"] + '\n<tool_call>\n{"name": "look.up-2", "arguments": {"q": "}"}}\n</tool_call>',
    "llama3": ONE["llama3"] + '; {"name": "look.up-2", "parameters": {"q": "}"}}',
    "mistral": ONE["mistral"][:-1] + ', {"name": "look.up-2", "arguments": {"q": "}"}}]',
    "mistral-args": ONE["mistral-args"] + '[TOOL_CALLS]look.up-2[ARGS]{"q": "}"}',
}
ALL = [weather, book, LOOKUP]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_takes_and_reads_its_calls(name: str) -> None:
    one = domino.tools(ALL, tool_choice="required", format=name)
    assert one.matches(ONE[name]) and not one.matches(TWO[name]) and not one.matches("Hello")
    (call,) = one.parse(ONE[name])
    assert call == domino.ToolCall("weather", {"city": "Rome", "days": 2}) and call.call() == "Rome 2 c"
    both = domino.tools(ALL, tool_choice="required", format=name, parallel=True)
    assert both.matches(ONE[name]) and both.matches(TWO[name])
    assert [call.name for call in both.parse(TWO[name])] == ["weather", "look.up-2"]
    assert both.parse(TWO[name])[1].arguments == {"q": "}"}
    assert not domino.tools(ALL, tool_choice="required", format=name, parallel=1).matches(TWO[name])
    others = [ONE[other] for other in FORMATS if other != name]
    assert not any(one.matches(text) for text in others)


@pytest.mark.parametrize("name", FORMATS)
def test_auto_takes_text_calls_and_text_before_calls(name: str) -> None:
    auto = domino.tools(ALL, format=name)
    assert auto.matches("") and auto.matches("The sun shines.") and auto.parse("The sun shines.") == []
    assert auto.matches(ONE[name]) and len(auto.parse(ONE[name])) == 1
    if name != "llama3":
        assert auto.matches("Let me look. " + ONE[name])
        assert auto.parse("Let me look. " + ONE[name])[0].arguments == {"city": "Rome", "days": 2}
        assert not auto.matches(ONE[name] + " Done.")
    assert not auto.matches(ONE[name].replace("weather", "wether"))
    assert not auto.matches(ONE[name].replace('"Rome"', "1"))


@pytest.mark.parametrize("name", FORMATS)
def test_one_by_name_and_none(name: str) -> None:
    assert domino.tools(ALL, tool_choice="weather", format=name).matches(ONE[name])
    assert not domino.tools(ALL, tool_choice="book", format=name).matches(ONE[name])
    none = domino.tools(ALL, tool_choice="none", format=name)
    assert none.matches("Hello.") and not none.matches(ONE[name]) and none.parse("Hello.") == []


def test_arguments_are_typed_objects() -> None:
    constraint = domino.tools([book], tool_choice="required", format="llama3")
    text = '{"name": "book", "parameters": {"when": "2026-01-31", "seats": [1, 2]}}'
    (call,) = constraint.parse(text)
    assert call.arguments == {"when": datetime.date(2026, 1, 31), "seats": [1, 2]}
    assert call.call() == (datetime.date(2026, 1, 31), [1, 2])
    assert not constraint.matches(text.replace("01-31", "02-31"))


def test_definitions_have_no_function_and_closed_arguments() -> None:
    constraint = domino.tools([LOOKUP], tool_choice="required", format="llama3")
    text = '{"name": "look.up-2", "parameters": {"q": "x"}}'
    with pytest.raises(domino.ConstraintError, match="definition"):
        constraint.parse(text)[0].call()
    assert not constraint.matches(text.replace('"x"', '"x", "r": 1'))
    bare = domino.tools([{"name": "now"}], tool_choice="required", format="llama3")
    assert bare.matches('{"name": "now", "parameters": {}}')
    is_open = {"name": "f", "parameters": {"type": "object", "additionalProperties": True}}
    assert domino.tools([is_open], tool_choice="f", format="llama3").matches('{"name": "f", "parameters": {"a": 1}}')


def test_whitespace_inside_calls_is_free() -> None:
    constraint = domino.tools([weather], tool_choice="required", format="hermes")
    text = '<tool_call>{ "name":"weather",\n  "arguments":{"city":"Rome"} }</tool_call>'
    assert constraint.matches(text) and constraint.parse(text)[0].arguments == {"city": "Rome"}


def test_constraints_of_tools_are_values() -> None:
    one, other = domino.tools([weather, LOOKUP], format="hermes"), domino.tools([weather, LOOKUP], format="hermes")
    assert one == other and hash(one) == hash(other) and one != domino.tools([weather], format="hermes")
    copy = pickle.loads(pickle.dumps(one))
    assert copy == one and copy.parse(ONE["hermes"])[0].call() == "Rome 2 c"
    assert domino.check(one) == []


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "no tool"),
        ([weather, weather], {}, "called 'weather'"),
        ([3], {}, "a function or a definition"),
        ({"name": "f"}, {}, "a list"),
        ([{"name": "two words"}], {}, "no name"),
        ([{"type": "web_search"}], {}, "no definition"),
        ([{"name": "f", "parameters": 3}], {}, "no JSON Schema"),
        ([weather], {"tool_choice": "require"}, "required"),
        ([weather], {"format": "herms"}, "hermes"),
        ([weather], {"parallel": "yes"}, "parallel"),
        ([weather], {"parallel": 0}, "parallel"),
    ],
)
def test_mistakes_are_named(given: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(domino.InvalidOption, match=message):
        domino.tools(given, **options)


@pytest.mark.parametrize(("stars", "instead"), [("*", "list"), ("**", "dict")])
def test_parameters_without_names_say_what_to_write(stars: str, instead: str) -> None:
    scope: dict[str, Any] = {}
    exec(f"def many(a: int, {stars}rest: int) -> None: ...", scope)
    with pytest.raises(domino.ConstraintError, match=rf"\{stars[0]}.*rest of many .* is a {instead}"):
        domino.tools([scope["many"]])


def test_a_format_still_to_be_found_is_an_error_without_a_tokenizer() -> None:
    with pytest.raises(domino.ConstraintError, match='format="hermes"'):
        domino.tools([weather]).matches("x")
    assert any("depends on the model" in str(problem) for problem in domino.check(domino.tools([weather])))


class Template:
    """A tokenizer as far as its template and added tokens."""

    def __init__(self, template: Any, *added: str) -> None:
        self.chat_template = template
        self._added = dict.fromkeys(added, 0)

    def get_added_vocab(self) -> dict[str, int]:
        return self._added


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (Template("{{ '<tool_call>' }}", "<tool_call>"), "hermes"),
        (Template({"default": "x", "tool_use": "<tool_call>"}), "hermes"),
        (Template("{{ '[TOOL_CALLS]' }}", "[TOOL_CALLS]"), "mistral"),
        (Template("{{ '[TOOL_CALLS]' + name + '[ARGS]' }}", "[TOOL_CALLS]", "[ARGS]"), "mistral-args"),
        (Template("""{{ '{"name": ' }} "parameters" ipython"""), "llama3"),
        (Template("plain", "<|python_tag|>"), "llama3"),
        (Template(None, "[TOOL_CALLS]", "[ARGS]"), "mistral-args"),
        (Template("plain", "<tool_call>"), "hermes"),
    ],
)
def test_the_format_is_found(tokenizer: Any, expected: str) -> None:
    assert find_tool_format(tokenizer) == expected
    assert settle(domino.tools([weather]), tokenizer).option("format") == expected
    nested = domino.think(domino.tools([weather]))
    assert settle(nested, tokenizer).source[0].option("format") == expected
    assert domino.tools([weather], tokenizer=tokenizer).option("format") == expected


def test_an_unknown_format_and_unknown_tags_are_refused() -> None:
    with pytest.raises(domino.InvalidOption, match="Pass format="):
        find_tool_format(Template("plain"))
    with pytest.raises(domino.InvalidOption, match="start and end"):
        find_think_tags(Template("plain"))
    assert find_think_tags(Template("x", "[THINK]", "[/THINK]")) == ("[THINK]", "[/THINK]")
    assert find_think_tags(Template("content.split('</think>')")) == ("<think>", "</think>")


def test_a_template_that_knows_tools_is_given_them() -> None:
    tokenizer = pickle.loads(pickle.dumps(tiny_tokenizer()))
    tokenizer.chat_template = "{% for t in tools %}{{ t['function']['name'] }} {% endfor %}" + tokenizer.chat_template
    shown = shown_tools(domino.tools(ALL, format="hermes"))
    assert isinstance(shown, ShownTools)
    ids = encode_chat(tokenizer, [{"role": "user", "content": "Hi"}], tools=shown)
    assert tokenizer.decode(ids) == "weather book look.up-2 <|user|>Hi<|end|><|assistant|>"
    only = shown_tools(domino.think(domino.tools(ALL, format="hermes", tool_choice="book")))
    assert [one["function"]["name"] for one in only.definitions] == ["book"]
    assert shown_tools(domino.tools(ALL, format="hermes", tool_choice="none")) is None


def test_other_templates_show_them_in_the_system_message() -> None:
    tokenizer = tiny_tokenizer()
    shown = shown_tools(domino.tools([weather], format="hermes"))
    for messages in ([], [{"role": "system", "content": "Be brief."}]):
        chat = [*messages, {"role": "user", "content": "Hi"}]
        text = tokenizer.decode(encode_chat(tokenizer, chat, tools=shown))
        assert text.startswith("<|system|>" + ("Be brief.\n\nYou can" if messages else "You can"))
        assert '"name": "weather"' in text and "<tool_call>" in text and text.count("<|system|>") == 1
        assert chat[0] == (messages or chat)[0]


def test_definitions_carry_the_docstring() -> None:
    (definition,) = (one.definition for one in domino.tools([weather], format="hermes").source)
    function = json.loads(definition)["function"]
    assert function["description"] == "Forecast the weather."
    assert function["parameters"]["properties"]["city"]["description"] == "where, in English"
    assert function["parameters"]["properties"]["days"] == {"type": "integer", "description": "how far ahead"}
    assert function["parameters"]["required"] == ["city"]


def test_generate_settles_the_format_and_gives_calls() -> None:
    tokenizer = pickle.loads(pickle.dumps(tiny_tokenizer()))
    names = "{# <tool_call> #}{% for t in tools %}{{ t['function']['name'] }} {% endfor %}"
    tokenizer.chat_template = names + tokenizer.chat_template
    chat = [{"role": "user", "content": "Weather in Rome?"}]
    constraint = domino.tools([weather, book], tool_choice="required")
    result = domino.generate(tiny_model(), tokenizer, chat, constraint, max_new_tokens=120)
    (call,) = result.value
    assert call.name in ("weather", "book") and result.text.startswith("<tool_call>")
    assert result.prompt_n_tokens > len(encode_chat(tiny_tokenizer(), chat))  # the tools are shown
    compiled = domino.compile(constraint, tokenizer)
    assert compiled.matcher().shortest_completion().startswith(b"<tool_call>")


@pytest.mark.parametrize("choice", ["required", "auto", "f", {"type": "function", "function": {"name": "f"}}])
def test_a_trigger_inside_an_argument_hides_no_call(choice: Any) -> None:
    """Regression: the call was looked for behind it."""
    tool = {"name": "f", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}
    constraint = domino.tools([tool], format="llama3", tool_choice=choice)
    for trigger in ("", "<|python_tag|>"):
        (call,) = constraint.parse(trigger + '{"name": "f", "parameters": {"q": "<|python_tag|>"}}')
        assert call.arguments == {"q": "<|python_tag|>"}


def test_a_tool_called_like_a_choice_is_chosen_as_a_function() -> None:
    tool, call = {"name": "none"}, '<tool_call>\n{"name": "none", "arguments": {}}\n</tool_call>'
    assert not domino.tools([tool], format="hermes", tool_choice="none").matches(call)
    by_name = domino.tools([tool], format="hermes", tool_choice={"type": "function", "function": {"name": "none"}})
    assert by_name.matches(call) and not by_name.matches("no call")


@pytest.mark.parametrize("parameters", [{"type": "string"}, {"type": ["array", "null"]}, ["a"], []])
def test_arguments_are_an_object(parameters: Any) -> None:
    with pytest.raises(domino.InvalidOption, match="the parameters of 'f'"):
        domino.tools([{"name": "f", "parameters": parameters}])


def test_parameters_by_reference_are_those_of_an_object() -> None:
    parameters = {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"q": {"type": "integer"}}}}}
    constraint = domino.tools([{"name": "f", "parameters": parameters}], format="llama3", tool_choice="required")
    assert constraint.matches('{"name": "f", "parameters": {"q": 1}}')
    assert not constraint.matches('{"name": "f", "parameters": 1}')


def test_a_method_without_its_object_is_refused() -> None:
    class Shop:
        def price(self, item: str) -> float:
            return 1.0

    with pytest.raises(domino.InvalidOption, match="is not bound to an object"):
        domino.tools([Shop.price])
    assert domino.tools([Shop().price], format="llama3", tool_choice="price").matches(
        '{"name": "price", "parameters": {"item": "a"}}'
    )
