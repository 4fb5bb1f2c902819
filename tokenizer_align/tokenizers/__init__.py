"""Reading tokenizers as bytes: one file a family, found by what an object is, not by what it calls itself.

`open_tokenizer` accepts transformers tokenizers (fast, SentencePiece and mistral-common ones), `tokenizers.Tokenizer`,
`tiktoken.Encoding`, `sentencepiece.SentencePieceProcessor`, mistral-common objects, and anything with `n_rows` and
`id_to_bytes`. Third-party packages are imported only by the objects given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.protocol import BytesTokenizer
from tokenizer_align.tokenizers.table import Encoder, TokenTable

__all__ = ["BytesTokenizer", "TokenTable", "TokenizerSource", "open_tokenizer"]


@dataclass(frozen=True, slots=True)
class TokenizerSource:
    """A tokenizer that is recognized but not yet read.

    key: SHA-256 over everything that `read` depends on.
    read: gives the table (costs up to a second).
    encoder: gives the mid-text encoder alone, for a table that comes from the cache; takes its special ids.
    backend: the `tokenizers.Tokenizer`, where there is one.
    """

    name: str
    key: str
    read: Callable[[], TokenTable]
    encoder: Callable[[frozenset[int]], Encoder | None]
    eos_token_ids: tuple[int, ...]


def open_tokenizer(tokenizer: Any) -> TokenizerSource:
    """Recognize a tokenizer.

    Raises:
        VocabularyError: an object of no known kind; the message says what to pass instead.
    """
    backend = backend_of(tokenizer)
    if backend is not None:
        return _backend_source(tokenizer, backend)
    return _table_source(_read_other(tokenizer))


def backend_of(tokenizer: Any) -> Any | None:
    """The `tokenizers.Tokenizer` inside a transformers tokenizer (or the object itself), or None."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None and type(tokenizer).__module__.split(".")[0] == "tokenizers":
        backend = tokenizer
    return backend if hasattr(backend, "to_str") and hasattr(backend, "get_added_tokens_decoder") else None


def end_ids(value: Any) -> tuple[int, ...]:
    """End-of-sequence ids as transformers writes them: an id, a list (or tensor) of ids, or None.

    Raises:
        VocabularyError: something else.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    ids = () if value is None else value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    if any(isinstance(i, bool) or not isinstance(i, Integral) for i in ids):
        raise VocabularyError(f"end-of-sequence ids are {value!r}, expected a token id or a list of token ids")
    return tuple(int(i) for i in ids)


def _backend_source(tokenizer: Any, backend: Any) -> TokenizerSource:
    from tokenizer_align.tokenizers import huggingface
    from tokenizer_align.tokenizers.mid_text import MidTextEncoder

    try:
        serialized = str(backend.to_str())
    except Exception as error:  # a component written in Python cannot be serialized; the library raises bare Exception
        raise VocabularyError(
            f"the tokenizer cannot be read: {error}. Pass an object with n_rows and id_to_bytes."
        ) from error
    name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
    return TokenizerSource(
        name=name,
        key=hashlib.sha256(serialized.encode()).hexdigest(),
        read=lambda: huggingface.read_backend(backend, serialized, name),
        encoder=lambda special_ids: MidTextEncoder.of_backend(backend, special_ids),
        eos_token_ids=end_ids(getattr(tokenizer, "eos_token_id", None)),
    )


def _table_source(table: TokenTable) -> TokenizerSource:
    digest = hashlib.sha256()
    for data in table.token_bytes:
        digest.update(b"-" if data is None else len(data).to_bytes(4, "big") + data)
    rest = [sorted(table.special_ids), sorted(table.added.items()), table.losses, table.limits, table.rules_key]
    digest.update(json.dumps(rest).encode())
    return TokenizerSource(
        name=table.name,
        key=digest.hexdigest(),
        read=lambda: table,
        encoder=lambda special_ids: table.encode,
        eos_token_ids=table.eos_token_ids,
    )


def _read_other(tokenizer: Any) -> TokenTable:
    from tokenizer_align.tokenizers import mistral_common, protocol, sentencepiece_bpe, tiktoken_ranks

    inner = mistral_common.inner_tokenizer(tokenizer)
    if inner is not None:
        return mistral_common.read_mistral(inner)
    processor = getattr(tokenizer, "sp_model", tokenizer)
    if hasattr(processor, "serialized_model_proto"):
        table = sentencepiece_bpe.read_processor(processor)
        table.eos_token_ids += end_ids(getattr(tokenizer, "eos_token_id", None))
        return table
    if hasattr(tokenizer, "_mergeable_ranks") and hasattr(tokenizer, "encode_ordinary"):
        return tiktoken_ranks.read_encoding(tokenizer)
    if isinstance(tokenizer, BytesTokenizer):
        return protocol.read_protocol(tokenizer)
    kind = f"{type(tokenizer).__module__}.{type(tokenizer).__qualname__}"
    raise VocabularyError(
        f"{kind} is not a tokenizer that can be read as bytes. Pass a fast tokenizer of transformers, a"
        " tiktoken.Encoding, a SentencePieceProcessor, a mistral-common tokenizer, or an object with `n_rows` and"
        " `id_to_bytes(i) -> bytes | None`."
    )
