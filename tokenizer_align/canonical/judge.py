"""Whether a sequence of tokens is what the tokenizer itself would write, token by token.

Boundaries of pre-tokens must be boundaries of tokens, and inside a pre-token adjacent tokens must be a good pair; an
added token's text is that one id. What follows may still move the last boundary, so a state holds every run of the
guessing automaton that the tokens so far agree with: no state is left when no continuation can be canonical, and at the
end of the text one run must end. The rule was compared with re-encoding: see benchmarks/canonical_bench.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from tokenizer_align.canonical.normalizers import keeps_text
from tokenizer_align.canonical.pairs import Pairs
from tokenizer_align.canonical.pre_tokens import PreTokens
from tokenizer_align.canonical.rules import TokenizationRules
from tokenizer_align.canonical.unigram import Unigram
from tokenizer_align.errors import VocabularyError
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["CanonicalJudge", "Judged", "judge_of"]

_MAX_STATES = 1 << 15  # some 16 MB
_MAX_PATHS = 1 << 17
_MAX_CONTEXT = 1024  # tokens; what stands further back changes nothing at the seam
Head = tuple[int, tuple[int, ...]]  # state of the pre-tokenizer; tokens of the open pre-token that still matter


class Judged:
    """What is known after some tokens: opaque, shared, to be handed back to the judge."""

    __slots__ = ("after", "heads", "spelling")

    def __init__(self, heads: tuple[Head, ...], spelling: bytes) -> None:
        """Args:
        heads: the runs that agree with the tokens.
        spelling: bytes of a character that byte pieces have begun.
        """
        self.heads, self.spelling = heads, spelling
        self.after: dict[int, Judged | None] = {}


class CanonicalJudge:
    """Judges sequences of ids of one vocabulary; shared between threads. A known step costs 0.2 µs.

    pairs, pre_tokens: the two halves of the rule; pairs is None for Unigram.
    """

    def __init__(self, rules: TokenizationRules, vocabulary: Vocabulary) -> None:
        """Raises:
        VocabularyError: a pre-tokenizer that cannot be represented.
        """
        self.rules, self.vocabulary = rules, vocabulary
        token_bytes = vocabulary.token_bytes
        self.pre_tokens = PreTokens.for_rules(rules, token_bytes)
        self.pairs = None if rules.family == "unigram" else Pairs(rules, token_bytes, vocabulary.n_rows)
        self._unigram = Unigram(rules, token_bytes) if rules.family == "unigram" else None
        no_text = {token.id for token in rules.added.values() if not token.is_text}
        self._markers = no_text | vocabulary.special_ids  # each stands between two texts
        self._whole = frozenset(self.pre_tokens.whole_ids.tolist())
        self._steps: dict[int, tuple[tuple[int, int], ...]] = {}
        self._paths: dict[tuple[int, int], tuple[tuple[int, int], ...]] = {}
        self._known: dict[tuple[tuple[Head, ...], bytes], Judged] = {}
        self._start = self._state(((self.pre_tokens.start, ()),), b"")

    def start(self, context: Sequence[int] = ()) -> Judged:
        """The state after the context's ids. Where these are not canonical themselves, a text begins anew there."""
        state = self._start
        for token in self._open_tokens(context):
            state = self.push(state, token) or self.push(self._start, token) or self._start
        return state

    def push(self, state: Judged, token: int) -> Judged | None:
        """The state after one more token; None where no continuation of it is canonical."""
        try:
            return state.after[token]
        except KeyError:
            after = state.after[token] = self._advance(state, token)
            return after

    def may_end(self, state: Judged) -> bool:
        """Whether the tokens so far are canonical if the text ends here."""
        if state.spelling:
            return False
        ends = self.pre_tokens.ends
        return any(ends[p] and (self._unigram is None or self._is_best(word)) for p, word in state.heads)

    def is_canonical(self, ids: Sequence[int], context: Sequence[int] = ()) -> bool:
        """Whether encoding the whole text of `ids`, after that of `context`, gives `ids`.

        >>> # judge.is_canonical(vocabulary.encode('{"a": 1}')) is True
        """
        state: Judged | None = self.start(context)
        for token in ids:
            state = self.push(state, token) if state is not None else None
        if state is None or not self.may_end(state):
            return False
        return self.rules.normalizer is None or keeps_text(self.rules.normalizer, self._texts(ids))

    def _open_tokens(self, context: Sequence[int]) -> Sequence[int]:
        """The end of a context that can matter: since its last marker, and not very long."""
        recent = context[-_MAX_CONTEXT:]
        last = next((i for i in range(len(recent) - 1, -1, -1) if recent[i] in self._markers), -1)
        return recent[last + 1 :]

    def _advance(self, state: Judged, token: int) -> Judged | None:
        data = self.vocabulary.token_bytes[token] if 0 <= token < self.vocabulary.n_rows else None
        if not data:
            return self._start if token in self._markers and self.may_end(state) else None
        if self._is_never(token):
            return None
        spelling = self.pairs.byte_pieces.spelling(state.spelling, token) if self.pairs is not None else b""
        if spelling is None:
            return None
        heads = set()
        for p, word in state.heads:
            for bit, after in self._path(p, token, data):
                kept = self._joined(bit, word, token)
                if kept is not None:
                    heads.add((after, kept))
        return self._state(tuple(sorted(heads)), spelling) if heads else None

    def _joined(self, bit: int, word: tuple[int, ...], token: int) -> tuple[int, ...] | None:
        """The tokens of the open pre-token to remember after `token`, or None where it does not fit."""
        if self._unigram is not None:
            if not bit:
                return (*word, token)
            return (token,) if not word or self._is_best(word) else None
        if self.pairs is None or (not bit and word and self.pairs.is_bad(word[-1], token)):
            return None
        return (token,)

    def _is_best(self, word: tuple[int, ...]) -> bool:
        """Whether a pre-token of a Unigram tokenizer is written so; an added token is one by itself."""
        return (len(word) == 1 and word[0] in self._whole) or (
            self._unigram is not None and self._unigram.is_best(word)
        )

    def _is_never(self, token: int) -> bool:
        if self.pairs is not None:
            return bool(self.pairs.never[token >> 5] >> (token & 31) & 1)
        return False

    def _path(self, p: int, token: int, data: bytes) -> tuple[tuple[int, int], ...]:
        """(bit before the first byte, state after the last) of the runs over a token without a boundary inside."""
        known = self._paths.get((p, token))
        if known is not None:
            return known
        runs = self._step(p, data[0])
        for byte in data[1:]:
            runs = tuple({(bit, on) for bit, at in runs for inner, on in self._step(at, byte) if not inner})
        tables, is_whole = self.pre_tokens, self._is_whole(token)
        found = tuple((bit, q) for bit, q in runs if not tables.inside[q] and bool(tables.whole[q]) == is_whole)
        if len(self._paths) >= _MAX_PATHS:
            self._paths.clear()
        self._paths[p, token] = found
        return found

    def _is_whole(self, token: int) -> bool:
        return token in self._whole

    def _step(self, p: int, byte: int) -> tuple[tuple[int, int], ...]:
        known = self._steps.get(p * 256 + byte)
        if known is None:
            known = self._steps[p * 256 + byte] = self.pre_tokens.step(p, byte)
        return known

    def _state(self, heads: tuple[Head, ...], spelling: bytes) -> Judged:
        key = (heads, spelling)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MAX_STATES:
                for state in list(self._known.values()):
                    state.after = {}
                self._known.clear()
            known = self._known[key] = Judged(heads, spelling)
        return known

    def _texts(self, ids: Iterable[int]) -> list[bytes]:
        """The stretches of text between ids that are no text."""
        texts = [b""]
        for token in ids:
            data = self.vocabulary.token_bytes[token] or b""
            if data:
                texts[-1] += data
            else:
                texts.append(b"")
        return texts


@lru_cache(maxsize=8)
def judge_of(vocabulary: Vocabulary) -> CanonicalJudge:
    """The judge of a vocabulary, kept for the next time.

    Raises:
        VocabularyError: its rules are not known, or its pre-tokenizer cannot be represented.
    """
    if vocabulary.rules is None:
        raise VocabularyError(f"how {vocabulary.name} splits and merges a text is not known")
    return CanonicalJudge(vocabulary.rules, vocabulary)
