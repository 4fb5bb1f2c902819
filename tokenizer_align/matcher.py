"""The matcher of one running text: where it stands in its constraint, and what may come next."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .errors import DeadEnd, IllegalToken
from .layout import DEFAULT_LAYOUT, Layout

if TYPE_CHECKING:
    from .compiled import Compiled, Configuration, Counts
    from .ways import Way

FORCED_LIMIT = 512


class Matcher:
    """State of one text: a list of configurations, one per token. Not shared between threads; `fork` copies it
    cheaply."""

    __slots__ = ("_counts", "_finished", "_path", "_plans", "_tokens", "compiled")

    def __init__(self, compiled: Compiled, start: Configuration | None = None) -> None:
        self.compiled = compiled
        self._path: list[Configuration] = [compiled.start if start is None else start]
        self._counts: list[Counts] = []  # tokens in parts with a limit, after 0, 1, ... tokens, where parts have limits
        if compiled.counts_tokens:
            self._path[0], counts = compiled.counted_start(self._path[0])
            self._counts.append(counts)
        self._plans: list[
            tuple[int, ...]
        ] = []  # how the text could be completed after 0, 1, ... tokens; made on demand
        self._tokens: list[int] = []
        self._finished = False

    def __repr__(self) -> str:
        return f"Matcher(n_tokens={self.n_tokens}, text={self.text_bytes()[-60:]!r})"

    @property
    def configuration(self) -> Configuration:
        return self._path[-1]

    @property
    def n_tokens(self) -> int:
        """How many tokens were read (end-of-sequence included)."""
        return len(self._tokens)

    @property
    def is_finished(self) -> bool:
        """Whether end-of-sequence was read."""
        return self._finished

    @property
    def given_up_at(self) -> int | None:
        """How many tokens stood where the law of tokenization could not be kept any more; None where it was kept."""
        return next((i for i, here in enumerate(self._path) if here.lost), None)

    def mask(self) -> npt.NDArray[np.uint32]:
        """The legal tokens: token t is bit t & 31 of word t >> 5. A read-only view, valid until the next call.

        End-of-sequence ids are set exactly when the text is complete. Raises DeadEnd if nothing is legal.
        """
        here = self._path[-1]
        row = here.mask_row  # another thread may take it away
        if row is not None and not self._finished:
            return row
        if self._finished:
            return np.zeros(self.compiled.n_words, np.uint32)
        mask = self.compiled.mask(here)
        if not here.complete and not np.count_nonzero(mask):  # ten times as fast as any()
            raise DeadEnd(self.text_bytes())
        return mask

    def mask_within(self, n_tokens: int) -> npt.NDArray[np.uint32]:
        """The mask without tokens after which the text could not be completed in n_tokens, this one included."""
        return self.mask() if self._finished else self.compiled.within(self._path[-1], self._plan(), n_tokens)

    def accepts(self, token_id: int) -> bool:
        """Whether the token is legal now; nothing changes."""
        if self._finished:
            return False
        here = self._path[-1]
        row = here.mask_row
        if row is not None:
            return 0 <= token_id < self.compiled.n_rows and bool(row[token_id >> 5] >> (token_id & 31) & 1)
        if token_id in self.compiled.eos_token_ids:
            return here.complete
        return self.compiled.successor(here, token_id) is not None

    def accepts_within(self, token_id: int, n_tokens: int) -> bool:
        """Whether the token is legal and the text can still be completed in n_tokens, this one included."""
        if not self.accepts(token_id):
            return False
        if token_id in self.compiled.eos_token_ids:
            return True
        rest = self.compiled.plan_after(self._path[-1], self._plan(), token_id)
        return rest is not None and len(rest) <= n_tokens - 1

    def advance(self, token_id: int) -> None:
        """Read a token. Raises IllegalToken, and changes nothing, if it is not legal."""
        here = self._path[-1]
        if not self._finished:
            after = here.successors.get(token_id)
            if after is None:
                if token_id in self.compiled.eos_token_ids and here.complete:
                    self._finished = True
                    after = here
                else:
                    after = self.compiled.successor(here, token_id)
            if after is not None:
                if self._counts:
                    counts = self._counts[-1]
                    if not self._finished:
                        after, counts = self.compiled.counted(here, counts, token_id, after)
                    self._counts.append(counts)
                self._path.append(after)
                self._tokens.append(token_id)
                return
        known = 0 <= token_id < self.compiled.n_rows
        raise IllegalToken(
            token_id, self.compiled.vocabulary.token_bytes[token_id] if known else None, self.text_bytes()
        )

    def rollback(self, n_tokens: int) -> None:
        """Take back the last tokens. Raises ValueError if there are not so many."""
        if not 0 <= n_tokens <= len(self._tokens):
            raise ValueError(f"cannot take back {n_tokens} of {len(self._tokens)} tokens")
        if n_tokens:
            del self._path[-n_tokens:]
            del self._tokens[-n_tokens:]
            del self._plans[len(self._path) :]
            del self._counts[len(self._path) :]
            self._finished = False

    def fork(self) -> Matcher:
        """An independent matcher at the same place."""
        other = Matcher(self.compiled)
        other._path, other._tokens, other._finished = list(self._path), list(self._tokens), self._finished
        other._plans, other._counts = list(self._plans), list(self._counts)
        return other

    def is_complete(self) -> bool:
        """Whether the text may end here."""
        return self._path[-1].complete

    def can_continue(self) -> bool:
        """Whether anything but end-of-sequence may follow."""
        return not self._finished and self.compiled.can_continue(self._path[-1])

    def text_bytes(self) -> bytes:
        """The bytes read so far."""
        if self.compiled.engine.markers:
            return self.compiled.engine.decode(self._tokens)
        return b"".join(self.compiled.vocabulary.token_bytes[token] or b"" for token in self._tokens)

    def forced_bytes(self) -> bytes:
        """The bytes that must follow, as far as there is only one way on (at most 512); markers as they are called."""
        if self._finished:
            return b""
        with self.compiled.engine.lock:
            run = self.compiled.engine.forced_run(self._path[-1].heads, FORCED_LIMIT)[0]
            return self.compiled.engine.spelled(run)

    def determined_bytes(self, layout: Layout | None = None) -> bytes:
        """What the constraint determines alone or up to layout: a draft, which the model may refuse.

        Blanks as `layout` expects them, keys in declared order. At most 512 bytes; markers stand in them as codes
        (`markers.split_markers`).
        """
        from .determined import determined_run

        if self._finished:
            return b""
        with self.compiled.engine.in_use:
            here = self._path[-1]
            return determined_run(self.compiled, here, layout or DEFAULT_LAYOUT, self.text_bytes, FORCED_LIMIT)

    def likely_ways(self, layout: Layout | None = None) -> list[Way]:
        """What may follow where few ways are open: each with what it determines next. Drafts, as above; at most 16."""
        from .ways import likely_ways

        if self._finished:
            return []
        return likely_ways(self.compiled.engine, self._path[-1].heads, layout or DEFAULT_LAYOUT, self.text_bytes)

    def is_split(self) -> bool:
        """Whether no tokenizer's own tokens hold the last two side by side here: where `compiled.may_split`, under
        "aligned", a token may be legal for the sake of some texts and go on to others."""
        if not self.compiled.may_split or len(self._tokens) < 2 or self._finished:
            return False
        return self.compiled.is_split(self._path[-3], self._tokens[-2], self._tokens[-1])

    def state(self) -> Hashable:
        """Where the constraint stands: equal states have the same future."""
        return (self._path[-1].heads, self._counts[-1]) if self._counts and self._counts[-1] else self._path[-1].heads

    def shortest_completion(self) -> bytes:
        """The shortest bytes that complete the text."""
        return b"" if self._finished else self.compiled.completion(self._path[-1])

    def min_tokens(self) -> int:
        """How many tokens suffice to complete the text (end-of-sequence not counted)."""
        return 0 if self._finished else len(self._plan())

    def _plan(self) -> tuple[int, ...]:
        """Tokens that complete the text: what is left of the plan while it is followed, else a new one."""
        if not self._plans:
            self._plans.append(self.compiled.plan(self._path[0]))
        while len(self._plans) < len(self._path):
            at = len(self._plans) - 1
            rest = self.compiled.plan_after(self._path[at], self._plans[at], self._tokens[at])
            assert rest is not None, "tokens that were read are legal"
            self._plans.append(rest)
        return self._plans[-1]
