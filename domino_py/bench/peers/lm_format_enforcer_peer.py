"""lm-format-enforcer: its `TokenEnforcer`, the entry point for other libraries, behind a logits processor.

Its own integration for transformers imports a module that transformers 5 no longer has, so what that does (the text of
each token behind a digit, and whether it begins a word) is done here.
"""

from __future__ import annotations

import json
from typing import Any

from lmformatenforcer import JsonSchemaParser, RegexParser, TokenEnforcer, TokenEnforcerTokenizerData

from domino_py.bench.methods import Method, Setting
from domino_py.bench.peers.processed import Processed, Processor
from domino_py.bench.workloads import Workload

__all__ = ["make"]


class _Enforcer(Processed):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, "lm-format-enforcer", "transformers + lm-format-enforcer")
        tokenizer: Any = setting.tokenizer
        digit = tokenizer.encode("0")[-1]
        texts = []
        for token, data in enumerate(setting.vocabulary.token_bytes):
            if data is not None:
                behind, alone = tokenizer.decode([digit, token])[1:], tokenizer.decode([token])
                texts.append((token, behind, len(behind) > len(alone)))
        self._known = TokenEnforcerTokenizerData(
            texts,
            lambda ids: tokenizer.decode(ids).rstrip("\ufffd"),
            list(setting.vocabulary.eos_token_ids),
            False,
            setting.vocabulary.n_rows,
        )

    def prepare(self, workload: Workload) -> None:
        self._enforcer(workload)

    def processor(self, workload: Workload) -> Processor:
        enforcer = self._enforcer(workload)

        def process(input_ids: Any, scores: Any) -> Any:
            import torch

            legal = enforcer.get_allowed_tokens(input_ids[0].tolist()).allowed_tokens
            masked = torch.full_like(scores, -torch.inf)
            masked[:, legal] = scores[:, legal]
            return masked

        return process

    def _enforcer(self, workload: Workload) -> TokenEnforcer:
        if workload.pattern is not None:
            parser: Any = RegexParser(workload.pattern)
        else:
            parser = JsonSchemaParser(None if workload.schema_text is None else json.loads(workload.schema_text))
        return TokenEnforcer(self._known, parser)


def make(setting: Setting) -> Method:
    return _Enforcer(setting)
