"""Regions in the holes of templates, and templates behind triggers: all they need of each other is what any constraint
has.
"""

from __future__ import annotations

import pickle

import pytest

import domino_py as domino
from tests.tiny import tiny_model, tiny_tokenizer

ANSWER = domino.after("ANSWER: ", domino.choice(["yes", "no"]), at_least=1, tail=False)
LINE = domino.regex(r"[^\n]+")


def test_a_region_may_stand_in_a_hole() -> None:
    form = domino.template("Q: {q}\n{a}\nDone", q=LINE, a=ANSWER)
    values = form.parse("Q: is it wet?\nwell, ANSWER: yes\nDone")
    assert values["q"] == "is it wet?"
    assert [(region.trigger, region.value) for region in values["a"]] == [("ANSWER: ", "yes")]
    assert domino.inspect(form, "Q: x\nANSWER: ").next_bytes == b"ny"
    assert domino.check(form) == []
    assert pickle.loads(pickle.dumps(form)) == form


def test_a_template_may_stand_behind_a_trigger() -> None:
    call = domino.template("{name}:{value}", name=domino.regex("[a-z]+"), value=int)
    found = domino.after("CALL ", call).parse("so CALL ab:5 and CALL c:7")
    assert [region.value for region in found] == [{"name": "ab", "value": 5}, {"name": "c", "value": 7}]


def test_control_tokens_may_stand_in_templates() -> None:
    form = domino.template("A {turn} B {n}", turn=domino.token("<|user|>"), n=domino.regex("[0-9]"))
    result = domino.generate(tiny_model(), tiny_tokenizer(), "x", form)
    assert result.token_ids.count(tiny_tokenizer().convert_tokens_to_ids("<|user|>")) == 1
    assert result.value["turn"] == "<|user|>" and result.value["n"].isdigit()


def test_markers_and_tools_can_be_inspected() -> None:
    form = domino.template("A{turn}B", turn=domino.token("<|user|>"))
    assert domino.inspect(form, "A").forced == "<|user|>B"
    seen = domino.inspect(form, "A", tokenizer=tiny_tokenizer())
    assert seen.n_legal_tokens == 1
    behind = domino.inspect(form, "A<|user|>", tokenizer=tiny_tokenizer())
    assert (behind.forced, behind.completion) == ("B", "B")
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    assert domino.inspect(domino.tools(tools, format="hermes", tool_choice="required")).parts[0][0] == "<f>"


@pytest.mark.parametrize("sampling", [{}, {"do_sample": True, "seed": 3}])
def test_drafts_change_no_token_of_a_template_with_regions(sampling: dict[str, object]) -> None:
    answer = domino.after("ANSWER: ", domino.choice(["yes", "no"]), at_least=1, at_most=1, tail=False, max_tokens=5)
    form = domino.template("Q: {q}\n{a}\nDone", q=domino.regex("[a-z]{1,5}"), a=answer)
    drafted, without = (
        domino.generate(tiny_model(), tiny_tokenizer(), "x", form, speculate=speculate, **sampling)
        for speculate in (True, False)
    )
    assert drafted.token_ids == without.token_ids
    assert form.matches(drafted.text) and drafted.value["a"][0].value in ("yes", "no")
