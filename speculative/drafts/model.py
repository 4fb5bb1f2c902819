"""A draft model: a smaller causal language model of the same vocabulary says what it would choose.

It chooses as the model itself does: under the same masks, penalties, truncation and noise of each position. Sharing the
noise couples the two (Gumbel coupling: Daliri et al., "Coupling without Communication and Drafter-Invariant Speculative
Decoding", 2408.07978): under greedy decoding a draft is right where both models prefer the same token, under sampling
the oftener the closer their distributions are. A drafted token is never accepted for its own sake, only where the
model's own choice is the same token; so the law of the output is the model's, exactly, and the tokens are those without
drafts. What the constraint determines is not asked of the draft model, it only reads it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from speculative.caches import drop_last
from speculative.choice import Choice, NoiseKey, choose
from speculative.columns import Columns
from speculative.drafts import Draft, DraftContext
from speculative.drafts.determined import runs_of
from speculative.legality import LegalSet
from speculative.logits import PassLogits
from speculative.options import DecodeOptions
from speculative.passes import CausalModel
from speculative.protocols import VocabularyLike
from speculative.sampling import History
from tokenizer_align.errors import DeadEnd, DominoError, InvalidOption

__all__ = ["ModelDrafts", "check_draft_model"]

_MAX_PASSES = 8  # of the draft model for one draft
_SHARED_NOISE = 0.7
_LEAST_CHANCE = 0.3  # of the whole chain, by the draft model's own probabilities; below it the draft ends


def check_draft_model(model: Any, vocabulary: VocabularyLike) -> None:
    """Raise InvalidOption unless a model can draft for texts of this vocabulary."""
    if not callable(model) or not hasattr(model, "config"):
        raise InvalidOption(
            "assistant_model", f"assistant_model must be a causal language model, not {type(model).__name__}."
        )
    try:
        runner = CausalModel(model)
    except DominoError as error:
        raise InvalidOption("assistant_model", f"assistant_model cannot draft: {error}") from error
    table = vocabulary.token_bytes
    used = max((i for i, data in enumerate(table) if data is not None), default=-1)
    n_needed = 1 + max([used, *vocabulary.eos_token_ids])
    if runner.n_rows is not None and runner.n_rows < n_needed:
        raise InvalidOption(
            "assistant_model",
            f"assistant_model has {runner.n_rows} output rows, the tokenizer has ids up to {n_needed - 1}: it was made "
            "for another tokenizer. A draft model must share the tokenizer of the model.",
        )
    if not runner.plan.can_drop:
        raise InvalidOption(
            "assistant_model",
            f"assistant_model ({type(model).__name__}) keeps a state that cannot be taken back, so rejected drafts "
            "would stay in it.",
        )


class ModelDrafts:
    """The draft source of a smaller model; kinds are "sure0" to "sure9" by its own probability, and "run" between.

    Each row has a cache of its own, which is rolled back to what the text has in common with it.
    """

    name = "draft model"

    def __init__(self, model: Any, vocabulary: VocabularyLike, options: DecodeOptions) -> None:
        check_draft_model(model, vocabulary)
        self._runner = CausalModel(model)
        self._vocabulary, self._options = vocabulary, replace(options, measure="light")
        self._runs = runs_of(vocabulary)
        self._rows: dict[int, _Past] = {}

    def forget(self, row: int) -> None:
        """Drop what was read of a finished row."""
        self._rows.pop(row, None)

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        if self._runner.n_rows is not None and max(context.prompt_ids) >= self._runner.n_rows:
            return ()  # a special token that this model does not have
        past = self._rows.get(context.row)
        if past is None:
            past = self._rows[context.row] = _Past(self._runner)
        legal = None
        if context.matcher is not None:
            legal = LegalSet(context.matcher, self._vocabulary, context.end_ids)
        chain = _Chain(context, legal, self._options)
        try:
            with self._runner.ready(), self._runner.inference():
                self._follow(chain, past, limit)
        except DeadEnd:  # the chain so far stands; the model itself will say whether it ever comes there
            pass
        finally:
            if chain.n_advanced and context.matcher is not None:
                context.matcher.rollback(chain.n_advanced)
        return [Draft(self.name, tuple(chain.ids), tuple(chain.kinds))] if chain.ids else ()

    def _follow(self, chain: _Chain, past: _Past, limit: int) -> None:
        """Choose token by token; what is determined is taken as it is and read with the next pass."""
        for _ in range(_MAX_PASSES):
            self._take_run(chain, limit)
            if len(chain.ids) >= limit or not chain.can_continue():
                return
            text = [*chain.context.prompt_ids, *chain.context.output_ids, *chain.ids]
            choice = chain.choose(past.logits_after(text, self._vocabulary.n_rows))
            if choice is None:
                return

    def _take_run(self, chain: _Chain, limit: int) -> None:
        """Add what the constraint determines here, but for its last token, which may merge with what follows."""
        matcher = chain.context.matcher
        run = matcher.determined_bytes(chain.context.layout) if matcher is not None else b""
        if not run:
            return
        for token in self._runs.encode([*chain.context.output_ids, *chain.ids], run)[:-1]:
            if len(chain.ids) >= limit or not chain.take(token):
                return


class _Chain:
    """One draft being written: its tokens, and how far the row's matcher has been moved for it."""

    def __init__(self, context: DraftContext, legal: LegalSet | None, options: DecodeOptions) -> None:
        self.context = context
        self.ids: list[int] = []
        self.kinds: list[str] = []
        self.n_advanced = 0
        self._legal, self._options = legal, options
        self._history = History(context.prompt_ids if options.penalizes else ())
        self._chance = 1.0
        for token in context.output_ids if options.penalizes else ():
            self._history.add(token)

    def can_continue(self) -> bool:
        return self.context.matcher is None or self.context.matcher.can_continue()

    def take(self, token_id: int) -> bool:
        """Add a determined token if it is legal and something may follow it."""
        if self._legal is None or not self._legal.may_take(token_id):
            return False
        self._legal.matcher.advance(token_id)
        self.n_advanced += 1
        self._add(token_id, "run")
        return self.can_continue()

    def choose(self, logits: PassLogits) -> Choice | None:
        """Choose as the model would with these logits; None where the draft ends."""
        position = logits.position(0, 0)
        n_written = len(self.context.output_ids) + len(self.ids)
        remaining = self.context.remaining - len(self.ids)
        if not math.isfinite(position.score(position.best)) or remaining < 1:
            return None
        key = NoiseKey(self._options.seed, self.context.noise_row, n_written)
        choice = choose(position, self._history, self._legal, key, remaining, self._options)
        if choice.token_id in self.context.end_ids:
            return None
        if self._legal is not None:
            self.n_advanced += 1
            if not self.can_continue():
                return None  # the text ends by itself: nothing is saved by drafting that
        mass = 1.0 if choice.legal_mass is None else max(choice.legal_mass, 1e-9)
        chance = min(1.0, math.exp(choice.logprob) / mass) if math.isfinite(choice.logprob) else 0.5
        # Sampled with the same noise, an unlikely token may be the model's too.
        self._chance *= max(chance, _SHARED_NOISE) if self._options.do_sample else chance
        if self._chance < _LEAST_CHANCE and self.ids:
            return None
        self._add(choice.token_id, f"sure{min(9, int(10 * chance))}")
        return choice if self._chance >= _LEAST_CHANCE else None

    def _add(self, token_id: int, kind: str) -> None:
        self.ids.append(token_id)
        self.kinds.append(kind)
        self._history.add(token_id)


class _Past:
    """What the draft model has read of one row."""

    def __init__(self, runner: CausalModel) -> None:
        self._runner = runner
        self._cache = runner.new_cache()
        self._read: list[int] = []

    def logits_after(self, text: Sequence[int], n_rows: int) -> PassLogits:
        """Read what is new of a text and return the logits behind it, over the vocabulary's rows."""
        import torch

        n_same = 0
        for mine, other in zip(self._read, text[:-1], strict=False):  # the last token is always read, for its logits
            if mine != other:
                break
            n_same += 1
        drop_last(self._cache, len(self._read) - n_same)
        logits = self._runner.run(Columns(1).block([text[n_same:]], [[]]), self._cache)
        self._read = list(text)
        if logits.shape[-1] > n_rows:
            logits = logits[..., :n_rows]
        elif logits.shape[-1] < n_rows:
            logits = torch.nn.functional.pad(logits, (0, n_rows - logits.shape[-1]), value=float("-inf"))
        return PassLogits(logits, in_place=True)
