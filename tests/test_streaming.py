"""`stream` gives what `generate` gives, in parts; partial values only grow; async twins and early stops."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import domino_py as domino
from domino_py.partial_json import NOTHING, PartialJson, partial_json
from tests.tiny import tiny_model, tiny_tokenizer

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "ages": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["name", "ages"],
    "additionalProperties": False,
}
LAWS: list[dict[str, Any]] = [
    {},
    {"do_sample": True, "seed": 5, "temperature": 1.5},
    {"speculate": False},
    {"tokenization": "canonical"},
]


@pytest.fixture(scope="module")
def both() -> tuple[Any, Any]:
    return tiny_model(), tiny_tokenizer()


@pytest.mark.parametrize("law", LAWS)
def test_parts_are_the_text_of_generate(both: tuple[Any, Any], law: dict[str, Any]) -> None:
    options = {"max_new_tokens": 80, **law}
    whole = domino.generate(*both, "The quick", SCHEMA, **options)
    parts = list(domino.stream(*both, "The quick", SCHEMA, **options))
    assert "".join(part.text for part in parts) == whole.text
    assert tuple(token for part in parts for token in part.token_ids) == whole.token_ids
    assert parts[-1].text_so_far == whole.text
    assert all(part.result is None for part in parts[:-1])
    assert parts[-1].result is not None
    assert parts[-1].result.text == whole.text
    assert parts[-1].partial == whole.value == json.loads(whole.text)


def test_partial_values_only_grow(both: tuple[Any, Any]) -> None:
    parts = list(domino.stream(*both, "x", SCHEMA, max_new_tokens=80, do_sample=True, seed=3, speculate=False))
    values = [part.partial for part in parts]
    assert len(values) > 10
    assert values[0] is NOTHING or values[0] == {}
    for before, after in pairwise(values):
        assert grows(before, after), (before, after)
    assert [part.partial for part in reversed(parts)] == values[::-1]  # an earlier part stays what it was


def test_several_texts_come_side_by_side(both: tuple[Any, Any]) -> None:
    constraints = [domino.choice(["yes", "no"]), domino.regex("[0-9]{9}"), None]
    options = {"max_new_tokens": 12, "speculate": False}
    whole = domino.generate(*both, ["a", "b", "c"], constraints, **options)
    stream = domino.stream(*both, ["a", "b", "c"], constraints, **options)
    texts = {0: "", 1: "", 2: ""}
    order = []
    for part in stream:
        texts[part.index] += part.text
        order.append(part.index)
    assert [texts[index] for index in range(3)] == [one.text for one in whole]
    assert [one.text for one in stream.result] == [one.text for one in whole]
    assert {0, 1, 2} == set(order[:6])


def test_the_result_reads_on_to_the_end(both: tuple[Any, Any]) -> None:
    stream = domino.stream(*both, "x", domino.regex("[0-9]{12}"), speculate=False)
    next(stream)
    assert stream.result.text == domino.generate(*both, "x", domino.regex("[0-9]{12}")).text
    assert list(stream) == []


def test_a_closed_stream_runs_no_more_passes(both: tuple[Any, Any]) -> None:
    model, tokenizer = both
    n_passes = 0

    def count(*_: Any) -> None:
        nonlocal n_passes
        n_passes += 1

    hook = model.register_forward_hook(count)
    model.train()
    try:
        with domino.stream(model, tokenizer, "x", domino.regex("[0-9]{60}"), speculate=False) as stream:
            next(stream)
            before = n_passes
        assert list(stream) == []
        assert n_passes == before
        assert model.training  # as it was
        with pytest.raises(RuntimeError, match="closed before"):
            _ = stream.result
    finally:
        hook.remove()
        model.eval()


def test_gradients_are_on_between_parts(both: tuple[Any, Any]) -> None:
    import torch

    for _ in domino.stream(*both, "x", domino.regex("[0-9]{3}"), speculate=False):
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()


def test_faults_are_found_before_the_first_part(both: tuple[Any, Any]) -> None:
    with pytest.raises(domino.InvalidOption, match="temprature"):
        domino.stream(*both, "x", int, temprature=1)
    with pytest.raises(domino.BudgetTooSmall):
        domino.stream(*both, "x", domino.regex("[0-9]{50}"), max_new_tokens=3)


def test_characters_of_several_tokens_come_whole(both: tuple[Any, Any]) -> None:
    parts = list(domino.stream(*both, "x", domino.choice(["né東🥐", "é"]), speculate=False))
    assert "".join(part.text for part in parts) in ("né東🥐", "é")
    assert not any("\ufffd" in part.text for part in parts)


def test_healed_prompts_are_not_repeated(both: tuple[Any, Any]) -> None:
    options = {"heal_prompt": True, "speculate": False}
    whole = domino.generate(*both, "The quick", domino.regex(" bro[a-z]{3,5}"), **options)
    parts = list(domino.stream(*both, "The quick", domino.regex(" bro[a-z]{3,5}"), **options))
    assert "".join(part.text for part in parts) == whole.text


def test_async_twins_give_the_same(both: tuple[Any, Any]) -> None:
    async def run() -> tuple[Any, str]:
        one = await domino.agenerate(*both, "x", SCHEMA, max_new_tokens=60)
        text = ""
        async for part in domino.astream(*both, "x", SCHEMA, max_new_tokens=60):
            text += part.text
        return one, text

    async def extract() -> Any:
        return await domino.aextract(*both, "x", SCHEMA, max_new_tokens=60)

    assert asyncio.run(extract()) == domino.extract(*both, "x", SCHEMA, max_new_tokens=60)
    one, text = asyncio.run(run())
    assert one.text == text == domino.generate(*both, "x", SCHEMA, max_new_tokens=60).text


def test_cancelling_stops_after_the_pass_that_runs(both: tuple[Any, Any]) -> None:
    model, tokenizer = both
    n_passes = 0

    def count(*_: Any) -> None:
        nonlocal n_passes
        n_passes += 1

    async def run() -> None:
        task = asyncio.create_task(
            domino.agenerate(model, tokenizer, "x", domino.regex("[0-9]{200}"), max_new_tokens=250, speculate=False)
        )
        while n_passes < 3:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    hook = model.register_forward_hook(count)
    try:
        asyncio.run(run())
        assert 3 <= n_passes < 200
        assert not model.training
    finally:
        hook.remove()


json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(json_values, st.booleans(), st.sampled_from([None, 1]), st.data())
def test_prefixes_of_json_grow_to_its_value(
    value: Any, ascii_only: bool, indent: int | None, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    reader, before = PartialJson(), NOTHING
    for char in text:
        reader.feed(char)
        after = reader.value()
        assert grows(before, after)
        assert grows(after, value)
        before = after
    assert reader.value(is_whole=True) == value
    cut = data.draw(st.integers(0, len(text)))
    assert grows(partial_json(text[:cut]), value)


def test_what_is_certain_of_a_prefix() -> None:
    assert partial_json("") is NOTHING
    assert partial_json("12") is NOTHING
    assert partial_json("12", is_whole=True) == 12
    assert partial_json("null") is None
    assert partial_json('{"a": 12') == {}
    assert partial_json('{"a": 12,') == {"a": 12}
    assert partial_json('{"a": [1, 2') == {"a": [1]}
    assert partial_json('{"a": "x\\u00') == {"a": "x"}
    assert partial_json('{"a": "x\\ud83e') == {"a": "x"}
    assert partial_json('{"a": "x\\ud83e\\udd50') == {"a": "x🥐"}
    assert partial_json('{"a": {"b": "c') == {"a": {"b": "c"}}
    assert partial_json('[[], {"k') == [[], {}]
    assert partial_json("[tru") == []
    assert partial_json("[true") == [True]


def grows(before: Any, after: Any) -> bool:
    """Whether a later value takes nothing of an earlier one back."""
    if before is NOTHING:
        return True
    if isinstance(before, str) and isinstance(after, str):
        return after.startswith(before)
    if isinstance(before, list) and isinstance(after, list):
        return len(before) <= len(after) and all(map(grows, before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        return list(before) == list(after)[: len(before)] and all(grows(before[key], after[key]) for key in before)
    return type(before) is type(after) and bool(before == after)
