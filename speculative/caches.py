"""Key-value caches: which kind a model needs, and how positions are taken back, moved and dropped.

Three kinds, by what the model's layers remember:
* full attention: one growing cache; positions can be dropped from the end, and holes are hidden by the attention
mask; * windowed (sliding or chunked) attention: the same growing cache, made without the model's configuration so
that it keeps
  all positions and the mask does the windowing; but windows count columns, so a batch must have no holes once it is
  longer than the window;
* recurrent (linear attention, state space, convolution) or unknown: the model's own cache, nothing can be taken back,
so
  rows run one by one and without drafts.
`crop(-n)` with n > 0 drops the last n positions in every version of transformers since 4.45; other arguments changed
meaning between versions and are not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["CachePlan", "drop_last", "move_columns", "plan_cache", "select_rows"]

_FULL = frozenset({"full_attention", "attention"})
_WINDOWED = frozenset({"sliding_attention", "chunked_attention"})


@dataclass(frozen=True, slots=True)
class CachePlan:
    """How to keep a model's past.

    Attributes:
        kind: see the module's text.
        window: shortest window in tokens, None without one.
    """

    kind: Literal["full", "windowed", "recurrent"]
    window: int | None = None

    @property
    def can_drop(self) -> bool:
        """Whether positions can be taken back, so that drafts may be rejected."""
        return self.kind != "recurrent"

    def new_cache(self, config: Any) -> Any:
        """Return an empty cache."""
        from transformers import DynamicCache

        return DynamicCache(config=config) if self.kind == "recurrent" else DynamicCache()


def plan_cache(model: Any) -> CachePlan:
    """Find out which kind of cache a model needs, from its configuration."""
    config = text_config(model)
    if getattr(model, "_is_stateful", False):
        return CachePlan("recurrent")
    types = getattr(config, "layer_types", None)
    windows = [
        int(size)
        for name in ("sliding_window", "attention_chunk_size")
        if isinstance(size := getattr(config, name, None), int) and size > 0
    ]
    if types is None:
        return CachePlan("windowed", min(windows)) if windows else CachePlan("full")
    if set(types) <= _FULL:
        return CachePlan("full")
    if set(types) <= _FULL | _WINDOWED and windows:
        return CachePlan("windowed", min(windows))
    return CachePlan("recurrent")


def text_config(model: Any) -> Any:
    """Return the configuration of the model's text decoder (multimodal models nest it)."""
    get = getattr(model.config, "get_text_config", None)
    return get(decoder=True) if get is not None else model.config


def drop_last(cache: Any, n_positions: int) -> None:
    """Drop the last positions of all rows."""
    if n_positions > 0:
        cache.crop(-n_positions)


def select_rows(cache: Any, rows: Any) -> None:
    """Keep these rows of the batch (int64[n], on any device)."""
    for layer in _filled_layers(cache):
        layer.keys = layer.keys.index_select(0, rows.to(layer.keys.device))
        layer.values = layer.values.index_select(0, rows.to(layer.values.device))


def move_columns(cache: Any, columns: Any) -> None:
    """Rebuild every row from the named columns of its own: int64[n_rows, new width]."""
    for layer in _filled_layers(cache):
        layer.keys = _gather(layer.keys, columns)
        layer.values = _gather(layer.values, columns)


def _gather(states: Any, columns: Any) -> Any:
    index = columns.to(states.device)[:, None, :, None]
    return states.gather(2, index.expand(-1, states.shape[1], -1, states.shape[3]))


def _filled_layers(cache: Any) -> list[Any]:
    return [layer for layer in cache.layers if getattr(layer, "keys", None) is not None and layer.keys.numel()]
