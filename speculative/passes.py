"""One forward pass of any transformers causal language model, whatever its version calls the cache.

transformers 5.24 renamed the argument `past_key_values` to `cache`; which one a model takes, and whether it can leave
out logits nobody reads, is found in its signature.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from speculative.caches import CachePlan, plan_cache, text_config
from speculative.columns import Block
from speculative.tree_masks import tree_masks
from tokenizer_align.errors import DominoError, VocabularyError

__all__ = ["CausalModel"]

_TRIAL_COLUMNS = 32


class CausalModel:
    """A causal language model as the loop sees it; refuses what it cannot run before any pass."""

    def __init__(self, model: Any) -> None:
        if getattr(model.config, "is_encoder_decoder", False):
            raise DominoError(f"{type(model).__name__} is an encoder-decoder model; only causal ones can be run.")
        self.model = model
        names = _parameters(model)
        self._cache_name = next((name for name in ("cache", "past_key_values") if name in names), "past_key_values")
        self._keeps_logits = "logits_to_keep" in names
        self.plan: CachePlan = plan_cache(model)
        self._takes_masks = {"attention_mask", "position_ids"} <= names
        self.n_rows = _output_rows(model)

    @property
    def can_batch(self) -> bool:
        """Whether rows can run together, and drafts branch."""
        return self._takes_masks and self.plan.can_drop and not self.plan.chains_only

    @property
    def device(self) -> Any:
        """Where the input ids go: the device of the embeddings (layers may be spread, or kept away until needed)."""
        import torch

        device = self.model.get_input_embeddings().weight.device
        return torch.device("cpu") if device.type == "meta" else device

    @property
    def dtype(self) -> Any:
        return self.model.dtype

    def trial(self) -> CausalModel:
        """The same with a small cache of its own, for passes that only try what the model takes."""
        runner = copy.copy(self)
        runner.plan = replace(self.plan, given=None, capacity=None if self.plan.capacity is None else _TRIAL_COLUMNS)
        return runner

    def check_rows(self, n_rows: int) -> None:
        """Raise VocabularyError unless the vocabulary was made for this many output rows."""
        if self.n_rows is not None and self.n_rows != n_rows:
            raise VocabularyError(
                f"the vocabulary has {n_rows} rows, the model's output has {self.n_rows}. "
                f"Make the vocabulary with n_rows={self.n_rows} (or with model=...)."
            )

    def new_cache(self, n_rows: int = 1) -> Any:
        return self.plan.new_cache(text_config(self.model), n_rows)

    def run(self, block: Block, cache: Any) -> Any:
        """Run one block; return logits[n, n_positions, n_rows] from `block.first` on. The cache grows by the block."""
        import torch

        device = self.device
        inputs: dict[str, Any] = {"input_ids": torch.from_numpy(block.input_ids).to(device), "use_cache": True}
        if block.visible is not None:
            inputs["attention_mask"] = tree_masks(block, text_config(self.model), self.plan, self.dtype, device)
        elif block.attention_mask is not None:
            inputs["attention_mask"] = torch.from_numpy(block.attention_mask).to(device)
        if block.position_ids is not None:
            inputs["position_ids"] = torch.from_numpy(block.position_ids).to(device)
        if self._keeps_logits:
            inputs["logits_to_keep"] = block.n_positions
        inputs[self._cache_name] = cache
        logits = self.model(**inputs).logits
        return logits[:, logits.shape[1] - block.n_positions :]

    @contextlib.contextmanager
    def ready(self) -> Iterator[None]:
        """Run without dropout; the model is left as it was."""
        was_training = bool(self.model.training)
        if was_training:
            self.model.eval()
        try:
            yield
        finally:
            if was_training:
                self.model.train()

    def inference(self) -> Any:
        """A context without gradients, for one pass."""
        import torch

        return torch.inference_mode()


def _parameters(model: Any) -> frozenset[str]:
    """Names of the arguments of the model's forward; of the model inside where a wrapper takes anything."""
    parameters = inspect.signature(model.forward).parameters
    inner = getattr(model, "get_base_model", None)
    if "input_ids" not in parameters and inner is not None:
        parameters = inspect.signature(inner().forward).parameters
    return frozenset(parameters)


def _output_rows(model: Any) -> int | None:
    """Number of logits a position, as far as it can be known before a pass."""
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    rows = getattr(head, "out_features", None)
    weight = getattr(head, "weight", None)
    if not rows and weight is not None:
        rows = weight.shape[0]
    return int(rows) if rows else getattr(text_config(model), "vocab_size", None)
