"""A causal model that is a table: prefix -> log-probabilities. Its cache holds token ids, so rollback errors change it.

`TableModel` behaves like a transformers model in everything the decode loop uses. The keys it caches *are* the ids of
the positions, read back through the attention mask on every pass; what it predicts is a pure function of the visible
prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch

LogProbs = Callable[[tuple[int, ...]], Sequence[float]]


class TableModel(torch.nn.Module):
    """Predicts `table(ids seen so far)`: float[n_rows] log-probabilities."""

    def __init__(self, table: LogProbs, n_rows: int) -> None:
        super().__init__()
        self.table = table
        self.embedding = torch.nn.Embedding(n_rows, 1)
        self.config = SimpleNamespace(vocab_size=n_rows, is_encoder_decoder=False, layer_types=["full_attention"])
        self.widths: list[int] = []

    @property
    def dtype(self) -> torch.dtype:
        return torch.float32

    def get_input_embeddings(self) -> torch.nn.Embedding:
        return self.embedding

    def get_output_embeddings(self) -> None:
        return None

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
        cache: Any = None,
        use_cache: bool = True,
        logits_to_keep: int = 0,
    ) -> Any:
        n_batch, n_new = input_ids.shape
        self.widths.append(n_new)
        states = input_ids.to(torch.float64)[:, None, :, None]
        keys, _ = cache.update(states, states, 0)
        ids = keys[:, 0, :, 0].to(torch.int64)
        width = ids.shape[1]
        seen = torch.ones((n_batch, width), dtype=torch.bool) if attention_mask is None else attention_mask.bool()
        assert seen.shape == ids.shape, "the attention mask must cover the cache and the new tokens"
        first = n_new - (logits_to_keep or n_new)
        logits = torch.empty((n_batch, n_new - first, self.embedding.num_embeddings), dtype=torch.float64)
        for row in range(n_batch):
            for column in range(first, n_new):
                end = width - n_new + column + 1
                prefix = tuple(ids[row, :end][seen[row, :end]].tolist())
                if position_ids is not None and seen[row, end - 1]:
                    assert int(position_ids[row, column]) == len(prefix) - 1, "positions must count visible tokens"
                logits[row, column - first] = torch.tensor(self.table(prefix), dtype=torch.float64)
        return SimpleNamespace(logits=logits.to(torch.float32))
