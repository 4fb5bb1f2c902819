"""Key-value caches: which kind a model needs, and how positions are taken back, moved and dropped.

Three kinds, by what the model's layers remember:
* full attention: one growing cache; positions can be dropped from the end, and holes are hidden by the attention mask;
* windowed (sliding or chunked) attention: the same growing cache, made without the model's configuration so that it
  keeps all positions and the mask does the windowing; but windows count columns, so a batch must have no holes once it
  is longer than the window;
* recurrent (linear attention, state space, convolution) or unknown: the model's own cache, nothing can be taken back,
  so rows run one by one, and only what cannot be rejected is drafted.
Caches of fixed size and the caller's own are chosen in `speculative/fixed_caches.py`.
`crop(-n)` with n > 0 drops the last n positions of a growing cache in every version of transformers since 4.45; other
arguments changed meaning between versions and are not used. Fixed layers had no `crop` before 5.24, so their end is
moved here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["CachePlan", "drop_last", "emptied", "fixed_cache", "move_columns", "plan_cache", "select_rows"]

_FULL = frozenset({"full_attention", "attention"})
_WINDOWED = frozenset({"sliding_attention", "chunked_attention"})


@dataclass(frozen=True, slots=True)
class CachePlan:
    """How to keep a model's past.

    Attributes:
        kind: see the module's text.
        window: shortest window in tokens, None without one.
        capacity: columns of a cache of fixed size; None: it grows.
        given: the caller's own cache, emptied before every use; None: one is made for each.
        chains_only: rows run one by one, and drafts do not branch.
    """

    kind: Literal["full", "windowed", "recurrent"]
    window: int | None = None
    capacity: int | None = None
    given: Any = None
    chains_only: bool = False

    @property
    def can_drop(self) -> bool:
        """Whether positions can be taken back, so that drafts may be rejected."""
        return self.kind != "recurrent"

    def room(self, width: int) -> int | None:
        """Columns that are left in a cache of this width; None: as many as wanted."""
        return None if self.capacity is None else self.capacity - width

    def new_cache(self, config: Any, n_rows: int = 1) -> Any:
        """Return an empty cache for so many rows."""
        from transformers import DynamicCache

        if self.given is not None:
            return emptied(self.given, n_rows)
        if self.capacity is not None:
            return fixed_cache(config, self.capacity, is_windowed=self.kind != "recurrent")
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


def fixed_cache(config: Any, capacity: int, *, is_windowed: bool) -> Any:
    """Return an empty cache of fixed size; `is_windowed`: keep all positions of windowed layers; masks do the rest."""
    from transformers import StaticCache
    from transformers.cache_utils import StaticLayer

    cache = StaticCache(config=config, max_cache_len=capacity)
    if is_windowed:
        cache.layers = [StaticLayer(max_cache_len=capacity) if layer.is_sliding else layer for layer in cache.layers]
    return cache


def emptied(cache: Any, n_rows: int) -> Any:
    """Forget all that a cache holds. Fixed layers stay where they lie in memory if they were made for as many rows."""
    cache.reset()
    for layer in cache.layers:
        is_kept = _is_fixed(layer) and getattr(layer, "keys", None) is not None and layer.keys.shape[0] == n_rows
        if getattr(layer, "is_initialized", False) and hasattr(layer, "keys") and not is_kept:
            layer.is_initialized, layer.keys, layer.values = False, None, None
        _move_end(layer, 0)
    return cache


def drop_last(cache: Any, n_positions: int) -> None:
    """Drop the last positions of all rows."""
    if n_positions <= 0:
        return
    if not any(_is_fixed(layer) for layer in cache.layers):
        cache.crop(-n_positions)
        return
    for layer in _filled_layers(cache):
        if _is_fixed(layer):
            _move_end(layer, int(layer.get_seq_length()) - n_positions)
        else:
            layer.crop(-n_positions)


def select_rows(cache: Any, rows: Any) -> None:
    """Keep these rows of the batch (int64[n], on any device)."""
    for layer in _filled_layers(cache):
        layer.keys = layer.keys.index_select(0, rows.to(layer.keys.device))
        layer.values = layer.values.index_select(0, rows.to(layer.values.device))


def move_columns(cache: Any, columns: Any) -> None:
    """Rebuild every row from the named columns of its own: int64[n_rows, new width]."""
    width = int(columns.shape[1])
    for layer in _filled_layers(cache):
        if _is_fixed(layer):
            layer.keys[:, :, :width] = _gather(layer.keys, columns)
            layer.values[:, :, :width] = _gather(layer.values, columns)
            _move_end(layer, width)
        else:
            layer.keys = _gather(layer.keys, columns)
            layer.values = _gather(layer.values, columns)


def _gather(states: Any, columns: Any) -> Any:
    index = columns.to(states.device)[:, None, :, None]
    return states.gather(2, index.expand(-1, states.shape[1], -1, states.shape[3]))


def _filled_layers(cache: Any) -> list[Any]:
    return [layer for layer in cache.layers if getattr(layer, "keys", None) is not None and layer.keys.numel()]


def _is_fixed(layer: Any) -> bool:
    return hasattr(layer, "max_cache_len")


def _move_end(layer: Any, length: int) -> None:
    """Let a layer that counts its own positions hold this many; a tensor keeps its place, as it may be compiled in."""
    count = getattr(layer, "cumulative_length", None)
    if isinstance(count, int):
        layer.cumulative_length = length
    elif count is not None:
        count.fill_(length)
    if hasattr(layer, "cumulative_length_int"):
        layer.cumulative_length_int = length
