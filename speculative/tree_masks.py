"""Attention masks of a pass whose drafts branch: each token sees the row's past and its own ancestors.

transformers takes a mask of four dimensions as it is; models with layers of several kinds take one a kind, by name.
Windows are counted in positions, not in columns, so holes and branches do not shorten them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from speculative.caches import CachePlan
from speculative.columns import Block

__all__ = ["tree_masks"]


def tree_masks(block: Block, config: Any, plan: CachePlan, dtype: Any, device: Any) -> Any:
    """Return the additive mask float[n, 1, q, n_keys], or one for each kind of layer the model has.

    There are width + q keys, or as many as a cache of fixed size has; those behind the end are hidden.
    """
    if plan.capacity is not None:
        block = _padded(block, plan.capacity)
    kinds = set(getattr(config, "layer_types", None) or ())
    if plan.kind != "windowed":
        return _additive(_seen(block, "full_attention", config), dtype, device)
    if not kinds:
        return _additive(_seen(block, "sliding_attention", config), dtype, device)
    return {kind: _additive(_seen(block, kind, config), dtype, device) for kind in sorted(kinds)}


def _padded(block: Block, n_keys: int) -> Block:
    assert block.visible is not None
    assert block.key_positions is not None
    more = n_keys - block.visible.shape[2]
    visible = np.pad(block.visible, ((0, 0), (0, 0), (0, more)))
    return replace(block, visible=visible, key_positions=np.pad(block.key_positions, ((0, 0), (0, more))))


def _seen(block: Block, kind: str, config: Any) -> npt.NDArray[np.bool_]:
    """Which columns each token sees in layers of a kind, bool[n, q, width + q]."""
    assert block.visible is not None
    assert block.key_positions is not None
    assert block.position_ids is not None
    queries, keys = block.position_ids[:, :, None], block.key_positions[:, None, :]
    window = getattr(config, "sliding_window", None) or 0
    chunk = getattr(config, "attention_chunk_size", None) or 0
    if kind == "chunked_attention" and chunk:
        return np.asarray(block.visible & (queries // chunk == keys // chunk), dtype=np.bool_)
    if kind in ("sliding_attention", "chunked_attention") and window:
        return np.asarray(block.visible & (queries - keys < window), dtype=np.bool_)
    return block.visible


def _additive(seen: npt.NDArray[np.bool_], dtype: Any, device: Any) -> Any:
    import torch

    hidden = torch.from_numpy(~seen[:, None]).to(device)
    return torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, torch.finfo(dtype).min)
