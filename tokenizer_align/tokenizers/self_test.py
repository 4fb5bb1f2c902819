"""The load-time self-test: difficult texts are encoded, and the joined bytes must give back the text.

It catches a reader that misjudged a decoder, a tokenizer whose parts do not fit together, and ids that were dropped.
Fixed texts hold what has gone wrong in real tokenizers; drawn ones (always the same) reach what nobody thought of.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.table import TokenTable

__all__ = ["check_round_trip", "difficult_texts"]

_FIXED = (
    "Hello, world! It's John's 1st café.",
    "  leading, trailing  and   inner blanks   ",
    "\n\n  \t mixed\r\nlines\r\n\x0b\x0c end\n",
    '{"name": "Ada", "ids": [1, 23, 4567], "ok": true, "x": null}\n  {"a":{"b":[[]]}},',
    "def f(x):\n\treturn x**2  # naïve\n\n\n    pass\n",
    "中文字符，日本語テキスト、한국어 문장。",
    "👩‍👩‍👧‍👦 🇫🇷🏳️‍🌈 👍🏽 ☕️",
    "e\u0301 a\u030a n\u0303 \u1e69 ﬁ ① ½ ² Ａ",
    "Ġ Ċ Ã© <0x41> <0x0A> <s> </s> <unk> <|im_end|> [INST] <think>",
    "\x00\x01\x02\x7f\u0080\u00a0\u200b\u200d\u2028\ufeff\ufffd",
    "\u0633\u0644\u0627\u0645 \u05e9\u05dc\u05d5\u05dd \u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a",
    "\U00010348\U0001d11e\U0002a6b2\U000e0041\U000f0000\U0010fffd",
    "\\u00e9 \\n \\\\ \\\" \\/ 'tis ''s \"'re\" -1.5e+10 0000 1234567890",
)
_RANGES: tuple[tuple[int, int], ...] = (
    (0x20, 0x7E),
    (0x20, 0x7E),
    (0x00, 0x1F),
    (0xA0, 0x17F),
    (0x370, 0x5FF),
    (0x900, 0xE7F),
)
_RANGES += (
    (0x2000, 0x2BFF),
    (0x3040, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xE000, 0xFFFD),
    (0x1F300, 0x1FAFF),
    (0x10000, 0x10FFFF),
)


def difficult_texts(n_drawn: int = 60) -> list[str]:
    """The fixed texts and `n_drawn` drawn ones of 1 to 24 characters, the same at every call."""
    draw = random.Random(20240814)
    texts = list(_FIXED)
    for _ in range(n_drawn):
        ranges = [draw.choice(_RANGES) for _ in range(2)]
        texts.append("".join(chr(draw.randint(*draw.choice(ranges))) for _ in range(draw.randint(1, 24))))
    return texts


def check_round_trip(table: TokenTable, texts: Iterable[str] | None = None) -> None:
    """Encode texts and compare the joined bytes with the text, less the bytes that no token has.

    Raises:
        VocabularyError: the first text that does not come back, with what came instead.
    """
    if table.encode is None:
        return
    single = {data for data in table.token_bytes if data is not None and len(data) == 1}
    missing = bytes(byte for byte in range(256) if bytes([byte]) not in single)
    for text in difficult_texts() if texts is None else texts:
        ids = table.encode(text)
        got = b"".join(table.token_bytes[i] or b"" for i in ids)
        expected = table.normalize(text).encode()
        if got != expected and got.translate(None, missing) != expected.translate(None, missing):
            raise VocabularyError(
                f"{table.name}: self-test failed. The text {text!r} was encoded as {ids[:40]}, whose bytes are {got!r},"
                f" expected {expected!r}. Its decoder or normalizer is not what it seems; pass an object with `n_rows`"
                " and `id_to_bytes(i) -> bytes | None` instead."
            )
