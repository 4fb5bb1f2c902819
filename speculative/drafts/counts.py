"""Which token followed which state of a constraint: learned while texts are written (the model of DOMINO, 2403.06988).

A state is where the constraint stands, not the text before it, so what one record showed (blanks, key order, which enum
value is common) is drafted in the next. The last token is looked at too where it was seen, since inside free text the
state alone says little. Counts only rank drafts, so they may be stale, wrong or dropped at no cost to the answer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from speculative.drafts import Draft, DraftContext
from tokenizer_align.cache import write_atomically
from tokenizer_align.errors import DominoError

__all__ = ["Counted", "TokenCounts"]

_MAX_STATES = 10_000
_MAX_PREFIX_TOKENS = 128
_LEAST_SHARE = 0.15
_MIN_CHANCE = 0.05
_MOSTLY = 0.6  # of at least two
_MAX_CHAINS = 8

Key = tuple[Hashable, int]  # a state and the last token; -1: any
Chain = tuple[tuple[int, ...], tuple[str, ...], float]  # tokens, kinds, chance


class _Row:
    """What followed one state: token -> times; `prefix`: tokens that lead to the state, to find it again."""

    __slots__ = ("prefix", "times", "total")

    def __init__(self, prefix: tuple[int, ...] | None) -> None:
        self.times: dict[int, int] = {}
        self.total = 0
        self.prefix = prefix

    def add(self, token_id: int, n: int = 1) -> None:
        self.times[token_id] = self.times.get(token_id, 0) + n
        self.total += n


class TokenCounts:
    """Counts of one constraint over one vocabulary; threads may share it."""

    def __init__(self) -> None:
        self._rows: dict[Key, _Row] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._rows)

    def copy(self) -> TokenCounts:
        """Independent counts of the same numbers."""
        other = TokenCounts()
        with self._lock:
            for key, row in self._rows.items():
                mine = other._rows[key] = _Row(row.prefix)
                mine.times, mine.total = dict(row.times), row.total
        return other

    def learn(self, state: Hashable, output_ids: Sequence[int], token_id: int) -> None:
        """Take in that a token was chosen at a state, after these tokens of the output."""
        last = output_ids[-1] if output_ids else -1
        with self._lock:
            for key in {(state, -1), (state, last)}:
                row = self._rows.get(key)
                if row is None:
                    if len(self._rows) >= _MAX_STATES:
                        for old in list(self._rows)[: _MAX_STATES // 2]:
                            del self._rows[old]
                    short = len(output_ids) <= _MAX_PREFIX_TOKENS
                    row = self._rows[key] = _Row(tuple(output_ids) if short else None)
                row.add(token_id)

    def _row(self, state: Hashable, last_token: int) -> _Row | None:
        """What followed the state after this token, else after any; not the latter where the token led from the state
        to itself, as inside free text, of which the state alone says nothing."""
        row = self._rows.get((state, last_token))
        if row is not None:
            return row
        row = self._rows.get((state, -1))
        return None if row is None or last_token in row.times else row

    def _is_free(self, state: Hashable, last_token: int) -> bool:
        """Whether the last token led from the state to itself, as inside free text: then the state says nothing."""
        row = self._rows.get((state, -1))
        return row is not None and last_token in row.times

    def share(self, state: Hashable, last_token: int, token_id: int) -> tuple[float, float] | None:
        """Return (times the token followed, times anything did); None where the state was not met or says nothing."""
        row = self._row(state, last_token)
        return None if row is None or self._is_free(state, last_token) else (row.times.get(token_id, 0), row.total)

    def likely(self, state: Hashable, last_token: int) -> list[tuple[int, float, str]]:
        """Return tokens that followed often, the commonest first, each with its share and a label of the evidence."""
        row = self._row(state, last_token)
        if row is None:
            return []
        is_free = self._is_free(state, last_token)
        with self._lock:
            kind = "free" if is_free else f"seen{min(row.total.bit_length(), 5)}"
            found = [(token, n / (row.total + 1), kind) for token, n in row.times.items()]
        found = [
            (token, share, "free+" if is_free and share > _MOSTLY else kind)
            for token, share, kind in found
            if share >= _LEAST_SHARE
        ]
        return sorted(found, key=lambda way: -way[1])

    def save(self, path: str | Path, fingerprint: str) -> None:
        """Write the counts as JSON lines; `fingerprint` names the vocabulary whose ids they hold."""
        lines = [json.dumps({"vocabulary": fingerprint, "format": 1})]
        with self._lock:
            for (_, last), row in self._rows.items():
                if row.prefix is not None:
                    lines.append(json.dumps({"after": row.prefix, "any": last == -1, "times": list(row.times.items())}))
        write_atomically(Path(path), ("\n".join(lines) + "\n").encode())

    def load(self, path: str | Path, compiled: Any, fingerprint: str) -> int:
        """Add counts from a file; states that this constraint does not have are left out. Returns how many were read.

        Raises DominoError where the file is of another vocabulary or no such file at all.
        """
        try:
            header, *lines = [json.loads(line) for line in Path(path).read_text().splitlines()]
            if header["format"] != 1 or header["vocabulary"] != fingerprint:
                raise DominoError(f"{path} holds counts of another vocabulary (or another version of this library).")
            return sum(self._read(entry, compiled) for entry in lines)
        except (ValueError, KeyError, TypeError) as error:
            raise DominoError(f"{path} is not a file of counts: {error}") from error

    def _read(self, entry: dict[str, Any], compiled: Any) -> bool:
        matcher = compiled.matcher()
        prefix = tuple(int(token) for token in entry["after"])
        for token in prefix:
            if not matcher.accepts(token):
                return False
            matcher.advance(token)
        last = -1 if entry["any"] or not prefix else prefix[-1]
        with self._lock:
            row = self._rows.setdefault((matcher.state(), last), _Row(prefix))
            for token, n in entry["times"]:
                row.add(int(token), int(n))
        return True


class Counted:
    """The draft source of counts: from each state the tokens that followed it, the likeliest paths first."""

    name = "counts"

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        matcher = context.matcher
        counts = context.memory.counts if context.memory is not None else None
        if matcher is None or not counts:
            return ()
        chains: list[Chain] = []
        last = context.output_ids[-1] if context.output_ids else -1
        self._follow(counts, matcher, last, ((), (), 1.0), limit, chains)
        chains.sort(key=lambda chain: -chain[2])
        return [Draft(self.name, ids, kinds) for ids, kinds, _ in chains]

    def _follow(
        self, counts: TokenCounts, matcher: Any, last: int, path: Chain, limit: int, chains: list[Chain]
    ) -> None:
        """Depth first along tokens that are likely enough; every path that cannot go on is a chain."""
        went_on = False
        ids, kinds, chance = path
        if len(ids) < limit and len(chains) < _MAX_CHAINS:
            for token, share, kind in counts.likely(matcher.state(), last):
                if chance * share < _MIN_CHANCE or not matcher.accepts(token):
                    continue
                matcher.advance(token)
                if not matcher.is_finished and matcher.can_continue():
                    went_on = True
                    longer = ((*ids, token), (*kinds, kind), chance * share)
                    self._follow(counts, matcher, token, longer, limit, chains)
                matcher.rollback(1)
        if ids and not went_on:
            chains.append(path)
