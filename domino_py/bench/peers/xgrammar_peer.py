"""xgrammar with its own logits processor for transformers, default options."""

from __future__ import annotations

from typing import Any

import xgrammar

from domino_py.bench.methods import Method, Setting
from domino_py.bench.peers.processed import Processed, Processor
from domino_py.bench.workloads import Workload

__all__ = ["make"]


class _XGrammar(Processed):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, "xgrammar", "transformers + xgrammar")
        info = xgrammar.TokenizerInfo.from_huggingface(
            setting.tokenizer,
            vocab_size=setting.vocabulary.n_rows,
            stop_token_ids=list(setting.vocabulary.eos_token_ids),
        )
        self._compiler = xgrammar.GrammarCompiler(info)
        self._compiled: dict[str, Any] = {}

    def prepare(self, workload: Workload) -> None:
        if workload.pattern is not None:
            compiled = self._compiler.compile_regex(workload.pattern)
        elif workload.schema_text is None:
            compiled = self._compiler.compile_builtin_json_grammar()
        else:
            compiled = self._compiler.compile_json_schema(workload.schema_text)
        self._compiled[workload.name] = compiled

    def processor(self, workload: Workload) -> Processor:
        from xgrammar.contrib.hf import LogitsProcessor

        made: Processor = LogitsProcessor(self._compiled[workload.name])
        return made


def make(setting: Setting) -> Method:
    return _XGrammar(setting)
