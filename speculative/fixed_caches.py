"""Which cache a call uses: one that grows, one of fixed size, or the caller's own; and what of it can be taken back.

A cache of fixed size holds its columns from the start; a pass writes behind the end and attends to all of them, so
masks cover them all. Positions are taken back by moving the end: what lies behind it is hidden and overwritten. Layers
that keep a window only can be taken back as long as nothing has left it. What is not known to be right is not done:
such caches run row by row and without drafts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from speculative.caches import CachePlan
from tokenizer_align.errors import InvalidOption

__all__ = ["CACHE_NAMES", "choose_cache"]

CACHE_NAMES = ("dynamic", "static")
_PLAIN = frozenset({"DynamicLayer", "StaticLayer"})
_SLIDING = frozenset({"DynamicSlidingWindowLayer", "StaticSlidingWindowLayer"})


def choose_cache(plan: CachePlan, wanted: Any, longest: int, slack: int) -> CachePlan:
    """Return the plan for a call.

    Args:
        plan: what the model needs. wanted: None or "dynamic", "static", or a cache of transformers.
        longest: most tokens of a row, prompt and output. slack: most columns that a pass adds besides.

    Raises:
        InvalidOption: the caller's cache is too small, or it keeps keys that are not those of the model.
    """
    if wanted is None or wanted == "dynamic":
        return plan
    if wanted == "static":
        return replace(plan, capacity=longest + slack)
    return _plan_given(plan, wanted, longest)


def _plan_given(plan: CachePlan, cache: Any, longest: int) -> CachePlan:
    if not hasattr(cache, "layers"):
        raise InvalidOption("cache", f"cache is a {type(cache).__name__}; an empty cache of transformers was expected.")
    names = {type(layer).__name__ for layer in cache.layers}
    grows = getattr(cache, "layer_class_to_replicate", None)
    if grows is not None:
        names.add(grows.__name__)
    if any("Quantized" in name for name in names):
        raise InvalidOption("cache", "cache is quantized: what it gives back depends on how passes are cut.")
    sizes = {layer.max_cache_len for layer in cache.layers if type(layer).__name__ == "StaticLayer"}
    windows = {_window(layer) for layer in cache.layers if type(layer).__name__ in _SLIDING}
    smallest = min(sizes, default=None)
    if smallest is not None and smallest < longest - 1:  # the last token is never run
        raise InvalidOption(
            "cache",
            f"cache holds {smallest} positions, and prompt and max_new_tokens come to {longest - 1}. Make it larger.",
        )
    known = names <= _PLAIN | _SLIDING and not getattr(cache, "offloading", False) and plan.can_drop
    if not known or any(window < longest - 1 for window in windows):
        return CachePlan("recurrent", capacity=smallest, given=cache)
    mixed = bool(windows) or len(sizes) > 1 or (bool(sizes) and names != {"StaticLayer"})
    return replace(plan, capacity=min(sizes | windows, default=None), given=cache, chains_only=mixed)


def _window(layer: Any) -> int:
    """How many positions a sliding layer holds before it lets go of any."""
    return int(layer.max_cache_len) if hasattr(layer, "max_cache_len") else int(layer.sliding_window) - 1
