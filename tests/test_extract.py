"""`extract`: typed objects, many records, a log that resumes, records that fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, field_validator

import domino_py as domino
from domino_py.extraction import Extractor
from tests.tiny import tiny_model, tiny_tokenizer

ROOT = Path(__file__).parent.parent


@dataclass
class Answer:
    verdict: Literal["approve", "reject"]
    score: Literal["low", "high"]


class Picky(BaseModel):
    """Its validator refuses what no mask can know."""

    verdict: Literal["approve", "reject"]

    @field_validator("verdict")
    @classmethod
    def never(cls, value: str) -> str:
        raise ValueError(f"I do not like {value}")


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_model()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_one_text_gives_one_object(model: Any, tokenizer: Any) -> None:
    answer = domino.extract(model, tokenizer, "All is well.", Answer)
    assert isinstance(answer, Answer)
    assert answer.verdict in ("approve", "reject")


def test_report_comes_along_when_asked(model: Any, tokenizer: Any) -> None:
    answer, report = domino.extract(model, tokenizer, "All is well.", Answer, return_report=True)
    assert isinstance(answer, Answer)
    assert report.n_texts == 1
    answers, report = domino.extract(model, tokenizer, ["a", "b", "c"], Answer, return_report=True)
    assert (len(answers), report.n_texts, len(report.rows)) == (3, 3, 3)


def test_an_empty_text_has_nothing_to_extract(model: Any, tokenizer: Any) -> None:
    with pytest.raises(domino.InvalidOption, match="empty"):
        domino.extract(model, tokenizer, "", Answer)
    first, empty = domino.extract(model, tokenizer, ["All is well.", " \n"], Answer)
    assert isinstance(first, Answer) and not empty and "record 1" in empty.message


def test_lists_and_iterators_give_lists(model: Any, tokenizer: Any) -> None:
    texts = ["one", "two", "three"]
    answers = domino.extract(model, tokenizer, texts, Answer)
    assert answers == domino.extract(model, tokenizer, iter(texts), Answer)
    assert answers == domino.extract(model, tokenizer, texts, Answer, batch_size=1)
    assert answers == [domino.extract(model, tokenizer, text, Answer) for text in texts]
    assert domino.extract(model, tokenizer, [], Answer) == []


def test_schemas_and_constraints_stand_for_types(model: Any, tokenizer: Any) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"], "additionalProperties": False}
    assert domino.extract(model, tokenizer, "x", schema)["a"] in (1, 2)
    assert domino.extract(model, tokenizer, "x", domino.regex("[ab]{2}")) in ("aa", "ab", "ba", "bb")


def test_chats_are_continued_with_the_question(model: Any, tokenizer: Any) -> None:
    chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    assert isinstance(domino.extract(model, tokenizer, chat, Answer), Answer)
    assert len(domino.extract(model, tokenizer, [chat, "text"], Answer)) == 2


def test_the_prompt_has_shape_descriptions_instructions_and_text(model: Any, tokenizer: Any) -> None:
    runner = Extractor(model, tokenizer, Answer, "Be strict.")
    prompt = tokenizer.decode(runner.prompt.ids("THE TEXT", "record 0"))
    for part in ("Be strict.", '{"verdict": "approve" or "reject", "score": "low" or "high"}', "THE TEXT"):
        assert part in prompt
    assert prompt.endswith("<|assistant|>")


def test_records_are_written_as_they_are_done(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out.jsonl"
    answers = domino.extract(model, tokenizer, ["one", "two"], Answer, out=out)
    lines = lines_of(out)
    assert [line["index"] for line in lines] == [0, 1]
    assert [line["value"]["verdict"] for line in lines] == [answer.verdict for answer in answers]


def test_resuming_takes_what_is_there_and_runs_the_rest(tokenizer: Any, tmp_path: Path) -> None:
    class Counting:
        """The tiny model, counting rows that it reads from the start."""

        def __init__(self) -> None:
            self.model, self.prompts = tiny_model(), 0

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            self.prompts += 1
            return self.model(*args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["model"], name)

    texts = [f"text {i}" for i in range(6)]
    out = tmp_path / "out.jsonl"
    whole = domino.extract(tiny_model(), tokenizer, texts, Answer, out=out)
    complete = out.read_bytes()
    out.write_bytes(complete[: complete.rindex(b"\n", 0, -1) + 20])  # the last line is half written
    counting = Counting()
    assert domino.extract(counting, tokenizer, texts, Answer, out=out) == whole
    assert counting.prompts > 0
    assert out.read_bytes() == complete
    counting = Counting()
    assert domino.extract(counting, tokenizer, texts, Answer, out=out) == whole
    assert counting.prompts == 0


def test_a_file_may_be_extended_but_not_reinterpreted(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    domino.extract(model, tokenizer, ["one", "two"], Answer, out=out)
    assert len(domino.extract(model, tokenizer, ["one", "two", "three"], Answer, out=out)) == 3
    with pytest.raises(domino.DominoError, match="another text or with other settings"):
        domino.extract(model, tokenizer, ["eins", "two", "three"], Answer, out=out)
    with pytest.raises(domino.DominoError, match="another text or with other settings"):
        domino.extract(model, tokenizer, ["one", "two"], Answer, out=out, instructions="Be strict.")
    assert len(domino.extract(model, tokenizer, ["eins"], Answer, out=out, resume=False)) == 1
    assert len(lines_of(out)) == 1


@pytest.mark.parametrize(
    "option",
    [
        {"frequency_penalty": 1.0},
        {"presence_penalty": 1.0},
        {"truncate": "masked"},
        {"exact": True},
        {"eos_token_id": 390},
    ],
)
def test_no_setting_that_changes_answers_is_mixed(model: Any, tokenizer: Any, tmp_path: Path, option: Any) -> None:
    """Regression: answers made with other penalties were taken for those of this call."""
    domino.extract(model, tokenizer, ["a"], Answer, out=tmp_path / "o.jsonl")
    with pytest.raises(domino.DominoError, match="other settings"):
        domino.extract(model, tokenizer, ["a"], Answer, out=tmp_path / "o.jsonl", **option)


def test_resumed_values_are_those_of_the_first_run(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    price = domino.of_type(Literal["x"]) | domino.of_type(Decimal)
    for constraint in (domino.of_type(Decimal), domino.json(), price):
        domino.extract(model, tokenizer, ["a"], constraint, out=out, resume=False, max_new_tokens=24)
        line = lines_of(out)[0]
        exact = "0.10000000000000000001"
        written = json.dumps(line | {"value": 0}).replace('"value": 0', f'"value": {exact}')
        if constraint is not price:  # a union of constraints is a text
            out.write_text(written + "\n")
            again = domino.extract(model, tokenizer, ["a"], constraint, out=out, max_new_tokens=24)
            assert again == [constraint.parse(exact)]


def test_a_value_of_another_type_in_the_file_is_named(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    out = tmp_path / "o.jsonl"
    domino.extract(model, tokenizer, ["a"], Answer, out=out)
    out.write_text(json.dumps(lines_of(out)[0] | {"value": 5}) + "\n")
    with pytest.raises(domino.DominoError, match="record 0 cannot be read"):
        domino.extract(model, tokenizer, ["a"], Answer, out=out)


def test_instructions_are_text(model: Any, tokenizer: Any) -> None:
    with pytest.raises(domino.InvalidOption, match="instructions must be text, not int"):
        domino.extract(model, tokenizer, "a", Answer, instructions=5)


def test_a_killed_run_loses_and_repeats_nothing(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    script = textwrap.dedent(
        """
        import os, signal, sys
        import domino_py as domino
        from tests.test_extract import Answer
        from tests.tiny import tiny_model, tiny_tokenizer

        def texts():
            for i in range(9):
                if i == 7:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield f"text {i}"

        domino.extract(tiny_model(), tiny_tokenizer(), texts(), Answer, out=sys.argv[1], batch_size=2)
        """
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script, str(out)], cwd=ROOT, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    before = lines_of(out)
    assert 0 < len(before) < 9
    answers = domino.extract(model, tokenizer, [f"text {i}" for i in range(9)], Answer, out=out, batch_size=2)
    after = lines_of(out)
    assert all(line in after for line in before)
    assert [line["index"] for line in after] == list(range(9))
    assert answers == domino.extract(model, tokenizer, [f"text {i}" for i in range(9)], Answer)


def test_a_text_is_written_down_while_those_beside_it_go_on(tokenizer: Any, tmp_path: Path) -> None:
    out, seen = tmp_path / "out.jsonl", []

    class Watching:
        """The tiny model, noting how many lines the file has at each pass."""

        def __init__(self) -> None:
            self.model = tiny_model()

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            seen.append(len(lines_of(out)))
            return self.model(*args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["model"], name)

    either = domino.choice(["no", "a good deal longer than no, so that it takes more passes than one"])
    texts = [f"text {i}" for i in range(8)]
    values = domino.extract(Watching(), tokenizer, texts, either, out=out, speculate=False, do_sample=True, seed=1)
    assert len(set(values)) == 2
    assert any(0 < n < len(texts) for n in seen)
    assert [line["index"] for line in lines_of(out)] == list(range(8))
    assert [line["value"] for line in lines_of(out)] == values


def test_a_failing_record_is_reported_and_stops_nothing(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    texts: list[Any] = ["one", "x" * 5000, "two", 17]
    results = domino.extract(model, tokenizer, texts, Answer, out=out, max_new_tokens=60)
    assert isinstance(results[0], Answer)
    assert isinstance(results[2], Answer)
    for failed, message in ((results[1], "context"), (results[3], "must be a text")):
        assert isinstance(failed, domino.FailedRecord)
        assert not failed
        assert message in failed.message
    lines = lines_of(out)
    assert ["error" in line for line in lines] == [False, True, False, True]
    assert domino.extract(model, tokenizer, texts, Answer, out=out, max_new_tokens=60) == results


def test_a_failure_of_the_model_is_the_failure_of_one_record(tokenizer: Any) -> None:
    class Breaking:
        """The tiny model, which cannot read one of the texts."""

        def __init__(self) -> None:
            self.model = tiny_model()
            self.bad = tokenizer("Q")["input_ids"][0]

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            if (kwargs["input_ids"] == self.bad).any():
                raise RuntimeError("device is on fire")
            return self.model(*args, **kwargs)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.__dict__["model"], name)

    results = domino.extract(Breaking(), tokenizer, ["one", "Q", "two"], Answer)
    assert [isinstance(result, Answer) for result in results] == [True, False, True]
    assert results[1].message == "device is on fire"
    assert results[1].kind == "RuntimeError"


def test_validators_of_a_type_fail_the_record_and_its_text_is_kept(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    results = domino.extract(model, tokenizer, ["one"], Picky, out=tmp_path / "out.jsonl")
    assert "I do not like" in results[0].message
    assert lines_of(tmp_path / "out.jsonl")[0]["refused"]["verdict"] in ("approve", "reject")
    with pytest.raises(ValueError, match="I do not like"):
        domino.extract(model, tokenizer, "one", Picky)
    assert not domino.extract(model, tokenizer, "one", Picky, on_error="return")
    with pytest.raises(ValueError, match="I do not like"):
        domino.extract(model, tokenizer, ["one", "two"], Picky, on_error="raise")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temprature": 1}, "temperature"),
        ({"on_error": "skip"}, "'raise' or 'return'"),
        ({"max_new_tokens": 2}, "shortest legal text"),
        ({"do_sample": True, "num_return_sequences": 2}, "one object a text"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_wrong_calls_fail_as_a_whole_before_any_record(
    model: Any, tokenizer: Any, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(domino.DominoError, match=message):
        domino.extract(model, tokenizer, ["one", "two"], Answer, out=tmp_path / "out.jsonl", **options)
    assert not (tmp_path / "out.jsonl").exists()


def test_wrong_types_are_refused(model: Any, tokenizer: Any) -> None:
    for wrong in (None, "Person", 5):
        with pytest.raises(domino.InvalidOption, match="type"):
            domino.extract(model, tokenizer, "x", wrong)
