"""One running text: its tokens, its legal set, the draft being verified, and its numbers."""

from __future__ import annotations

import time
from collections.abc import Sequence

from speculative.choice import Choice, NoiseKey, choose, margin
from speculative.drafts import Draft, DraftContext, DraftSource
from speculative.legality import LegalSet
from speculative.logits import PassLogits
from speculative.options import DecodeOptions, RowRequest
from speculative.protocols import VocabularyLike
from speculative.sampling import History
from speculative.statistics import FinishReason, InterventionRecord, RowStatistics
from tokenizer_align.errors import BudgetTooSmall, DominoError
from tokenizer_align.layout import DEFAULT_LAYOUT, Layout, LayoutTracker

__all__ = ["Row"]


class Row:
    """State of one request while it runs.

    Attributes:
        head: tokens not yet run, at least one: the prompt at first, then the token decided last.
        draft: what this pass verifies; `run_ids` are its tokens that are really run, `n_accepted` of them agreed.
        alone: the next pass must decide one token without drafts (`exact`).
    """

    def __init__(
        self,
        index: int,
        request: RowRequest,
        vocabulary: VocabularyLike,
        options: DecodeOptions,
        layout: Layout = DEFAULT_LAYOUT,
    ) -> None:
        if not request.prompt_ids:
            raise DominoError(f"the prompt of row {index} has no tokens; a model needs at least one (its start token).")
        self.index = index
        self.request = request
        self.options = options
        self.end_ids = frozenset(request.eos_token_ids)
        self.legal: LegalSet | None = None
        if request.compiled is not None:
            self.end_ids |= frozenset(vocabulary.eos_token_ids)
            self.legal = LegalSet(request.compiled.matcher(request.prompt_ids), vocabulary, self.end_ids)
        self.head: list[int] = list(request.prompt_ids)
        self.output: list[int] = []
        self.finish: FinishReason | None = None
        self.draft: Draft | None = None
        self.run_ids: tuple[int, ...] = ()
        self.n_accepted = 0
        self.alone = False
        self.statistics = RowStatistics(n_prompt_tokens=len(self.head))
        self._history = History(self.head)
        self._token_bytes = vocabulary.token_bytes
        self._layout = LayoutTracker(request.layout if request.layout is not None else layout)
        self._check_budget()
        self._check_end()

    @property
    def remaining(self) -> int:
        """Tokens left of the budget."""
        return self.request.max_new_tokens - len(self.output)

    @property
    def layout(self) -> Layout:
        """The layout that the text has shown so far."""
        return self._layout.layout

    def _check_budget(self) -> None:
        if self.legal is None:
            return
        budget, shortest = self.request.max_new_tokens, self.legal.matcher.min_tokens()
        if shortest > budget:
            text = self.legal.matcher.shortest_completion().decode("utf-8", "replace")
            raise BudgetTooSmall(budget, shortest, text)

    def _check_end(self) -> None:
        """Finish where nothing may follow or no token is left."""
        if self.legal is not None and not self.legal.matcher.can_continue():
            self.finish = "complete"
        elif self.remaining <= 0:
            self.finish = "length"

    def propose(self, sources: Sequence[DraftSource], max_draft: int) -> Draft | None:
        """Return the first draft any source has for what comes next; it fits the budget."""
        limit = min(max_draft, self.remaining - 1)
        if limit <= 0:
            return None
        started = time.perf_counter()
        matcher = None if self.legal is None else self.legal.matcher
        context = DraftContext(matcher, self.request.prompt_ids, self.output, self.layout)
        draft = None
        for source in sources:
            proposal = source.propose(context, limit)
            draft = self._legal_part(proposal.cut(limit)) if proposal is not None else None
            if draft is not None:
                break
        self.statistics.draft_s += time.perf_counter() - started
        return draft

    def _legal_part(self, draft: Draft) -> Draft | None:
        """Cut a draft before the first token that cannot be chosen; None if nothing is left."""
        if self.legal is not None:
            n_legal, completes = self.legal.legal_prefix(draft.token_ids)
        else:
            n_rows = len(self._token_bytes)
            n_legal = next((i for i, t in enumerate(draft.token_ids) if not 0 <= t < n_rows), len(draft.token_ids))
            completes = False
        return draft.cut(n_legal, completes=completes) if n_legal else None

    def set_draft(self, draft: Draft | None, width: int) -> None:
        """Choose how much of a proposal the next pass verifies."""
        self.draft = draft
        n_run = 0 if draft is None else min(width, len(draft.token_ids) - draft.completes)
        self.run_ids = draft.token_ids[:n_run] if draft is not None else ()

    def verify(self, logits: PassLogits, batch_row: int, near_tie: float | None) -> int:
        """Decide tokens at the draft's positions for as long as the choices agree with it.

        Args:
            near_tie: leave a position to a pass of its own where the best leads by less; None: never.

        Returns:
            how many drafted tokens stay in the cache; -1 where the head's last token must be run again.
        """
        n_accepted = 0
        for column in range(len(self.run_ids) + 1):
            position = logits.position(batch_row, column)
            position.check(len(self.output))
            key = NoiseKey(self.options.seed, self.request.row, len(self.output))
            if near_tie is not None and margin(position, self._history, key, self.options) < near_tie:
                self._leave_open(n_accepted)
                return n_accepted - 1
            choice = choose(position, self._history, self.legal, key, self.remaining, self.options)
            self._record(choice)
            if choice.token_id in self.end_ids:
                self.finish = "stop"
                break
            self._append(choice.token_id)
            agrees = column < len(self.run_ids) and choice.token_id == self.run_ids[column]
            n_accepted += agrees
            if self.finish is not None or not agrees:
                break
        self.head = self.output[-1:]
        self.alone = False
        self._count_drafts(n_accepted)
        return n_accepted

    def _leave_open(self, n_accepted: int) -> None:
        """Let the next pass run the last token again, alone, and decide what follows it."""
        self.head = self.output[-1:] or list(self.request.prompt_ids[-1:])
        self.alone = True
        self.statistics.n_redecided += 1
        self._count_drafts(n_accepted)

    def _append(self, token_id: int) -> None:
        self.output.append(token_id)
        self._history.add(token_id)
        data = self._token_bytes[token_id] if token_id < len(self._token_bytes) else None
        self.statistics.n_tokens += 1
        self.statistics.n_bytes += len(data or b"")
        if self.legal is not None:
            self._layout.feed(data or b"")
        self._check_end()

    def _record(self, choice: Choice) -> None:
        numbers = self.statistics
        if choice.wanted_id != choice.token_id:
            numbers.interventions.append(
                InterventionRecord(
                    numbers.n_steps,
                    choice.wanted_id,
                    choice.token_id,
                    choice.wanted_logprob,
                    choice.logprob,
                    choice.legal_mass,
                    choice.because,
                )
            )
        numbers.logprobs.append(choice.logprob)
        numbers.model_logprobs.append(choice.model_logprob)
        numbers.legal_mass.append(choice.legal_mass)
        numbers.n_fallbacks += choice.is_fallback

    def _count_drafts(self, n_accepted: int) -> None:
        self.n_accepted = n_accepted
        if self.draft is None or not self.run_ids:
            return
        numbers, source = self.statistics, self.draft.source
        numbers.drafted[source] = numbers.drafted.get(source, 0) + len(self.run_ids)
        numbers.accepted[source] = numbers.accepted.get(source, 0) + n_accepted
