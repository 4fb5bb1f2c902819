"""What outputs under each library's masks cost the unconstrained model: perplexity per byte, greedy, same prompts.

Compact JSON, where the model would rather write blanks, asked of every library as one regex; the workloads "extract"
and "reasoning" of `domino bench`; and "both", these two with all their prompts, as they are and as compact JSON without
an example, taken together. "canonical" is the same text in the tokenizer's own tokens; equal texts are counted, since
there no library can be better than another. A text that the limit of tokens cuts off is an easier one, so all figures
come once more for the texts that every method completes, and for those that a method and this library complete.

    python benchmarks/law_peers.py [--parts compact extract reasoning both] [--methods …] [--tokens 400] [--keep FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent.parent))

import domino_py as domino
from benchmarks.law_outputs import PEOPLE, THINGS
from domino_py.bench.methods import Exact, Method, Naive, Setting, prompt_ids_of
from domino_py.bench.peers import find_peers
from domino_py.bench.quality import Judge
from domino_py.bench.results import Quality, Run
from domino_py.bench.workloads import Workload, workload_named
from domino_py.default_model import load_packaged

WORD = r"[A-Za-z][A-Za-z -]{0,15}"
COMPACT: tuple[tuple[str, str, Sequence[str]], ...] = (
    (
        "Write the person's name and age as JSON.",
        rf'\{{"name":"{WORD}","age":[1-9][0-9]?\}}',
        PEOPLE,
    ),
    (
        "The thing came broken. Give action and score as JSON.",
        r'\{"action":"(approve|reject|escalate)","score":"(low|mid|high)"\}',
        THINGS,
    ),
    (
        "Is the thing good? JSON with good (true or false) and why.",
        rf'\{{"good":(true|false),"why":"{WORD}"\}}',
        THINGS,
    ),
    ("Where is the thing? JSON with city and country.", rf'\{{"city":"{WORD}","country":"{WORD}"\}}', THINGS),
    (
        "Size of the thing as JSON: width and unit.",
        r'\{"width":[1-9][0-9]{0,2},"unit":"(mm|cm|m|km)"\}',
        THINGS,
    ),
    ("Who owns the thing? JSON with owner.", rf'\{{"owner":"{WORD}"\}}', THINGS),
    ("Rate the thing from 1 to 5 as JSON.", r'\{"rating":[1-5]\}', THINGS),
)


def compact_workloads() -> Iterator[Workload]:
    for i, (instruction, pattern, questions) in enumerate(COMPACT):
        yield Workload(f"compact-{i}", "compact JSON", instruction, (), tuple(questions), (), 40, pattern=pattern)


TEXT = r"\"[A-Za-z0-9 .,;:'()+=/*$%-]{1,40}\""
NUMBER = r"(0|[1-9][0-9]{0,5})(\.[0-9]{1,2})?"
ITEM = rf'\{{"product":{TEXT},"quantity":[1-9][0-9]{{0,3}},"unit_price":{NUMBER}\}}'
COMPACT_FORMS = {
    "extract": rf'\{{"customer":\{{"name":{TEXT},"city":{TEXT}\}},"items":\[{ITEM}(,{ITEM}){{0,3}}\],'
    rf'"total":{NUMBER},"express":(true|false)\}}',
    "reasoning": rf'\{{"steps":\[\{{"thought":{TEXT}\}}(,\{{"thought":{TEXT}\}}){{0,3}}\],"answer":{NUMBER}\}}',
}


def both_forms() -> Iterator[Workload]:
    """The two workloads with all their prompts, as they are and compact."""
    for name, pattern in COMPACT_FORMS.items():
        known = workload_named(name)
        whole = replace(known, questions=known.questions + known.practice)
        yield whole
        yield replace(whole, name=f"{name}-compact", examples=(), schema_text=None, pattern=pattern)


class Law:
    """`domino.generate` without drafts under a law of tokenization; `exact=True` takes no token back."""

    def __init__(self, setting: Setting, name: str, title: str, **options: Any) -> None:
        self.name, self.title = name, title
        self._setting, self._options = setting, options

    def prepare(self, workload: Workload) -> None:
        """Nothing to do."""

    def run(self, workload: Workload, prompt_ids: list[int]) -> Run:
        result = domino.generate(
            self._setting.model,
            self._setting.tokenizer,
            prompt_ids,
            workload.constraint(),
            max_new_tokens=workload.max_new_tokens,
            do_sample=False,
            speculate=False,
            **self._options,
        )
        return Run(tuple(result.token_ids), 0.0, 0)


class Writer:
    """Lets methods write texts. What was written is kept in a file, if there is one, and not written again."""

    def __init__(self, setting: Setting, kept: Path | None) -> None:
        self.setting, self._kept = setting, kept
        self._judge = Judge(setting)
        lines = kept.read_text().splitlines() if kept is not None and kept.exists() else []
        self._known: dict[tuple[str, str, str, int], list[int]] = {}
        for line in lines:
            *key, ids = json.loads(line)
            self._known[tuple(key)] = ids

    def write(self, method: Method, workload: Workload, question: str) -> Quality:
        prompt = prompt_ids_of(self.setting, workload, question)
        key = (method.name, workload.name, question, workload.max_new_tokens)
        if key not in self._known:
            ends = self.setting.vocabulary.eos_token_ids
            written = method.run(workload, prompt).token_ids
            self._known[key] = [token for token in written if token not in ends]
            if self._kept is not None:
                with self._kept.open("a") as file:
                    print(json.dumps([*key, self._known[key]]), file=file)
        return self._judge.judge(workload, prompt, tuple(self._known[key]))


Texts = dict[tuple[str, str], Quality]  # by workload and question


def write_all(
    writer: Writer, methods: Sequence[Method], workloads: Sequence[Workload], n: int
) -> tuple[dict[str, Texts], list[str]]:
    """Every method's texts for the first n questions of each workload, and what it refused."""
    found: dict[str, Texts] = {}
    problems: list[str] = []
    for method in methods:
        mine: Texts = found.setdefault(method.title, {})
        for workload in workloads:
            try:
                method.prepare(workload)
                for question in workload.questions[:n]:
                    mine[workload.name, question] = writer.write(method, workload, question)
            except Exception as error:  # what a foreign library refuses is a result
                problems.append(f"{method.title}, {workload.name}: {type(error).__name__}: {str(error)[:80]}")
    return found, problems


def perplexities(texts: Sequence[Quality]) -> tuple[str, str]:
    """Perplexity a byte of texts in their tokens, and in the tokenizer's own."""
    n_bytes = sum(one.n_bytes for one in texts) or 1
    logprob = math.fsum(one.logprob for one in texts)
    gaps = math.fsum(one.alignment_gap or 0.0 for one in texts)
    return f"{math.exp(-logprob / n_bytes):.4f}", f"{math.exp(-(logprob + gaps) / n_bytes):.4f}"


def show(found: dict[str, Texts], problems: Sequence[str]) -> None:
    """Print one row a method: over all its texts, over those that all complete, and over those that it and ours do."""
    ours = next(iter(found.values()))
    complete = {title: {key for key, one in texts.items() if one.is_valid} for title, texts in found.items()}
    shared = set.intersection(*(keys for keys in complete.values() if keys))
    print(
        "| method | outputs | complete | with a gap | mean gap, nats | same text as ours | perplexity a byte | ", end=""
    )
    print(f"canonical's | of {len(shared)} that all complete | canonical's | both complete | theirs | ours |")
    print("|---|" + 12 * "--:|")
    for title, texts in found.items():
        gaps = [one.alignment_gap or 0.0 for one in texts.values()]
        same = sum(key in ours and ours[key].text == one.text for key, one in texts.items())
        both = sorted(complete[title] & next(iter(complete.values())))
        cells = [
            *(title, str(len(texts)), str(len(complete[title])), str(sum(map(bool, gaps)))),
            *(f"{math.fsum(gaps) / max(len(gaps), 1):.2f}", str(same), *perplexities(list(texts.values()))),
            *(perplexities([texts[key] for key in shared]) if shared <= set(texts) else ("-", "-")),
            *(str(len(both)), perplexities([texts[key] for key in both])[0]),
            perplexities([ours[key] for key in both])[0],
        ]
        print("| " + " | ".join(cells) + " |")
    print(*problems, sep="\n", flush=True)


def show_texts(found: dict[str, Texts]) -> None:
    """Print every text with its log-probability and that of its canonical tokens; equal ones once."""
    for key in next(iter(found.values())):
        print(f"\n{key[0]}: {key[1]}")
        by_text: dict[tuple[str, float], list[str]] = {}
        for title, texts in found.items():
            if key in texts:
                by_text.setdefault((texts[key].text, texts[key].logprob), []).append(title)
        for (text, logprob), titles in by_text.items():
            one = found[titles[0]][key]
            gap = one.alignment_gap or 0.0
            print(f"  {', '.join(titles)}: {'' if one.is_valid else 'incomplete, '}{one.n_bytes} bytes, ", end="")
            print(f"{logprob:.2f} nats, gap {gap:.2f}, perplexity {perplexities([one])[0]}\n    {text[:400]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["compact", "extract", "reasoning"])
    parser.add_argument("--methods", nargs="*", help="default: all")
    parser.add_argument("--laws", action="store_true", help="also this library's other laws")
    parser.add_argument("--questions", type=int, default=10, help="of each kind, at most")
    parser.add_argument("--tokens", type=int, help="limit of a text; default: the workload's")
    parser.add_argument("--keep", type=Path, help="a file for what was written, so that a run can be gone on with")
    parser.add_argument("--texts", action="store_true", help="also print the texts")
    chosen = parser.parse_args()
    setting = Setting.of(*load_packaged("smollm2"))
    peers, absent = find_peers(setting)
    for one in absent:
        print(f"left out: {one.name}: {one.reason}", file=sys.stderr)
    others = [Naive(setting), *(peer for peer in peers if peer.name != "transformers")]
    wanted = [one for one in others if not chosen.methods or one.name in chosen.methods]
    laws = [
        Law(setting, "masks alone", "domino_py, aligned, masks alone", exact=True),
        Law(setting, "canonical", "domino_py, canonical", tokenization="canonical"),
        Law(setting, "any", "domino_py, any", tokenization="any"),
    ]
    first = Exact(setting, "domino", "domino_py, aligned", False)
    methods: list[Method] = [first, *(laws if chosen.laws else []), *wanted]
    writer = Writer(setting, chosen.keep)
    for part in chosen.parts:
        made = {"compact": compact_workloads, "both": both_forms}
        workloads = list(made[part]()) if part in made else [workload_named(part)]
        if chosen.tokens:
            workloads = [replace(one, max_new_tokens=chosen.tokens) for one in workloads]
        found, problems = write_all(writer, methods, workloads, chosen.questions)
        print(f"\n{part}\n")
        show(found, problems)
        if chosen.texts:
            show_texts(found)


if __name__ == "__main__":
    main()
