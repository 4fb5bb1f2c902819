"""What compiled constraints under the laws of tokenization share: configurations, plans, prompts.

Beside the constraint's heads a configuration holds the states in which the pre-tokenizer's automaton P may be, and the
last token where the law looks at it. Where a law cannot be kept any more, it is given up from there on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import kernels as k
from ..compiled import Compiled, Configuration
from ..completion import shortest_text
from ..configuration import CONFIGURATION_BYTES
from ..engine import Engine, Heads, Mask
from ..expressions import Expr
from ..markers import split_markers
from ..matcher import Matcher
from ..unique_runs import loose
from ..vocabulary import Vocabulary
from .lawful_lengths import lawful_lengths
from .path_kernels import take_followers
from .plan_search import search_plan
from .spelling import Speller
from .survival import Survival
from .token_paths import Ids, Row, States

MAX_CONFIGURATIONS = 20_000
MAX_RECENT_BYTES = 6 << 20  # of masks that depend on the last token
CONTEXT_TOKENS = 64
# The last token's id, -1 where it does not count; for Unigram what the open pre-token leaves half read (unigram_laws).
Last = Any


class LawConfiguration(Configuration):
    """A configuration with the states of P, and the last token where the law looks at it (else -1).

    `states`: those in which a token may begin; `text_states`: all that the text may have led to.
    `lost`: the law is given up from here on, because nothing was left that it allows.
    """

    __slots__ = ("last", "rows", "states", "text_states")

    def __init__(
        self,
        compiled: LawfulCompiled,
        heads: Heads,
        states: States,
        last: Last,
        parent: Configuration | None = None,
        token_id: int = -1,
    ) -> None:
        super().__init__(compiled, heads, parent, token_id)
        self.states, self.text_states, self.last = compiled.survival.paths.open(states), states, last
        self.lost = not self.states
        self.rows: tuple[Row, Row] | None = None  # what all last tokens share of a mask that depends on nothing else


class LawfulCompiled(Compiled, ABC):
    """What both laws share: configurations, plans, and the way back to "any" where a law cannot be kept."""

    law = ""
    pairs_matter = False  # whether a token may not follow every last token that may stand before it

    def __init__(self, expr: Expr, vocabulary: Vocabulary, engine: Engine, survival: Survival) -> None:
        super().__init__(expr, vocabulary, engine)
        self.tokenization, self.shares_rows = self.law, False
        self.survival = survival
        self.speller = Speller(survival)
        self._lawful: dict[tuple[Heads, States, Last], LawConfiguration] = {}
        self._recent: deque[LawConfiguration] = deque()
        self._law_rows: dict[tuple[Heads, States, Last, bool, bool], Mask] = {}
        engine.keepers.add(self)
        self._unlawful_start = self.start
        with engine.in_use:
            self.start: LawConfiguration = self._at(self._start_heads, (survival.paths.start,), -1)

    @property
    def _start_heads(self) -> Heads:
        return self._unlawful_start.heads

    # --- what a law must say --------------------------------------------------------------------------------------

    @abstractmethod
    def _row(self, here: LawConfiguration) -> Row:
        """The legal tokens without end-of-sequence; a new array."""

    @abstractmethod
    def _after(self, here: LawConfiguration, token: int, heads: Heads) -> tuple[States, Last] | None:
        """States of P and last token behind a token that leads to `heads`; None where the token is not legal."""

    @abstractmethod
    def states_after(self, here: LawConfiguration, tokens: Ids) -> npt.NDArray[np.int32]:
        """int32[n, 2]: (index into tokens, state of P) as far as the tokens before allow, whether or not something
        canonical follows there; where nothing does, no text is accepted."""

    def _may_end(self, here: LawConfiguration) -> bool:
        """Whether a complete text may end here."""
        return True

    @abstractmethod
    def _begin(self, context_ids: Sequence[int]) -> LawConfiguration:
        """The configuration behind a prompt's tokens."""

    # --- configurations -------------------------------------------------------------------------------------------

    def matcher(self, context_ids: Sequence[int] = ()) -> Matcher:
        """A matcher at the beginning of a text that follows the given tokens."""
        return Matcher(self, self.begin(context_ids) if len(context_ids) else self.start)

    def begin(self, context_ids: Sequence[int] = ()) -> LawConfiguration:
        """The configuration in which a text begins behind the given tokens."""
        with self.engine.in_use:
            return self._begin(context_ids) if len(context_ids) else self.start

    def _at(
        self, heads: Heads, states: States, last: Last, before: Configuration | None = None, token_id: int = -1
    ) -> LawConfiguration:
        key = (heads, states, last)
        found = self._lawful.get(key)
        if found is None:
            if len(self._lawful) >= MAX_CONFIGURATIONS:
                self._forget()
            made = LawConfiguration(self, heads, states, last, before, token_id)
            found = self._lawful.setdefault(key, made)
            with self.engine.lock:
                self.engine.count_kept(CONFIGURATION_BYTES)
            if found.complete and not found.lost and not self._may_end(found):
                found.complete = False
        return found

    def _forget(self) -> None:
        """Drop what is remembered; running texts keep the configurations that they stand in."""
        for one in list(self._lawful.values()):
            one.successors.clear()
            one.mask_row = one.rows = None
        self._lawful.clear()
        self._recent.clear()
        self._law_rows.clear()

    def age(self) -> None:
        """The engine's budget for what is kept is filled: see `configuration.Kept`."""
        self._forget()

    def drop(self) -> None:
        """The engine begins a new generation: heads have lost their meaning."""
        self._forget()

    def n_bytes(self) -> int:
        """Bytes held by masks and configurations, about."""
        rows = 4 * self.n_words * (len(self._law_rows) + len(self._recent))
        return rows + CONFIGURATION_BYTES * len(self._lawful)

    def successor(self, here: Configuration, token_id: int) -> Configuration | None:
        """The configuration after a token; None where the token is not legal."""
        assert isinstance(here, LawConfiguration)
        found = here.successors.get(token_id, here)
        if found is not here:
            return found
        self.engine.tidy()
        with self.engine.in_use:
            return self.lawful_successor(here, token_id)

    def lawful_successor(self, here: LawConfiguration, token_id: int) -> LawConfiguration | None:
        """The same while the engine is in use."""
        after: LawConfiguration | None = None
        heads = self.engine.run_token(here.heads, token_id)
        if heads:
            if token_id < -1:  # a limit: no text
                after = self._at(heads, here.text_states, here.last, here, token_id)
            elif token_id in self.engine.markers:  # what follows is tokenized by itself
                if self._allows_marker(here):
                    after = self._at(heads, (self.survival.paths.start,), -1, here, token_id)
            elif here.lost:
                after = self._at(heads, (), -1, here, token_id)
            else:
                then = self._after(here, token_id, heads)
                if then is not None:
                    after = self._at(heads, *then, here, token_id)
            if after is None and here.mask_row is None and not here.lost:
                self._mask(here)  # which shows whether the law is given up here
                if here.lost:
                    return self.lawful_successor(here, token_id)
        here.successors[token_id] = after
        return after

    def mask(self, here: Configuration) -> Mask:
        """The mask of a configuration, end-of-sequence included where the text may end; kept with it."""
        assert isinstance(here, LawConfiguration)
        row = here.mask_row  # another thread may take it away
        if row is not None:
            return row
        rows = here.rows
        if rows is not None:
            row = here.mask_row = self._finished_row(self._followers(rows, here.last), here.complete)
            self._keep_for_a_while(here, row.nbytes)
            return row
        self.engine.tidy()
        with self.engine.in_use:
            return self._mask(here)

    def _followers(self, rows: tuple[Row, Row], last: Last) -> Row:
        """The tokens of rows without and with a boundary before them that may follow a last token; a new array."""
        new = np.empty_like(rows[0])
        take_followers(*rows, self.survival.pairs.bad_right(last), new)
        return new

    def _mask(self, here: LawConfiguration) -> Mask:
        alike = here.lost or not self.survival.needs_counts(loose(here.heads), here.states)
        key = (here.clamped if alike else here.heads, here.states, here.last, here.complete, here.lost)
        row = self._law_rows.get(key)
        if row is None:
            new = self._any_row(here) if here.lost else self._row_and_markers(here)
            if self.engine.automaton.anchors and not here.lost:
                new &= self._any_row(here)  # the law is kept as if nothing had to differ from what came (`unique`)
            if not here.lost and not here.complete and not new.any():
                here.lost, here.rows = True, None
                here.complete = (k.ACCEPT, -1) in here.heads
                here.successors.clear()
                return self._mask(here)
            row = self._finished_row(new, here.complete)
            if self.pairs_matter and here.last != -1 and not here.lost:
                self._keep_for_a_while(here, row.nbytes)
            else:
                with self.engine.lock:
                    self.engine.count_kept(row.nbytes)
                self._law_rows[key] = row
        here.mask_row = row
        return row

    def _keep_for_a_while(self, here: LawConfiguration, n_bytes: int) -> None:
        """Of masks that depend on the last token only the latest are kept: they are many, and made in microseconds from
        the rows that all last tokens share, which they must not drive out."""
        self._recent.append(here)
        while len(self._recent) > max(16, MAX_RECENT_BYTES // n_bytes):
            self._recent.popleft().mask_row = None

    def _row_and_markers(self, here: LawConfiguration) -> Row:
        row = self._row(here)
        if self.engine.live_bytes(here.heads) & self.engine.reserved and self._allows_marker(here):
            row |= self.engine.row(here.clamped) & self.engine.marker_row
        return row

    def _allows_marker(self, here: LawConfiguration) -> bool:
        """Whether a marker may come here as far as the law is concerned: in front of it the text's tokens end."""
        return here.lost or self._may_end(here)

    def _any_row(self, here: LawConfiguration) -> Mask:
        return self.engine.mask(here.clamped)

    def can_continue(self, here: Configuration) -> bool:
        """Whether anything but end-of-sequence may follow."""
        return not here.complete or bool((self.mask(here) & ~self._eos_bits).any())

    # --- completing -----------------------------------------------------------------------------------------------

    def completion(self, here: Configuration) -> bytes:
        """The shortest bytes that complete the text under the law."""
        return self.engine.decode(self.plan(here))

    def plan(self, here: Configuration) -> tuple[int, ...]:
        """Tokens that complete the text under the law: those of its shortest text, or of the next that has some."""
        closed = self.closed(here)
        if closed is not here:
            return self.plan(closed)
        assert isinstance(here, LawConfiguration)
        if here.plan is None:
            with self.engine.in_use:
                plan = self.direct_plan(here)
                here.plan = search_plan(self, here) if plan is None else plan
        return here.plan

    def configuration_at(self, heads: Heads, states: States) -> LawConfiguration:
        """A configuration in which the last token does not matter."""
        return self._at(heads, states, -1)

    def _known_lengths(
        self, here: Configuration, plan: tuple[int, ...], mask: Mask, tokens: list[int]
    ) -> dict[int, int]:
        assert isinstance(here, LawConfiguration)
        if here.lost:
            return {}
        return lawful_lengths(self, here, mask, tokens)

    def direct_plan(self, here: LawConfiguration) -> tuple[int, ...] | None:
        """The tokens of the shortest text, as far as the law allows it."""
        if here.complete:
            return ()
        text = shortest_text(self.engine, here.heads)
        assert text is not None, "every configuration that is reached can be completed"
        if here.lost:
            return self.engine.fewest_tokens(text)
        return self.spell(here.states, here.last, text)

    def spell(self, states: States, last: Last, text: bytes) -> tuple[int, ...] | None:
        """As `Speller.spell`, for bytes of the automaton; behind a marker tokens are as at the beginning of a text."""
        if not self.engine.markers:
            return self.speller.spell(states, last, text)
        tokens: list[int] = []
        for part, token in split_markers(text):
            found = self.speller.spell(states, last, part)
            if found is None:
                return None
            tokens += (*found, token) if token >= 0 else found
            states, last = (self.survival.paths.start,), -1
        return tuple(tokens)

    # --- the prompt -----------------------------------------------------------------------------------------------

    def _is_kept(self, states: States, last: Last = -1) -> bool:
        """Whether the law allows some text behind a prompt."""
        here = self._at(self._start_heads, states, last)
        self.mask(here)
        return not here.lost

    def _begin_behind_text(self, states: States) -> LawConfiguration:
        """Behind a prompt whose tokens do not matter; a text that would have to complete one of its tokens (an added
        one, or one that is only a whole pre-token) is taken by itself, as if nothing stood before it."""
        return self._at(self._start_heads, states if self._is_kept(states) else (self.survival.paths.start,), -1)

    def states_behind(self, context_ids: Sequence[int]) -> States:
        """The states in which P may be behind the text of a prompt."""
        paths = self.survival.paths
        states: States = (paths.start,)
        for token in self._open_tokens(context_ids):
            states = paths.read(states, self.vocabulary.token_bytes[token] or b"") or (paths.start,)
        return states

    def _open_tokens(self, context_ids: Sequence[int]) -> list[int]:
        """The end of a prompt's tokens that may count: those behind the last one that is no text."""
        tail: list[int] = []
        for token in reversed(context_ids[-CONTEXT_TOKENS:]):
            if not 0 <= token < self.n_rows or not self.vocabulary.token_bytes[token]:
                break
            tail.insert(0, token)
        return tail

    def _context(self, context_ids: Sequence[int]) -> tuple[States, States, Last]:
        """(states of P behind the prompt's text, those that fit its tokens, its last token or -1)."""
        paths, pairs = self.survival.paths, self.survival.pairs
        by_text: States = (paths.start,)
        by_token: States = (paths.start,)
        last = -1
        for token in self._open_tokens(context_ids):
            by_text = paths.read(by_text, self.vocabulary.token_bytes[token] or b"") or (paths.start,)
            reached = {
                after
                for p in by_token
                for bit, after in paths.ends_of(p, token)
                if bit or last < 0 or not pairs.is_bad(last, token)
            }
            by_token = tuple(sorted(reached)) or paths.open(by_text) or (paths.start,)
            last = token
        return by_text, by_token, last
