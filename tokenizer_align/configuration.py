"""What a constraint knows after some text, and how much of it is kept.

Everything kept is young or old. What is used becomes young; when the young ones fill half of the budget, the old ones
are dropped and the young ones become old. So what goes first was used longest ago, to within an age, and a hit of what
is young costs nothing. A configuration that was dropped goes on working for the text that holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import kernels as k

if TYPE_CHECKING:
    from .compiled import Compiled
    from .engine import Engine, Heads, Mask

CONFIGURATION_BYTES = 900  # with its heads and some successors


class Configuration:
    """What a constraint knows after some text. `successors`: token id -> configuration or None.

    The heads are codes and cells of the engine's present generation: where that has ended, they are found again by
    reading the last token from the configuration before.
    """

    __slots__ = (
        "_clamped",
        "_generation",
        "_heads",
        "compiled",
        "complete",
        "limits",
        "live_by_tokens",
        "lost",
        "mask_row",
        "open_bytes",
        "parent",
        "plan",
        "successors",
        "token_id",
    )

    def __init__(
        self, compiled: Compiled, heads: Heads, parent: Configuration | None = None, token_id: int = -1
    ) -> None:
        self.compiled, self.parent, self.token_id = compiled, parent, token_id
        self._heads, self._generation = heads, compiled.engine.generation
        self.complete = (k.ACCEPT, -1) in heads
        self.mask_row: Mask | None = None
        self.successors: dict[int, Configuration | None] = {}
        self.plan: tuple[int, ...] | None = None  # tokens that complete the text
        self._clamped: Heads | None = None
        self.open_bytes: int | None = None
        self.live_by_tokens: bool | None = None
        self.limits: tuple[int, ...] | None = None  # of tokens, of the parts that the text is in
        self.lost = False  # whether the law of tokenization was given up

    @property
    def heads(self) -> Heads:
        """The closed heads. Valid while the engine's lock is held, or the engine is `in_use`."""
        if self._generation != self.compiled.engine.generation:
            self._find_again()
        return self._heads

    @property
    def clamped(self) -> Heads:
        """The heads without counts beyond the longest token: configurations that share them share their mask."""
        engine = self.compiled.engine
        if self._clamped is None or self._generation != engine.generation:
            self._clamped = engine.clamped(self.heads)
        return self._clamped

    def _find_again(self) -> None:
        engine = self.compiled.engine
        with engine.lock:
            lost: list[Configuration] = []
            here: Configuration | None = self
            while here is not None and here._generation != engine.generation:
                lost.append(here)
                here = here.parent
            for following in reversed(lost):
                if following.parent is None:
                    heads = engine.start(self.compiled.expr)
                else:
                    heads = engine.run_token(following.parent._heads, following.token_id)
                following._heads, following._clamped = heads, None
                following._generation = engine.generation
            engine.note_found_again()


class Kept:
    """The configurations and masks that one compiled constraint keeps. The engine's lock is held around every call."""

    __slots__ = ("__weakref__", "_engine", "_old", "_old_rows", "_rows", "_young")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._young: dict[Heads, Configuration] = {}
        self._old: dict[Heads, Configuration] = {}
        self._rows: dict[Heads, Mask] = {}
        self._old_rows: dict[Heads, Mask] = {}
        engine.keepers.add(self)

    def find(self, heads: Heads) -> Configuration | None:
        """The kept configuration with these heads."""
        found = self._young.get(heads)
        if found is None:
            found = self._old.get(heads)
            if found is not None:
                self.touch(found)
        return found

    def enter(self, heads: Heads, here: Configuration) -> None:
        """Keep a configuration with heads of which none is kept."""
        self._young[heads] = here
        self._engine.count_kept(CONFIGURATION_BYTES)

    def touch(self, here: Configuration) -> bool:
        """Make a configuration young; False where another one with the same heads is kept in its stead."""
        heads = here.heads
        found = self._young.get(heads)
        if found is None:
            self._old.pop(heads, None)
            self._young[heads] = here
            self._engine.count_kept(CONFIGURATION_BYTES)
            return self._young.get(heads) is here
        return found is here

    def row(self, key: Heads) -> Mask | None:
        """A kept mask."""
        row = self._rows.get(key)
        if row is None and key in self._old_rows:
            row = self.keep_row(key, self._old_rows.pop(key))
        return row

    def keep_row(self, key: Heads, row: Mask) -> Mask:
        """Keep a mask; returns the one that is kept."""
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = row
            self._engine.count_kept(row.nbytes)
        return found

    def age(self) -> None:
        """Drop what is old; what is young becomes old."""
        for here in self._young.values():
            here.mask_row, here.successors = None, {}
        self._old, self._young = self._young, {}
        self._old_rows, self._rows = self._rows, {}

    def drop(self) -> None:
        """Drop everything: heads and keys have lost their meaning."""
        self.age()
        self._old, self._old_rows = {}, {}

    def n_bytes(self) -> int:
        """Bytes held, about."""
        rows = [*self._rows.values(), *self._old_rows.values()]
        return sum(row.nbytes for row in rows) + CONFIGURATION_BYTES * (len(self._young) + len(self._old))
