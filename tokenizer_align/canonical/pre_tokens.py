"""The pre-tokenizer as an unambiguous guessing automaton over bytes.

Whether a boundary lies before a byte may depend on bytes that follow: "  x" is cut before its second blank, "  " is
not. So the automaton guesses: `step(p, byte)` gives every (bit, next state), bit 1 saying that a pre-token boundary
lies before the byte, and wrong guesses die. Every text (valid UTF-8, without a special token's content) has exactly one
run to a state that `ends`. The start of a text counts as a boundary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_align.cache import ArrayCache
from tokenizer_align.canonical.added_flags import check_flags, single_words, swallowing
from tokenizer_align.canonical.added_splits import INSIDE, WHOLE
from tokenizer_align.canonical.code_point_sets import Engine, engine_version
from tokenizer_align.canonical.rules import TokenizationRules
from tokenizer_align.canonical.spelled_tokens import without_spelled
from tokenizer_align.canonical.split_steps import Step, byte_automaton
from tokenizer_align.canonical.utf8_arcs import ByteAutomaton
from tokenizer_align.canonical.virtual_boundaries import joins_of
from tokenizer_align.canonical.whole_tokens import with_whole_tokens
from tokenizer_align.token_texts import TokenTexts

__all__ = ["PreTokens", "pre_tokens_cache", "spelled_contents"]

IntArray = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

# Raise the version whenever an automaton comes out otherwise than before.
pre_tokens_cache = ArrayCache("pre-tokens", version=4)


@dataclass(frozen=True, slots=True, eq=False)
class PreTokens:
    """States 0 to n_states-1; those within a character come after those between characters.

    start: the state before a text.
    ends: bool[n_states]: whether a text may end there.
    inside: bool[n_states]: states in which no token may end, since what is being read is one token as a whole.
    whole: bool[n_states]: states at the end of such a token.
    spelling: bool[n_states]: states in the middle of an added token that is no text; no text spells one to its end.
    whole_ids: int32[n]: the ids that end in `whole` states, and nowhere else; other ids never do.
    first: int32[n_states * 256 + 1]: where the arcs of (state, byte) begin, at state * 256 + byte.
    arcs: int32[n_arcs, 2]: (bit, next state).
    fingerprint: names the automaton in all processes.
    """

    start: int
    ends: Flags
    inside: Flags
    whole: Flags
    spelling: Flags
    whole_ids: IntArray
    first: IntArray
    arcs: IntArray
    fingerprint: str

    @property
    def n_states(self) -> int:
        """How many states."""
        return len(self.ends)

    @property
    def may_cut(self) -> bool:
        """Whether a boundary can lie anywhere but at a text's beginning."""
        return bool(self.arcs[self.first[256] :, 0].any())

    def step(self, p: int, byte: int) -> tuple[tuple[int, int], ...]:
        """The (bit, next state) pairs of a byte."""
        low, high = self.first[p * 256 + byte], self.first[p * 256 + byte + 1]
        return tuple((int(bit), int(state)) for bit, state in self.arcs[low:high])

    def boundaries(self, text: bytes) -> list[int] | None:
        """Offsets of a whole text's bytes before which a boundary lies, 0 among them; None: it is not valid UTF-8,
        or spells an added token that is no text."""
        heads: dict[int, tuple[int, int]] = {self.start: (0, 0)}
        trail: list[dict[int, tuple[int, int]]] = []  # per byte: state -> (bit, state before)
        for byte in text:
            heads = {after: (bit, p) for p in heads for bit, after in self.step(p, byte)}
            trail.append(heads)
        last = [p for p in heads if self.ends[p]]
        if len(last) != 1:
            return None
        found, p = [], last[0]
        for at in range(len(text) - 1, -1, -1):
            bit, p = trail[at][p]
            if bit:
                found.append(at)
        return found[::-1]

    @classmethod
    def for_rules(
        cls,
        rules: TokenizationRules,
        token_bytes: Sequence[bytes | None],
        cache: ArrayCache | None = pre_tokens_cache,
        texts: TokenTexts | None = None,
    ) -> PreTokens:
        """The automaton of a tokenizer, its added tokens and tokens that are only a whole pre-token among it.

        Args:
            token_bytes: the vocabulary, by id.
            cache: where made automata are kept; None for nowhere.
            texts: the same bytes in one array, where they are at hand.

        Raises:
            VocabularyError: a pre-tokenizer that cannot be represented.
        """
        engine = _engine(rules)
        key = _key(rules, engine, texts or TokenTexts.of(token_bytes))
        stored: Any = cache.load(key) if cache is not None else None
        if stored is not None:
            return cls(start=0, fingerprint=key, **_unpacked(stored))
        added = _matched_in_text(rules, token_bytes)
        check_flags(rules, added, token_bytes)
        whole = _whole_only(rules, token_bytes)
        joins = joins_of(rules, token_bytes) if rules.family == "sentencepiece_bpe" else None
        automaton = byte_automaton(rules.pre_tokenizer, engine, sorted(added), joins, single_words(rules, list(added)))
        if whole:
            automaton = with_whole_tokens(automaton, [token_bytes[i] or b"" for i in whole])
        automaton, spelling = without_spelled(automaton, spelled_contents(rules) + swallowing(rules, list(added)))
        made = replace(cls.of_automaton(automaton, [*added.values(), *whole], spelling), fingerprint=key)
        if cache is not None:
            cache.store(key, _packed(made))
        return made

    @classmethod
    def of_steps(cls, steps: Sequence[Step], engine: Engine = "tokenizers", added: Sequence[str] = ()) -> PreTokens:
        """The automaton of a pre-tokenizer's steps (as in TokenizationRules).

        Args:
            engine: whose patterns these are: the package that runs them, and is asked about its sets of code points.
            added: contents of the added tokens that are matched in ordinary text.

        Raises:
            VocabularyError: a step that cannot be represented, or that loses text.
        """
        return cls.of_automaton(byte_automaton(steps, engine, added))

    @classmethod
    def of_automaton(
        cls, automaton: ByteAutomaton, whole_ids: Sequence[int] = (), spelling: Sequence[bool] = ()
    ) -> PreTokens:
        """The tables of an automaton. States that no text reaches are left out."""
        number = {0: 0}
        order = [0]
        for state in order:  # grows while it is worked off
            for pairs in automaton.arcs[state].values():
                for _, target in pairs:
                    if target not in number:
                        number[target] = len(number)
                        order.append(target)
        counts = np.zeros(len(order) * 256, np.int32)
        flat: list[tuple[int, int]] = []
        for i, state in enumerate(order):
            for byte, pairs in sorted(automaton.arcs[state].items()):
                counts[i * 256 + byte] = len(pairs)
                flat += [(bit, number[target]) for bit, target in pairs]
        first = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=first[1:])
        tags = np.array([automaton.tags[state] for state in order], np.int64)
        arrays = {
            "ends": np.array([automaton.ends[state] for state in order], np.bool_),
            "inside": tags == INSIDE,
            "whole": tags == WHOLE,
            "spelling": np.array([bool(spelling) and spelling[state] for state in order], np.bool_),
            "whole_ids": np.array(sorted(whole_ids), np.int32),
            "first": first,
            "arcs": np.array(flat, np.int32).reshape(-1, 2),
        }
        digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays.values()))
        return cls(start=0, fingerprint=digest.hexdigest(), **arrays)


_ARRAYS = ("ends", "inside", "whole", "spelling", "whole_ids")


def _packed(made: PreTokens) -> dict[str, npt.NDArray[np.generic]]:
    """Arrays for an ArrayCache: most places have few arcs, and a bit fits beside a state."""
    counts = np.diff(made.first)
    return {
        "counts": counts.astype(np.uint8 if counts.max(initial=0) < 256 else np.int32),
        "arcs": made.arcs[:, 1] << 1 | made.arcs[:, 0],
        **{name: getattr(made, name) for name in _ARRAYS},
    }


def _unpacked(stored: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    counts, packed = stored.pop("counts"), stored.pop("arcs")
    first = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=first[1:])
    return {"first": first, "arcs": np.stack([packed & 1, packed >> 1], axis=1), **stored}


def _key(rules: TokenizationRules, engine: Engine, texts: TokenTexts) -> str:
    return hashlib.sha256(f"{rules.fingerprint} {engine_version(engine)} {texts.fingerprint}".encode()).hexdigest()


def _engine(rules: TokenizationRules) -> Engine:
    """The tokenizers library writes a byte-level step; ranks (tiktoken, Tekken) come without one."""
    if rules.family != "byte_level_bpe" or any(step[0] == "byte_level" for step in rules.pre_tokenizer):
        return "tokenizers"
    try:
        import tiktoken  # noqa: F401
    except ImportError:
        return "regex"
    return "tiktoken"


def spelled_contents(rules: TokenizationRules) -> list[bytes]:
    """What encoding makes an id that is no text of, wherever a text holds it."""
    return [
        content.encode() for content, token in rules.added.items() if token.is_matched and not token.is_text and content
    ]


def _matched_in_text(rules: TokenizationRules, token_bytes: Sequence[bytes | None]) -> dict[str, int]:
    """The added tokens that text may hold. A literal "▁" in one stands for no blank, and is no text."""
    return {
        content: token.id
        for content, token in rules.added.items()
        if token.is_text and token.is_matched
        if token.id < len(token_bytes) and token_bytes[token.id] == content.encode()
    }


def _whole_only(rules: TokenizationRules, token_bytes: Sequence[bytes | None]) -> list[int]:
    """The ids that merging does not give, where whole pre-tokens are looked up first."""
    if not rules.ignore_merges:
        return []
    added = {token.id for token in rules.added.values()}
    missing = np.flatnonzero(~rules.reproduced(len(token_bytes))).tolist()
    return [i for i in missing if token_bytes[i] is not None and i not in added]
