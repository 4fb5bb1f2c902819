"""Reading tokenization rules out of tokenizers: tokenizer.json, tiktoken ranks, SentencePiece pieces.

Whatever the form, merges are brought to one: the merge that completes each token when its own bytes are encoded. For
ranks (tiktoken, Tekken) and pieces (SentencePiece) every split into two tokens is offered first, in order of rank, and
encoding each token with them shows which split is real. The others are never carried out in any text: the merges inside
a token's span are those of the token alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tokenizer_align.canonical.rules import AddedToken, IntArray, Step, TokenizationRules
from tokenizer_align.tokenizers.byte_level import CHARACTER_OF_BYTE
from tokenizer_align.tokenizers.fidelity import Part, flatten
from tokenizer_align.tokenizers.mid_text import without_prefix
from tokenizer_align.tokenizers.sentencepiece_bpe import BLANK, fallback_byte

__all__ = ["rules_of_backend", "rules_of_pieces", "rules_of_ranks"]

_N_CODE_POINTS = 0x110000
_NO_BYTES = np.full(256, -1, np.int32)


def rules_of_backend(data: dict[str, Any], is_byte_level: bool, text_ids: set[int]) -> TokenizationRules | None:
    """The rules of a tokenizer.json; None where its normalizer already writes the byte alphabet.

    Args:
        data: the parsed JSON.
        is_byte_level: whether its pieces are written in the byte alphabet.
        text_ids: ids of added tokens that are ordinary text.
    """
    model = data["model"]
    added = {str(token["content"]): _added_token(token, text_ids) for token in data["added_tokens"]}
    if any(part["type"] == "ByteLevel" for part in flatten(data["normalizer"])):
        return None
    normalizer, writes_blanks = _normalizer(data["normalizer"])
    steps = _steps(data["pre_tokenizer"], writes_blanks)
    if model["type"] == "Unigram":
        return _unigram_rules(model, steps, added, normalizer)
    vocab: dict[str, int] = {str(piece): int(i) for piece, i in model["vocab"].items()}
    if is_byte_level:
        initial = [(byte, vocab.get(chr(code), -1)) for byte, code in CHARACTER_OF_BYTE.items()]
        table = _table((code, vocab.get(chr(code), -1)) for code in CHARACTER_OF_BYTE.values())
        byte_ids = _NO_BYTES
    else:
        initial = _characters(vocab)
        table = _table((ord(BLANK) if code == 0x20 else code, i) for code, i in initial)
        byte_ids = _byte_ids(vocab) if model.get("byte_fallback") else _NO_BYTES
    pairs = [_pair(merge) for merge in model["merges"]]
    rows = np.array(
        [(vocab[left], vocab[right], vocab[left + right]) for left, right in pairs], dtype=np.int32
    ).reshape(-1, 3)
    ids = np.fromiter(vocab.values(), np.int32, len(vocab))
    merges, _ = _carried_out(rows, list(vocab), ids, table)
    return TokenizationRules(
        family="byte_level_bpe" if is_byte_level else "sentencepiece_bpe",
        merges=merges,
        initial=_sorted_rows(initial),
        byte_ids=byte_ids,
        ignore_merges=bool(model.get("ignore_merges")),
        pre_tokenizer=steps,
        added=added,
        normalizer=normalizer,
    )


def rules_of_ranks(
    ranks: Mapping[bytes, int], pattern: str, added: Mapping[str, AddedToken], first_id: int = 0
) -> TokenizationRules:
    """The rules of byte-level BPE given by ranks (tiktoken); the id of a token is its rank plus `first_id`."""
    splits = []
    get = ranks.get
    for token, rank in ranks.items():
        for cut in range(1, len(token)):
            left = get(token[:cut])
            if left is not None:
                right = get(token[cut:])
                if right is not None:
                    splits.append((left, right, rank))
    rows = np.array(splits, dtype=np.int32).reshape(-1, 3)
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    initial = [(byte, ranks.get(bytes([byte]), -1)) for byte in range(256)]
    pieces = [token.decode("latin-1") for token in ranks]
    merges, _ = _carried_out(rows, pieces, np.fromiter(ranks.values(), np.int32, len(ranks)), _table(initial))
    initial_rows = _sorted_rows(initial)
    initial_rows[:, 1] += first_id
    return TokenizationRules(
        family="byte_level_bpe",
        merges=merges + np.int32(first_id),
        initial=initial_rows,
        byte_ids=_NO_BYTES,
        ignore_merges=True,  # tiktoken looks a whole piece up before it merges
        pre_tokenizer=(("split", pattern, "Isolated", False),),
        added=dict(added),
    )


def rules_of_pieces(
    pieces: Mapping[str, int], scores: Sequence[float], byte_ids: IntArray, added: Mapping[str, AddedToken]
) -> TokenizationRules:
    """The rules of a SentencePiece BPE model: any two pieces merge into a third, the best score first.

    Args:
        pieces: normal piece -> id, blanks written "▁".
        scores: of every id.
    """
    splits = []
    get = pieces.get
    for piece, i in pieces.items():
        for cut in range(1, len(piece)):
            left = get(piece[:cut])
            if left is not None:
                right = get(piece[cut:])
                if right is not None:
                    splits.append((-scores[i], left, right, i))
    splits.sort()
    rows = np.array([split[1:] for split in splits], dtype=np.int32).reshape(-1, 3)
    _, ranks = np.unique([split[0] for split in splits], return_inverse=True)
    initial = _characters(pieces)
    table = _table((ord(BLANK) if code == 0x20 else code, i) for code, i in initial)
    ids = np.fromiter(pieces.values(), np.int32, len(pieces))
    merges, kept = _carried_out(rows, list(pieces), ids, table, ranks.astype(np.int32))
    _, dense = np.unique(kept, return_inverse=True)
    return TokenizationRules(
        family="sentencepiece_bpe",
        merges=merges,
        ranks=dense.astype(np.int32),
        initial=_sorted_rows(initial),
        byte_ids=byte_ids,
        ignore_merges=False,
        pre_tokenizer=(),
        added=dict(added),
    )


def _added_token(token: dict[str, Any], text_ids: set[int]) -> AddedToken:
    i = int(token["id"])
    flags = {name: bool(token.get(name)) for name in ("lstrip", "rstrip", "single_word", "normalized")}
    return AddedToken(i, bool(token["special"]), i in text_ids, **flags)


def _unigram_rules(
    model: dict[str, Any], steps: tuple[Step, ...], added: dict[str, AddedToken], normalizer: str | None
) -> TokenizationRules:
    pieces = {str(piece): i for i, (piece, _) in enumerate(model["vocab"])}
    scores = np.array([score for _, score in model["vocab"]], dtype=np.float64)
    lowest = float(scores.min()) if len(scores) else 0.0
    byte_ids = _byte_ids(pieces) if model.get("byte_fallback") else _NO_BYTES

    def is_added(piece: str) -> bool:
        return piece in added and not added[piece].single_word  # within a word that one is a piece like any other

    for piece, i in pieces.items():
        # Never the piece of a text: byte pieces spell bytes, added tokens are matched before, blanks are written "▁".
        if i == model.get("unk_id") or fallback_byte(piece) is not None or is_added(piece) or " " in piece or not piece:
            scores[i] = np.nan
    return TokenizationRules(
        family="unigram",
        merges=np.empty((0, 3), np.int32),
        initial=_sorted_rows([(code, i) for code, i in _characters(pieces) if not np.isnan(scores[i])]),
        byte_ids=byte_ids,
        ignore_merges=False,
        pre_tokenizer=steps,
        added=added,
        scores=scores,
        unknown_score=lowest - 10.0,  # the tokenizers library's penalty, as SentencePiece's
        normalizer=normalizer,
    )


def _carried_out(
    merges: IntArray, pieces: list[str], ids: IntArray, table: IntArray, ranks: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """The merges that complete a token when its own symbols are merged, and their ranks: (int32[n, 3], int32[n])."""
    from tokenizer_align.canonical.bpe_kernels import NO_ROW, last_merges, merge_table

    codes = np.frombuffer("".join(pieces).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=starts[1:])
    last = np.empty(len(pieces), np.int32)
    keys, rows = merge_table(merges)
    if ranks is None:
        ranks = np.arange(len(merges), dtype=np.int32)
    last_merges(table[codes], starts, ids, merges, ranks, keys, rows, last)
    kept = np.sort(last[last != NO_ROW])
    return np.ascontiguousarray(merges[kept]), ranks[kept]


def _table(pairs: Any) -> IntArray:
    """Code point -> symbol, -1 where there is none: int32[0x110000]."""
    table = np.full(_N_CODE_POINTS, -1, np.int32)
    for code, i in pairs:
        table[code] = i
    return table


def _characters(pieces: Mapping[str, int]) -> list[tuple[int, int]]:
    """(code point, id) of the pieces of one character, "▁" as a blank."""
    return [
        (0x20 if piece == BLANK else ord(piece), i) for piece, i in pieces.items() if len(piece) == 1 and piece != " "
    ]


def _byte_ids(pieces: Mapping[str, int]) -> IntArray:
    return np.array([pieces.get(f"<0x{byte:02X}>", -1) for byte in range(256)], dtype=np.int32)


def _sorted_rows(pairs: list[tuple[int, int]]) -> IntArray:
    rows: npt.NDArray[np.int32] = np.array(sorted(pair for pair in pairs if pair[1] >= 0), dtype=np.int32)
    return rows.reshape(-1, 2)


def _pair(merge: str | list[str]) -> tuple[str, str]:
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right


def _normalizer(part: Part | None) -> tuple[str | None, bool]:
    """(what is left of a normalizer besides prefix and blanks as JSON, whether it writes blanks as "▁")."""
    parts = flatten(without_prefix(part))
    kept = [one for one in parts if not _is_blank_rule(one)]
    text = json.dumps({"type": "Sequence", "normalizers": kept}) if kept else None
    return text, len(kept) < len(parts)


def _is_blank_rule(part: Part) -> bool:
    return part["type"] == "Replace" and (part["pattern"].get("String"), part["content"]) == (" ", BLANK)


def _steps(part: Part | None, writes_blanks: bool) -> tuple[Step, ...]:
    """The steps of a pre-tokenizer; a split at blanks that the normalizer has written "▁" already is none."""
    steps: list[Step] = []
    for one in flatten(without_prefix(part)):
        kind = one["type"]
        if kind == "Split":
            ((form, pattern),) = one["pattern"].items()
            if form == "String" and pattern == " " and writes_blanks:
                continue
            text = _escape(pattern) if form == "String" else pattern
            steps.append(("split", text, str(one["behavior"]), bool(one["invert"])))
        elif kind == "Digits":
            steps.append(("digits", bool(one["individual_digits"])))
        elif kind == "ByteLevel":
            steps.append(("byte_level", False, bool(one.get("use_regex", True))))
        elif kind == "Punctuation":
            steps.append(("punctuation", str(one["behavior"])))
        elif kind == "Metaspace":
            steps.append(("metaspace", bool(one.get("split", True))))
        elif kind == "UnicodeScripts":
            steps.append(("scripts",))
        elif kind == "FixedLength":
            steps.append(("length", int(one["length"])))
        else:
            steps.append(("unknown", json.dumps(one)))
    return tuple(steps)


def _escape(text: str) -> str:
    return "".join("\\" + character if character in r"\.^$*+?{}[]()|-/#" else character for character in text)
