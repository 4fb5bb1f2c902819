"""What an output is worth, whoever wrote it: legality, log-probability under the model, and tokenization."""

from __future__ import annotations

import math
from typing import Any

from domino_py.bench.forced import forced_share
from domino_py.bench.methods import Setting
from domino_py.bench.results import Quality
from domino_py.bench.workloads import Workload
from speculative.loop import score
from tokenizer_align.canonical.encoding import canonical_ids, misplaced_tokens

__all__ = ["Judge"]


class Judge:
    """Judges outputs; each distinct one is scored once, however many methods wrote it."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._logprobs: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}
        self._constraints: dict[str, Any] = {}
        self._forced: dict[tuple[str, bytes], float | None] = {}

    def judge(self, workload: Workload, prompt_ids: list[int], token_ids: tuple[int, ...]) -> Quality:
        vocabulary = self._setting.vocabulary
        data = vocabulary.decode(token_ids)
        text = data.decode("utf-8", "replace")
        if workload.name not in self._constraints:
            self._constraints[workload.name] = workload.constraint()
        logprob = self._logprob(prompt_ids, token_ids)
        canonical = canonical_ids(vocabulary, data, prompt_ids)
        gap = None
        if canonical is not None:
            gap = 0.0 if canonical == token_ids else self._logprob(prompt_ids, canonical) - logprob
        matches = self._constraints[workload.name].matches(data)
        return Quality(
            text=text,
            n_tokens=len(token_ids),
            n_bytes=len(data),
            matches=matches,
            is_valid=workload.is_valid(text),
            logprob=logprob,
            noncanonical_tokens=None if canonical is None else len(misplaced_tokens(vocabulary, token_ids, canonical)),
            alignment_gap=gap,
            forced_share=self._forced_share(workload, data) if matches else None,
        )

    def _forced_share(self, workload: Workload, data: bytes) -> float | None:
        key = (workload.name, data)
        if key not in self._forced:
            self._forced[key] = forced_share(self._constraints[workload.name], self._setting.vocabulary, data)
        return self._forced[key]

    def _logprob(self, prompt_ids: list[int], token_ids: tuple[int, ...]) -> float:
        key = (tuple(prompt_ids), token_ids)
        if key not in self._logprobs:
            self._logprobs[key] = math.fsum(score(self._setting.model, prompt_ids, token_ids))
        return self._logprobs[key]
