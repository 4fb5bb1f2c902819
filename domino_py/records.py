"""Records in, records out: reading texts from JSONL or a folder, and an output log that survives being killed.

Each output line is one JSON object: `index`, `id` (if the input has one), `hash` (of the text and of what was asked),
and either `value` or `error`. A line is written whole, flushed and synced before its record counts as done; lines come
in the order in which records were finished, and are put into the order of the records when a run ends.
After a break, a half-written last line is cut off and its record is done again; nothing is lost and nothing is
repeated.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from tokenizer_align.errors import DominoError

__all__ = ["Record", "RecordError", "RecordLog", "as_records", "read_json", "read_records", "write_json"]

_BEGINNING = b'{"index": '  # of every line of a log


class RecordError(DominoError, ValueError):
    """An input or output file of records cannot be used as it is; says which line and what to do."""


@dataclass(frozen=True, slots=True)
class Record:
    """One input: its place, its text or chat messages, and its own id if it has one."""

    index: int
    content: Any
    id: str | int | None = None

    @property
    def name(self) -> str:
        return f"record {self.index}" if self.id is None else f"record {self.index} (id {self.id})"

    def digest(self, asked: str) -> str:
        """Short SHA-256 over the content and what was asked of it."""
        payload = json.dumps([asked, self.content], ensure_ascii=False, sort_keys=True, default=str)
        return hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()[:20]


class RecordLog:
    """A JSONL file to which finished records are appended.

    With `resume`, what the file already holds is kept: `finished` maps a record's index to its line. Without, the
    file is begun anew. Raises RecordError for a file that is not such a log.
    """

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = True) -> None:
        self.path = Path(path)
        self.finished: dict[int, dict[str, Any]] = {}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if resume and self.path.exists():
                self._recover()
            elif self.path.exists():
                self.path.unlink()
            self._file: BinaryIO = self.path.open("ab")
        except OSError as error:
            raise RecordError(f"{self.path} cannot be written: {error.strerror or error}.") from error

    def __enter__(self) -> RecordLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def line_of(self, record: Record, digest: str) -> dict[str, Any] | None:
        """What was written for this record in an earlier run, or None.

        Raises RecordError where the file holds another text, or another question, at this place: mixing the two would
        make a file that no run can explain.
        """
        line = self.finished.get(record.index)
        if line is None:
            return None
        if line.get("hash") != digest or line.get("id") != record.id:
            raise RecordError(
                f"{self.path}: {record.name} was made from another text or with other settings. Write to another "
                "file, or begin this one anew with resume=False."
            )
        return line

    def arrange(self) -> None:
        """Put the lines into the order of the records, where they are not. The file is replaced in one step."""
        order = list(self.finished)
        if order == sorted(order):
            return
        beside = self.path.with_name(self.path.name + ".sorting")
        try:
            self._file.close()
            with beside.open("wb") as file:
                file.writelines(_encoded(self.finished[index]) for index in sorted(order))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
            self.finished = dict(sorted(self.finished.items()))
            self._file = self.path.open("ab")
        except OSError as error:
            raise RecordError(f"{self.path} cannot be written: {error.strerror or error}.") from error

    def append(self, line: dict[str, Any]) -> None:
        """Write one line, whole and durable. Raises RecordError where that fails (a full disk)."""
        try:
            self._file.write(_encoded(line))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RecordError(f"{self.path} cannot be written: {error.strerror or error}.") from error
        self.finished[int(line["index"])] = line

    def _recover(self) -> None:
        """Read the lines of an earlier run; cut off a last line that has no end."""
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        for number, raw in enumerate(whole.splitlines(), 1):
            if not raw.strip():
                continue
            line = _finished_line(raw)
            if line is None:
                raise self._no_log(number)
            self.finished[line["index"]] = line
        rest = data[len(whole) :]
        if rest:  # only now that the file is known to be a log
            if not self.finished and not (rest.startswith(_BEGINNING) or _BEGINNING.startswith(rest)):
                raise self._no_log(1)
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
                os.fsync(file.fileno())

    def _no_log(self, number: int) -> RecordError:
        return RecordError(
            f"{self.path}, line {number}: not a line of an extraction. Write to another file, or begin this one anew "
            "with resume=False."
        )


def _finished_line(raw: bytes) -> dict[str, Any] | None:
    """The line if it is one of an extraction: with an index, a hash, and a value or an error."""
    try:
        line = read_json(raw)
    except ValueError:
        return None
    if not isinstance(line, dict) or not isinstance(line.get("index"), int) or "hash" not in line:
        return None
    error = line.get("error")
    told = isinstance(error, dict) and isinstance(error.get("type"), str) and isinstance(error.get("message"), str)
    return line if told or ("error" not in line and "value" in line) else None


def read_json(text: str | bytes) -> Any:
    """JSON with exact numbers: 0.10 and 1e999 stay what they are."""
    return json.loads(text, parse_float=Decimal, parse_int=_whole)


def _whole(digits: str) -> int | Decimal:
    """A whole number that can be written again: Python writes no more than some thousand digits of an int."""
    longest = sys.get_int_max_str_digits()
    return int(digits) if not longest or len(digits) <= longest else Decimal(digits)


def _encoded(line: dict[str, Any]) -> bytes:
    return write_json(line).encode("utf-8", "backslashreplace") + b"\n"


def write_json(value: Any) -> str:
    """JSON on one line, lone surrogates as they are, `Decimal` as the number that was read."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {write_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(write_json, value)) + "]"
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def read_records(path: str | os.PathLike[str], *, text_field: str = "text", id_field: str = "id") -> Iterator[Record]:
    """Records of a JSONL file (objects with a text field, or bare strings), a folder of .txt and .md files, or one
    text file.

    An object may hold chat messages under "messages" in place of a text. Files of a folder come in the order of their
    names, each with its name as its id. Raises RecordError with the line's number.
    """
    source = Path(path)
    if source.is_dir():
        files = sorted(file for file in source.iterdir() if file.suffix in (".txt", ".md") and file.is_file())
        if not files:
            raise RecordError(f"{source}: the folder holds no .txt or .md file.")
        for index, file in enumerate(files):
            yield Record(index, _read_text(file), file.name)
    elif source.suffix in (".jsonl", ".ndjson"):
        yield from _read_jsonl(source, text_field, id_field)
    elif source.is_file():
        yield Record(0, _read_text(source), source.name)
    else:
        raise RecordError(f"{source}: no such file or folder.")


def _read_jsonl(source: Path, text_field: str, id_field: str) -> Iterator[Record]:
    if not source.is_file():
        raise RecordError(f"{source}: no such file.")
    index = 0
    with source.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            try:
                item = json.loads(raw)
            except ValueError as error:
                raise RecordError(f"{source}, line {number}: not JSON ({error}).") from None
            yield Record(index, *_content_of(item, f"{source}, line {number}", text_field, id_field))
            index += 1


def _content_of(item: Any, place: str, text_field: str, id_field: str) -> tuple[Any, str | int | None]:
    if isinstance(item, str):
        return item, None
    if not isinstance(item, dict):
        raise RecordError(f"{place}: an object with a {text_field!r} field, or a string, was expected.")
    content = item.get(text_field, item.get("messages"))
    if content is None:
        raise RecordError(f"{place}: no field {text_field!r}; the line has {', '.join(sorted(item)) or 'no fields'}.")
    identity = item.get(id_field)
    return content, identity if isinstance(identity, str | int) else None


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: not UTF-8 (byte {error.start}).") from None


def as_records(content: Any) -> tuple[list[Record] | Iterator[Record], bool]:
    """Records of what `extract` was given, and whether it was many: a text or a chat is one, a list or iterator many.

    Raises RecordError for anything else.
    """
    if isinstance(content, str) or _is_chat(content):
        return [Record(0, content)], False
    if isinstance(content, list | tuple):
        return [_as_record(index, item) for index, item in enumerate(content)], True
    if isinstance(content, Iterable) and not isinstance(content, bytes | Mapping):
        return (_as_record(index, item) for index, item in enumerate(content)), True
    raise RecordError(
        f"'text' must be a string, chat messages, or a list or iterator of them, not {type(content).__name__}."
    )


def _as_record(index: int, item: Any) -> Record:
    return item if isinstance(item, Record) else Record(index, item)


def _is_chat(content: Any) -> bool:
    return isinstance(content, list | tuple) and bool(content) and isinstance(content[0], Mapping)
