"""A constraint compiled for one vocabulary: immutable, shared between threads and rows.

It holds the configurations that its texts have reached so far. A `Configuration` is the set of heads after some text,
with its mask and its successors, so that a step in steady state is two look-ups.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels as k
from .completion import shortest_text
from .configuration import Configuration as Configuration
from .configuration import Kept
from .engine import Engine, Heads, Mask
from .engines import engine_for
from .errors import EmptyLanguage, TooComplex
from .expressions import Expr
from .matcher import Matcher
from .productive import is_productive
from .unique import holds_tracked
from .unique_runs import Tracked
from .vocabulary import Vocabulary

Counts = tuple[tuple[int, int], ...]  # (limit of a part, tokens read in it)
MAX_LIVENESS_SEARCH = 20_000  # configurations visited to decide one question of liveness by tokens


class Compiled:
    """One constraint over one vocabulary. `matcher()` gives a matcher for one running text."""

    def __init__(self, expr: Expr, vocabulary: Vocabulary, engine: Engine | None = None) -> None:
        self.vocabulary = vocabulary
        self.tokenization = "any"  # the law that masks obey
        self.may_split = False  # whether `Matcher.is_split` can say so
        self.law_note: str | None = None  # why that is not the law that was asked for
        self.engine = engine if engine is not None else engine_for(vocabulary)
        self.n_rows = vocabulary.n_rows
        self.n_words = self.engine.n_words
        # Whether a mask is one walk from the clamped heads, and all configurations with the same ones share it.
        self.shares_rows = vocabulary.is_atomic
        self.counts_tokens = self.engine.reserved != 0  # whether parts may have limits of tokens (`counted`)
        self.eos_token_ids = frozenset(vocabulary.eos_token_ids)
        self._eos_bits = np.zeros(self.n_words, np.uint32)
        for token in self.eos_token_ids:
            self._eos_bits[token >> 5] |= np.uint32(1 << (token & 31))
        self.kept = Kept(self.engine)
        self.engine.tidy(between_constraints=True)
        with self.engine.lock:
            self.expr = self.engine.project(expr)
            if not is_productive(self.expr):
                raise EmptyLanguage(_why_empty(expr, vocabulary))
            self.start = Configuration(self, self.engine.start(self.expr))
        if not vocabulary.is_atomic and not self.is_live(self.start):
            raise EmptyLanguage("this vocabulary's tokens cannot spell any text of the constraint")

    def matcher(self, context_ids: Sequence[int] = ()) -> Matcher:
        """A matcher at the beginning of a text that follows these tokens (of no account where any tokens will do)."""
        return Matcher(self)

    def law_notes(self, context_ids: Sequence[int] = ()) -> tuple[str, ...]:
        """Where the law of tokenization that was asked for does not hold for a text behind these tokens, in words."""
        return () if self.law_note is None else (self.law_note,)

    def shortest_n_tokens(self) -> int:
        """How many tokens the shortest legal text needs at most (end-of-sequence not counted)."""
        return len(self.plan(self.start))

    def shortest_text(self) -> bytes:
        """The shortest legal text in this vocabulary's bytes."""
        return self.completion(self.start)

    # --- configurations -------------------------------------------------------------------------------------------

    def is_split(self, here: Configuration, token_id: int, next_id: int) -> bool:
        """Whether these two tokens, read from a configuration, are neighbours in no text's own tokens."""
        return False

    def successor(self, here: Configuration, token_id: int) -> Configuration | None:
        """The configuration after a token; None where the token is not legal."""
        found = here.successors.get(token_id, here)
        if found is not here:
            return found
        engine = self.engine
        engine.tidy()
        with engine.lock:
            heads = engine.run_token(here.heads, token_id)
            after = self._configuration(heads, here, token_id) if heads else None
            if self.shares_rows:  # what can be read can be completed
                if self.kept.touch(here):
                    here.successors[token_id] = after
                return after
        if after is not None and not self.is_live(after):
            after = None
        with engine.lock:
            if self.kept.touch(here):
                here.successors[token_id] = after
        return after

    def _configuration(self, heads: Heads, before: Configuration, token_id: int) -> Configuration:
        """The configuration with these heads, after a token; the lock is held."""
        found = self.kept.find(heads)
        if found is None:
            found = Configuration(self, heads, before, token_id)
            self.kept.enter(heads, found)
        return found

    def mask(self, here: Configuration) -> Mask:
        """The mask of a configuration, end-of-sequence included where the text is complete; kept with it."""
        if here.mask_row is not None:
            return here.mask_row
        self.engine.tidy()
        with self.engine.in_use:
            if self.shares_rows:
                row = self.engine.row(here.clamped)
            else:
                row = self._row_apart(here)
        self.hold_row(here, row)
        return row

    def hold_row(self, here: Configuration, row: Mask) -> None:
        """Let a configuration hold its kept mask."""
        with self.engine.lock:
            if self.kept.touch(here):
                here.mask_row = row

    def _row_apart(self, here: Configuration) -> Mask:
        """The mask where a token may lead to what no tokens can complete; kept by its heads."""
        with self.engine.lock:
            row = self.kept.row(here.heads)
        if row is None:
            row = self.engine.mask(here.heads)
            for token in self.ids(row):
                if self.successor(here, token) is None:
                    row[token >> 5] &= ~np.uint32(1 << (token & 31))
            row = self._finished_row(row, here.complete)
            with self.engine.lock:
                row = self.kept.keep_row(here.heads, row)
        return row

    @cached_property
    def tracks(self) -> bool:
        """Whether arrays or objects may come whose parts must differ: then masks are more than one walk."""
        return holds_tracked(self.expr)

    @cached_property
    def is_one_walk(self) -> bool:
        """Whether a mask is one walk from the clamped heads and nothing else."""
        return self.shares_rows and not self.tracks

    def fill(self, matchers: Sequence[Matcher], out: npt.NDArray[Any], n_threads: int | None = None) -> None:
        """The masks of many running texts in one call: see `tokenizer_align.fill.fill`."""
        from .fill import fill

        fill(matchers, out, n_threads)

    def counters(self) -> dict[str, int]:
        """What the engine of this constraint's vocabulary did and holds: docs/engine.md explains the keys."""
        from .counters import view

        return view(self.engine)

    def _finished_row(self, mask: Mask, complete: bool) -> Mask:
        if complete:
            mask |= self._eos_bits
        mask.flags.writeable = False
        return mask

    def ids(self, mask: Mask) -> list[int]:
        """The token ids of a mask, ascending."""
        out = np.zeros(self.n_words * 32, np.int32)
        ids: list[int] = out[: k.allowed_ids(mask, out)].tolist()
        return ids

    def open_bytes(self, here: Configuration) -> int:
        """Which bytes may come next (256-bit mask)."""
        if here.open_bytes is None:
            with self.engine.lock:
                here.open_bytes = self.engine.live_bytes(here.heads)
        return here.open_bytes

    def can_continue(self, here: Configuration) -> bool:
        """Whether anything but end-of-sequence may follow."""
        if self.vocabulary.is_atomic:
            return self.open_bytes(here) != 0
        return bool((self.mask(here) & ~self._eos_bits).any())

    # --- completing -----------------------------------------------------------------------------------------------

    def completion(self, here: Configuration) -> bytes:
        """The shortest bytes that complete the text; where some byte is no token, those of the fewest tokens."""
        if not self.vocabulary.is_atomic:
            return self.engine.decode(self.plan(here))
        with self.engine.lock:
            text = shortest_text(self.engine, here.heads)
        assert text is not None, "every configuration that is reached can be completed"
        return self.engine.spelled(text)

    def plan(self, here: Configuration) -> tuple[int, ...]:
        """Tokens that complete the text: as few as can spell its shortest text.

        They depend on the configuration alone, not on what was asked before: what is legal near a limit, and so the
        text, would otherwise depend on drafts, other rows and earlier calls.
        """
        closed = self.closed(here)
        if closed is not here:
            return self.plan(closed)
        if here.plan is None:
            with self.engine.lock:
                text = shortest_text(self.engine, here.heads)
            plan = None if text is None else self.engine.fewest_tokens(text)
            here.plan = self._search_tokens(here) or () if plan is None else plan
        return here.plan

    def within(self, here: Configuration, plan: tuple[int, ...], n_tokens: int) -> Mask:
        """The mask without tokens after which the text could no longer be completed in n_tokens - 1 more tokens.

        `plan`: tokens that complete the text; its first one leads to the rest of it, whatever is planned there.
        """
        mask = self.mask(here).copy()
        tokens = self.ids(mask)
        with self.engine.lock:
            known = self._known_lengths(here, plan, mask, tokens)
        known.pop(plan[0] if plan else -1, None)
        for token in tokens:
            if token not in self.eos_token_ids:
                n = known.get(token)
                if n is None:
                    rest = self.plan_after(here, plan, token)
                    n = n_tokens if rest is None else len(rest)
                if n > n_tokens - 1:
                    mask[token >> 5] &= ~np.uint32(1 << (token & 31))
        return mask

    def _known_lengths(
        self, here: Configuration, plan: tuple[int, ...], mask: Mask, tokens: list[int]
    ) -> dict[int, int]:
        """How many tokens complete the text after these tokens of the mask; without those for which to ask. The lock
        is held."""
        heads = here.heads
        if isinstance(heads, Tracked) and self.vocabulary.is_atomic:
            return self.engine.unique_plans.lengths(heads, mask, tokens)
        return self._shared_lengths(here, plan, tokens) if self.is_one_walk else {}

    def _shared_lengths(self, here: Configuration, plan: tuple[int, ...], tokens: list[int]) -> dict[int, int]:
        """How many tokens complete the text after these, as far as many lead to the same place; the lock is held."""
        groups, _ = self.engine.token_ends.ends(here.heads, tokens, self.engine.live_bytes)
        known: dict[int, int] = {}
        for group in groups:
            token = next((token for token in group if token not in plan[:1]), None)
            rest = None if token is None else self.plan_after(here, plan, token)
            if rest is not None:
                known |= dict.fromkeys(group, len(rest))
        return known

    def plan_after(self, here: Configuration, plan: tuple[int, ...], token_id: int) -> tuple[int, ...] | None:
        """The plan after a token: the rest of `plan` along it, else the new configuration's own; None if illegal.

        Texts of equal length may take different numbers of tokens, so the configuration along the plan may by itself
        plan for more than the rest: keeping to the plan is what makes sure that the text can be completed in time.
        """
        after = self.successor(here, token_id)
        if after is None:
            return None
        return plan[1:] if plan and plan[0] == token_id else self.plan(after)

    # --- limits of tokens -----------------------------------------------------------------------------------------

    def limits(self, here: Configuration) -> tuple[int, ...]:
        """The limits of tokens of the parts that the text is in."""
        if here.limits is None:
            open_bytes = self.open_bytes(here)
            with self.engine.lock:
                here.limits = self.engine.limits_open(here.heads, open_bytes)
        return here.limits

    def counted(
        self, here: Configuration, counts: Counts, token_id: int, after: Configuration
    ) -> tuple[Configuration, Counts]:
        """Where the text stands after a token, and the tokens so far in parts with a limit; at it, the part closes.

        A token counts where it begins in the part. So what is legal follows from the tokens read, nothing else.
        """
        found: list[tuple[int, int]] = []
        for limit in self.limits(after):
            n = next((n for known, n in counts if known == limit), -1)
            with self.engine.lock:
                n = n + 1 if n >= 0 and self.engine.stays_within(here.heads, token_id, limit) else 0
            found.append((limit, n))
        return self._close(after, tuple(found))

    def counted_start(self, start: Configuration) -> tuple[Configuration, Counts]:
        """The same before any token."""
        return self._close(start, tuple((limit, 0) for limit in self.limits(start)))

    def _close(self, here: Configuration, counts: Counts) -> tuple[Configuration, Counts]:
        for limit, n in counts:
            closed = self.successor(here, -2 - limit) if n >= limit else None
            if closed is not None:
                here = closed
        return here, counts

    def closed(self, here: Configuration) -> Configuration:
        """The configuration as if all limits were reached: its shortest texts are the same."""
        for limit in self.limits(here) if self.counts_tokens else ():
            here = self.successor(here, -2 - limit) or here
        return here

    # --- vocabularies in which some byte is no token by itself ----------------------------------------------------

    def is_live(self, here: Configuration) -> bool:
        """Whether tokens exist that complete the text: by search; needed only where bytes alone do not tell."""
        if here.live_by_tokens is None:
            self._search_tokens(here)
        return bool(here.live_by_tokens)

    def _search_tokens(self, start: Configuration) -> tuple[int, ...] | None:
        """Breadth first over tokens to the nearest complete text: its tokens. Marks what it finds live or dead."""
        with self.engine.in_use:
            return self._search(start)

    def _search(self, start: Configuration) -> tuple[int, ...] | None:
        parents: dict[Configuration, tuple[Configuration, int] | None] = {start: None}
        level = [start]
        while level:
            for here in level:
                if here.complete:
                    return _mark_way(here, parents)
            following: list[Configuration] = []
            for here in level:
                if here.live_by_tokens is False:
                    continue
                for token in self.ids(self.engine.mask(here.heads)):
                    heads = self.engine.run_token(here.heads, token)
                    with self.engine.lock:
                        after = self._configuration(heads, here, token)
                    if after not in parents:
                        parents[after] = here, token
                        following.append(after)
                if len(parents) > MAX_LIVENESS_SEARCH:
                    raise TooComplex("whether this vocabulary can complete the text is too hard to decide")
            level = following
        for here in parents:
            here.live_by_tokens = False
        return None


def _mark_way(last: Configuration, parents: dict[Configuration, tuple[Configuration, int] | None]) -> tuple[int, ...]:
    """Mark all configurations on the way to a complete one as live; returns the tokens of the way."""
    tokens: list[int] = []
    here = last
    here.live_by_tokens = True
    while (step := parents[here]) is not None:
        here, token = step
        here.live_by_tokens = True
        tokens.append(token)
    return tuple(reversed(tokens))


def _why_empty(expr: Expr, vocabulary: Vocabulary) -> str:
    if is_productive(expr):
        return f"{vocabulary.name} has no tokens for the bytes that every text of this constraint needs"
    return "no text satisfies this constraint"


def compile_expression(expr: Expr, vocabulary: Vocabulary, tokenization: str = "any", marked: bool = False) -> Compiled:
    """Compile an expression for a vocabulary. The first call on a machine also compiles the kernels (about a minute).

    `marked`: it holds markers or limits of tokens (`markers.py`).

    Raises EmptyLanguage when no text, or none that the vocabulary can write, satisfies it; InvalidOption for an
    unknown law of tokenization, or one that the vocabulary cannot be held to.
    """
    from .canonical.choose_law import compile_under_law
    from .warm_up import warm_up

    warm_up(laws=tokenization != "any")
    return compile_under_law(expr, vocabulary, tokenization, marked)
