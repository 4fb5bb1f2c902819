"""The tokenizer's own ids of a text that follows other tokens."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizer_align.vocabulary import Vocabulary

__all__ = ["canonical_between", "canonical_ids", "misplaced_tokens", "noncanonical_positions"]

_MAX_CONTEXT_BYTES = 1024  # merges and pre-tokens that matter at the seam do not reach back further in practice


def canonical_ids(vocabulary: Vocabulary, text: bytes, context: Sequence[int] = ()) -> tuple[int, ...] | None:
    """The ids that the tokenizer gives to `text` behind the ids of `context`, which stay as they are.

    Where the tokenizer would join the end of the context with the text's beginning, the bytes up to the end of that
    token are encoded by themselves. None where there is no encoder, or the text ends inside a character.

    >>> # context "Answer: ", text "true.": the tokenizer writes "Answer", ":", " true", "."; given: "true", "."
    """
    if vocabulary.encode is None:
        return None
    before = _open_text(vocabulary, context)
    try:
        whole = vocabulary.encode((before + text).decode())
        ids, place = [], 0
        for token in whole:
            start, place = place, place + len(vocabulary.token_bytes[token] or b"")
            if start >= len(before):
                ids.append(token)
            elif place > len(before):  # a token across the seam
                ids.extend(vocabulary.encode((before + text)[len(before) : place].decode()))
        if place == len(before) + len(text):
            return tuple(ids)
        return tuple(vocabulary.encode(text.decode()))  # bytes that no token has were left out
    except UnicodeDecodeError:
        return _encode_alone(vocabulary, text)


def canonical_between(
    vocabulary: Vocabulary, ids: Sequence[int], context: Sequence[int] = ()
) -> tuple[int, ...] | None:
    """The same for the text of `ids`, in which ids that are no text (markers) stay where they are: what stands behind
    one is encoded by itself."""
    found: list[int] = []
    start = 0
    for at in range(len(ids) + 1):
        if at == len(ids) or not vocabulary.token_bytes[ids[at]]:
            part = canonical_ids(vocabulary, vocabulary.decode(ids[start:at]), context)
            if part is None:
                return None
            found += (*part, *ids[at : at + 1])
            start, context = at + 1, ()
    return tuple(found)


def noncanonical_positions(
    vocabulary: Vocabulary, ids: Sequence[int], context: Sequence[int] = ()
) -> tuple[int, ...] | None:
    """Indices of the tokens that are not in the tokenizer's own encoding at their place in the text; None: not known.

    >>> # "ab" written a, b where the tokenizer writes ab: (0, 1)
    """
    expected = canonical_ids(vocabulary, vocabulary.decode(ids), context)
    return None if expected is None else misplaced_tokens(vocabulary, ids, expected)


def misplaced_tokens(vocabulary: Vocabulary, ids: Sequence[int], expected: Sequence[int]) -> tuple[int, ...]:
    """Indices of the tokens of `ids` that another writing of the same bytes does not have at the same byte."""
    places = set(zip(_starts(vocabulary, expected), expected, strict=True))
    starts = _starts(vocabulary, ids)
    return tuple(i for i, place in enumerate(zip(starts, ids, strict=True)) if place not in places)


def _starts(vocabulary: Vocabulary, ids: Sequence[int]) -> list[int]:
    starts, place = [], 0
    for token in ids:
        starts.append(place)
        place += len(vocabulary.token_bytes[token] or b"")
    return starts


def _open_text(vocabulary: Vocabulary, context: Sequence[int]) -> bytes:
    """The bytes of the context since its last id that is no text, but not many more than matter."""
    parts: list[bytes] = []
    n_bytes = 0
    for token in reversed(context):
        data = vocabulary.token_bytes[token] if 0 <= token < vocabulary.n_rows else None
        if not data or n_bytes > _MAX_CONTEXT_BYTES:
            break
        parts.append(data)
        n_bytes += len(data)
    found = b"".join(reversed(parts))
    n_inside = next((i for i, byte in enumerate(found[:4]) if byte & 0xC0 != 0x80), 0)
    return found[n_inside:]


def _encode_alone(vocabulary: Vocabulary, text: bytes) -> tuple[int, ...] | None:
    try:
        return tuple(vocabulary.encode(text.decode())) if vocabulary.encode is not None else None
    except UnicodeDecodeError:
        return None
