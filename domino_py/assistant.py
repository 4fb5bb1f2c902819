"""`assistant_model`: whether a draft model fits the model's tokenizer, found out before any pass."""

from __future__ import annotations

from domino_py.options import Options
from speculative.drafts.model import check_draft_model
from tokenizer_align.errors import InvalidOption
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["check_assistant"]


def check_assistant(options: Options, vocabulary: Vocabulary) -> None:
    """Raise InvalidOption for an assistant that cannot draft: no causal model, another tokenizer, no way back.

    Without `assistant_tokenizer` only the number of output rows can be compared: a draft model of another tokenizer
    that has enough of them is useless, but changes no token.
    """
    if options.assistant_model is None:
        if options.assistant_tokenizer is not None:
            raise InvalidOption("assistant_tokenizer", "assistant_tokenizer says nothing without assistant_model.")
        return
    check_draft_model(options.assistant_model, vocabulary)
    if options.assistant_tokenizer is not None:
        _compare(Vocabulary.from_tokenizer(options.assistant_tokenizer, model=options.assistant_model), vocabulary)


def _compare(theirs: Vocabulary, ours: Vocabulary) -> None:
    """Raise InvalidOption where an id means other bytes to the assistant."""
    for token, data in enumerate(ours.token_bytes):
        other = theirs.token_bytes[token] if token < len(theirs.token_bytes) else None
        if data != other:
            raise InvalidOption(
                "assistant_tokenizer",
                f"assistant_tokenizer is another tokenizer: id {token} is {_shown(data)} to the model and "
                f"{_shown(other)} to the assistant. A draft model must share the tokenizer of the model.",
            )


def _shown(data: bytes | None) -> str:
    return "no text" if data is None else repr(data)
