"""What cannot be a vocabulary, a number of rows or an end id is refused by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.tiny import tiny_tokenizer
from tokenizer_align.errors import VocabularyError
from tokenizer_align.vocabulary import Vocabulary


def test_protocol_that_gives_text_is_refused() -> None:
    with pytest.raises(VocabularyError, match="expected bytes or None"):
        Vocabulary.from_tokenizer(SimpleNamespace(n_rows=1, id_to_bytes=lambda i: "a"), cache=None)


@pytest.mark.parametrize("rows", [0, -1, "a", 3.5, True])
def test_a_number_of_rows_that_is_none_is_refused(rows: Any) -> None:
    with pytest.raises(VocabularyError, match="n_rows"):
        Vocabulary.from_tokenizer(tiny_tokenizer(), n_rows=rows, cache=None)
    with pytest.raises(VocabularyError, match="n_rows"):
        Vocabulary.from_tokenizer(SimpleNamespace(n_rows=rows, id_to_bytes=lambda i: b"a"), cache=None)


@pytest.mark.parametrize("ends", ["a", 1.5, [1.5], [[1]], [True], [None]])
def test_end_ids_that_are_none_are_refused(ends: Any) -> None:
    with pytest.raises(VocabularyError, match="end-of-sequence"):
        Vocabulary.from_tokenizer(tiny_tokenizer(), eos_token_ids=ends, cache=None)
