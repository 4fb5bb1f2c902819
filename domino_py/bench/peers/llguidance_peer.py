"""llguidance's matcher behind a logits processor, default options."""

from __future__ import annotations

import llguidance
import llguidance.hf

from domino_py.bench.methods import Method, Setting
from domino_py.bench.peers.processed import Bitmask, BitmaskProcessor, Processed, Processor
from domino_py.bench.workloads import Workload

__all__ = ["grammar_of", "make"]


def grammar_of(workload: Workload) -> str:
    """The workload's grammar as llguidance takes it."""
    matcher = llguidance.LLMatcher
    if workload.pattern is not None:
        return str(matcher.grammar_from_regex(workload.pattern))
    return str(matcher.grammar_from_json_schema(workload.schema_text or "{}"))


class _LLGuidance(Processed):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, "llguidance", "transformers + llguidance")
        self._tokenizer = llguidance.hf.from_tokenizer(
            setting.tokenizer, n_vocab=setting.vocabulary.n_rows, eos_token=list(setting.vocabulary.eos_token_ids)
        )
        self._grammars: dict[str, str] = {}

    def prepare(self, workload: Workload) -> None:
        grammar = grammar_of(workload)
        self._matcher(grammar)
        self._grammars[workload.name] = grammar

    def processor(self, workload: Workload) -> Processor:
        matcher = self._matcher(self._grammars[workload.name])

        def read(token_id: int) -> None:
            if not matcher.consume_token(token_id):
                raise RuntimeError(matcher.get_error() or f"token {token_id} was refused")

        def fill(bitmask: Bitmask) -> None:
            matcher.unsafe_compute_mask_ptr(bitmask.ctypes.data, bitmask.nbytes)

        return BitmaskProcessor(self.setting.vocabulary.n_rows, read, fill)

    def _matcher(self, grammar: str) -> llguidance.LLMatcher:
        matcher = llguidance.LLMatcher(self._tokenizer, grammar)
        if matcher.is_error():
            raise RuntimeError(matcher.get_error())
        return matcher


def make(setting: Setting) -> Method:
    return _LLGuidance(setting)
