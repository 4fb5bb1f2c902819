"""guidance with its own loop over a model of transformers: greedy, whitespace of JSON free, as with the other peers.

Each text has an object of its own: guidance 0.3.1 crops the cache of the text before by a call that transformers 5
changed. The tokens are those that the model was asked about; what guidance adds behind the last of them is encoded.
"""

from __future__ import annotations

import json
from typing import Any

import guidance

from domino_py.bench.methods import Method, Setting, count_passes
from domino_py.bench.results import Run
from domino_py.bench.workloads import Workload

__all__ = ["make"]


class _Guidance:
    name, title = "guidance", "guidance"

    def __init__(self, setting: Setting) -> None:
        self._setting = setting

    def prepare(self, workload: Workload) -> None:
        """Nothing to do: guidance compiles with the text."""

    def run(self, workload: Workload, prompt_ids: list[int]) -> Run:
        model, vocabulary, clock = self._setting.model, self._setting.vocabulary, self._setting.clock
        tokenizer: Any = self._setting.tokenizer
        prompt = tokenizer.decode(prompt_ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        options: dict[str, Any] = {"name": "text", "max_tokens": workload.max_new_tokens, "temperature": 0.0}
        if workload.pattern is not None:
            wanted = guidance.gen(regex=workload.pattern, **options)
        else:
            schema = None if workload.schema_text is None else json.loads(workload.schema_text)
            wanted = guidance.json(schema=schema, whitespace_flexible=True, **options)
        written = guidance.models.Transformers(model, tokenizer, echo=False)
        engine: Any = written._interpreter.engine
        asked: list[int] = []
        ask = engine.get_logits

        def note(token_ids: list[int], *args: Any, **kwargs: Any) -> Any:
            asked[:] = token_ids
            return ask(token_ids, *args, **kwargs)

        engine.get_logits = note
        with count_passes(model) as passes:
            started = clock()
            written = written + prompt + wanted
            text = written["text"].encode()
            elapsed = clock() - started
        if asked[: len(prompt_ids)] != prompt_ids:
            raise RuntimeError("guidance wrote the prompt in other tokens")
        ids = asked[len(prompt_ids) :]
        while ids and not text.startswith(vocabulary.decode(ids)):
            ids.pop()
        rest = text[len(vocabulary.decode(ids)) :]
        ids += tokenizer.encode(rest.decode(), add_special_tokens=False) if rest else []
        return Run(tuple(ids), elapsed, passes[0])


def make(setting: Setting) -> Method:
    return _Guidance(setting)
