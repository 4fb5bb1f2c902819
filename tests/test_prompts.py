"""Prompts in every form that people have them in."""

from __future__ import annotations

from typing import Any

import pytest

from domino_py.prompts import prompts_to_ids
from tests.tiny import tiny_tokenizer
from tokenizer_align.errors import InvalidOption

CHAT = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tiny_tokenizer()


def test_text_is_encoded_as_the_tokenizer_does_it(tokenizer: Any) -> None:
    assert prompts_to_ids("The fox", tokenizer) == ([tokenizer("The fox")["input_ids"]], False)


def test_chat_goes_through_the_template_with_the_answer_opened(tokenizer: Any) -> None:
    ids, batched = prompts_to_ids(CHAT, tokenizer)
    assert not batched
    assert tokenizer.decode(ids[0]) == "<|user|>Hi<|end|><|assistant|>"


def test_a_last_message_of_the_assistant_is_continued(tokenizer: Any) -> None:
    ids, _ = prompts_to_ids([*CHAT, {"role": "assistant", "content": "Sure: "}], tokenizer)
    assert tokenizer.decode(ids[0]).endswith("<|assistant|>Sure: ")


def test_lists_are_batches(tokenizer: Any) -> None:
    assert prompts_to_ids(["a", "b"], tokenizer)[1]
    assert prompts_to_ids([CHAT, CHAT], tokenizer)[1]
    assert prompts_to_ids([[5, 6], [7]], tokenizer) == ([[5, 6], [7]], True)
    assert prompts_to_ids([], tokenizer) == ([], True)


def test_token_ids_and_tensors_are_taken_as_they_are(tokenizer: Any) -> None:
    import torch

    assert prompts_to_ids([5, 6], tokenizer) == ([[5, 6]], False)
    assert prompts_to_ids(torch.tensor([5, 6]), tokenizer) == ([[5, 6]], False)
    assert prompts_to_ids(torch.tensor([[5, 6], [7, 8]]), tokenizer) == ([[5, 6], [7, 8]], True)


def test_a_tensor_of_one_row_is_one_prompt_and_a_list_of_one_is_a_batch(tokenizer: Any) -> None:
    import torch

    encoded = {"input_ids": torch.tensor([[5, 6]]), "attention_mask": torch.tensor([[1, 1]])}
    assert prompts_to_ids(encoded, tokenizer) == ([[5, 6]], False)
    assert prompts_to_ids(encoded["input_ids"], tokenizer) == ([[5, 6]], False)
    assert prompts_to_ids([[5, 6]], tokenizer) == ([[5, 6]], True)


def test_padding_of_a_tokenizers_output_is_left_out(tokenizer: Any) -> None:
    encoded = {"input_ids": [[0, 5, 6], [7, 8, 9]], "attention_mask": [[0, 1, 1], [1, 1, 1]]}
    assert prompts_to_ids(encoded, tokenizer) == ([[5, 6], [7, 8, 9]], True)


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        (5, "not int"),
        (None, "not NoneType"),
        ({"role": "user", "content": "Hi"}, "put it into a list"),
        ([{"role": "user"}], "'content'"),
        ("", "no tokens"),
        (["a", ""], r"prompt\[1\] has no tokens"),
        ("\ud800", "surrogate"),
        ([5, 999], "token id 999"),
        ([-1], "token id -1"),
        (["a", 5], r"prompt\[1\]"),
        ([1.5], "float"),
    ],
)
def test_unusable_prompts_say_what_is_wrong(tokenizer: Any, prompt: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        prompts_to_ids(prompt, tokenizer, 416)


def test_chat_without_a_template_says_so() -> None:
    import copy

    bare = copy.deepcopy(tiny_tokenizer())
    bare.chat_template = None
    with pytest.raises(InvalidOption, match="no chat template"):
        prompts_to_ids(CHAT, bare)


def test_bare_tokenizers_read_prompts_too() -> None:
    """Regression: an empty prompt of a `tokenizers.Tokenizer` raised TypeError."""
    backend = tiny_tokenizer().backend_tokenizer
    assert prompts_to_ids("The quick", backend)[0] == [backend.encode("The quick").ids]
    with pytest.raises(InvalidOption, match="no tokens"):
        prompts_to_ids("", backend)


def test_text_for_what_cannot_encode_it_says_so() -> None:
    with pytest.raises(InvalidOption, match="pass token ids"):
        prompts_to_ids("x", object())


def test_messages_with_lone_surrogates_are_named(tokenizer: Any) -> None:
    with pytest.raises(InvalidOption, match="message 0 of prompt holds a lone surrogate"):
        prompts_to_ids([{"role": "user", "content": "a\ud800"}], tokenizer)
