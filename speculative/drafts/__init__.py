"""Draft sources: each proposes what may come next, from the matcher's state and the tokens so far.

A draft is only ever a guess: the model verifies every token under the same mask and noise as without it, so a source
may be wrong at no cost to the answer. A source that raises is a bug; one that has nothing to say returns None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from speculative.protocols import MatcherLike
from tokenizer_align.layout import Layout

__all__ = ["Draft", "DraftContext", "DraftSource"]


@dataclass(frozen=True, slots=True)
class Draft:
    """Proposed tokens in a chain.

    Attributes:
        source: the name that statistics count under. token_ids: int[n]. kinds: one label a token; tokens of one kind
        are expected to be accepted equally often. completes: whether nothing may follow the last token; it is then
        not run, since the text ends by itself. parents: for a tree, the index of each token's parent (-1: the root);
        None for a chain. No source makes trees yet.
    """

    source: str
    token_ids: tuple[int, ...]
    kinds: tuple[str, ...]
    completes: bool = False
    parents: tuple[int, ...] | None = None

    def cut(self, n_tokens: int, *, completes: bool = False) -> Draft:
        """Return the chain's first tokens."""
        return Draft(self.source, self.token_ids[:n_tokens], self.kinds[:n_tokens], completes)


@dataclass(frozen=True, slots=True)
class DraftContext:
    """What a source may look at. It may move the matcher but must leave it as it was.

    `matcher` is None for free text; `prompt_ids` and `output_ids` are the row's tokens; `layout` is what the text has
    shown so far.
    """

    matcher: MatcherLike | None
    prompt_ids: Sequence[int]
    output_ids: Sequence[int]
    layout: Layout


class DraftSource(Protocol):
    """Anything that proposes tokens."""

    @property
    def name(self) -> str: ...

    def propose(self, context: DraftContext, limit: int) -> Draft | None:
        """Return a draft of at most `limit` tokens, or None."""
        ...
