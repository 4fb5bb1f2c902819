"""What a caller of the decode loop says: options shared by all rows, and one request a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from speculative.fixed_caches import CACHE_NAMES
from tokenizer_align.errors import InvalidOption
from tokenizer_align.layout import Layout

if TYPE_CHECKING:
    from speculative.drafts import DraftSource
    from speculative.protocols import CompiledLike

__all__ = ["DEFAULT_MAX_DRAFT", "DecodeOptions", "RowRequest"]

DEFAULT_MAX_DRAFT = 24


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """Names and meanings are transformers' GenerationConfig's where it has them; every truncation is off by default.

    Attributes:
        seed: key of the sampling noise, together with a request's `row` and the position in the output.
        truncate: "model": temperature and truncation act on the model's own distribution, then the mask; "masked":
            transformers' order, the mask first.
        speculate: True: always draft what is determined; "auto": where it is expected to pay; False: never. The tokens
            are the same in all three.
        measure: "light": log-probabilities and interventions, legal mass only where a mask was needed anyway; "full":
            a mask and its legal mass at every step.
        max_draft: most drafted tokens in one pass and row.
        exact: decide near-ties again in a pass of one token (matters in bfloat16 and float16).
        draft_sources: None: the built-in ones.
        draft_model: a smaller causal language model of the same vocabulary that drafts too (drafts/model.py).
        cache: None or "dynamic": one that grows; "static": one of fixed size; or a cache of transformers, which serves
            one call at a time and is emptied before every batch.
    """

    do_sample: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0
    min_p: float | None = None
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    seed: int = 0
    truncate: Literal["model", "masked"] = "model"
    speculate: Literal["auto"] | bool = "auto"
    measure: Literal["light", "full"] = "light"
    max_draft: int | None = None
    exact: bool = False
    draft_sources: tuple[DraftSource, ...] | None = None
    draft_model: Any = None
    cache: Any = None

    def __post_init__(self) -> None:
        for name, holds, wanted in (
            ("temperature", self.temperature > 0, "above 0 (for the most likely text use do_sample=False)"),
            ("top_k", self.top_k is None or self.top_k >= 0, "0 or None (off), or a count"),
            ("top_p", 0 < self.top_p <= 1, "above 0 and at most 1"),
            ("min_p", self.min_p is None or 0 <= self.min_p <= 1, "from 0 to 1"),
            ("typical_p", 0 < self.typical_p <= 1, "above 0 and at most 1"),
            ("repetition_penalty", self.repetition_penalty > 0, "above 0"),
            ("truncate", self.truncate in ("model", "masked"), "'model' or 'masked'"),
            ("speculate", self.speculate in ("auto", True, False), "'auto', True or False"),
            ("measure", self.measure in ("light", "full"), "'light' or 'full'"),
            ("cache", not isinstance(self.cache, str) or self.cache in CACHE_NAMES, "'dynamic', 'static' or a cache"),
            ("max_draft", self.max_draft is None or self.max_draft >= 0, "0 or more"),
        ):
            if not holds:
                raise InvalidOption(name, f"{name}={getattr(self, name)!r} must be {wanted}.")

    @property
    def truncates(self) -> bool:
        """Whether sampling removes improbable tokens."""
        return self.do_sample and (
            bool(self.top_k) or self.top_p < 1 or self.typical_p < 1 or (self.min_p is not None and self.min_p > 0)
        )

    @property
    def penalizes(self) -> bool:
        """Whether scores depend on the tokens so far."""
        return self.repetition_penalty != 1.0 or self.frequency_penalty != 0.0 or self.presence_penalty != 0.0

    @property
    def takes_back(self) -> bool:
        """Whether a token may be written anew (see `rows.Row`): sampling keeps to the law that it names, and with
        `exact` no token may depend on which of two nearly equal scores a wide pass finds larger."""
        return not self.do_sample and not self.penalizes and not self.exact


@dataclass(frozen=True, slots=True)
class RowRequest:
    """One text to write.

    Attributes:
        prompt_ids: at least one token.
        compiled: the constraint, compiled for the vocabulary; None: free text.
        row: the noise key of this row; the same seed, row and position give the same noise in any batch.
        max_new_tokens: most tokens of the output.
        eos_token_ids: ids that end the text. Under a constraint they are legal only where the text is complete.
        layout: where the first drafts take their blanks from, for instance `observe` of an example in the prompt; None:
            what this model wrote last.
    """

    prompt_ids: Sequence[int]
    compiled: CompiledLike | None = None
    row: int = 0
    max_new_tokens: int = 256
    eos_token_ids: tuple[int, ...] = ()
    layout: Layout | None = None
