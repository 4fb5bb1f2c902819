"""Masks on an accelerator: what applying them costs, and what is gained by making them while the pass runs.

    python benchmarks/device.py [--device cuda] [--rows 129280] [--n-tokens 96] [--no-model]

Prints, each with its correctness: writing packed masks over logits (Triton and torch operations, transfer included)
beside fetching the rows; the best legal token found on the device beside on the host; decoding with a constraint, with
masks made during the pass and after it. Some two minutes on a GPU; on a CPU it shows that everything runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from domino_py.bench.machine import describe_machine, versions_of
from speculative.device_masks import MaskSender, mask_logits, mask_logits_in_torch
from speculative.logits import PassLogits


def timed_us(action: Callable[[], object], device: Any, n: int = 50) -> tuple[float, float]:
    """(median, 99th percentile) in microseconds, the device's work included; a few calls before do not count."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    times = []
    for i in range(n + 5):
        wait()
        started = time.perf_counter()
        action()
        wait()
        if i >= 5:
            times.append(time.perf_counter() - started)
    return 1e6 * float(np.median(times)), 1e6 * float(np.percentile(times, 99))


Way = Callable[[Any], object]


def ways_to_mask(device: Any, masks: Any, legal: Any) -> dict[str, Way]:
    """Ways to write minus infinity over illegal scores; the last one returns them on the host."""
    sender = MaskSender(device, masks.shape[1])
    return {
        "packed, best way here": lambda out: mask_logits(out, sender.send(masks)),
        "packed, torch operations": lambda out: mask_logits_in_torch(out, sender.send(masks)),
        "bool rows sent": lambda out: out.masked_fill_(~torch.from_numpy(legal).to(device), -torch.inf),
        "scores fetched": lambda out: np.where(legal, out.float().cpu().numpy(), -np.inf),
    }


def time_masks(device: Any, n_rows: int) -> None:
    print("\n| rows | how | median us | p99 us | right |\n|--:|---|--:|--:|---|")
    random = np.random.default_rng(0)
    for n in (1, 8, 64):
        masks = random.integers(0, 2**32, (n, -(-n_rows // 32)), dtype=np.uint32)
        logits = torch.randn(n, n_rows, device=device)
        legal = np.unpackbits(masks.view(np.uint8), axis=1, count=n_rows, bitorder="little").astype(bool)
        expected = logits.cpu().numpy().copy()
        expected[~legal] = -np.inf
        for name, way in ways_to_mask(device, masks, legal).items():
            out = logits.clone()
            found = way(out)
            array = found if isinstance(found, np.ndarray) else out.cpu().numpy()
            median, p99 = timed_us(partial(way, out), device)
            print(f"| {n} | {name} | {median:.0f} | {p99:.0f} | {np.array_equal(array, expected)} |")


def time_best(device: Any, n_rows: int) -> None:
    print("\n| best legal token of one row | median us | p99 us |\n|---|--:|--:|")
    logits = torch.randn(1, 1, n_rows, device=device)
    legal = np.random.default_rng(1).random(n_rows) < 0.3
    there, ids = PassLogits(logits, in_place=False), np.flatnonzero(legal)
    mask = np.zeros(-(-n_rows // 32), np.uint32)
    mask.view(np.uint8)[: -(-n_rows // 8)] = np.packbits(legal, bitorder="little")

    def on_host() -> int:
        return int(ids[there.scores(0, 0)[ids].argmax()])

    assert there.best_legal(0, 0, mask)[0] == on_host()
    for name, action in (("on the device", lambda: there.best_legal(0, 0, mask)), ("on the host", on_host)):
        median, p99 = timed_us(action, device)
        print(f"| {name} | {median:.0f} | {p99:.0f} |")


def time_decoding(device: Any, n_tokens: int) -> None:
    """Greedy decoding under a schema with the default model: no constraint, masks after the pass, masks during it."""
    import domino_py as domino
    from speculative.rows import Row

    model, tokenizer = domino.load_default()
    model = model.to(device)
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "notes": {"type": "array", "items": {"type": "string"}}},
    }
    prompts = [
        "Ada Lovelace as JSON:\n",
        "Grace Hopper as JSON:\n",
        "Alan Turing as JSON:\n",
        "Emmy Noether as JSON:\n",
    ]
    options: dict[str, Any] = {"max_new_tokens": n_tokens, "speculate": False}
    foresee = Row.foresee
    print("\n| decoding, 4 rows | tokens/s | mask ms a token | same tokens |\n|---|--:|--:|---|")
    reference: list[list[int]] = []
    for name, constraint, method in (
        ("no constraint", None, foresee),
        ("masks after the pass", domino.json_schema(schema), lambda self: None),
        ("masks during the pass", domino.json_schema(schema), foresee),
    ):
        Row.foresee = method  # type: ignore[method-assign]
        try:
            domino.generate(model, tokenizer, prompts, constraint, **options | {"max_new_tokens": 24})
            started = time.perf_counter()
            results = domino.generate(model, tokenizer, prompts, constraint, **options)
            elapsed = time.perf_counter() - started
        finally:
            Row.foresee = foresee  # type: ignore[method-assign]
        tokens = [list(result.token_ids) for result in results]
        n = sum(map(len, tokens))
        same = "-" if constraint is None else str(not reference or tokens == reference)
        reference = tokens if constraint is not None else []
        mask_ms = 1000 * sum(result.report.mask_s for result in results) / max(1, n)
        print(f"| {name} | {n / elapsed:.1f} | {mask_ms:.3f} | {same} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rows", type=int, default=129280, help="rows of the model's output")
    parser.add_argument("--n-tokens", type=int, default=96)
    parser.add_argument("--no-model", action="store_true")
    chosen = parser.parse_args()
    device = torch.device(chosen.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "no accelerator"
    print(", ".join(f"{key} {value}" for key, value in {**describe_machine(), **versions_of(), "device": name}.items()))
    time_masks(device, chosen.rows)
    time_best(device, chosen.rows)
    if not chosen.no_model:
        time_decoding(device, chosen.n_tokens)


if __name__ == "__main__":
    main()
