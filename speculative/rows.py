"""One running text: its tokens, its legal set, the draft being verified, and its numbers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from speculative.choice import Choice, NoiseKey, choose, choose_other
from speculative.drafts import Draft, DraftContext
from speculative.drafts.memory import DraftMemory, memory_of
from speculative.legality import LegalSet
from speculative.logits import PassLogits, Position
from speculative.options import DecodeOptions, RowRequest
from speculative.protocols import VocabularyLike
from speculative.sampling import History
from speculative.statistics import FinishReason, InterventionRecord, RowStatistics
from speculative.tree import ROOT, Chances, DraftTree, Run, build_tree
from tokenizer_align.errors import BudgetTooSmall, DominoError
from tokenizer_align.layout import DEFAULT_LAYOUT, Layout, LayoutTracker

__all__ = ["Row"]

_MAX_REFUSED = 8  # tokens taken back at one place


class Row:
    """State of one request while it runs.

    Attributes:
        head: tokens not yet run, at least one: the prompt at first, then the token decided last.
        tree, run: what the sources proposed, and the part of it that this pass verifies.
        accepted_sources: the sources of the tokens that agreed in the latest pass.
        alone: the next pass must decide one token without drafts (`exact`).
        takes_back: whether the last token may still be written anew. Under "aligned" the model may choose a token for
            what it means to say next; where the constraint refuses that, and what it allows instead would split the
            text as the tokenizer never does, the best other token is taken, if it is likelier than the two.
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
        self.takes_back = False
        self._before: Position | None = None  # which decided the last token, where it may be taken back
        self._kept: Position | None = None  # the last one that was copied
        self._refused: tuple[int, frozenset[int]] = (-1, frozenset())  # a place of the output, and what was there
        self._n_given = 0
        self.statistics = RowStatistics(n_prompt_tokens=len(self.head))
        self._history = History(self.head)
        self._token_bytes = vocabulary.token_bytes
        self._memory: DraftMemory | None = None
        if options.speculate and request.compiled is not None:
            self._memory = memory_of(request.compiled)
        self._first_layout = request.layout if request.layout is not None else layout
        self._layout = LayoutTracker(self._first_layout)
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
            other = self._written_anew(choice)
            if other is not None and not accepted:  # the head's last token was wrong
                self._append(other.token_id)
                self._end_pass(accepted)
                return None
            if other is not None:
                choice = other
                accepted.pop()
                place = accepted[-1] if accepted else ROOT
            else:
                self._record(choice)
            if choice.token_id in self.end_ids:
                self.finish = "stop"
                break
            if other is None and self.takes_back:
                self._before = position
            if self._memory is not None and other is None:
                self._memory.counts.learn(state, self.output, choice.token_id)
            self._append(choice.token_id)
            child = self.run.child(place, choice.token_id)
            if child is not None:
                accepted.append(child)
                place = child
            if self.finish is not None or child is None:
                break
        self._end_pass(accepted)
        return tuple(accepted)

    def _end_pass(self, accepted: Sequence[int]) -> None:
        self.head = self.output[-1:]
        self.alone = False
        self._keep_before()
        self._count_drafts(accepted)
        self._remember()

    def _keep_before(self) -> None:
        if self._before is not None and self._before is not self._kept:
            self._before = self._kept = self._before.copy()

    def take_new(self) -> tuple[int, ...]:
        """The tokens that are settled since this was last asked for."""
        n_settled = len(self.output) - (self.takes_back and self.finish is None)
        new = tuple(self.output[self._n_given : n_settled])
        self._n_given += len(new)
        return new

    def _written_anew(self, choice: Choice) -> Choice | None:
        """Take back the last token and decide it anew, where `choice` makes an unnatural split behind it that the model
        did not want, and another token is likelier than the two; the matcher stands behind it then. Else None."""
        if self._before is None or self.legal is None or choice.wanted_id == choice.token_id:
            return None
        matcher: Any = self.legal.matcher
        if choice.token_id in self.end_ids or not matcher.is_split():
            return None
        place, last, numbers = len(self.output) - 1, self.output[-1], self.statistics
        refused = (self._refused[1] if self._refused[0] == place else frozenset()) | {last}
        if len(refused) > _MAX_REFUSED:
            return None
        matcher.rollback(2)
        both = numbers.logprobs[-1] + choice.logprob
        other = choose_other(
            self._before, self._history, self.legal, refused | self.end_ids, both, self.remaining + 1, self.options
        )
        if other is not None and matcher.is_split():
            matcher.rollback(1)
            other = None
        if other is None:
            matcher.advance(last)
            matcher.advance(choice.token_id)
            return None
        self._refused = (place, refused)
        self._forget_last(other, choice)
        return other

    def _forget_last(self, other: Choice, after: Choice) -> None:
        """Take the last token out of the output and put another into the numbers in its place; `after`: what had come
        behind it."""
        numbers, token = self.statistics, self.output.pop()
        numbers.n_taken_back += 1
        numbers.n_tokens -= 1
        numbers.n_bytes -= len(self._token_bytes[token] or b"")
        before = numbers.logprobs.pop()
        numbers.model_logprobs.pop()
        if not numbers.interventions or numbers.interventions[-1].step != numbers.n_steps:
            wanted = before + after.wanted_logprob
            numbers.interventions.append(
                InterventionRecord(
                    *(numbers.n_steps, token, other.token_id, wanted, other.logprob, after.legal_mass, after.because),
                    then_id=after.wanted_id,
                )
            )
        else:
            then = numbers.interventions.pop()
            numbers.interventions.append(replace(then, chosen_id=other.token_id, chosen_logprob=other.logprob))
        self._layout = LayoutTracker(self._first_layout)
        for one in self.output:
            self._layout.feed(self._token_bytes[one] or b"")
        numbers.logprobs.append(other.logprob)
        numbers.model_logprobs.append(other.model_logprob)

    def _leave_open(self, accepted: Sequence[int]) -> None:
        """Let the next pass run the last token again, alone, and decide what follows it."""
        self.head = self.output[-1:] or list(self.request.prompt_ids[-1:])
        self.alone = True
        self._keep_before()
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
