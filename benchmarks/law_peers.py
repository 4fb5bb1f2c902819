"""What outputs under each library's masks cost the unconstrained model: perplexity per byte, greedy, same prompts.

Compact JSON, where the model would rather write blanks, asked of every library as one regex; the workloads "extract"
and "reasoning" of `domino bench`; and "both", these two with all their prompts, as they are and as compact JSON without
an example, taken together. "canonical" is the same text in the tokenizer's own tokens; equal texts are counted, since
there no library can be better than another.

    python benchmarks/law_peers.py [--parts compact extract reasoning both] [--methods …]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.law_outputs import PEOPLE, THINGS
from domino_py.bench.methods import Exact, Method, Naive, Setting, prompt_ids_of
from domino_py.bench.peers import find_peers
from domino_py.bench.quality import Judge
from domino_py.bench.workloads import WORKLOADS, Workload, workload_named
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


def compare(setting: Setting, methods: Sequence[Method], workloads: Sequence[Workload], n: int) -> None:
    """Print one row a method over all questions."""
    judge, ours = Judge(setting), methods[0].name
    texts: dict[str, list[str]] = {}
    print("| method | outputs | legal | with a gap | mean gap nats | texts as ours | perplexity a byte | canonical's |")
    print("|---|" + 7 * "--:|")
    for method in methods:
        found: list[Any] = []
        problems: list[str] = []
        for workload in workloads:
            try:
                method.prepare(workload)
                for question in workload.questions[:n]:
                    ids = prompt_ids_of(setting, workload, question)
                    run = method.run(workload, ids)
                    ends = setting.vocabulary.eos_token_ids
                    kept = tuple(token for token in run.token_ids if token not in ends)
                    found.append(judge.judge(workload, ids, kept))
            except Exception as error:  # what a foreign library refuses is a result
                problems.append(f"{workload.name}: {type(error).__name__}: {str(error)[:80]}")
        texts[method.name] = [one.text for one in found]
        same = sum(a == b for a, b in zip(texts[method.name], texts[ours], strict=False))
        n_bytes, logprob = sum(one.n_bytes for one in found) or 1, sum(one.logprob for one in found)
        gaps = [one.alignment_gap or 0.0 for one in found]
        cells = [
            *(method.title, str(len(found)), str(sum(one.matches for one in found)), str(sum(map(bool, gaps)))),
            *(f"{sum(gaps) / max(len(gaps), 1):.2f}", str(same), f"{math.exp(-logprob / n_bytes):.4f}"),
            f"{math.exp(-(logprob + sum(gaps)) / n_bytes):.4f}",
        ]
        print("| " + " | ".join(cells) + " |", *problems, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["compact", "extract", "reasoning"])
    parser.add_argument("--methods", nargs="*", help="default: all")
    parser.add_argument("--questions", type=int, default=10, help="of each kind, at most")
    chosen = parser.parse_args()
    setting = Setting.of(*load_packaged("smollm2"))
    peers, absent = find_peers(setting)
    for one in absent:
        print(f"left out: {one.name}: {one.reason}", file=sys.stderr)
    others = [Naive(setting), *(peer for peer in peers if peer.name != "transformers")]
    wanted = [one for one in others if not chosen.methods or one.name in chosen.methods]
    methods: list[Method] = [Exact(setting, "domino", "domino_py, aligned", False), *wanted]
    if "compact" in chosen.parts:
        compare(setting, methods, list(compact_workloads()), chosen.questions)
    if "both" in chosen.parts:
        compare(setting, methods, list(both_forms()), chosen.questions)
    for workload in WORKLOADS:
        if workload.name in chosen.parts:
            print(f"\n{workload.title}")
            compare(setting, methods, [workload], chosen.questions)


if __name__ == "__main__":
    main()
