"""What the three laws of tokenization make of a model's outputs: canonical or not, and what that cost in nats.

Parts of `python benchmarks/laws.py --tokenization`; every figure comes from the tokenizer's own encoding of whole texts
and from scoring passes of the unconstrained model, not from the masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import domino_py as domino
from tokenizer_align.canonical.encoding import canonical_ids
from tokenizer_align.vocabulary import Vocabulary

Show = Callable[[str], None]
Task = tuple[list[str], Any]  # questions and answers in turn, the last a question; the constraint


def _closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _compact(**properties: Any) -> domino.Constraint:
    return domino.json_schema(_closed(**properties), whitespace="compact")


TEXT: dict[str, Any] = {"type": "string", "maxLength": 16}
LETTERS: dict[str, Any] = {"type": "string", "pattern": r"^\p{L}[\p{L} -]{0,15}$"}


def person(word: dict[str, Any]) -> domino.Constraint:
    name = {**word, "maxLength": 24} if "maxLength" in word else word
    return _compact(name=name, age={"type": "integer", "minimum": 0, "maximum": 130})


PEOPLE = (
    "Ada Byron is 36 years old and lives in London.",
    "My neighbour Kofi Mensah turned 52 last week.",
    "The winner, Maria Lindqvist (24), comes from Uppsala.",
    "At 71, Tomás Ortega still works in his garden every day.",
    "This is Li Wei. He is nine years old.",
)
THINGS = ("lamp", "train", "soup", "letter", "garden", "violin", "bridge", "winter", "coffee", "island")


def schemas(word: dict[str, Any]) -> tuple[tuple[str, str, domino.Constraint], ...]:
    """A question, the answer for a clock as an example of the compact form, and the constraint; strings are `word`."""
    return (
        (
            "The {thing} came broken. Give action and score as JSON.",
            '{"action":"approve","score":"low"}',
            _compact(action={"enum": ["approve", "reject", "escalate"]}, score={"enum": ["low", "mid", "high"]}),
        ),
        (
            "The {thing} was made by Ada Byron, who is 36. Write her name and age as JSON.",
            '{"name":"Ada Byron","age":36}',
            person(word),
        ),
        (
            "Describe a {thing} as JSON with colour and price.",
            '{"colour":"black","price":24.5}',
            _compact(colour=word, price={"type": "number"}),
        ),
        (
            "Is the {thing} good? JSON with good (true or false) and why.",
            '{"good":true,"why":"it is exact"}',
            _compact(good={"type": "boolean"}, why=word),
        ),
        (
            "Two words about a {thing}, as a JSON list under words.",
            '{"words":["loud","round"]}',
            _compact(words={"type": "array", "items": word, "minItems": 1, "maxItems": 2}),
        ),
        (
            "Where is the {thing}? JSON with city and country.",
            '{"city":"Prague","country":"Czechia"}',
            _compact(city=word, country=word),
        ),
        (
            "When was the {thing} made? JSON with year and sure.",
            '{"year":1910,"sure":false}',
            _compact(year={"type": "integer", "minimum": 1000, "maximum": 2100}, sure={"type": "boolean"}),
        ),
        (
            "Size of the {thing} as JSON: width and unit.",
            '{"width":30,"unit":"cm"}',
            _compact(width={"type": "integer", "minimum": 0, "maximum": 999}, unit={"enum": ["mm", "cm", "m", "km"]}),
        ),
        (
            "Who owns the {thing}? JSON with owner, null if unknown.",
            '{"owner":"Otto Brandt"}',
            _compact(owner={"anyOf": [word, {"type": "null"}]}),
        ),
        (
            "Rate the {thing} from 1 to 5 as JSON.",
            '{"rating":4}',
            _compact(rating={"type": "integer", "minimum": 1, "maximum": 5}),
        ),
    )


OTHERS: tuple[tuple[str, domino.Constraint], ...] = (
    ("Make up the telephone number of the {thing} shop.", domino.regex(r"\([0-9]{3}\) [0-9]{3}-[0-9]{4}")),
    ("On which day did the {thing} arrive?", domino.regex(r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])-[0-3][0-9]")),
    ("Say one thing about the {thing}.", domino.regex(r"[A-Z][a-z]{1,9}( [a-z]{1,9}){1,4}\.")),
    ("Do you like the {thing}?", domino.choice(["yes", "no", "maybe", "Yes", "No", "Maybe"])),
    ("I did not like the {thing}. Is this positive?", domino.choice(["positive", "negative", "neither of the two"])),
)
FLEXIBLE = domino.json_schema(_closed(name=TEXT, tags={"type": "array", "items": TEXT, "maxItems": 2}))


@dataclass(slots=True)
class Found:
    """What was seen: generations, failures by kind, and alignment gaps in nats."""

    n: int = 0
    n_tokens: int = 0
    wrong: list[str] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    @property
    def mean_gap(self) -> float:
        return sum(self.gaps) / len(self.gaps) if self.gaps else 0.0


class Asker:
    """One model and its way of asking: chat messages, or plain text where the tokenizer has no chat template."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.vocabulary = Vocabulary.from_tokenizer(tokenizer, model=model)
        self._chats = bool(getattr(tokenizer, "chat_template", None))

    def prompt(self, texts: Sequence[str]) -> Any:
        """Questions and answers in turn; the last is the question."""
        if self._chats:
            return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
        return "".join(text + ("\n" if i % 2 else "\nAnswer:\n") for i, text in enumerate(texts))

    def prompt_ids(self, texts: Sequence[str]) -> list[int]:
        from domino_py.prompts import prompts_to_ids

        ids, _ = prompts_to_ids(self.prompt(texts), self.tokenizer, self.vocabulary.n_rows)
        return ids[0]

    def ask(self, chats: Sequence[Sequence[str]], constraints: Sequence[Any], law: str, **options: Any) -> list[Any]:
        results: list[domino.GenerationResult] = domino.generate(
            self.model,
            self.tokenizer,
            [self.prompt(chat) for chat in chats],
            list(constraints),
            tokenization=law,
            **{"max_new_tokens": 40, "do_sample": False, **options},
        )
        return results


def judge(asker: Asker, chat: Sequence[str], constraint: Any, result: Any, found: Found) -> None:
    """Note whether an output is legal and is what the tokenizer writes behind the prompt."""
    vocabulary, ids = asker.vocabulary, tuple(result.token_ids)
    expected = canonical_ids(vocabulary, vocabulary.decode(ids), asker.prompt_ids(chat))
    found.n += 1
    found.n_tokens += len(ids)
    found.gaps.append(result.report.measure_alignment())
    complaints = [note for note in result.report.notes if "tokenization" in note or "behind the prompt" in note]
    if not constraint.matches(vocabulary.decode(ids)):
        complaints.append("not legal")
    if expected != ids or result.report.noncanonical_tokens or found.gaps[-1]:
        complaints.append(f"not canonical: {ids} / {expected}")
    found.wrong += [f"{chat[-1]!r} -> {result.text!r}: {complaint}" for complaint in complaints]


def canonical_tasks() -> Iterator[tuple[list[str], Any, dict[str, Any]]]:
    """Endlessly many questions with constraints and options: all of them greedily, then all sampled, and so on."""
    kinds = [
        *((question, constraint) for question, _, constraint in schemas(TEXT)),
        *OTHERS,
        ("Name and tags of a {thing} as JSON.", FLEXIBLE),
    ]
    index = 0
    while True:
        question, constraint = kinds[index % len(kinds)]
        turn = index // len(kinds)
        mode: dict[str, Any] = {"do_sample": True, "top_k": 0} if turn % 2 else {}
        yield [question.format(thing=THINGS[turn % len(THINGS)])], constraint, mode
        index += 1


def always_canonical(asker: Asker, n: int, show: Show, size: int = 8) -> Found:
    """n generations under "canonical", half of them sampled from the whole distribution, against re-encoding."""
    found = Found()
    tasks = [task for _, task in zip(range(n), canonical_tasks(), strict=False)]
    for sampled in (False, True):
        mine = [task for task in tasks if bool(task[2]) is sampled]
        for start in range(0, len(mine), size):
            group = mine[start : start + size]
            chats, constraints = [task[0] for task in group], [task[1] for task in group]
            results = asker.ask(chats, constraints, "canonical", **group[0][2], seed=start)
            for chat, constraint, result in zip(chats, constraints, results, strict=True):
                before = len(found.wrong)
                judge(asker, chat, constraint, result, found)
                for complaint in found.wrong[before:]:
                    show(complaint)
            show(f"  canonical, {'sampled' if sampled else 'greedy'}: {found.n} of {n}, last {results[-1].text!r}")
    return found


def gaps_of(asker: Asker, tasks: Sequence[Task], law: str, show: Show, size: int = 10) -> Found:
    """Greedy outputs under a law: their alignment gaps. Non-canonical outputs are noted, not wrong, unless illegal."""
    found = Found()
    for start in range(0, len(tasks), size):
        group = tasks[start : start + size]
        results = asker.ask([chat for chat, _ in group], [constraint for _, constraint in group], law)
        for (chat, constraint), result in zip(group, results, strict=True):
            found.n += 1
            found.n_tokens += len(result.token_ids)
            found.gaps.append(result.report.measure_alignment())
            if not constraint.matches(result.text):
                found.wrong.append(f"not legal: {chat[-1]!r} -> {result.text!r}")
            if result.report.noncanonical_tokens:
                show(f"  {law}: gap {found.gaps[-1]:+.2f}, {result.report.noncanonical_tokens} tokens: {result.text!r}")
    return found


def people(word: dict[str, Any], *, shown: bool) -> list[Task]:
    """The five-person prompt set: a name and an age as compact JSON. `shown`: behind an example of that form."""
    ask = "Write the person's name and age as JSON. {}"
    example = [ask.format("Otto Brandt, 47, repairs clocks."), '{"name":"Otto Brandt","age":47}'] if shown else []
    constraint = person(word)
    return [([*example, ask.format(sentence)], constraint) for sentence in PEOPLE]


def schema_prompts(n: int, word: dict[str, Any], *, shown: bool) -> list[Task]:
    """Up to 100 questions with compact schemas; `shown`: each behind one answer of that form."""
    kinds = schemas(word)
    return [
        ([*([question.format(thing="clock"), answer] if shown else []), question.format(thing=thing)], constraint)
        for thing in THINGS
        for question, answer, constraint in kinds
    ][:n]


def same_with_drafts(asker: Asker, law: str, n: int, show: Show, size: int = 4) -> Found:
    """Generations with drafts on and off under a law; every difference is wrong."""
    found = Found()
    tasks = [task for _, task in zip(range(n), canonical_tasks(), strict=False)]
    for start in range(0, n, size):
        group = tasks[start : start + size]
        chats, constraints = [task[0] for task in group], [task[1] for task in group]
        mode: dict[str, Any] = {"do_sample": True} if start // size % 2 else {}
        runs = [asker.ask(chats, constraints, law, seed=start, speculate=drafts, **mode) for drafts in (True, False)]
        for drafted, plain in zip(*runs, strict=True):
            found.n += 1
            if drafted.token_ids != plain.token_ids:
                found.wrong.append(f"{law}, drafts: {drafted.text!r} / {plain.text!r}")
                show(found.wrong[-1])
    return found
