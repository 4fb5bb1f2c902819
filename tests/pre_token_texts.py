"""Difficult texts for pre-tokenizers: scripts, blanks of all kinds, digits, contractions, code, JSON."""

from __future__ import annotations

import inspect
import json
import json.decoder
import random

from tokenizer_align.tokenizers.self_test import difficult_texts

__all__ = ["hard_texts"]

_PARTS = (
    *("abcdefgh", "ABCXYZ", "0123456789", " ", "  ", "\t", "\n", "\r\n", "\r", "\xa0", "\u3000", "\u2003\u2028\u202f"),
    *(
        "\x85\x0b\x0c\u1680",
        "'",
        "'s",
        "'re",
        "'LL",
        "'ſ",
        "’s",
        "é",
        "ß",
        "Ñ",
        "ж",
        "Я",
        "ǅ",
        "ʰ",
        "ª",
        "中文",
        "日本",
    ),
    *(
        "ひらカナ",
        "한국",
        "नमस्ते",
        "ำ",
        "สวัสดี",
        "سلام",
        "שלום",
        "٣",
        "½",
        "²",
        "Ⅷ",
        "①",
        "๓",
        "👩‍👩‍👧",
        "👍🏽",
        "🇫🇷",
        "☕️",
    ),
    *("\u0301", "\u200d", "\ufeff", "_", "-", ".", ",", "!?", "/", "\\", '"', "{", "}", "[", "]", ":", "$", "+", "="),
    *("<", ">", "#", "@", "€", "√", "→", "\x00", "\x7f", "\ue000", "\U000f0000", "\U0010ffff", "\u0378", "𝒜", "𐐀"),
    # Assigned by Unicode 16 and 17, unassigned for engines that know less.
    *(
        "\u088f",
        "\ua7ce",
        "\U00011de0",
        "\U0002b73a",
        "ﬁ",
        "ﬆ",
        "ʼn",
        "İ",
        "ı",
        "K",
        "龥",
        "龦",
        "々",
        "ー",
        "・",
        "。",
        "、",
    ),
)
_WORDS = (
    *(
        "don't",
        "I'll",
        "we've",
        "it's",
        "THE'S",
        "HelloWorld",
        "camelCase",
        "snake_case",
        "X.509",
        "foo(bar)",
        "return",
    ),
    *(
        "true",
        "null",
        "123,456.78",
        "3.14e-10",
        "http://a.b/c?d=1&e=2",
        "naïve",
        "Straße",
        "привет",
        "你好世界",
        "0x1F",
    ),
)
_DOCUMENTS = (
    {"name": "Ada Lovelace", "age": 36, "tags": ["a", "b c", None, True], "x": {"y": -1500.0, "ключ": "зн"}},
    [1, [2, []], {}],
    {"text": 'It\'s\n\t"quoted" \\ / ü 中'},
)
_LAYOUTS: tuple[dict[str, object], ...] = (
    {},
    {"separators": (",", ":")},
    {"indent": 2},
    {"indent": 2, "ensure_ascii": False},
)


def hard_texts(n_drawn: int) -> list[str]:
    """About 180 fixed texts and 1.25 times `n_drawn` drawn ones, the same at every call."""
    texts = [json.dumps(document, **layout) for document in _DOCUMENTS for layout in _LAYOUTS]  # type: ignore[arg-type]
    texts += difficult_texts(100)
    code = inspect.getsource(json.decoder)
    texts += [code[at : at + 400] for at in range(0, 12_000, 400)]
    draw = random.Random(7)
    for _ in range(n_drawn):
        pools = [*draw.sample(_PARTS, draw.randint(1, 6)), *draw.choices(_WORDS, k=draw.randint(0, 2))]
        chosen = [draw.choice(pools) for _ in range(draw.randint(1, 25))]
        texts.append("".join(part if draw.random() < 0.7 else draw.choice(part) for part in chosen))
    for _ in range(n_drawn // 4):
        points = [draw.randint(0, 0x3FFFF if draw.random() < 0.5 else 0x3000) for _ in range(12)]
        texts.append("".join(chr(point) for point in points if not 0xD800 <= point < 0xE000))
    return [text for text in texts if text]
