"""Log-probabilities of given tokens under the unconstrained model: for the alignment gap and perplexity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from speculative.columns import Columns
from speculative.logits import PassLogits
from speculative.options import DecodeOptions
from speculative.passes import CausalModel
from speculative.sampling import History, log_sum_exp, penalize, scale
from tokenizer_align.errors import DominoError

__all__ = ["score"]

_CHUNK = 256  # positions whose logits are held at once: 256 MB at 262k rows


def score(
    model: Any, prompt_ids: Sequence[int], ids: Sequence[int], options: DecodeOptions | None = None
) -> list[float]:
    """Return log P(ids[i] | prompt_ids, ids[:i]) for every i, in one pass (in chunks where `ids` are many).

    Args:
        prompt_ids: at least one token.
        options: None: the model alone. Else its penalties and temperature apply as in decoding; truncation does not,
            so that every token has a finite log-probability.
    """
    if not prompt_ids:
        raise DominoError("the prompt has no tokens; a model needs at least one (its start token).")
    runner = CausalModel(model)
    cache = runner.new_cache()
    columns = Columns(1)
    history = History(prompt_ids)
    head, found = list(prompt_ids), []
    with runner.ready(), runner.inference():
        for start in range(0, len(ids), _CHUNK):
            piece = list(ids[start : start + _CHUNK])
            block = columns.block([head], [piece[:-1]])
            logits = PassLogits(runner.run(block, cache), in_place=True)
            columns.settle([range(len(piece) - 1)])
            for column, token in enumerate(piece):
                position = logits.position(0, column)
                position.check(start + column)
                if options is None:
                    found.append(position.score(token) - position.log_normalizer)
                else:
                    scores = penalize(position.scores, history, options) if options.penalizes else position.scores
                    scores = scale(np.asarray(scores), options)
                    found.append(float(scores[token]) - log_sum_exp(scores))
                    history.add(token)
            head = piece[-1:]
    return found
