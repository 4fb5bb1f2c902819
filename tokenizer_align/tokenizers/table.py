"""What every family's reader returns: a tokenizer as bytes per id, before rows, end ids and the trie are settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tokenizer_align.canonical.rules import TokenizationRules

__all__ = ["TokenTable", "is_text_like"]

Encoder = Callable[[str], list[int]]

# Gemma keeps such tags as "user defined" pieces: matched whole, yet ordinary text. Not "s": "</s>" ends texts.
_HTML_TAGS = """
a b bbox blockquote body br caption code div em footer h1 h2 h3 h4 h5 h6 hr html i iframe img li ol p pre span strong
sub sup table tbody td tfoot th thead tr u ul
"""
_HTML_NAMES = frozenset(_HTML_TAGS.split())


@dataclass(slots=True)
class TokenTable:
    """A tokenizer reduced to what masks need.

    token_bytes: bytes per id; None for ids that stand for no text (special, control, unused, unknown).
    added: content -> id of every added token, special or not; to be named by a constraint.
    encode: encoding of text from the middle of a longer one: no special tokens, no prefix space.
    normalize: what `encode` does to a text before it looks at it, for the self-test.
    losses: why `encode` may not give back a text; non-empty tables are refused unless the caller accepts it.
    limits: what the user of the vocabulary must know.
    rules: gives the tokenization rules (costs up to seconds), None where they are not known.
    rules_key: what the rules depend on besides the bytes.
    """

    name: str
    token_bytes: list[bytes | None]
    special_ids: frozenset[int] = frozenset()
    added: dict[str, int] = field(default_factory=dict)
    eos_token_ids: tuple[int, ...] = ()
    encode: Encoder | None = None
    normalize: Callable[[str], str] = str
    losses: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    rules: Callable[[], TokenizationRules | None] | None = None
    rules_key: str = ""


def is_text_like(content: str, special: bool) -> bool:
    r"""Whether an added token is ordinary text that the tokenizer merely matches whole.

    Gemma adds "\n", "\t\t", runs of blanks and HTML tags this way, DeepSeek-LLM the letter "ø"; without them the
    model's own way of writing a new line would be illegal. Markers such as "<think>" or "<unused5>" are not text.
    """
    if special or not content:
        return False
    if content.isspace() or content.strip("▁") == "" or content.isalnum() or len(content) == 1:
        return True
    name = content.removeprefix("<").removeprefix("/").removesuffix(">")
    return content in (f"<{name}>", f"</{name}>") and name in _HTML_NAMES
