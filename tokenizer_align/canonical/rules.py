"""What a tokenizer does to a text, as plain data: enough to say which token sequences it would write itself.

`TokenizationRules` is read once from the tokenizer (see `read_rules`), kept with the Vocabulary as `vocabulary.rules`
and stored with it on disk. Everything speaks of text from the middle of a longer one: no prefix blank, no special
tokens around it. Families: byte-level BPE, SentencePiece BPE (with or without byte fallback), Unigram.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

__all__ = ["AddedToken", "Family", "Step", "TokenizationRules", "pack_rules", "unpack_rules"]

Family = Literal["byte_level_bpe", "sentencepiece_bpe", "unigram"]
Step = tuple[str | bool | int, ...]
IntArray = npt.NDArray[np.int32]

_ARRAYS = ("merges", "ranks", "initial", "byte_ids", "scores")


class AddedToken(NamedTuple):
    """A token that is matched whole in the text before anything else.

    special: whether the tokenizer calls it special. is_text: whether its id has bytes in the vocabulary (an ordinary
    text that is merely matched whole). is_matched: whether encoding finds it in a text; a text that spells one which is
    no text is then never canonical (tiktoken and SentencePiece spell their special tokens as any other text). The rest
    are flags of the tokenizers library: see `added_flags`.
    """

    id: int
    special: bool
    is_text: bool
    is_matched: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class TokenizationRules:
    """The rules of one tokenizer; arrays are read-only by convention, shared by all users.

    merges: int32[n_merges, 3]: (left id, right id, result id), row = rank. Only the merge that completes each token
        when its own bytes are encoded; no other merge of a result is ever carried out, whatever stands around it.
    ranks: int32[n_merges], rising; equal where merges tie (pieces of equal score): then the leftmost goes first. Empty:
        the row is the rank.
    initial: int32[n, 2]: (byte, id) of the symbols that merging starts from, for byte-level BPE; else (code point, id)
        of the pieces of one character, a blank as 0x20; ascending.
    byte_ids: int32[256]: id of the byte piece "<0xNN>" that spells part of a character without a piece; -1: none.
    scores: float64[n_ids] of the pieces of a Unigram model, NaN where an id is no piece; empty for BPE.
    unknown_score: of a character without a piece (Unigram).
    ignore_merges: a pre-token that is a token is that token, whatever the merges say (Llama 3, tiktoken encodings).
    pre_tokenizer: steps in order, each splits what the one before left. ("split", regex, behavior, invert),
        ("digits", individual), ("byte_level", False, use_regex), ("punctuation", behavior), ("metaspace", split),
        ("scripts",), ("length", n); anything else is ("unknown", JSON). No step is one pre-token a text.
    added: content -> AddedToken.
    normalizer: JSON of a normalizer (of the tokenizers library) that changes texts first, blanks aside; None: none.
    """

    family: Family
    merges: IntArray
    initial: IntArray
    byte_ids: IntArray
    ignore_merges: bool
    pre_tokenizer: tuple[Step, ...]
    added: Mapping[str, AddedToken] = field(default_factory=dict)
    scores: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    unknown_score: float = 0.0
    normalizer: str | None = None
    ranks: IntArray = field(default_factory=lambda: np.empty(0, np.int32))
    _known: list[str] = field(default_factory=list, init=False, repr=False)  # the fingerprint, once it was asked for

    @property
    def row_ranks(self) -> IntArray:
        """The rank of every row of `merges`: int32[n_merges]."""
        return self.ranks if len(self.ranks) else np.arange(len(self.merges), dtype=np.int32)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all of it."""
        if not self._known:
            digest = hashlib.sha256(_facts(self).encode())
            for name in _ARRAYS:
                digest.update(np.ascontiguousarray(getattr(self, name)).tobytes())
            self._known.append(digest.hexdigest())
        return self._known[0]

    def reproduced(self, n_ids: int) -> npt.NDArray[np.bool_]:
        """bool[n_ids]: ids that encoding their own bytes gives back by merging (BPE), or that are pieces (Unigram)."""
        found = np.zeros(n_ids, np.bool_)
        ids = np.concatenate([self.initial[:, 1], self.merges[:, 2], self.byte_ids])
        if self.family == "unigram":
            ids = np.concatenate([ids, np.flatnonzero(~np.isnan(self.scores)).astype(np.int32)])
        found[ids[(ids >= 0) & (ids < n_ids)]] = True
        return found


def pack_rules(rules: TokenizationRules) -> dict[str, npt.NDArray[np.generic]]:
    """Arrays for an ArrayCache; names begin with "rules_"."""
    facts = np.frombuffer(_facts(rules).encode(), dtype=np.uint8)
    name = np.frombuffer(rules.fingerprint.encode(), dtype=np.uint8)
    return {
        "rules_facts": facts,
        "rules_fingerprint": name,
        **{f"rules_{name}": getattr(rules, name) for name in _ARRAYS},
    }


def unpack_rules(arrays: Mapping[str, npt.NDArray[np.generic]]) -> TokenizationRules | None:
    """What `pack_rules` wrote, or None where nothing was."""
    if "rules_facts" not in arrays:
        return None
    facts: dict[str, Any] = json.loads(arrays["rules_facts"].tobytes())
    rules = TokenizationRules(
        family=cast(Family, facts["family"]),
        ignore_merges=facts["ignore_merges"],
        pre_tokenizer=tuple(tuple(step) for step in facts["pre_tokenizer"]),
        added={content: AddedToken(*token) for content, token in facts["added"].items()},
        unknown_score=facts["unknown_score"],
        normalizer=facts["normalizer"],
        **cast(Any, {name: arrays[f"rules_{name}"] for name in _ARRAYS}),
    )
    rules._known.append(arrays["rules_fingerprint"].tobytes().decode())
    return rules


def _facts(rules: TokenizationRules) -> str:
    return json.dumps(
        {
            "family": rules.family,
            "ignore_merges": rules.ignore_merges,
            "pre_tokenizer": rules.pre_tokenizer,
            "added": dict(rules.added),
            "unknown_score": rules.unknown_score,
            "normalizer": rules.normalizer,
        }
    )
