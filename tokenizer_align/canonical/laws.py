"""Compiled constraints under the laws of tokenization "aligned" and "canonical": see docs/canonicality.md.

Beside the constraint's heads a configuration holds the states in which the pre-tokenizer's automaton P may be. Under
"canonical" it also holds the last token, and only tokens of a canonical tokenization are legal. Under "aligned" a token
is withheld only if no legal continuation is canonical from it on, whatever stands before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from .. import kernels as k
from ..compiled import Compiled, Configuration
from ..completion import shortest_text
from ..configuration import CONFIGURATION_BYTES
from ..engine import Engine, Heads, Mask
from ..errors import TooComplex
from ..expressions import Expr
from ..matcher import Matcher
from ..unique_runs import loose
from ..vocabulary import Vocabulary
from .search import BYTE_TEXTS, bytes_in
from .spelling import Speller
from .survival import Survival
from .token_paths import Row, States

MAX_CONFIGURATIONS = 20_000
MAX_PLAN_SEARCH = 2_000
CONTEXT_TOKENS = 64
_NOTE_ALONE = (
    "the prompt ends within what every legal text makes one token of, so the output is tokenized as if nothing stood "
    "before it; heal_prompt=True avoids that"
)


class LawConfiguration(Configuration):
    """A configuration with the states of P, and the last token where the law looks at it (else -1).

    `lost`: the law is given up from here on, because nothing was left that it allows.
    """

    __slots__ = ("last", "states")

    def __init__(
        self,
        compiled: LawfulCompiled,
        heads: Heads,
        states: States,
        last: int,
        parent: Configuration | None = None,
        token_id: int = -1,
    ) -> None:
        super().__init__(compiled, heads, parent, token_id)
        self.states, self.last = states, last
        self.lost = not states


class LawfulCompiled(Compiled, ABC):
    """What both laws share: configurations, plans, and the way back to "any" where a law cannot be kept."""

    law = ""

    def __init__(self, expr: Expr, vocabulary: Vocabulary, engine: Engine, survival: Survival) -> None:
        super().__init__(expr, vocabulary, engine)
        self.tokenization = self.law
        self.survival = survival
        self.speller = Speller(survival)
        self._lawful: dict[tuple[Heads, States, int], LawConfiguration] = {}
        self._law_rows: dict[tuple[Heads, States, int, bool], Mask] = {}
        engine.keepers.add(self)
        self._unlawful_start = self.start
        with engine.in_use:
            self.start: LawConfiguration = self._at(self._start_heads, (survival.paths.start,), -1)

    @property
    def _start_heads(self) -> Heads:
        return self._unlawful_start.heads

    @property
    def shares_rows(self) -> bool:
        return False

    # --- what a law must say --------------------------------------------------------------------------------------

    @abstractmethod
    def _row(self, here: LawConfiguration) -> Row:
        """The legal tokens without end-of-sequence; a new array."""

    @abstractmethod
    def _after(self, here: LawConfiguration, token: int, heads: Heads) -> tuple[States, int] | None:
        """States of P and last token behind a token that leads to `heads`; None where the token is not legal."""

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
        self, heads: Heads, states: States, last: int, before: Configuration | None = None, token_id: int = -1
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
            one.mask_row = None
        self._lawful.clear()
        self._law_rows.clear()

    def age(self) -> None:
        """The engine's budget for what is kept is filled: see `configuration.Kept`."""
        self._forget()

    def drop(self) -> None:
        """The engine begins a new generation: heads have lost their meaning."""
        self._forget()

    def n_bytes(self) -> int:
        """Bytes held by masks and configurations, about."""
        return sum(row.nbytes for row in list(self._law_rows.values())) + CONFIGURATION_BYTES * len(self._lawful)

    def successor(self, here: Configuration, token_id: int) -> Configuration | None:
        """The configuration after a token; None where the token is not legal."""
        assert isinstance(here, LawConfiguration)
        found = here.successors.get(token_id, here)
        if found is not here:
            return found
        self.engine.tidy()
        with self.engine.in_use:
            return self._successor(here, token_id)

    def _successor(self, here: LawConfiguration, token_id: int) -> Configuration | None:
        after: LawConfiguration | None = None
        heads = self.engine.run_token(here.heads, token_id)
        if heads:
            if here.lost:
                after = self._at(heads, (), -1, here, token_id)
            else:
                then = self._after(here, token_id, heads)
                if then is not None:
                    after = self._at(heads, *then, here, token_id)
        here.successors[token_id] = after
        return after

    def mask(self, here: Configuration) -> Mask:
        """The mask of a configuration, end-of-sequence included where the text may end; kept with it."""
        assert isinstance(here, LawConfiguration)
        if here.mask_row is not None:
            return here.mask_row
        self.engine.tidy()
        with self.engine.in_use:
            return self._mask(here)

    def _mask(self, here: LawConfiguration) -> Mask:
        alike = here.lost or not self.survival.needs_counts(loose(here.heads), here.states)
        key = (here.clamped if alike else here.heads, here.states, here.last, here.complete)
        row = self._law_rows.get(key)
        if row is None:
            new = self._any_row(here) if here.lost else self._row(here)
            if self.engine.automaton.anchors and not here.lost:
                new &= self._any_row(here)  # the law is kept as if nothing had to differ from what came (`unique`)
            if not here.lost and not here.complete and not new.any():
                here.lost = True
                here.complete = (k.ACCEPT, -1) in here.heads
                here.successors.clear()
                return self._mask(here)
            row = self._finished_row(new, here.complete)
            with self.engine.lock:
                self.engine.count_kept(row.nbytes)
            self._law_rows[key] = row
        here.mask_row = row
        return row

    def _any_row(self, here: LawConfiguration) -> Mask:
        return self.engine.mask(here.clamped)

    def can_continue(self, here: Configuration) -> bool:
        """Whether anything but end-of-sequence may follow."""
        return not here.complete or bool((self.mask(here) & ~self._eos_bits).any())

    # --- completing -----------------------------------------------------------------------------------------------

    def completion(self, here: Configuration) -> bytes:
        """The shortest bytes that complete the text under the law."""
        return self.vocabulary.decode(self.plan(here))

    def plan(self, here: Configuration) -> tuple[int, ...]:
        """Tokens that complete the text under the law: those of its shortest text, or of the next that has some."""
        assert isinstance(here, LawConfiguration)
        if here.plan is None:
            with self.engine.in_use:
                plan = self._direct_plan(here)
                here.plan = self._search_plan(here) if plan is None else plan
        return here.plan

    def _direct_plan(self, here: LawConfiguration) -> tuple[int, ...] | None:
        if here.complete:
            return ()
        text = shortest_text(self.engine, here.heads)
        assert text is not None, "every configuration that is reached can be completed"
        if here.lost:
            return self.engine.fewest_tokens(text)
        return self.speller.spell(here.states, here.last, text)

    def _search_plan(self, start: LawConfiguration) -> tuple[int, ...]:
        """Breadth first over bytes in front of shortest completions; those that surely lie behind a boundary first."""
        level: list[tuple[Heads, bytes]] = [(start.heads, b"")]
        n_tried = 0
        cuts = 0
        for p in start.states:
            cuts |= self.survival.paths.cuts[p]
        while level:
            following: list[tuple[Heads, bytes]] = []
            for heads, text in level:
                open_bytes = bytes_in(self.engine.live_bytes(heads))
                for byte in sorted(open_bytes, key=lambda b: not cuts >> b & 1):
                    after = self.engine.run(heads, BYTE_TEXTS[byte])
                    longer = text + bytes([byte])
                    rest = shortest_text(self.engine, after)
                    plan = None if rest is None else self.speller.spell(start.states, start.last, longer + rest)
                    if plan is not None:
                        return plan
                    following.append((after, longer))
                    n_tried += 1
                    if n_tried > MAX_PLAN_SEARCH:
                        raise TooComplex(f"no short text with tokens as under {self.law!r} was found")
            level, cuts = following, 0
        raise TooComplex(f"no text with tokens as under {self.law!r} was found")

    # --- the prompt -----------------------------------------------------------------------------------------------

    def _is_kept(self, states: States, last: int = -1) -> bool:
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
        return self._context(context_ids)[0]

    def _context(self, context_ids: Sequence[int]) -> tuple[States, States, int]:
        """(states of P behind the prompt's text, those that fit its tokens, its last token or -1)."""
        paths, pairs = self.survival.paths, self.survival.pairs
        tail: list[int] = []
        for token in reversed(context_ids[-CONTEXT_TOKENS:]):
            if not 0 <= token < self.n_rows or not self.vocabulary.token_bytes[token]:
                break
            tail.insert(0, token)
        by_text: States = (paths.start,)
        by_token: States = (paths.start,)
        last = -1
        for token in tail:
            by_text = paths.read(by_text, self.vocabulary.token_bytes[token] or b"") or (paths.start,)
            reached = {
                after
                for p in by_token
                for bit, after in paths.ends_of(p, token)
                if bit or last < 0 or not pairs.is_bad(last, token)
            }
            by_token = tuple(sorted(reached)) or by_text
            last = token
        return by_text, by_token, last


class AlignedCompiled(LawfulCompiled):
    """`tokenization="aligned"`: no token after which every legal continuation forces an unnatural split."""

    law = "aligned"

    def _row(self, here: LawConfiguration) -> Row:
        row0, row1 = self.survival.kept(loose(here.heads), here.states)
        return row0 | row1

    def _after(self, here: LawConfiguration, token: int, heads: Heads) -> tuple[States, int] | None:
        if here.mask_row is not None:
            if not here.mask_row[token >> 5] >> np.uint32(token & 31) & np.uint32(1):
                return None
        elif not self._survives(here.states, token, loose(heads)):
            return None
        return self.survival.paths.read(here.states, self.vocabulary.token_bytes[token] or b""), -1

    def _survives(self, states: States, token: int, heads: Heads) -> bool:
        survival = self.survival
        return any(
            survival.survives(heads, after, token) for p in states for _, after in survival.paths.ends_of(p, token)
        )

    def _begin(self, context_ids: Sequence[int]) -> LawConfiguration:
        return self._begin_behind_text(self._context(context_ids)[0])

    def law_notes(self, context_ids: Sequence[int] = ()) -> tuple[str, ...]:
        """Whether the prompt's end does not count, since together with any text it would be tokenized otherwise."""
        if not len(context_ids) or self._is_kept(self._context(context_ids)[0]):
            return ()
        return (_NOTE_ALONE,)


class CanonicalCompiled(LawfulCompiled):
    """`tokenization="canonical"`: exactly the tokens that some canonical tokenization of a legal text goes on with."""

    law = "canonical"

    def _row(self, here: LawConfiguration) -> Row:
        row0, row1 = self.survival.kept(loose(here.heads), here.states)
        if here.last < 0:
            return row0 | row1
        return row1 | (row0 & ~self.survival.pairs.bad_right(here.last))

    def _after(self, here: LawConfiguration, token: int, heads: Heads) -> tuple[States, int] | None:
        survival, plain = self.survival, loose(heads)
        fits = here.last < 0 or not survival.pairs.is_bad(here.last, token)
        states = {
            after
            for p in here.states
            for bit, after in survival.paths.ends_of(p, token)
            if (bit or fits) and survival.survives(plain, after, token)
        }
        return (tuple(sorted(states)), token) if states else None

    def _may_end(self, here: LawConfiguration) -> bool:
        return any(self.survival.paths.ends[p] for p in here.states)

    def law_notes(self, context_ids: Sequence[int] = ()) -> tuple[str, ...]:
        """Whether the first token could not be canonical together with the prompt's last one."""
        if not len(context_ids) or self.begin(context_ids).last >= 0 or self._context(context_ids)[2] < 0:
            return ()
        if not self._is_kept(self._context(context_ids)[0]):
            return (_NOTE_ALONE,)
        return (
            "no legal text goes on canonically behind the prompt's last token, so the output's first token was free of "
            "it, as under tokenization='aligned'; heal_prompt=True avoids that",
        )

    def _begin(self, context_ids: Sequence[int]) -> LawConfiguration:
        by_text, by_token, last = self._context(context_ids)
        if self._is_kept(by_token, last):
            return self._at(self._start_heads, by_token, last)
        return self._begin_behind_text(by_text)
