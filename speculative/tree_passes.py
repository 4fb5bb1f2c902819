"""What passes a model takes, tried once each, before the first draft that needs it.

Trees: the logits of a pass over two alternatives, one of them continued, are compared with those of plain passes over
each path. A model or an attention implementation that ignores the mask, or takes positions from the columns, shows
here; it is then given chains only, and the tokens are the same.
Runs: a model with a recurrent state must go on from it where several tokens come at once; not all of them do.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from speculative.columns import Columns
from speculative.passes import CausalModel
from speculative.policy import DraftPolicy

__all__ = ["takes_runs", "takes_trees"]

_log = logging.getLogger(__name__)
_TAKING = frozenset({"sdpa", "eager"})
_TOLERANCE = {"torch.float32": 1e-3, "torch.float64": 1e-6}  # of the logits' spread
_ROUGH = 0.5  # the same in half precision, where passes of another width differ by up to a fifth
_SMALL = 0.25  # half precision: of the difference that disobeying makes


def takes_trees(runner: CausalModel, policy: DraftPolicy) -> bool:
    """Whether passes with branching drafts give what plain passes give; found out once a model, kept in its policy."""
    if not runner.can_batch:
        return False
    is_fixed = runner.plan.capacity is not None
    known = policy.takes_fixed_trees if is_fixed else policy.takes_trees
    if known is None:
        known = _obeys_masks(runner.trial())
        if is_fixed:
            policy.takes_fixed_trees = known
        else:
            policy.takes_trees = known
        if not known:
            _log.info("%s takes no attention mask of ours; drafts will not branch", type(runner.model).__name__)
    return known


def takes_runs(runner: CausalModel, policy: DraftPolicy) -> bool:
    """Whether several tokens at once, behind others, give what they give in one pass with those."""
    if policy.takes_runs is None:
        policy.takes_runs = _goes_on(runner.trial())
        if not policy.takes_runs:
            _log.info("%s reads one token at a time; nothing is drafted", type(runner.model).__name__)
    return policy.takes_runs


def _obeys_masks(runner: CausalModel) -> bool:
    implementation = getattr(runner.model.config, "_attn_implementation", None)
    if implementation not in _TAKING:
        return False
    head, long, short = [1, 2, 3], [4, 5, 6, 7, 8], [9, 10]
    try:
        with runner.ready(), runner.inference():
            tree = _logits(runner, head, [*long, *short], [-1, 0, 1, 2, 3, -1, 5])
            first = _logits(runner, head, long, None)
            second = _logits(runner, head, short, None)
            chain = _logits(runner, head, [*long, *short], None)  # what a model gives that obeys nothing
    except (RuntimeError, TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        _log.info("%s refuses a mask of four dimensions: %s", type(runner.model).__name__, error)
        return False
    if str(runner.dtype) in _TOLERANCE:
        return _agree(tree, np.concatenate([first, second[1:]]), runner)
    branch, wrong = tree[-2:] - second[1:], chain[-2:] - second[1:]
    return bool(np.abs(branch).mean() <= _SMALL * np.abs(wrong).mean()) and _agree(tree[:-2], first, runner)


def _goes_on(runner: CausalModel) -> bool:
    text = [1 + i % 7 for i in range(14)]
    try:
        with runner.ready(), runner.inference():
            whole = _logits(runner, text[:10], text[10:], None)
            cache = runner.new_cache()
            _logits(runner, text[:9], [], None, cache)
            parts = _logits(runner, text[9:10], text[10:], None, cache)
    except (RuntimeError, TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        _log.info("%s takes no run of tokens: %s", type(runner.model).__name__, error)
        return False
    return _agree(parts, whole, runner)


def _agree(found: Any, plain: Any, runner: CausalModel) -> bool:
    bound = _TOLERANCE.get(str(runner.dtype), _ROUGH) * float(plain.std())
    return bool(np.abs(found - plain).max() <= bound)


def _logits(
    runner: CausalModel, head: list[int], draft: list[int], parents: list[int] | None, cache: Any = None
) -> Any:
    """float32[1 + n, n_rows] of a pass over a head and a draft, in a fresh cache if none is given."""
    block = Columns(1).block([head], [draft], None if parents is None else [parents])
    return runner.run(block, runner.new_cache() if cache is None else cache)[0].float().cpu().numpy()
