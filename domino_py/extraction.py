"""`extract`: typed objects out of texts, one or many.

Many texts run in batches, with a progress bar, and may go to a JSONL file from which an interrupted run resumes. A
record that fails is reported and does not stop the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from domino_py.arguments import as_constraint, check_model
from domino_py.assistant import check_assistant
from domino_py.compilation import check_tokenization
from domino_py.extraction_prompt import ExtractionPrompt
from domino_py.options import Options, resolve_options, split_options
from domino_py.progress import Progress, progress_bar
from domino_py.records import Record, RecordError, RecordLog, as_records, read_json, write_json
from domino_py.report import Report
from domino_py.results import GenerationResult
from domino_py.running import PreparedRow, prepare_row, run_rows
from tokenizer_align.errors import DominoError, InvalidOption
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["Extractor", "FailedRecord", "Outcome", "extract"]

DEFAULT_BATCH_SIZE = 8
_DECIDING = (  # the options that can change an answer; the others change its speed or what is reported
    "do_sample",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "typical_p",
    "repetition_penalty",
    "frequency_penalty",
    "presence_penalty",
    "truncate",
    "exact",
    "tokenization",
    "heal_prompt",
    "max_new_tokens",
)


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """What stands in the list of results for a text that failed: which one, and why. It is falsy.

    `error` is the exception itself, or None for a record that failed in an earlier run of a resumed file.
    """

    index: int
    id: str | int | None
    kind: str
    message: str
    error: Exception | None = field(default=None, compare=False, repr=False)

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one record: a value or a failure, and what was generated unless that was in an earlier run."""

    record: Record
    value: Any = None
    failure: FailedRecord | None = None
    result: GenerationResult | None = None


def extract(
    model: Any,
    tokenizer: Any,
    text: Any,
    type: Any,
    *,
    instructions: str | None = None,
    return_report: bool = False,
    batch_size: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = True,
    on_error: Literal["raise", "return"] | None = None,
    progress: bool = True,
    **options: Any,
) -> Any:
    """Extract a typed object from a text, or one from each of many.

    `text` is a text, chat messages, or a list or iterator of either. `type` is a Python type (Pydantic model,
    dataclass, TypedDict, …), a schema dict or a constraint. `instructions` say what else the model should know. With
    `out`, each record is written as a line of JSON once it is done (missing folders are made); with `resume`, records
    that the file already holds are taken from it. `on_error`: "raise" (the default for one text) or "return" (the
    default for many: a FailedRecord stands in the place of the object). Other options are those of `generate`;
    max_new_tokens is 512 by default, or what the model's context leaves.

    Returns the object, or a list of objects; with `return_report`, a pair with the Report (for many: of all together,
    without those taken from an earlier run's file).

    Raises, before any model time is spent, what `generate` raises; RecordError for an `out` file that cannot be
    resumed.

        person = domino.extract(model, tokenizer, "Ada Lovelace, born in 1815, …", Person)
    """
    records, many = as_records(text)
    if on_error not in (None, "raise", "return"):
        raise InvalidOption("on_error", f"on_error must be 'raise' or 'return', not {on_error!r}.")
    raising = (on_error or ("return" if many else "raise")) == "raise"
    runner = Extractor(model, tokenizer, type, instructions, batch_size=batch_size, **options)
    values: list[Any] = []
    reports: list[Report] = []
    for outcome in runner.run(records, out=out, resume=resume, progress=progress and many):
        if outcome.failure is not None and raising:
            raise outcome.failure.error or DominoError(f"{outcome.failure.kind}: {outcome.failure.message}")
        values.append(outcome.failure if outcome.failure is not None else outcome.value)
        if outcome.result is not None:
            reports.append(outcome.result.report)
    value = values if many else values[0]
    if not return_report:
        return value
    return value, reports[0] if not many and reports else Report.total(reports)


class Extractor:
    """What is the same for all records of a run: model, constraint, prompt, checked options."""

    def __init__(self, model: Any, tokenizer: Any, type: Any, instructions: str | None = None, **options: Any) -> None:
        check_model(model)
        constraint = as_constraint(type, "type")
        if constraint is None:
            raise InvalidOption("type", "extract needs a type, a schema or a constraint, not None.")
        call, options = split_options(options)
        self.options: Options = resolve_options(
            options, getattr(model, "generation_config", None), default_max_new_tokens=512, **call
        )
        if self.options.num_return_sequences != 1:
            raise InvalidOption("num_return_sequences", "extract gives one object a text; pass num_return_sequences=1.")
        check_tokenization(self.options.tokenization)
        self.model, self.constraint, self._seed = model, constraint, call.get("seed")
        self.prompt = ExtractionPrompt(tokenizer, type, constraint, instructions)
        self.vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=self.options.eos_token_id, model=model)
        check_assistant(self.options, self.vocabulary)
        # A budget or constraint that cannot work is the same for every record: found now, not once a record.
        prepare_row([0], constraint, self.vocabulary, model, self.options)

    @property
    def asked(self) -> str:
        """What is asked of each text, as far as it decides the answer; part of a record's hash."""
        settings = [getattr(self.options, name) for name in _DECIDING]
        constraint = (self.constraint.kind, self.constraint.source, self.constraint.options)
        return repr((constraint, self.prompt.question, settings, self.vocabulary.eos_token_ids, self._seed))

    def run(
        self,
        records: Iterable[Record],
        *,
        out: str | os.PathLike[str] | None = None,
        resume: bool = True,
        progress: bool = True,
    ) -> Iterator[Outcome]:
        """Outcomes in the order of the records.

        Each is in the `out` file as soon as its text is finished, also while the texts beside it are still written.
        """
        with ExitStack() as stack:
            log = None if out is None else stack.enter_context(RecordLog(out, resume=resume))
            bar = stack.enter_context(progress_bar(records, shown=progress))
            yield from self._outcomes(records, log, bar)
            if log is not None:
                log.arrange()

    def _outcomes(self, records: Iterable[Record], log: RecordLog | None, bar: Progress) -> Iterator[Outcome]:
        waiting: list[Record] = []
        size = self.options.batch_size or DEFAULT_BATCH_SIZE
        for record in records:
            line = None if log is None else log.line_of(record, record.digest(self.asked))
            if line is None:
                waiting.append(record)
                if len(waiting) == size:
                    yield from self._finish(waiting, log, bar)
                    waiting = []
            else:
                yield from self._finish(waiting, log, bar)
                waiting = []
                resumed = self._resumed(record, line)
                bar.finished(failed=resumed.failure is not None)
                yield resumed
        yield from self._finish(waiting, log, bar)

    def _finish(self, records: list[Record], log: RecordLog | None, bar: Progress) -> Iterator[Outcome]:
        """Run a batch; each outcome is written down and counted once it is there, and handed on in its order."""
        outcomes: dict[int, Outcome] = {}

        def done(place: int, end: GenerationResult | Exception) -> None:
            outcome = outcomes[place] = self._outcome(records[place], end)
            if log is not None:
                log.append(self.line(outcome))
            bar.finished(failed=outcome.failure is not None)

        rows: dict[int, PreparedRow] = {}
        for place, record in enumerate(records):
            prepared = self._prepare(record)
            if isinstance(prepared, PreparedRow):
                rows[place] = prepared
            else:
                done(place, prepared)
        self._generate(rows, done, bar)
        yield from (outcomes[place] for place in range(len(records)))

    def _prepare(self, record: Record) -> PreparedRow | Exception:
        try:
            ids = self.prompt.ids(record.content, record.name)
            row = prepare_row(ids, self.constraint, self.vocabulary, self.model, self.options, record.name)
            return replace(row, row=record.index, layout=self.prompt.layout)
        except Exception as error:
            return error

    def _generate(
        self,
        rows: dict[int, PreparedRow],
        done: Callable[[int, GenerationResult | Exception], None],
        bar: Progress,
    ) -> None:
        """Run a batch; where it fails as a whole, what is left runs one by one, so that only the guilty one fails."""
        left, failure = dict(rows), None

        def result(index: int, made: GenerationResult) -> None:
            del left[places[index]]
            done(places[index], made)

        places = list(rows)
        try:
            run_rows(self.model, self.vocabulary, list(rows.values()), self.options, on_result=result, progress=bar)
        except RecordError:  # of the file, not of a row
            raise
        except Exception as error:
            failure = error
        if failure is not None and len(rows) == 1:
            for place in left:
                done(place, failure)
        elif failure is not None:
            for place, row in list(left.items()):
                self._generate({place: row}, done, bar)

    def _outcome(self, record: Record, result: GenerationResult | Exception) -> Outcome:
        if isinstance(result, Exception):
            return Outcome(record, failure=_failed(record, result))
        try:
            return Outcome(record, result.value, result=result)
        except Exception as error:  # a type's own validators, which no mask can know
            return Outcome(record, failure=_failed(record, error), result=result)

    def line(self, outcome: Outcome) -> dict[str, Any]:
        """The line of the output file for an outcome."""
        record, result, failure = outcome.record, outcome.result, outcome.failure
        line: dict[str, Any] = {"index": record.index, "hash": record.digest(self.asked)}
        if record.id is not None:
            line["id"] = record.id
        if failure is not None:
            line["error"] = {"type": failure.kind, "message": failure.message}
        if result is not None:
            name = "value" if failure is None else "refused"
            line[name] = self._written(result.text)
        return line

    def _written(self, text: str) -> Any:
        """A text as a line holds it: JSON as JSON, unless it is nested too deeply to be read."""
        try:
            return read_json(text) if self._is_json else text
        except RecursionError:
            return text

    @property
    def _is_json(self) -> bool:
        return self.constraint.kind in ("json", "json_schema", "type")

    def _resumed(self, record: Record, line: dict[str, Any]) -> Outcome:
        """The outcome that an earlier run wrote down. Raises RecordError for a value that is none of this type."""
        if "error" in line:
            error = line["error"]
            return Outcome(record, failure=FailedRecord(record.index, record.id, error["type"], error["message"]))
        text = write_json(line["value"]) if self._is_json else line["value"]
        try:
            return Outcome(record, self.constraint.read(text))
        except (ValueError, TypeError) as error:
            raise RecordError(
                f"the value that an earlier run wrote for {record.name} cannot be read: {error}"
            ) from error


def _failed(record: Record, error: Exception) -> FailedRecord:
    return FailedRecord(record.index, record.id, type(error).__name__, str(error), error)
