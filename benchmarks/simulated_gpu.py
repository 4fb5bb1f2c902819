"""SIMULATED: what the drafts of a bench run would bring to a large model on a GPU.

    domino bench --drafts --out results
    python benchmarks/simulated_gpu.py results/bench.json

Nothing here ran on a GPU. The passes are real: how many tokens each verified and how many it decided, as recorded with
the small model of the bench (rows "as wide as on an accelerator", whose drafts are sized for nearly flat pass costs).
What such passes would cost is reckoned by a roofline: a pass reads all weights and the keys and values of its context
once, or computes two operations a weight and token, whichever takes longer, and a fixed overhead; so its cost is flat
up to a hundred tokens or more. A large model would agree with other drafts than the small one did.

Host time is what this machine needed outside the passes (drafts, masks, choices), added to that of the passes, though
on a GPU much of it goes on beside them; unconstrained decoding is given none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parent.parent))

from domino_py.bench.drafts import FLAT
from domino_py.bench.report import Results, read_results, table_line

Trace = Sequence[tuple[int, int, int]]  # by pass: undrafted tokens, drafted ones, tokens decided
BANDWIDTH_SHARE, COMPUTE_SHARE = 0.8, 0.5  # of a GPU's data sheet that a pass reaches


@dataclass(frozen=True, slots=True)
class Machine:
    """A dense model in 16 bits on one GPU; data-sheet figures, bytes and operations a second."""

    name: str
    bandwidth: float
    compute: float
    n_weights: float = 8.03e9  # Llama 3 8B: 32 layers, 8 heads of keys and values of 128 numbers each
    cache_bytes_a_token: float = 2 * 32 * 8 * 128 * 2
    overhead_s: float = 5e-4

    def pass_s(self, n_tokens: int, n_context: int) -> float:
        """Seconds of a pass over some tokens behind a context."""
        read = 2 * self.n_weights + n_context * self.cache_bytes_a_token
        computed = 2 * self.n_weights * n_tokens
        reading_s = read / (BANDWIDTH_SHARE * self.bandwidth)
        return self.overhead_s + max(reading_s, computed / (COMPUTE_SHARE * self.compute))

    @property
    def flat_up_to(self) -> int:
        """The widest pass that costs no more than one of a single token."""
        return int(COMPUTE_SHARE * self.compute / (BANDWIDTH_SHARE * self.bandwidth))


MACHINES = (
    Machine("H100 SXM", 3.35e12, 989e12),
    Machine("A100 80 GB", 2.04e12, 312e12),
    Machine("RTX 4090", 1.01e12, 165e12),
)


def drafted_s(machine: Machine, trace: Trace) -> float:
    """Simulated seconds of a recorded run, without the prompt's own pass."""
    n_prompt = trace[0][0]
    seconds = machine.pass_s(n_prompt + trace[0][1], 0) - machine.pass_s(n_prompt, 0)
    context = n_prompt + trace[0][2]
    for n_head, n_drafted, n_decided in trace[1:]:
        seconds += machine.pass_s(n_head + n_drafted, context)
        context += n_decided
    return seconds


def plain_s(machine: Machine, trace: Trace) -> float:
    """Simulated seconds of as many tokens one by one, without the prompt's own pass, which decides the first."""
    n_prompt, n_tokens = trace[0][0], sum(n_decided for _, _, n_decided in trace)
    return sum(machine.pass_s(1, n_prompt + i) for i in range(1, n_tokens))


def rows_of(results: Results, machine: Machine) -> list[tuple[str, ...]]:
    """By workload and use: tokens, passes, tokens and drafted tokens a pass, speed-up without and with host time."""
    rows = []
    for cell in results.cells:
        if not cell.method.startswith(FLAT) or not cell.traces:
            continue
        passes = [step for trace in cell.traces for step in trace]
        n_tokens = sum(n_decided for _, _, n_decided in passes)
        plain = sum(plain_s(machine, trace) for trace in cell.traces)
        drafted = sum(drafted_s(machine, trace) for trace in cell.traces)
        rows.append(
            (
                results.workloads[cell.workload],
                "first" if cell.method == FLAT else "later",
                str(n_tokens),
                str(len(passes)),
                f"{n_tokens / len(passes):.2f}",
                f"{sum(n_drafted for _, n_drafted, _ in passes) / len(passes):.1f}",
                f"{plain / drafted:.2f}" if drafted > 0 else "-",
                f"{plain / (drafted + sum(cell.host_s)):.2f}" if any(cell.host_s) else "-",
            )
        )
    return rows


HEADS = (
    "workload",
    "use",
    "tokens",
    "passes",
    "tokens a pass",
    "drafted a pass",
    "SIMULATED speed-up",
    "SIMULATED, with host time",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="bench.json of `domino bench --drafts`")
    parser.add_argument("--gpu", default=MACHINES[0].name, choices=[machine.name for machine in MACHINES])
    chosen = parser.parse_args()
    results = read_results(chosen.results.read_text(encoding="utf-8"))
    machine = next(one for one in MACHINES if one.name == chosen.gpu)
    print(f"SIMULATED: {machine.n_weights / 1e9:.2f} billion weights in 16 bits, {machine.name}; a pass of one token")
    print(f"{1e3 * machine.pass_s(1, 300):.2f} ms, flat up to {machine.flat_up_to} tokens. Passes recorded with")
    print(f"{results.model}, {results.dtype}. Decoding without the prompt's own pass, over that of one token a pass.\n")
    print(table_line(HEADS))
    print(table_line(["---", "---", *["--:"] * (len(HEADS) - 2)]))
    for row in rows_of(results, machine):
        print(table_line(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
