"""The mask by brute force: append each token's bytes, then search for a completion *in this vocabulary*.

Nothing here is clever: configurations are the recognizer's sets of stacks, and a configuration is live if some sequence
of tokens leads from it to a complete text, found by breadth-first search over tokens. Exact where finitely many
configurations can be reached; beyond `max_visited` it raises `Undecided`, and a test drops the example.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokenizer_align import recognizer
from tokenizer_align.expressions import Expr
from tokenizer_align.recognizer import Stacks

UNREACHABLE = 1 << 30


class Undecided(Exception):
    """The search visited too many configurations to say whether the text can be completed."""


class BruteForce:
    """The reference for one constraint and one vocabulary."""

    def __init__(
        self,
        expr: Expr,
        token_bytes: Sequence[bytes | None],
        eos_token_ids: Sequence[int] = (),
        max_visited: int = 1500,
    ) -> None:
        self.expr = expr
        self.eos_token_ids = frozenset(eos_token_ids)
        self.token_bytes = [None if i in self.eos_token_ids else data or None for i, data in enumerate(token_bytes)]
        self.max_visited = max_visited
        self.by_bytes: dict[bytes, list[int]] = {}
        for i, data in enumerate(self.token_bytes):
            if data is not None:
                self.by_bytes.setdefault(data, []).append(i)
        self._steps: dict[tuple[Stacks, bytes], Stacks] = {}
        self._live: dict[Stacks, bool] = {}

    def start(self) -> Stacks:
        """The configuration before anything was read."""
        return recognizer.start(self.expr)

    def read(self, here: Stacks, data: bytes) -> Stacks:
        """The configuration after some bytes; empty where they cannot be read."""
        found = self._steps.get((here, data))
        if found is None:
            found = here
            for byte in data:
                found = recognizer.step(found, byte)
            self._steps[here, data] = found
        return found

    def is_complete(self, here: Stacks) -> bool:
        """Whether the text may end here."""
        return recognizer.accepts_end(here)

    def is_live(self, here: Stacks) -> bool:
        """Whether some sequence of tokens completes the text."""
        if here not in self._live:
            self.fewest_tokens(here)
        return self._live[here]

    def fewest_tokens(self, start: Stacks) -> int:
        """The least number of tokens that completes the text, UNREACHABLE where none does."""
        parents: dict[Stacks, Stacks | None] = {start: None}
        level, depth = [start] if start else [], 0
        while level:
            for here in level:
                if self.is_complete(here):
                    step: Stacks | None = here
                    while step is not None:
                        self._live[step] = True
                        step = parents[step]
                    return depth
            following = []
            for here in level:
                if self._live.get(here) is False:
                    continue
                for data in self.by_bytes:
                    after = self.read(here, data)
                    if after and after not in parents:
                        parents[after] = here
                        following.append(after)
                if len(parents) > self.max_visited:
                    raise Undecided
            level, depth = following, depth + 1
        for here in parents:
            self._live[here] = False
        return UNREACHABLE

    def is_legal(self, here: Stacks, token_id: int) -> bool:
        """Whether the token may follow."""
        if token_id in self.eos_token_ids:
            return self.is_complete(here)
        data = self.token_bytes[token_id]
        if data is None:
            return False
        after = self.read(here, data)
        return bool(after) and self.is_live(after)

    def legal_ids(self, here: Stacks) -> set[int]:
        """All ids that may follow, end-of-sequence included."""
        legal = set(self.eos_token_ids) if self.is_complete(here) else set()
        for data, ids in self.by_bytes.items():
            after = self.read(here, data)
            if after and self.is_live(after):
                legal.update(ids)
        return legal

    def can_spell(self, text: bytes) -> bool:
        """Whether tokens exist whose bytes are the text."""
        reached = {0}
        for at in range(len(text)):
            if at in reached:
                reached.update(at + len(data) for data in self.by_bytes if text.startswith(data, at))
        return len(text) in reached


def live_bytes(reference: BruteForce, here: Stacks) -> set[int]:
    """Which bytes may come next where every byte in use is a token by itself."""
    return {
        data[0]
        for data in reference.by_bytes
        if len(data) == 1 and (after := reference.read(here, data)) and reference.is_live(after)
    }
