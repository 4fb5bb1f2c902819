"""The numbers of a decoded row (DESIGN.md section 6), gathered from what the loop computes anyway.

A *step* is one choice: every token of the output, and the end-of-sequence token where the model chose to end
("stop"). With p the model's next-token distribution after the caller's penalties, temperature and truncation, L_t the
legal set and y_t the choice at step t:

    logprob = sum of log p(y_t)    A_t = p(L_t)    projection_tax = sum of -log A_t    log_weight = sum of log A_t

all in nats. Where truncation leaves nothing legal, A_t is 0 and the tax infinite: p never writes this text. Such steps
are counted in `n_fallbacks`. `model_logprob` is of the output under the model alone: no penalties, temperature or
truncation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["FinishReason", "InterventionRecord", "RowResult", "RowStatistics"]

FinishReason = Literal["stop", "complete", "length"]


@dataclass(frozen=True, slots=True)
class InterventionRecord:
    """A step where the unconstrained choice was illegal.

    `because` is "constraint", or "budget" where the token is legal but leaves too few tokens to complete the text.
    `wanted_logprob` is log p(wanted); `legal_mass` is A_t, None where it was not measured (then because is "budget").
    `then_id`: the wanted token is legal, but was taken back since this one, which the model wanted next, is not; then
    `wanted_logprob` is of both, and `legal_mass` that behind the wanted token.
    """

    step: int
    wanted_id: int
    chosen_id: int
    wanted_logprob: float
    chosen_logprob: float
    legal_mass: float | None
    because: Literal["constraint", "budget"] = "constraint"
    then_id: int | None = None


@dataclass(slots=True)
class RowStatistics:
    """What one row cost and how far the constraint bent the model.

    `logprobs`, `model_logprobs` and `legal_mass` have one entry a step; an entry of `legal_mass` is None where measure
    is "light" and no mask of the whole legal set was made. `law_given_up_at`: how many tokens stood where the law of
    tokenization had to be given up, None where it was not. `n_taken_back`: tokens that were written anew, see `Row`.
    `drafted` and `accepted` count tokens by source. Passes are shared by the rows of a batch: `forward_passes` counts
    those this row took part in, `model_s` is their time divided among the rows in each.
    """

    logprobs: list[float] = field(default_factory=list)
    model_logprobs: list[float] = field(default_factory=list)
    legal_mass: list[float | None] = field(default_factory=list)
    interventions: list[InterventionRecord] = field(default_factory=list)
    n_prompt_tokens: int = 0
    n_tokens: int = 0
    n_bytes: int = 0
    n_fallbacks: int = 0
    n_masks: int = 0
    n_redecided: int = 0
    n_taken_back: int = 0
    law_given_up_at: int | None = None
    forward_passes: int = 0
    drafted: dict[str, int] = field(default_factory=dict)
    accepted: dict[str, int] = field(default_factory=dict)
    mask_s: float = 0.0
    draft_s: float = 0.0
    model_s: float = 0.0
    total_s: float = 0.0

    @property
    def n_steps(self) -> int:
        return len(self.logprobs)

    @property
    def logprob(self) -> float:
        """log p of all steps."""
        return math.fsum(self.logprobs)

    @property
    def model_logprob(self) -> float:
        """Log-probability of the output's tokens (without the end) under the unconstrained model."""
        return math.fsum(self.model_logprobs[: self.n_tokens])

    @property
    def end_logprob(self) -> float | None:
        """Log-probability of the end that the model chose, under the unconstrained model; None if it did not."""
        return self.model_logprobs[self.n_tokens] if len(self.model_logprobs) > self.n_tokens else None

    @property
    def n_unmeasured(self) -> int:
        """Steps whose legal mass was not computed."""
        return sum(mass is None for mass in self.legal_mass)

    @property
    def projection_tax_low(self) -> float:
        """The tax of the measured steps: a lower bound, exact when all are measured."""
        return math.fsum(_tax(mass) for mass in self.legal_mass if mass is not None)

    @property
    def projection_tax_high(self) -> float:
        """An upper bound: the choice itself is legal, so an unmeasured step costs at most -log p(y_t)."""
        unmeasured = (-logp for mass, logp in zip(self.legal_mass, self.logprobs, strict=True) if mass is None)
        return self.projection_tax_low + math.fsum(unmeasured)

    @property
    def projection_tax(self) -> float | None:
        """Sum of -log A_t, or None where some steps were not measured (then see the two bounds)."""
        return None if self.n_unmeasured else self.projection_tax_low

    @property
    def log_weight(self) -> float | None:
        """Sum of log A_t: the importance weight of this text against the model's own distribution; None as above."""
        tax = self.projection_tax
        return None if tax is None else -tax

    @property
    def perplexity_per_token(self) -> float | None:
        return math.exp(-self.model_logprob / self.n_tokens) if self.n_tokens else None

    @property
    def perplexity_per_byte(self) -> float | None:
        return math.exp(-self.model_logprob / self.n_bytes) if self.n_bytes else None

    @property
    def tokens_per_pass(self) -> float | None:
        return self.n_tokens / self.forward_passes if self.forward_passes else None


@dataclass(frozen=True, slots=True)
class RowResult:
    """One finished row.

    `token_ids` never holds the end-of-sequence token. `finish_reason`: "stop": the model chose to end; "complete": the
    constraint allows nothing more, so no pass was spent on the end; "length": max_new_tokens was reached (under a
    constraint the text is complete all the same).
    """

    token_ids: Sequence[int]
    finish_reason: FinishReason
    statistics: RowStatistics


def _tax(mass: float) -> float:
    return -math.log(mass) if mass > 0 else math.inf
