"""Draft sources: each proposes what may come next, from the matcher's state and the tokens so far.

A draft is only ever a guess: the model verifies every token under the same mask and noise as without it, so a source
may be wrong at no cost to the answer. A source that raises is a bug; one that has nothing to say returns nothing. What
all sources propose is merged into one tree (speculative/tree.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from speculative.protocols import MatcherLike
from tokenizer_align.layout import Layout

if TYPE_CHECKING:
    from speculative.drafts.memory import DraftMemory

__all__ = ["Draft", "DraftContext", "DraftSource"]


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens in a chain, from the next token on.

    Attributes:
        source: the name that statistics count under. token_ids: int[n]. kinds: one label a token; tokens of one kind
        are expected to be accepted equally often.
    """

    source: str
    token_ids: tuple[int, ...]
    kinds: tuple[str, ...]

    def cut(self, n_tokens: int) -> Draft:
        """Return the chain's first tokens."""
        return Draft(self.source, self.token_ids[:n_tokens], self.kinds[:n_tokens])


@dataclass(frozen=True, slots=True)
class DraftContext:
    """What a source may look at. It may move the matcher but must leave it as it was.

    Attributes:
        matcher: None for free text.
        prompt_ids, output_ids: the row's tokens.
        layout: what the text has shown so far.
        row: names the running text within the call.
        memory: what is remembered of the row's constraint; None for free text.
        noise_row: the key of the row's sampling noise.
        end_ids: tokens that end the text.
        remaining: tokens left of the budget.
    """

    matcher: MatcherLike | None
    prompt_ids: Sequence[int]
    output_ids: Sequence[int]
    layout: Layout
    row: int = 0
    memory: DraftMemory | None = None
    noise_row: int = 0
    end_ids: frozenset[int] = frozenset()
    remaining: int = 1 << 30


class DraftSource(Protocol):
    """Anything that proposes tokens."""

    @property
    def name(self) -> str: ...

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        """Return chains of at most `limit` tokens, likelier ones first; none where there is nothing to say."""
        ...
