"""Whether a model's attention obeys a mask of our own: tried once, before the first draft that branches.

The logits of a pass over two alternatives, one of them continued, are compared with those of plain passes over each
path. A model or an attention implementation that ignores the mask, or takes positions from the columns, shows here; it
is then given chains only, and the tokens are the same.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from speculative.columns import Columns
from speculative.passes import CausalModel
from speculative.policy import DraftPolicy

__all__ = ["takes_trees"]

_log = logging.getLogger(__name__)
_TAKING = frozenset({"sdpa", "eager"})
_TOLERANCE = {"torch.float32": 1e-3, "torch.float64": 1e-6}  # of the logits' spread; half precision: 0.1


def takes_trees(runner: CausalModel, policy: DraftPolicy) -> bool:
    """Whether passes with branching drafts give what plain passes give; found out once a model, kept in its policy."""
    if policy.takes_trees is None:
        policy.takes_trees = _obeys_masks(runner)
        if not policy.takes_trees:
            _log.info("%s takes no attention mask of ours; drafts will not branch", type(runner.model).__name__)
    return policy.takes_trees


def _obeys_masks(runner: CausalModel) -> bool:
    implementation = getattr(runner.model.config, "_attn_implementation", None)
    if implementation not in _TAKING or not runner.can_batch:
        return False
    try:
        with runner.ready(), runner.inference():
            tree = _logits(runner, [1, 2], [3, 4, 5], [-1, 0, -1])
            first = _logits(runner, [1, 2], [3, 4], None)
            second = _logits(runner, [1, 2], [5], None)
    except (RuntimeError, TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        _log.info("%s refuses a mask of four dimensions: %s", type(runner.model).__name__, error)
        return False
    plain = np.concatenate([first, second[1:]])
    bound = _TOLERANCE.get(str(runner.dtype), 0.1) * float(plain.std())
    return bool(np.abs(tree - plain).max() <= bound)


def _logits(runner: CausalModel, head: list[int], draft: list[int], parents: list[int] | None) -> Any:
    """float32[1 + n, n_rows] of a fresh pass over a head and a draft."""
    block = Columns(1).block([head], [draft], None if parents is None else [parents])
    return runner.run(block, runner.new_cache())[0].float().cpu().numpy()
