"""Outlines with its own engine (outlines-core): schemas become one regex, the regex an index of states and tokens."""

from __future__ import annotations

from copy import copy
from typing import Any

from outlines.backends.outlines_core import OutlinesCoreBackend
from outlines.models.transformers import TransformerTokenizer
from outlines_core import Guide, Index
from outlines_core.json_schema import build_regex_from_schema

from domino_py.bench.methods import Method, Setting, Unsupported
from domino_py.bench.peers.processed import Bitmask, BitmaskProcessor, Processed, Processor
from domino_py.bench.workloads import Workload

__all__ = ["make"]


class _Outlines(Processed):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, "outlines", "transformers + Outlines")
        tokenizer: Any = TransformerTokenizer(copy(setting.tokenizer))  # it may set a padding token
        self._vocabulary = OutlinesCoreBackend.create_outlines_core_vocabulary(
            tokenizer.get_vocab(),
            tokenizer.eos_token_id,
            tokenizer.eos_token,
            tokenizer.convert_token_to_string,
        )
        self._indexes: dict[str, Any] = {}

    def prepare(self, workload: Workload) -> None:
        if workload.pattern is not None:
            pattern = workload.pattern
        elif workload.schema_text is not None:
            pattern = build_regex_from_schema(workload.schema_text)
        else:
            raise Unsupported("any JSON value is recursive, which a regex cannot say")
        self._indexes[workload.name] = Index(pattern, self._vocabulary)

    def processor(self, workload: Workload) -> Processor:
        guide = Guide(self._indexes[workload.name])

        def read(token_id: int) -> None:
            guide.advance(token_id=token_id, return_tokens=False)

        def fill(bitmask: Bitmask) -> None:
            guide.write_mask_into(bitmask.ctypes.data, bitmask.size, bitmask.itemsize)

        return BitmaskProcessor(self.setting.vocabulary.n_rows, read, fill)


def make(setting: Setting) -> Method:
    return _Outlines(setting)
