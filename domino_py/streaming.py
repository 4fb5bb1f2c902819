"""`stream`: the texts of `generate`, as they are written; and the async twins.

    parts = domino.stream(model, tokenizer, prompt, Person)
    for part in parts:
        print(part.text, end="", flush=True)
    parts.result.value

One pass of the model decides one token or, with drafts, several; each part is what one pass decided for one text.
"""

from __future__ import annotations

import asyncio
import codecs
import threading
from collections.abc import AsyncIterator, Generator
from dataclasses import dataclass, field
from typing import Any

from domino_py.extraction import extract
from domino_py.generation import Call, prepare_call
from domino_py.options import split_options
from domino_py.partial_json import PartialJson
from domino_py.partial_template import PartialTemplate
from domino_py.results import GenerationResult
from domino_py.running import PreparedRow, row_passes
from tokenizer_align.errors import ConstraintError
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["Stream", "StreamPart", "aextract", "agenerate", "astream", "stream"]

_JSON_KINDS = frozenset({"json", "json_schema", "type"})


@dataclass(frozen=True, slots=True)
class StreamPart:
    """What one pass added to one text.

    `index`: of the text, in the order of `generate`'s results. `text`: whole characters only; a character whose last
    byte is still to come stands in a later part. `result` is there in a text's last part.
    """

    index: int
    text: str
    token_ids: tuple[int, ...]
    result: GenerationResult | None = None
    _written: _Written = field(repr=False, compare=False, kw_only=True)
    _n_chars: int = field(repr=False, compare=False, kw_only=True)

    @property
    def text_so_far(self) -> str:
        """All of the text up to this part's end."""
        return self._written.text[: self._n_chars]

    @property
    def partial(self) -> Any:
        """What is certain of the value so far: no later part takes any of it back.

        Under JSON constraints plain data: strings as far as they are written, numbers once they are complete, members
        as they come; NOTHING (which is false) before anything is certain. Under a template the values of the holes
        that are complete, by name. Else the text so far. It costs time as long as the value is, when asked for.
        """
        if not self._written.has_values:
            return self.text_so_far
        return self._written.value_at(self._n_chars, is_whole=self.result is not None)


class _Written:
    """The growing text of one row."""

    def __init__(self, row: PreparedRow, vocabulary: Vocabulary) -> None:
        self._bytes_of = vocabulary.decode if row.compiled is None else row.compiled.engine.decode
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._n_front = len(row.front)  # bytes of the prompt that come again
        self._constraint = row.constraint
        self.has_values = row.constraint is not None and row.constraint.kind in (*_JSON_KINDS, "template")
        self._pieces: list[str] = []
        self.n_chars = 0
        self._reader, self._n_read = self._new_reader(), 0

    def _new_reader(self) -> PartialJson | PartialTemplate:
        constraint = self._constraint
        is_template = constraint is not None and constraint.kind == "template"
        return PartialTemplate(constraint) if constraint is not None and is_template else PartialJson()

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, token_ids: tuple[int, ...], *, is_last: bool) -> str:
        """The characters that new tokens complete."""
        data = self._bytes_of(token_ids)
        skipped = min(self._n_front, len(data))
        self._n_front -= skipped
        new = self._decoder.decode(data[skipped:], is_last)
        self._pieces.append(new)
        self.n_chars += len(new)
        return new

    def value_at(self, n_chars: int, *, is_whole: bool) -> Any:
        if n_chars < self._n_read:  # an earlier part is asked after a later one
            self._reader, self._n_read = self._new_reader(), 0
        self._reader.feed(self.text[self._n_read : n_chars])
        self._n_read = n_chars
        if isinstance(self._reader, PartialJson):
            return self._reader.value(is_whole=is_whole)
        if is_whole and self._constraint is not None:
            try:
                return self._constraint.parse(self.text)
            except (ConstraintError, ValueError):
                pass  # a type's own checks refuse a value; the result will say so
        return self._reader.value()


class Stream:
    """An iterator of `StreamPart`s; close it, or leave its `with` block, to stop early. Made by `stream`."""

    def __init__(self, model: Any, call: Call) -> None:
        self._call = call
        self._results: dict[int, GenerationResult] = {}
        self._parts = self._run(model)
        self._lock = threading.Lock()  # a pass may run in another thread when `close` is called

    def _run(self, model: Any) -> Generator[StreamPart]:
        call = self._call
        written = [_Written(row, call.vocabulary) for row in call.rows]
        for index, token_ids, result in row_passes(model, call.vocabulary, call.rows, call.options):
            one = written[index]
            text = one.add(token_ids, is_last=result is not None)
            if result is not None:
                self._results[index] = result
            if text or token_ids or result is not None:
                yield StreamPart(index, text, token_ids, result, _written=one, _n_chars=one.n_chars)

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> StreamPart:
        with self._lock:
            return next(self._parts)

    def close(self) -> None:
        """Stop; nothing more is written. Results of texts that are not finished stay unknown."""
        with self._lock:
            self._parts.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def result(self) -> Any:
        """What `generate` would have returned; reads on to the end first. Raises RuntimeError after an early close."""
        for _ in self:
            pass
        if len(self._results) < len(self._call.rows):
            raise RuntimeError("the stream was closed before all texts were finished, so there is no result.")
        results = [self._results[index] for index in range(len(self._call.rows))]
        return results if self._call.gives_list else results[0]


def stream(model: Any, tokenizer: Any, prompt: Any, constraint: Any = None, **options: Any) -> Stream:
    """`generate`, as it goes: an iterator of parts, and `.result` at its end. Options are those of `generate`.

    The tokens are the same, drafts included. Several prompts run together, and their parts come as they are decided.
    The model rests between two parts.

    Raises, before any model time is spent, what `generate` raises.

        for part in domino.stream(model, tokenizer, "Name a colour: ", domino.regex("[a-z]+")):
            print(part.text, end="", flush=True)
    """
    options.pop("progress", None)  # the parts are the progress
    call_options, generation_options = split_options(options)
    return Stream(model, prepare_call(model, tokenizer, prompt, constraint, generation_options, **call_options))


async def astream(
    model: Any, tokenizer: Any, prompt: Any, constraint: Any = None, **options: Any
) -> AsyncIterator[StreamPart]:
    """`stream` for async code: the model runs in a thread, one pass at a time; cancelling stops it after that pass."""
    parts = await asyncio.to_thread(stream, model, tokenizer, prompt, constraint, **options)
    try:
        while (part := await asyncio.to_thread(next, parts, None)) is not None:
            yield part
    finally:
        await asyncio.shield(asyncio.to_thread(parts.close))


async def agenerate(model: Any, tokenizer: Any, prompt: Any, constraint: Any = None, **options: Any) -> Any:
    """`generate` for async code: the model runs in a thread; cancelling stops it after the pass that runs."""
    parts = await asyncio.to_thread(stream, model, tokenizer, prompt, constraint, **options)
    try:
        while await asyncio.to_thread(next, parts, None) is not None:
            pass
        return parts.result
    finally:
        await asyncio.shield(asyncio.to_thread(parts.close))


async def aextract(model: Any, tokenizer: Any, text: Any, type: Any, **options: Any) -> Any:
    """`extract` for async code: it runs in a thread, where what was cancelled still runs to its end."""
    return await asyncio.to_thread(extract, model, tokenizer, text, type, **options)
