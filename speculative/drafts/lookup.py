"""Look-up: the text being written continues as something that was read before: in the prompt, here, or earlier.

The last bytes of the output are searched in the source text; what stood behind the longest match is proposed, in
canonical tokens. Bytes and not tokens are matched, since a name inside JSON quotes has other tokens than the same name
after a blank. Free values are copied so from the prompt (extraction), whole stretches from earlier outputs of the same
constraint (records of a batch).
"""

from __future__ import annotations

from collections.abc import Sequence

from speculative.drafts import Draft, DraftContext
from speculative.drafts.determined import runs_of
from speculative.protocols import VocabularyLike

__all__ = ["PromptLookup", "RecentOutputs", "find_continuation"]

_LONGEST_MATCH = 48  # bytes
_PROPOSED = 64  # bytes
_MAX_PROMPT = 1 << 17
_MAX_WRITTEN = 1 << 10  # tokens


def find_continuation(source: bytes, tail: bytes, shortest: int) -> tuple[int, bytes] | None:
    """Find where `source` holds the longest end of `tail` and goes on; the latest such place.

    Returns (bytes that match, the bytes behind them); None where fewer than `shortest` match.

    Example: `find_continuation(b"Ada Lovelace, Ada Byron", b'"name": "Ada ', 3)` is `(4, b"Byron")`.
    """
    if len(tail) < shortest:
        return None
    end = tail[-shortest:]
    best, place = 0, -1
    at = source.rfind(end, 0, len(source) - 1) if source else -1
    tries = 0
    while at >= 0 and tries < 64:
        length = shortest
        while (
            length < min(len(tail), at + shortest, _LONGEST_MATCH)
            and source[at + shortest - length - 1] == tail[-length - 1]
        ):
            length += 1
        if length > best and at + shortest < len(source):
            best, place = length, at + shortest
        at = source.rfind(end, 0, at + shortest - 1)
        tries += 1
    return None if place < 0 else (best, source[place : place + _PROPOSED])


class _Lookup:
    """What both sources do: find, encode, label by how long the match is."""

    name = "lookup"

    def __init__(self, vocabulary: VocabularyLike, shortest: int) -> None:
        self._vocabulary, self._runs, self._shortest = vocabulary, runs_of(vocabulary), shortest

    def _tail(self, output_ids: Sequence[int]) -> bytes:
        table, data = self._vocabulary.token_bytes, b""
        for token in reversed(output_ids):
            data = (table[token] or b"") + data
            if len(data) >= _LONGEST_MATCH:
                break
        return data

    def _draft(self, source: bytes, context: DraftContext, limit: int) -> Sequence[Draft]:
        found = find_continuation(source, self._tail(context.output_ids), self._shortest)
        if found is None:
            return ()
        n_matching, following = found
        ids = self._runs.encode(context.output_ids, _whole_characters(following))[:limit]
        kinds = []
        for token in ids:  # where the first ones are right, the match has grown by them
            kinds.append(f"match{min(n_matching, 32).bit_length()}")
            n_matching += len(self._vocabulary.token_bytes[token] or b"")
        return [Draft(self.name, ids, tuple(kinds))] if ids else ()


class PromptLookup(_Lookup):
    """The draft source that copies from the prompt and from what the text itself has said before."""

    name = "prompt"

    def __init__(self, vocabulary: VocabularyLike) -> None:
        super().__init__(vocabulary, shortest=3)
        self._prompts: dict[int, tuple[Sequence[int], bytes]] = {}

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        written = self._vocabulary.decode(context.output_ids[-_MAX_WRITTEN:])
        return self._draft(self._text(context) + b"\n" + written, context, limit)

    def _text(self, context: DraftContext) -> bytes:
        found = self._prompts.get(context.row)
        if found is None or found[0] is not context.prompt_ids:
            data = self._vocabulary.decode(context.prompt_ids)[-_MAX_PROMPT:]
            found = self._prompts[context.row] = (context.prompt_ids, data)
        return found[1]


class RecentOutputs(_Lookup):
    """The draft source that copies from earlier outputs of the same constraint."""

    name = "recent"

    def __init__(self, vocabulary: VocabularyLike) -> None:
        super().__init__(vocabulary, shortest=6)

    def propose(self, context: DraftContext, limit: int) -> Sequence[Draft]:
        texts = context.memory.recent if context.memory is not None else ()
        return self._draft(b"\n".join(texts), context, limit) if texts else ()


def _whole_characters(data: bytes) -> bytes:
    """The bytes without an unfinished character at the end."""
    return data.decode("utf-8", "ignore").encode()
