"""transformers' `generate` with a logits processor: the loop that the peers' adapters share."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from domino_py.bench.methods import Setting, count_passes
from domino_py.bench.results import Run
from domino_py.bench.workloads import Workload

__all__ = ["BitmaskProcessor", "Processed"]

Processor = Callable[[Any, Any], Any]
Bitmask = npt.NDArray[np.int32]  # int32[ceil(n_rows / 32)]


class Processed(ABC):
    """A method that is transformers' greedy `generate` with at most one logits processor a text."""

    def __init__(self, setting: Setting, name: str, title: str, options: dict[str, Any] | None = None) -> None:
        self.name = name
        self.title = title
        self.setting = setting
        self._options = options or {}  # of `generate`, besides those that all methods share

    @abstractmethod
    def prepare(self, workload: Workload) -> None:
        """Compile the workload's constraint."""

    @abstractmethod
    def processor(self, workload: Workload) -> Processor | None:
        """A fresh processor for one text; None for no constraint."""

    def run(self, workload: Workload, prompt_ids: list[int]) -> Run:
        import torch
        from transformers import LogitsProcessorList

        made = self.processor(workload)
        timed = None if made is None else _Timed(made)
        model, vocabulary, clock = self.setting.model, self.setting.vocabulary, self.setting.clock
        ids = torch.tensor([prompt_ids], device=model.device)
        ends = list(vocabulary.eos_token_ids)
        with count_passes(model) as passes, torch.inference_mode():
            started = clock()
            output = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                logits_processor=LogitsProcessorList([] if timed is None else [timed]),
                max_new_tokens=workload.max_new_tokens,
                do_sample=False,
                num_beams=1,
                repetition_penalty=1.0,
                eos_token_id=ends or None,
                pad_token_id=ends[0] if ends else 0,
                **self._options,
            )
            elapsed = clock() - started
        tokens = output[0, len(prompt_ids) :].tolist()
        chose_end = bool(tokens) and tokens[-1] in ends
        while tokens and tokens[-1] in ends:
            tokens.pop()
        mask_s = None if timed is None else timed.elapsed_s
        return Run(tuple(tokens), elapsed, passes[0], mask_s=mask_s, chose_end=chose_end)


class _Timed:
    """A processor whose calls are timed: mask, its application, and reading the last token."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self.elapsed_s = 0.0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        started = time.perf_counter()
        scores = self._processor(input_ids, scores)
        self.elapsed_s += time.perf_counter() - started
        return scores


class BitmaskProcessor:
    """A processor over two functions of a peer: read a token, fill a bitmask.

    The bitmask is applied with numpy. The peers' own kernels for it go through torch.compile, whose compilation takes
    longer than the whole bench.
    """

    def __init__(self, n_rows: int, read: Callable[[int], None], fill: Callable[[Bitmask], None]) -> None:
        self._bitmask = np.full((n_rows + 31) // 32, -1, dtype=np.int32)
        self._n_rows = n_rows
        self._read = read
        self._fill = fill
        self._is_first = True

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        if not self._is_first:
            self._read(int(input_ids[0, -1]))
        self._is_first = False
        self._fill(self._bitmask)
        legal = np.unpackbits(self._bitmask.view(np.uint8), count=self._n_rows, bitorder="little")
        illegal = torch.from_numpy(legal == 0).to(scores.device)
        return scores.masked_fill(illegal, -torch.inf)
