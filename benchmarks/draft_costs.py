"""What drafts cost where they fail, and what they gain: `python benchmarks/draft_costs.py --part switch` and others.

switch: a hostile workload, in which sources keep proposing and nothing is accepted, against drafts off; and free text
    under `.*` against no constraint. The passes and their widths, which are the same in any run, and the time.
batch: nested extraction in batches, with drafts and without.
factors: the workloads of `domino bench`, on a constraint's first use and on later ones, against unconstrained text of
    as many tokens, in decoding time: what is left without the prompt's own pass, measured alone.

Times are the process's own, so that a busy machine does not show; what is compared takes turns, text by text.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent.parent))

import domino_py as domino
from domino_py.bench.methods import Setting, prompt_ids_of
from domino_py.bench.workloads import WORKLOADS, workload_named
from domino_py.compilation import compiled_for
from domino_py.default_model import load_packaged
from domino_py.prompts import prompts_to_ids
from speculative.drafts import Draft, DraftContext
from speculative.drafts.memory import set_memory
from speculative.loop import DecodeOptions, RowRequest, RowResult, decode
from speculative.passes import CausalModel
from speculative.planner import built_in_sources
from speculative.policy import DraftPolicy, policy_of, set_policy

HOSTILE = "Mix these: red green blue red blue green blue red red green. Then go on with anything at all. " * 3
FREE = ("What is a lamp?", "Why is soup hot?")
WIDTHS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(slots=True)
class Lane:
    """Times and passes of one way to write."""

    elapsed_s: float = 0.0
    n_tokens: int = 0
    n_passes: int = 0
    n_drafted: int = 0
    n_accepted: int = 0
    draft_s: float = 0.0

    def add(self, results: Sequence[RowResult], elapsed_s: float, n_passes: int) -> None:
        self.elapsed_s += elapsed_s
        self.n_passes += n_passes
        for one in results:
            self.n_tokens += len(one.token_ids)
            self.n_drafted += sum(one.statistics.drafted.values())
            self.n_accepted += sum(one.statistics.accepted.values())
            self.draft_s += one.statistics.draft_s


class Wrong:
    """A source that always proposes what will not come."""

    name = "wrong"

    def propose(self, context: DraftContext, limit: int) -> list[Draft]:
        ids = tuple(1000 + (37 * (len(context.output_ids) + i)) % 5000 for i in range(min(limit, 8)))
        return [Draft(self.name, ids, ("guess",) * len(ids))]


def run(setting: Setting, lane: Lane, requests: Sequence[RowRequest], **options: Any) -> list[RowResult]:
    n_passes = 0
    forward = CausalModel.run

    def counted(self: CausalModel, *arguments: Any) -> Any:
        nonlocal n_passes
        n_passes += 1
        return forward(self, *arguments)

    CausalModel.run = counted  # type: ignore[method-assign]
    started = time.process_time()
    try:
        results = decode(setting.model, setting.vocabulary, requests, DecodeOptions(**options))
    finally:
        CausalModel.run = forward  # type: ignore[method-assign]
    lane.add(results, time.process_time() - started, n_passes)
    return results


def table(title: str, lanes: dict[str, Lane], base: str) -> Table:
    shown = Table(title=title)
    for column in ("", "tokens", "passes", "drafted", "accepted", "s", "ms drafting a token", f"time against {base}"):
        shown.add_column(column, justify="right" if column else "left")
    for name, lane in lanes.items():
        each = lane.elapsed_s / lane.n_tokens
        reference = lanes[base].elapsed_s / lanes[base].n_tokens
        shown.add_row(
            name,
            *(str(n) for n in (lane.n_tokens, lane.n_passes, lane.n_drafted, lane.n_accepted)),
            f"{lane.elapsed_s:.2f}",
            f"{1e3 * lane.draft_s / lane.n_tokens:.3f}",
            f"{each / reference:.3f}",
        )
    return shown


def policy(setting: Setting) -> DraftPolicy:
    return policy_of(setting.model, "cpu", str(setting.model.dtype))


def forget(setting: Setting) -> None:
    """Forget what was learned about texts; what passes cost, and whether attention takes trees, stays known."""
    is_half = str(setting.model.dtype) != "torch.float32"
    known, fresh = policy(setting), DraftPolicy("cpu", is_half)
    fresh.costs, fresh.takes_trees, fresh.takes_runs = known.costs, known.takes_trees, known.takes_runs
    set_policy(setting.model, "cpu", str(setting.model.dtype), fresh)


def ids_of(setting: Setting, text: str) -> list[int]:
    (ids,), _ = prompts_to_ids([{"role": "user", "content": text}], setting.tokenizer, setting.vocabulary.n_rows)
    return list(ids)


def switch(setting: Setting, n_tokens: int, rounds: int) -> list[Table]:
    """Nothing is accepted; and free text."""
    letters = compiled_for(domino.regex(r"[a-z ]{0,2000}"), setting.vocabulary)
    anything = compiled_for(domino.regex(r"(?s).*"), setting.vocabulary)
    law = {"do_sample": True, "temperature": 3.0}
    prompt = ids_of(setting, HOSTILE)
    lanes = {name: Lane() for name in ("drafts off", "drafts on", "and a source that is always wrong")}
    free = {name: Lane() for name in ("no constraint", "under .*")}
    wrong = (*built_in_sources(setting.vocabulary), Wrong())
    # Compiles kernels, tries whether attention takes trees (4 passes, once a model), and sees what passes cost.
    run(setting, Lane(), [RowRequest(prompt, letters, 99, 12)], speculate=True, draft_sources=wrong, **law)
    for number in range(rounds):
        for name, lane in lanes.items():
            forget(setting)
            set_memory(letters, None)
            sources = wrong if "wrong" in name else None
            speculate = False if name == "drafts off" else "auto"
            row = RowRequest(prompt, letters, number, n_tokens, ())
            run(setting, lane, [row], speculate=speculate, draft_sources=sources, **law)
        forget(setting)
        ids = ids_of(setting, FREE[number % len(FREE)])
        for name, lane in free.items():
            compiled = anything if name == "under .*" else None
            run(setting, lane, [RowRequest(ids, compiled, 0, n_tokens, ())], speculate="auto" if compiled else False)
    return [table("nothing is accepted", lanes, "drafts off"), table("free text", free, "no constraint")]


def batch(setting: Setting, sizes: Sequence[int]) -> list[Table]:
    """Nested extraction, all rows in one batch."""
    workload = workload_named("extract")
    compiled = compiled_for(workload.constraint(), setting.vocabulary)
    tables = []
    for size in sizes:
        asked = [*workload.questions, *workload.practice][:size]
        ends = setting.vocabulary.eos_token_ids
        rows = [
            RowRequest(prompt_ids_of(setting, workload, question), compiled, i, workload.max_new_tokens, ends)
            for i, question in enumerate(asked)
        ]
        lanes = {name: Lane() for name in ("drafts off", "first use", "later")}
        for name, lane in lanes.items():
            if name != "later":
                set_memory(compiled, None)
            run(setting, lane, rows, speculate=False if name == "drafts off" else "auto")
        tables.append(table(f"nested extraction, batch of {size}", lanes, "drafts off"))
    return tables


def factors(setting: Setting, names: Sequence[str], n_questions: int, exact: bool) -> list[Table]:
    """Decoding times against unconstrained text."""
    shown = Table(title=f"decoding time, {setting.model.dtype}, exact={exact}")
    for column in (
        "workload",
        "",
        "tokens",
        "passes a token",
        "faster, decoding",
        "faster in all",
        "re-decided",
        "same",
    ):
        shown.add_column(column)
    for workload in [one for one in WORKLOADS if not names or one.name in names]:
        compiled = compiled_for(workload.constraint() or domino.json(), setting.vocabulary)
        for use in ("first", "later"):
            mine, free, alone, plain = Lane(), Lane(), Lane(), Lane()
            again = same = 0
            for question in [*workload.questions, *workload.practice][:n_questions]:
                ids = prompt_ids_of(setting, workload, question)
                if use == "first":
                    set_memory(compiled, None)
                row = RowRequest(ids, compiled, 0, workload.max_new_tokens, setting.vocabulary.eos_token_ids)
                (found,) = run(setting, mine, [row], exact=exact)
                again += found.statistics.n_redecided
                run(setting, free, [RowRequest(ids, None, 0, len(found.token_ids))], speculate=False)
                run(setting, alone, [RowRequest(ids, None, 0, 1)], speculate=False)
                if exact and use == "first":
                    (off,) = run(setting, plain, [row], speculate=False)
                    same += off.token_ids == found.token_ids
            factor = (free.elapsed_s - alone.elapsed_s) / (mine.elapsed_s - alone.elapsed_s)
            shown.add_row(
                workload.name,
                use,
                str(mine.n_tokens),
                f"{mine.n_passes / mine.n_tokens:.2f}",
                f"{factor:.2f}",
                f"{free.elapsed_s / mine.elapsed_s:.2f}",
                str(again),
                str(same) if plain.n_tokens else "",
            )
    return [shown]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="switch", choices=("switch", "batch", "factors"))
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    parser.add_argument("--tokens", type=int, default=100, help="length of the texts of `switch` (default 100)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--size", type=int, action="append", help="of batches (default 4); repeat the option")
    parser.add_argument("--workload", action="append", help="of `factors`; repeat the option")
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--exact", action="store_true")
    chosen = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    setting = Setting.of(*load_packaged("smollm2", dtype=chosen.dtype), time.process_time)
    if chosen.part == "switch":
        tables = switch(setting, chosen.tokens, chosen.rounds)
    elif chosen.part == "batch":
        tables = batch(setting, chosen.size or (4,))
    else:
        tables = factors(setting, chosen.workload or (), chosen.questions, chosen.exact)
    console = Console(width=150)
    for one in tables:
        console.print(one)
    known = policy(setting)
    console.print("ms a pass:", {n: round(1e3 * known.costs.cost(n), 1) for n in WIDTHS})
    asked = {
        name: (one.n_asked, round(1e3 * one.total_s / max(one.n_asked, 1), 3)) for name, one in known.ledgers.items()
    }
    console.print("asked, ms each:", asked)


if __name__ == "__main__":
    main()
