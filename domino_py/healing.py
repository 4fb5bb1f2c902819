"""Healing a prompt: its last tokens are written anew, together with the text that would have merged with them.

A prompt that ends in "Answer: " ends in a token for the blank, while the tokenizer writes " yes" as one. The last token
is given back, and its bytes stand in front of the constraint.
"""

from __future__ import annotations

from collections.abc import Sequence

from domino_py.compilation import compiled_for
from domino_py.constraints.base import Constraint
from domino_py.constraints.choice import choice
from tokenizer_align.canonical.healing import n_open_tokens
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["heal"]


def heal(
    prompt_ids: Sequence[int], constraint: Constraint, vocabulary: Vocabulary
) -> tuple[list[int], Constraint, bytes]:
    """The prompt without the tokens given back, the constraint behind their bytes, and these bytes.

    Nothing is given back where a text begins a pre-token in any case, or where the tokenizer's rules are not known.
    """
    ids = list(prompt_ids)
    n = n_open_tokens(compiled_for(constraint, vocabulary, "aligned"), ids)
    front = b"".join(vocabulary.token_bytes[token] or b"" for token in ids[len(ids) - n :])
    try:
        text = front.decode("utf-8")
    except UnicodeDecodeError:
        return ids, constraint, b""
    return (ids[:-n], choice([text]) + constraint, front) if text else (ids, constraint, b"")
