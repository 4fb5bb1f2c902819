"""Do the laws hold on the real model, at length? `python benchmarks/laws.py` answers in some ten minutes on one core.

1. Drafts never change a token: the same requests with drafts on and off, greedy and sampled, alone and in batches.
2. Minimally invasive: where the model's own greedy text is legal, the constrained text is the same, token for token.

With `--tokenization N`, instead: N generations under "canonical" are the tokenizer's own tokens, with no dead end; what
the laws cost in nats on the five-person prompts and on N schema prompts (at most 100), greedy, behind one example of
the compact form and bare, with strings of letters and any strings; drafts change nothing under any law. `--model
gemma3` takes Gemma 3 270M.

Prints how many comparisons were made and every difference; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent.parent))

import domino_py as domino
from benchmarks.law_outputs import (
    LETTERS,
    TEXT,
    Asker,
    always_canonical,
    gaps_of,
    people,
    same_with_drafts,
    schema_prompts,
)
from domino_py.bench.workloads import workload_named
from domino_py.default_model import load_packaged

PERSON = domino.json_schema(
    {
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "maximum": 130}},
        "required": ["name", "age"],
        "additionalProperties": False,
    }
)
PHONE = workload_named("phone").constraint()
TRIAGE = workload_named("enum").constraint()
MOOD = domino.choice(["positive", "negative", "neither of them, as far as one can tell"])

THINGS = ("lamp", "train", "soup", "letter", "garden", "violin", "bridge", "winter", "coffee", "island")
QUESTIONS: tuple[tuple[Any, str], ...] = (
    (TRIAGE, "The {thing} was broken when it came, I want my money back. Answer as JSON with action and score."),
    (PERSON, "The {thing} was made by Ada Byron, who is 36 years old. Write her name and age as JSON."),
    (PHONE, "Make up the telephone number of the {thing} shop."),
    (MOOD, "I did not like the {thing} at all. Is this positive or negative?"),
    (domino.json(), "Describe a {thing} as a small JSON object."),
)
FREE = (
    "What is a {thing}?",
    "Write one sentence about a {thing}.",
    "Give me three words about a {thing}.",
    "Where do I find a {thing}?",
    "Who would want a {thing}?",
    "Say something nice about the {thing}.",
    "What colour is the {thing}?",
    "Is a {thing} expensive?",
    "How old is the {thing}?",
    "Describe a {thing} as JSON.",
)

LAWS = ("any", "aligned", "canonical")

Chat = list[dict[str, str]]


def chat(text: str) -> Chat:
    return [{"role": "user", "content": text}]


def compare_drafts(model: Any, tokenizer: Any, n: int, show: Callable[[str], None]) -> tuple[int, int]:
    """(generations compared, differences) between drafts on and off."""
    tasks = [(constraint, chat(text.format(thing=thing))) for thing in THINGS for constraint, text in QUESTIONS]
    modes: list[dict[str, Any]] = [{}, {"do_sample": True, "temperature": 0.9, "top_k": 50}]
    plan = itertools.cycle([(size, mode) for size in (1, 2, 4, 8) for mode in modes])
    done = different = 0
    start = 0
    for size, mode in track(list(itertools.islice(plan, n)), description="drafts on and off"):
        if done >= n:
            break
        group = [tasks[(start + i) % len(tasks)] for i in range(size)]
        start += size
        texts, constraints = [text for _, text in group], [constraint for constraint, _ in group]
        runs = [
            domino.generate(
                model, tokenizer, texts, constraints, max_new_tokens=28, seed=start, speculate=speculate, **mode
            )
            for speculate in (True, False)
        ]
        for drafted, plain in zip(*runs, strict=True):
            done += 1
            if drafted.token_ids != plain.token_ids:
                different += 1
                show(f"drafts: {drafted.text!r} / {plain.text!r}")
    return done, different


def compare_free(model: Any, tokenizer: Any, n: int, show: Callable[[str], None]) -> tuple[int, int]:
    """(prompts compared, differences) between the unconstrained text and a constraint that admits it."""
    prompts = [chat(text.format(thing=thing)) for text in FREE for thing in THINGS][:n]
    different = 0
    for first in track(range(0, len(prompts), 10), description="minimally invasive"):
        group = prompts[first : first + 10]
        free = domino.generate(model, tokenizer, group, max_new_tokens=20)
        constraints = []
        for index, result in enumerate(free):
            spoilers = [result.text[:3] + "zzz", result.text + " and more", "yes"]
            constraints.append(
                [domino.choice([result.text, *spoilers]), domino.regex("(?s).*"), domino.regex(r"(?s)\S.{5,}|yes|no")][
                    index % 3
                ]
            )
        bound = domino.generate(model, tokenizer, group, constraints, max_new_tokens=20)
        for one, other in zip(free, bound, strict=True):
            if one.token_ids != other.token_ids[: len(one.token_ids)]:
                different += 1
                show(f"free: {one.text!r} / constrained: {other.text!r}")
    return len(prompts), different


def compare_tokenizations(
    model: Any, tokenizer: Any, n: int, parts: str, laws: Sequence[str], show: Callable[[str], None]
) -> int:
    """Check the laws of tokenization; how many outputs broke one. `parts`: see main."""
    asker, wrong = Asker(model, tokenizer), 0
    if "c" in parts:
        found = always_canonical(asker, n, show)
        wrong += len(found.wrong)
        gap = f"gap at most {max(map(abs, found.gaps), default=0.0):.2f}"
        show(f"canonical: {found.n} generations, {found.n_tokens} tokens, {len(found.wrong)} wrong, {gap}")
    sets: dict[str, Any] = {}
    for part, title, word, shown in (
        ("g", "behind an example", TEXT, True),
        ("w", "bare, strings of letters", LETTERS, False),
        ("b", "bare, free strings", TEXT, False),
    ):
        if part in parts:
            sets[f"five people, {title}"] = people(word, shown=shown)
            sets[f"schema prompts, {title}"] = schema_prompts(n, word, shown=shown)
    for name, tasks in sets.items():
        for law in laws:
            found = gaps_of(asker, tasks, law, show)
            wrong += len(found.wrong)
            gaps = f"gap mean {found.mean_gap:.3f}, {min(found.gaps):.2f} to {max(found.gaps):.2f} nats"
            show(f"{name}, {law}: {found.n} outputs, {sum(map(bool, found.gaps))} with a gap; {gaps}")
    for law in laws if "d" in parts else ():
        found = same_with_drafts(asker, law, max(n // 6, 1), show)
        wrong += len(found.wrong)
        show(f"drafts on and off, {law}: {found.n} generations, {len(found.wrong)} different")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=200, help="with drafts on and off (default 200)")
    parser.add_argument("--prompts", type=int, default=100, help="whose own text is legal (default 100)")
    parser.add_argument("--tokenization", type=int, default=0, metavar="N", help="check the laws of tokenization only")
    parser.add_argument(
        "--parts", default="cgwbd", help="of --tokenization: c(anonical), g(aps), b (gaps of bare prompts), d(rafts)"
    )
    parser.add_argument("--laws", nargs="+", default=LAWS, choices=LAWS, help="of gaps and drafts; default all")
    parser.add_argument("--model", default="smollm2", choices=("smollm2", "gemma3"), help="default smollm2")
    chosen = parser.parse_args()
    console = Console()
    model, tokenizer = load_packaged(chosen.model)
    if chosen.tokenization:
        return min(
            compare_tokenizations(model, tokenizer, chosen.tokenization, chosen.parts, chosen.laws, console.print), 1
        )
    made, wrong = compare_drafts(model, tokenizer, chosen.generations, console.print)
    console.print(f"drafts on and off: {made} generations, {wrong} different")
    prompts, changed = compare_free(model, tokenizer, chosen.prompts, console.print)
    console.print(f"minimally invasive: {prompts} prompts whose own text is legal, {changed} changed")
    return 1 if wrong or changed else 0


if __name__ == "__main__":
    sys.exit(main())
