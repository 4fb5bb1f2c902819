"""Reading records, and an output log that survives being killed at any byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domino_py.records import Record, RecordError, RecordLog, as_records, read_json, read_records, write_json

LINES = [{"index": i, "hash": f"h{i}", "value": {"text": f"naïve 東京 \u2028 {i}\n"}} for i in range(4)]


def write_log(path: Path, lines: list[dict[str, object]]) -> None:
    with RecordLog(path, resume=False) as log:
        for line in lines:
            log.append(line)


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    write_log(tmp_path / "out.jsonl", LINES)
    with RecordLog(tmp_path / "out.jsonl") as log:
        assert list(log.finished.values()) == LINES


def test_each_line_is_on_disk_before_the_next_record(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with RecordLog(path) as log:
        for count, line in enumerate(LINES, 1):
            log.append(line)
            assert len(path.read_bytes().splitlines()) == count


@given(st.data())
def test_a_break_at_any_byte_loses_only_the_unfinished_line(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("log") / "out.jsonl"
    write_log(path, LINES)
    whole = path.read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    with RecordLog(path) as log:
        kept = len(log.finished)
        assert list(log.finished.values()) == LINES[:kept]
        for line in LINES[kept:]:
            log.append(line)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "raw",
    [
        b'{"index": "x", "hash": "h", "value": 1}',
        b'{"index": null, "hash": "h", "value": 1}',
        b'{"index": 1, "value": 1}',
        b'{"index": 1, "hash": "h"}',
        b'{"index": 1, "hash": "h", "error": "oops"}',
        b'{"index": 1, "hash": "h", "error": {}, "value": 1}',
        b"[1]",
        b"\xff",
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "out.jsonl"
    write_log(path, LINES[:1])
    path.write_bytes(path.read_bytes() + raw + b"\n")
    with pytest.raises(RecordError, match="line 2"):
        RecordLog(path)


def test_a_file_without_a_line_end_is_left_alone(tmp_path: Path) -> None:
    """Regression: a file without a line end was taken for a half-written line, and emptied."""
    path = tmp_path / "notes.txt"
    for content in (b"important notes", b'["a"]', b'{"text": "a"}'):
        path.write_bytes(content)
        with pytest.raises(RecordError, match="line 1"):
            RecordLog(path)
        assert path.read_bytes() == content


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be written"):
        RecordLog(tmp_path)


def test_values_come_back_exactly() -> None:
    """Regression: numbers went through floats, so 1e999 became Infinity, which is not JSON."""
    for text in ('{"a": [1.10, 1E+999, 0.10000000000000000000001, -0.0], "\ud800": "\ud800é\\n"}', "null", '"x"', "12"):
        assert write_json(read_json(text)) == text


def test_restarting_begins_the_file_anew(tmp_path: Path) -> None:
    write_log(tmp_path / "out.jsonl", LINES)
    with RecordLog(tmp_path / "out.jsonl", resume=False) as log:
        assert log.finished == {}
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_a_file_that_is_no_log_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "thesis.md"
    path.write_text("# My thesis\nis not a log\nand its last line has no end")
    before = path.read_bytes()
    with pytest.raises(RecordError, match="line 1: not a line of an extraction"):
        RecordLog(path)
    assert path.read_bytes() == before


def test_another_text_at_the_same_place_is_refused(tmp_path: Path) -> None:
    with RecordLog(tmp_path / "out.jsonl") as log:
        log.append({"index": 0, "hash": Record(0, "a").digest("q"), "value": 1})
        assert log.line_of(Record(0, "a"), Record(0, "a").digest("q")) is not None
        assert log.line_of(Record(1, "a"), Record(1, "a").digest("q")) is None
        for other in (Record(0, "b").digest("q"), Record(0, "a").digest("another question")):
            with pytest.raises(RecordError, match="another text or with other settings"):
                log.line_of(Record(0, "b"), other)


def test_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", "c.csv"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    assert list(read_records(tmp_path)) == [Record(0, "a.md", "a.md"), Record(1, "b.txt", "b.txt")]


def test_jsonl_holds_objects_or_strings_or_chats(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    chat = [{"role": "user", "content": "x"}]
    lines = [{"text": "one", "id": "r1"}, "two", {"messages": chat}, {"text": "", "id": 4}]
    path.write_text("\n\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    found = list(read_records(path))
    assert found == [Record(0, "one", "r1"), Record(1, "two"), Record(2, chat), Record(3, "", 4)]


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "line 1: not JSON"), ('{"body": "x"}', "no field 'text'; the line has body"), ("[1]", "an object with")],
)
def test_bad_input_lines_are_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(content)
    with pytest.raises(RecordError, match=message):
        list(read_records(path))


def test_missing_and_unreadable_inputs_say_so(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("naïve".encode("latin-1"))
    with pytest.raises(RecordError, match="not UTF-8"):
        list(read_records(tmp_path / "latin.txt"))
    with pytest.raises(RecordError, match="no such file"):
        list(read_records(tmp_path / "none.txt"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError, match=r"no \.txt"):
        list(read_records(tmp_path / "empty"))


def test_one_text_or_chat_is_one_record_and_lists_and_iterators_are_many() -> None:
    chat = [{"role": "user", "content": "x"}]
    assert as_records("a") == ([Record(0, "a")], False)
    assert as_records(chat) == ([Record(0, chat)], False)
    assert as_records(["a", chat]) == ([Record(0, "a"), Record(1, chat)], True)
    records, many = as_records(text for text in "ab")
    assert many and list(records) == [Record(0, "a"), Record(1, "b")]
    with pytest.raises(RecordError, match="not int"):
        as_records(3)
