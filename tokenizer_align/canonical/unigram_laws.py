"""The laws of tokenization for Unigram: as for byte pair encoding, with an `Ending` in place of a last token.

Under "aligned" a token counts as if its pre-token began with it; so must each token of a plan, which those of a text
whose sums tie need not. Under "canonical" a configuration holds, per state of P, what the open pre-token's tokens leave
half read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..compiled import Configuration
from ..engine import Engine, Heads, Mask
from ..expressions import Expr
from ..unique_runs import loose
from ..vocabulary import Vocabulary
from .constraint_walks import ConstraintWalks, bits_of, set_bits
from .laws import AlignedCompiled, CanonicalCompiled
from .search import Node, Search
from .spelling import Part, Speller
from .survival import Survival
from .token_paths import Ids, Row, States, TokenPaths
from .unigram_endings import Ending, Endings

if TYPE_CHECKING:
    from .lawful import LawConfiguration


MAX_FATES = 1 << 12  # endings remembered at one place; unlike tokens they have no end


class UnigramSearch(Search):
    """Reachability over (heads, state of P, ending)."""

    def __init__(self, walks: ConstraintWalks, paths: TokenPaths, endings: Any, may_end: bool, may_force: bool) -> None:
        super().__init__(walks, paths, endings, may_end, may_force)
        self.endings: Endings = endings

    def _hard_ways(self, heads: Heads, p: int, token: Any) -> Iterator[Node]:
        place, engine, endings = self._look_at(heads), self.walks.engine, self.endings
        for bit, after, follower, behind in self._ways(place, p).each():
            self.n_tests += 1
            ending: Any = endings.fresh(follower) if bit else endings.step(token, follower)
            if ending is None:
                continue
            if place.heads == heads:
                yield behind, after, ending
            else:
                yield engine.run_plain(heads, engine.token_text(follower)), after, ending


class UnigramSurvival(Survival):
    """Which tokens survive; where a token is asked for, as if its pre-token began with it."""

    def __init__(self, engine: Engine, paths: TokenPaths, endings: Any, may_force: bool = False) -> None:
        self.endings: Endings = endings
        super().__init__(engine, paths, endings, may_force)

    def drop(self) -> None:
        """Forget what was found."""
        super().drop()
        endings: Any = self.endings
        self.full = UnigramSearch(self.walks, self.paths, endings, True, self.may_force)
        self._fates = self._make_fates()

    def survivors(self, heads: Heads, p: int, tokens: Ids) -> npt.NDArray[np.int32]:
        """int32[n]: which of these tokens, all leading to (heads, p), survive, as `Search.survives`."""
        if self.full.is_settled(heads, p):
            return np.ones(len(tokens), np.int32)
        fates = (self._fate_of(heads, p, self.endings.fresh(token)) for token in tokens.tolist())
        return np.fromiter(fates, np.int32, len(tokens))

    def _fate_of(self, heads: Heads, p: int, ending: Any) -> int:
        if ending is None:
            return 0
        place = self.full.place(heads)
        if len(place.fates) >= MAX_FATES:
            place.fates.clear()
            place.via.clear()
        return self._fate(heads, p, ending)

    def _fate_under_any_stack(self, heads: Heads, p: int, token: int) -> int:
        return 0  # endings are too many to be shared: where frames below are left out, numbers are searched for long

    def survives(self, heads: Heads, p: int, token: int) -> bool:
        """Whether a token that leads to (heads, p) can be continued canonically."""
        ending = self.endings.fresh(token)
        return ending is not None and self.goes_on(heads, p, ending)

    def goes_on(self, heads: Heads, p: int, ending: Any) -> bool:
        """Whether an ending at (heads, p) can be continued canonically."""
        with self.lock:
            clamped = self.engine.clamped(heads)
            found = self._fate_of(clamped, p, ending)
            if found and clamped != heads and (found + 1) * self.engine.longest_token >= self.walks.slack(heads):
                found = self._fate_of(heads, p, ending)
            return found > 0

    def row_behind(self, heads: Heads, p: int, ending: Ending) -> Row:
        """The legal tokens that can be continued canonically behind an ending at (heads, p)."""
        with self.lock:
            clamped = self.engine.clamped(heads)
            row, reach = self._row_behind(clamped, p, ending)
            if clamped != heads and reach > self.walks.slack(heads):
                row, _ = self._row_behind(heads, p, ending)
            return row

    def _row_behind(self, heads: Heads, p: int, ending: Ending) -> tuple[Row, int]:
        """The row, and how many bytes the search may have read to see that some token survives (0: none)."""
        place = self.full.place(self.engine.clamped(heads))
        easy, hard = place.look(self.walks, self.paths)
        row0, row1 = self.paths.rows(p)
        bad = self.endings.bad_right(ending)
        row: Row = easy & (row1 | (row0 & ~bad))
        if not len(hard):
            return row, 0
        groups = place.hard_groups(self.walks) if place.heads == heads else self.walks.groups(heads, hard)
        ends = self.paths.ends_of_all(p, hard)
        ends = ends[groups.group[ends[:, 0]] >= 0]
        ends = ends[(ends[:, 1] == 1) | ~bits_of(bad, hard[ends[:, 0]])]
        alive, n_tokens = self.full.settled_rows(groups, ends), 0
        for at in np.flatnonzero(~alive).tolist():
            i, bit, after = ends[at].tolist()
            token = int(hard[i])
            then = self.endings.fresh(token) if bit else self.endings.step(ending, token)
            fate = self._fate_of(groups.heads[int(groups.group[i])], after, then)
            alive[at] = fate > 0
            n_tokens = max(n_tokens, fate)
        set_bits(row, hard[ends[alive, 0]])
        return row, (n_tokens + 1) * self.engine.longest_token + 1 if n_tokens else 0


class AlignedSpeller(Speller):
    """Spells completions in tokens that are legal under "aligned" one after the other."""

    def _tokens_of(self, part: Part) -> list[int]:
        endings: Any = self._survival.pairs
        return super()._tokens_of(part) if part.is_token else endings.encode_part_anew(part.text)


class UnigramAlignedCompiled(AlignedCompiled):
    """`tokenization="aligned"` for Unigram."""

    def __init__(self, expr: Expr, vocabulary: Vocabulary, engine: Engine, survival: Survival) -> None:
        super().__init__(expr, vocabulary, engine, survival)
        self.speller = AlignedSpeller(survival)


Behind = tuple[Ending, ...]  # of the states of P, in their order


class UnigramSpeller(Speller):
    """Spells completions behind endings."""

    def _spell(self, states: States, last: Any, text: bytes) -> tuple[int, ...] | None:
        if last == -1:
            return super()._spell(states, last, text)
        endings: Any = self._survival.pairs
        for p, ending in zip(states, last, strict=True):
            parts = self._parts((p,), text)
            if parts is None:
                continue
            tokens: list[int] = []
            for part in parts:
                some = self._tokens_of(part) if part.is_begun else endings.encode_behind(ending, part.text)
                if some is None:
                    return None
                tokens += some
            return tuple(tokens)
        return None


class UnigramCanonicalCompiled(CanonicalCompiled):
    """`tokenization="canonical"` for Unigram; `last` of a configuration is -1, or a `Behind`."""

    def __init__(self, expr: Expr, vocabulary: Vocabulary, engine: Engine, survival: Survival) -> None:
        assert isinstance(survival, UnigramSurvival)
        self._endings, self._by_ending = survival.endings, survival
        super().__init__(expr, vocabulary, engine, survival)
        self.speller = UnigramSpeller(survival)

    def _row(self, here: LawConfiguration) -> Row:
        if here.last == -1:
            return super()._row(here)
        row = np.zeros(self._endings.n_words, np.uint32)
        for p, ending in zip(here.states, here.last, strict=True):
            row |= self._by_ending.row_behind(loose(here.heads), p, ending)
        return row

    def _after(self, here: LawConfiguration, token: int, heads: Heads) -> tuple[States, Any] | None:
        plain = loose(heads)
        found = {
            after: ending
            for after, ending in self._read(here.states, here.last, token)
            if self._by_ending.goes_on(plain, after, ending)
        }
        return _sorted(found) if found else None

    def _read(self, states: States, last: Any, token: int) -> Iterator[tuple[int, Ending]]:
        """(state of P, ending) for each way in which a token may follow."""
        behind = [None] * len(states) if last == -1 else last
        for p, ending in zip(states, behind, strict=True):
            for bit, after in self.survival.paths.ends_of(p, token):
                is_fresh = bit or ending is None
                then = self._endings.fresh(token) if is_fresh else self._endings.step(ending, token)
                if then is not None:
                    yield after, then

    def states_after(self, here: LawConfiguration, tokens: Ids) -> npt.NDArray[np.int32]:
        """As `LawfulCompiled.states_after`."""
        rows = [
            (i, after)
            for i, token in enumerate(tokens.tolist())
            for after, _ in self._read(here.states, here.last, token)
        ]
        return np.array(rows, np.int32).reshape(-1, 2)

    def _known_lengths(
        self, here: Configuration, plan: tuple[int, ...], mask: Mask, tokens: list[int]
    ) -> dict[int, int]:
        return {}  # what completes a text depends on each token's own ending

    def _context(self, context_ids: Sequence[int]) -> tuple[States, States, Any]:
        paths = self.survival.paths
        by_text: States = (paths.start,)
        states, behind = by_text, -1  # type: tuple[States, Any]
        for token in self._open_tokens(context_ids):
            by_text = paths.read(by_text, self.vocabulary.token_bytes[token] or b"") or (paths.start,)
            found = dict(self._read(states, behind, token))
            # -1: its tokens are not canonical up to here
            states, behind = _sorted(found) if found else (paths.open(by_text) or (paths.start,), -1)
        return by_text, states, behind


def _sorted(found: dict[int, Ending]) -> tuple[States, Behind]:
    states = tuple(sorted(found))
    return states, tuple(found[p] for p in states)
