"""One running text: its tokens, its legal set, the draft being verified, and its numbers."""

from __future__ import annotations

import time
from collections.abc import Sequence

from speculative.choice import Choice, NoiseKey, choose
from speculative.drafts import Draft, DraftContext
from speculative.drafts.memory import DraftMemory, memory_of
from speculative.legality import LegalSet
from speculative.logits import PassLogits
from speculative.options import DecodeOptions, RowRequest
from speculative.protocols import VocabularyLike
from speculative.sampling import History
from speculative.statistics import FinishReason, InterventionRecord, RowStatistics
from speculative.tree import ROOT, Chances, DraftTree, Run, build_tree
from tokenizer_align.errors import BudgetTooSmall, DominoError
from tokenizer_align.layout import DEFAULT_LAYOUT, Layout, LayoutTracker

__all__ = ["Row"]


class Row:
    """State of one request while it runs.

    Attributes:
        head: tokens not yet run, at least one: the prompt at first, then the token decided last.
        tree, run: what the sources proposed, and the part of it that this pass verifies.
        accepted_sources: the sources of the tokens that agreed in the latest pass.
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
        self.tree: DraftTree | None = None
        self.run = Run()
        self.accepted_sources: list[str] = []
        self.alone = False
        self.statistics = RowStatistics(n_prompt_tokens=len(self.head))
        self._history = History(self.head)
        self._token_bytes = vocabulary.token_bytes
        self._memory: DraftMemory | None = None
        if options.speculate and request.compiled is not None:
            self._memory = memory_of(request.compiled)
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

    def draft_context(self) -> DraftContext:
        """What draft sources may look at."""
        matcher = None if self.legal is None else self.legal.matcher
        return DraftContext(
            matcher,
            self.request.prompt_ids,
            self.output,
            self.layout,
            self.index,
            self._memory,
            self.request.row,
            self.end_ids,
            self.remaining,
        )

    def sure_tokens(self, limit: int) -> list[int]:
        """The next tokens as long as each is the only legal one and something may follow it."""
        ids: list[int] = []
        if self.legal is None:
            return ids
        matcher = self.legal.matcher
        taken = 0
        while len(ids) < limit and (token := self.legal.only()) is not None:
            matcher.advance(token)
            taken += 1
            if not matcher.can_continue():
                break
            ids.append(token)
        if taken:
            matcher.rollback(taken)
        return ids

    def grow(self, drafts: Sequence[Draft], chances: Chances) -> DraftTree:
        """Merge proposals into a tree of legal tokens that fits the budget."""
        if not drafts:
            return DraftTree()
        started = time.perf_counter()
        last = self.output[-1] if self.output else -1
        tree = build_tree(
            drafts,
            self.legal,
            len(self._token_bytes),
            last,
            chances,
            None if self._memory is None else self._memory.counts,
        )
        self.statistics.draft_s += time.perf_counter() - started
        return tree

    def set_run(self, tree: DraftTree | None, nodes: Sequence[int]) -> None:
        """Choose which nodes of a tree the next pass verifies."""
        self.tree = tree
        self.run = tree.run(nodes) if tree is not None and nodes else Run()
        self.accepted_sources = []

    def foresee(self) -> None:
        """While the pass runs elsewhere, make the masks along the first branch of what it verifies."""
        if self.legal is not None:
            self.legal.foresee(self.run.first_branch())

    def verify(self, logits: PassLogits, batch_row: int, near_tie: float | None) -> tuple[int, ...] | None:
        """Decide tokens along the draft for as long as the choices agree with it.

        Args:
            near_tie: leave a position to a pass of its own where the choice leads by less; None: never.

        Returns:
            the places of the drafted tokens that stay in the cache; None where the head's last token must be run again.
        """
        place = ROOT
        accepted: list[int] = []
        while True:
            position = logits.position(batch_row, place + 1)
            position.check(len(self.output))
            key = NoiseKey(self.options.seed, self.request.row, len(self.output))
            state = self.legal.matcher.state() if self.legal is not None and self._memory is not None else None
            choice = choose(position, self._history, self.legal, key, self.remaining, self.options)
            if near_tie is not None and choice.lead < near_tie:
                if self.legal is not None and choice.token_id not in self.end_ids:
                    self.legal.matcher.rollback(1)
                self._leave_open(accepted)
                return tuple(accepted[:-1]) if accepted else None
            self._record(choice)
            if choice.token_id in self.end_ids:
                self.finish = "stop"
                break
            if self._memory is not None:
                self._memory.counts.learn(state, self.output, choice.token_id)
            self._append(choice.token_id)
            child = self.run.child(place, choice.token_id)
            if child is not None:
                accepted.append(child)
                place = child
            if self.finish is not None or child is None:
                break
        self.head = self.output[-1:]
        self.alone = False
        self._count_drafts(accepted)
        self._remember()
        return tuple(accepted)

    def _leave_open(self, accepted: Sequence[int]) -> None:
        """Let the next pass run the last token again, alone, and decide what follows it."""
        self.head = self.output[-1:] or list(self.request.prompt_ids[-1:])
        self.alone = True
        self.statistics.n_redecided += 1
        self._count_drafts(accepted)

    def _remember(self) -> None:
        """Keep a finished text for later ones under the same constraint."""
        if self.finish is not None and self._memory is not None and self.output:
            self._memory.add_text(b"".join(self._token_bytes[token] or b"" for token in self.output))

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

    def _count_drafts(self, accepted: Sequence[int]) -> None:
        if self.tree is None:
            return
        numbers = self.statistics
        sources = [self.tree.labels[node][0][0] for node in self.run.nodes]
        self.accepted_sources = [sources[place] for place in accepted]
        for counter, names in ((numbers.drafted, sources), (numbers.accepted, self.accepted_sources)):
            for name in names:
                counter[name] = counter.get(name, 0) + 1
        for name in numbers.drafted:
            numbers.accepted.setdefault(name, 0)
