"""Do drafts ever change anything? `python benchmarks/draft_laws.py --out laws.jsonl` answers, in pieces.

All workloads of `domino bench` and free text, greedy and sampled, alone and in batches of 2 to 8, each with drafts
("auto" and always, in turns) and without. Checked at every pass with drafts: the tokens are the same; the logits of
every decided position are those of passes of one token, within 2e-4; after every proposal the matcher equals a fresh
one that has read the same tokens; the cache is as long as what was accepted.

Every group of texts that is done is a line of the file; a run goes on behind those that it finds there, and stops after
`--seconds`. With `--bfloat16` the model rounds, near-ties are decided again (`exact=True`) and only the tokens must be
the same; a file of its own. The summary covers the whole file; the exit code is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent.parent))

import domino_py as domino
from domino_py.bench.methods import Setting, prompt_ids_of
from domino_py.bench.workloads import WORKLOADS, Workload
from domino_py.compilation import compiled_for
from domino_py.default_model import load_packaged
from speculative.loop import DecodeOptions, RowRequest, decode
from tests.reference.decode_watch import Watch, watching

BOUND = 2e-4  # of logits
SIZES = (1, 2, 1, 4, 3, 8, 1, 6, 5, 7)
SAMPLED: dict[str, Any] = {"do_sample": True, "temperature": 0.9, "top_k": 50}
FREE = Workload(
    "free",
    "free text",
    "Answer in one sentence.",
    (),
    ("What is a lamp?", "Where do trains go?", "Why is soup hot?", "Who plays the violin?", "Is winter cold?"),
    ("What colour is coffee?", "How old are bridges?", "What grows in a garden?"),
    max_new_tokens=40,
    pattern="(?s).*",
)


def compare(
    setting: Setting, requests: list[RowRequest], speculate: Any, law: dict[str, Any], exact: bool
) -> dict[str, Any]:
    """Decode with and without drafts; the line for the file."""
    plain, drafted = Watch(), Watch()
    with watching(plain, thorough=False):
        off = decode(setting.model, setting.vocabulary, requests, DecodeOptions(speculate=False, exact=exact, **law))
    with watching(drafted, thorough=True):
        on = decode(setting.model, setting.vocabulary, requests, DecodeOptions(speculate=speculate, exact=exact, **law))
    different = sum(a.token_ids != b.token_ids for a, b in zip(off, on, strict=True))
    shared = plain.scores.keys() & drafted.scores.keys()
    furthest = max((float(np.abs(plain.scores[k] - drafted.scores[k]).max()) for k in shared), default=0.0)
    return {
        "n": len(requests),
        "tokens": sum(len(one.token_ids) for one in on),
        "different": different,
        "logits": furthest if not different else None,
        "matchers": drafted.n_matchers,
        "caches": drafted.n_caches,
        "drafted": sum(sum(one.statistics.drafted.values()) for one in on),
        "accepted": sum(sum(one.statistics.accepted.values()) for one in on),
        "redecided": sum(one.statistics.n_redecided for one in on),
        "wrong": drafted.wrong,
    }


def groups(setting: Setting, limit: int) -> Iterator[tuple[list[RowRequest], Any, dict[str, Any]]]:
    """Batches of requests, without end: sizes, laws, workloads and questions in turns."""
    tasks = []
    for number in range(max(len(w.questions) + len(w.practice) for w in WORKLOADS)):
        for workload in (*WORKLOADS, FREE):
            asked = (*workload.questions, *workload.practice)
            ids = prompt_ids_of(setting, workload, asked[number % len(asked)])
            constraint = domino.json() if workload.constraint() is None else workload.constraint()
            tasks.append((ids, compiled_for(constraint, setting.vocabulary)))
    start = index = 0
    while True:
        size = SIZES[index % len(SIZES)]
        chosen = [tasks[(start + i) % len(tasks)] for i in range(size)]
        requests = [
            RowRequest(ids, None if (start + i) % 19 == 7 else compiled, i, limit, setting.vocabulary.eos_token_ids)
            for i, (ids, compiled) in enumerate(chosen)
        ]
        law = {**SAMPLED, "seed": index} if (index // 2) % 2 else {}
        yield requests, "auto" if index % 3 else True, law
        start += size
        index += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines; what it holds is not done again")
    parser.add_argument("--model", default="smollm2", choices=("smollm2", "gemma3"))
    parser.add_argument("--texts", type=int, default=500, help="how many in all (default 500)")
    parser.add_argument("--tokens", type=int, default=60, help="longest text (default 60)")
    parser.add_argument("--seconds", type=float, default=240.0, help="stop after so long (default 240)")
    parser.add_argument("--part", default="0/1", help="K/N: every N-th group only, from the K-th on; a file each")
    parser.add_argument("--bfloat16", action="store_true", help="in low precision, with exact=True")
    chosen = parser.parse_args()
    started = time.perf_counter()
    done = [json.loads(line) for line in chosen.out.read_text().splitlines()] if chosen.out.exists() else []
    part, n_parts = (int(word) for word in chosen.part.split("/"))
    setting = Setting.of(*load_packaged(chosen.model, dtype="bfloat16" if chosen.bfloat16 else "float32"))
    behind = {line["group"] for line in done}
    n_texts = 0
    with chosen.out.open("a") as out:
        for number, (requests, speculate, law) in enumerate(groups(setting, chosen.tokens)):
            if n_texts >= chosen.texts or time.perf_counter() - started > chosen.seconds:
                break
            n_texts += len(requests)
            if number in behind or number % n_parts != part:
                continue
            line = {"group": number, "model": chosen.model, "sampled": bool(law)}
            line |= compare(setting, requests, speculate, law, chosen.bfloat16)
            out.write(json.dumps(line) + "\n")
            out.flush()
            done.append(line)
    bound = math.inf if chosen.bfloat16 else BOUND
    bad = [line for line in done if line["different"] or line["wrong"] or (line["logits"] or 0.0) > bound]
    counted = ("n", "tokens", "drafted", "accepted", "redecided", "different")
    total = {name: sum(line.get(name, 0) for line in done) for name in counted}
    checks = {name: sum(line[name] for line in done) for name in ("matchers", "caches")}
    furthest = max((line["logits"] or 0.0 for line in done), default=0.0)
    console = Console(width=200)
    console.print(f"{chosen.model}: {total}, checked {checks}, logits differ by at most {furthest:.1e}")
    for line in bad:
        console.print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
