"""Flags of added tokens, as the tokenizers library follows them.

`lstrip` and `rstrip`: a match swallows the blanks beside it, which no tokens give back; so a text with one there is
never canonical. `single_word`: a match within a word is none, and is spelled like any text. `normalized`: looked for in
the normalized text, after all tokens without that flag. What several tokens make of one place of a text is not
followed: where that could be other than the leftmost, longest match, the laws are refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from tokenizer_align.canonical.code_point_sets import members
from tokenizer_align.canonical.normalizers import keeps_text
from tokenizer_align.canonical.rules import AddedToken, TokenizationRules
from tokenizer_align.errors import VocabularyError

__all__ = ["check_flags", "single_words", "swallowing"]


def single_words(rules: TokenizationRules, contents: Sequence[str]) -> list[str]:
    """The contents that are matched only where no word goes on beside them."""
    return [content for content in contents if rules.added[content].single_word]


def swallowing(rules: TokenizationRules, contents: Sequence[str]) -> list[bytes]:
    """Texts that no tokens give back: contents with a blank that their match swallows."""
    strips = [(content, rules.added[content]) for content in contents]
    if not any(token.lstrip or token.rstrip for _, token in strips):
        return []
    blanks = [chr(code) for code in np.flatnonzero(members("tokenizers", "blank")).tolist()]
    left = [blank + content for content, token in strips if token.lstrip for blank in blanks]
    right = [content + blank for content, token in strips if token.rstrip for blank in blanks]
    return [text.encode() for text in left + right]


def check_flags(rules: TokenizationRules, contents: Mapping[str, int], token_bytes: Sequence[bytes | None]) -> None:
    """`contents`: the added tokens that text may hold.

    Raises:
        VocabularyError: flags that leave open what a text's tokens are.
    """
    matched = {content: token for content, token in rules.added.items() if token.is_matched and content}
    for content, token in matched.items():
        if token.single_word and content not in contents:
            raise VocabularyError(f"its added token {content!r} is no text, but is text within a word (single_word)")
    for content in contents:
        _check_content(rules, content, matched, token_bytes)
    for one, other in combinations(contents, 2):
        if matched[one].normalized != matched[other].normalized and _meet(one, other):
            raise VocabularyError(
                f"its added tokens {one!r} and {other!r} overlap, and only one of them is looked for before the"
                " normalizer (normalized)"
            )


def _check_content(
    rules: TokenizationRules, content: str, matched: Mapping[str, AddedToken], token_bytes: Sequence[bytes | None]
) -> None:
    token = matched[content]
    if token.normalized and rules.normalizer is not None and not keeps_text(rules.normalizer, [content.encode()]):
        raise VocabularyError(f"its added token {content!r} is itself changed by the normalizer (normalized)")
    if not (token.lstrip or token.rstrip or token.single_word):
        return
    flags = ", ".join(name for name in ("lstrip", "rstrip", "single_word") if getattr(token, name))
    if token.normalized and rules.family != "byte_level_bpe":
        raise VocabularyError(f"its added token {content!r} has {flags}, in a text whose blanks are written otherwise")
    if token.single_word and (token.lstrip or token.rstrip):
        raise VocabularyError(f"its added token {content!r} has {flags}: what it swallows depends on words around it")
    if token.single_word and rules.reproduced(len(token_bytes))[token.id]:
        raise VocabularyError(f"its added token {content!r} has single_word, and is a piece of other words as well")
    others = [other for other in matched if other != content and _meet(content, other)]
    if others or _overlaps(content, content):
        raise VocabularyError(f"its added token {content!r} has {flags}, and overlaps {(others or [content])[0]!r}")
    for other, one in matched.items():
        if one.is_text and ((token.lstrip and other[-1].isspace()) or (token.rstrip and other[0].isspace())):
            raise VocabularyError(f"its added token {content!r} has {flags}, and {other!r} is matched beside it")
        if one.is_text and token.single_word and token.normalized > one.normalized and _is_word(other[0] + other[-1]):
            raise VocabularyError(f"its added token {content!r} has {flags}, and {other!r} is matched before it")


def _is_word(ends: str) -> bool:
    """Whether some of the characters belong to words."""
    return bool(members("tokenizers", "word")[[ord(char) for char in ends]].any())


def _meet(one: str, other: str) -> bool:
    """Whether matches of two contents may lie on one another."""
    return one in other or other in one or _overlaps(one, other) or _overlaps(other, one)


def _overlaps(first: str, second: str) -> bool:
    """Whether a proper end of the first is a proper beginning of the second."""
    return any(first.endswith(second[:n]) for n in range(1, min(len(first), len(second))))
