"""Do calls of tools come out right? 100 prompts over 5 tools, `tool_choice="required"`, with the packaged model.

    python benchmarks/tool_calls.py [--prompts 100] [--format hermes] [--sample] [--free]

Prints how many texts are one legal call with arguments of the right types, how often the tool is the one that was
asked for, and what it cost. `--free` also asks the model without a constraint, and counts what would have been calls.
"""

from __future__ import annotations

import argparse
import inspect
import time
import typing
from collections.abc import Callable
from typing import Any, Literal

import domino_py as domino


def get_weather(city: str, days: int = 1, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Get the weather forecast of a city.

    Args:
        city: name of the city
        days: how many days ahead
        unit: unit of temperatures
    """
    return f"{days} days of weather in {city} in {unit}"


def send_email(to: str, subject: str, urgent: bool = False) -> str:
    """Send an e-mail.

    Args:
        to: address of the recipient
        subject: what it is about
        urgent: whether it is marked as urgent
    """
    return f"sent to {to}: {subject}, {urgent}"


def convert_currency(amount: float, source: Literal["EUR", "USD", "GBP"], target: Literal["EUR", "USD", "GBP"]) -> str:
    """Convert an amount of money from one currency to another."""
    return f"{amount} {source} in {target}"


def set_timer(minutes: int, label: str | None = None) -> str:
    """Set a timer that rings after some minutes."""
    return f"{label} in {minutes}"


def add_tags(item_id: int, tags: list[str]) -> str:
    """Add tags to an item in the catalogue."""
    return f"{item_id}: {', '.join(tags)}"


TOOLS: list[Callable[..., str]] = [get_weather, send_email, convert_currency, set_timer, add_tags]
CITIES = [
    "Paris", "Oslo", "Rome", "Lima", "Cairo", "Delhi", "Tokyo", "Quito", "Bern", "Accra", "Hanoi", "Seoul",
    "Sofia", "Riga", "Prague", "Tunis", "Dakar", "Minsk", "Porto", "Perth",
]  # fmt: skip
NAMES = [
    "ada", "bob", "cleo", "dan", "eva", "fay", "gus", "hana", "ian", "joy", "kim", "leo", "mia", "ned", "ola",
    "pia", "quinn", "rosa", "sam", "tess",
]  # fmt: skip
THINGS = [
    "shoes", "lamp", "chair", "kettle", "scarf", "table", "clock", "violin", "tent", "mug",
    "rug", "desk", "bike", "coat", "vase", "drum", "fan", "sofa", "kite", "globe",
]  # fmt: skip


def prompts(n: int) -> list[tuple[str, str]]:
    """(what is asked, the tool that it is for)."""
    found = []
    for i in range(20):
        found += [
            (f"What will the weather be in {CITIES[i]} over the next {i % 7 + 1} days?", "get_weather"),
            (f"Write an e-mail to {NAMES[i]}@example.com about the {THINGS[i]}.", "send_email"),
            (f"How much is {3 + 7 * i}.50 USD in {'EUR' if i % 2 else 'GBP'}?", "convert_currency"),
            (f"Remind me in {5 + i} minutes to check the {THINGS[i]}.", "set_timer"),
            (f"Tag item {100 + i} as {THINGS[i]} and {THINGS[(i + 7) % 20]}.", "add_tags"),
        ]
    return found[:n]


def is_typed(call: domino.ToolCall) -> bool:
    """Whether the call can be made, and every argument is of its annotation's type."""
    function = next(tool for tool in TOOLS if tool.__name__ == call.name)
    hints = typing.get_type_hints(function)
    inspect.signature(function).bind(**call.arguments)
    return all(_fits(value, hints[key]) for key, value in call.arguments.items()) and isinstance(call.call(), str)


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin is Literal:
        return value in typing.get_args(hint)
    if origin is list:
        return isinstance(value, list) and all(isinstance(item, typing.get_args(hint)[0]) for item in value)
    if origin is not None:
        return any(_fits(value, one) for one in typing.get_args(hint))
    return type(value) is hint


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--format", default="hermes")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--free", action="store_true")
    options = parser.parse_args()
    model, tokenizer = domino.load_default()
    constraint = domino.tools(TOOLS, tool_choice="required", format=options.format)
    asked = prompts(options.prompts)
    n_legal = n_right = n_passes = n_tokens = n_free = 0
    started = time.process_time()
    sampling = {"do_sample": True, "seed": 1} if options.sample else {}
    for text, wanted in asked:
        chat = [{"role": "user", "content": text}]
        result = domino.generate(model, tokenizer, chat, constraint, max_new_tokens=128, **sampling)
        calls = result.value
        n_legal += len(calls) == 1 and is_typed(calls[0]) and constraint.matches(result.text)
        n_right += calls[0].name == wanted
        n_passes += result.report.forward_passes
        n_tokens += len(result.token_ids)
    spent = time.process_time() - started
    n = len(asked)
    print(f"{n} prompts, {len(TOOLS)} tools, format {options.format}, {'sampled' if options.sample else 'greedy'}")
    print(f"legal calls with arguments of the right types: {n_legal} of {n}")
    print(f"the tool that was asked for: {n_right} of {n}")
    print(f"{n_tokens} tokens in {n_passes} passes, {spent:.0f} s of processor time")
    if options.free:
        from domino_py.chat import shown_tools
        from domino_py.prompts import encode_chat

        for text, _ in asked:
            ids = encode_chat(tokenizer, [{"role": "user", "content": text}], tools=shown_tools(constraint))
            n_free += constraint.matches(domino.generate(model, tokenizer, ids, None, max_new_tokens=128).text.strip())
        print(f"without the constraint: {n_free} of {n} are legal calls")


if __name__ == "__main__":
    main()
