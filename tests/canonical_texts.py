"""Texts of every kind, and what one may do to the tokens of a text without changing its bytes."""

from __future__ import annotations

import argparse
import inspect
import json
import random
import textwrap
from collections.abc import Callable, Sequence

from tests.pre_token_texts import hard_texts
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["DAMAGES", "canonical_texts"]

_COMMON = """
the of and a to in he have it that for they with as not on she at by this we you do but from or which one
would all will there say who make when can more if no man out other so what time up go about than into could
state only new year some take come these know see use get like then first any work now may such give over
think most even find day also after way many must look before great back through long where much should well
people down own just because good each those feel seem how high too place little world very still nation hand
old life tell write become here show house both between need mean call develop under last right move thing
general school never same another begin while number part turn real
"""
_WORDS = tuple(_COMMON.split())
_NAMES = ("Ada", "Grace Hopper", "Łukasz", "José", "Мария", "李雷", "さくら", "김철수", "Zoë", "O'Neill", "محمد", "नेहा")
_CHINESE = (
    "今天天气很好，我们去公园散步吧。人工智能正在改变世界，但是语言模型仍然会犯错误。请把以下内容翻译成英文：“学而时习之，不亦说乎？”"
    "中华人民共和国成立于1949年10月1日。東京は日本の首都です。彼は「ありがとう」と言いました。한국어 문장도 있습니다。"
)
_EMOJI = (
    *("😀", "👩\u200d👩\u200d👧\u200d👦", "🏳️\u200d🌈", "👍🏽", "🇫🇷", "☕️", "❤️"),
    *("🤷🏻\u200d♀️", "🧑\u200d💻", "✅", "➡️", "1️⃣", "🎉🎉", "🥲"),
)
_BLANKS = (" ", "  ", "   ", "\n", "\n\n", "\n    ", "\t", "\t\t", "\r\n", " \n", "        ", "\u00a0", "\u3000")
_LAYOUTS: tuple[dict[str, object], ...] = ({}, {"separators": (",", ":")}, {"indent": 2})


def canonical_texts(n: int, seed: int = 0) -> list[str]:
    """`n` texts, always the same: JSON in three layouts, code, prose, Chinese, emoji, digits, blanks, hard ones."""
    draw = random.Random(seed)
    hard = hard_texts(max(20, n // 8))
    code = inspect.getsource(argparse) + inspect.getsource(textwrap) + inspect.getsource(json.encoder)
    kinds: tuple[Callable[[], str], ...] = (
        lambda: _json(draw),
        lambda: _json(draw),
        lambda: _slice(code, draw, 250),
        lambda: _prose(draw),
        lambda: _slice(_CHINESE, draw, 40) + draw.choice(("", " ", _prose(draw)[:30])),
        lambda: " ".join(draw.choices(_EMOJI, k=draw.randint(1, 6))) + draw.choice(("", "!", " ok", "\n")),
        lambda: _digits(draw),
        lambda: _blanks(draw),
        lambda: draw.choice(hard),
    )
    return [kinds[i % len(kinds)]() for i in range(n)]


def _json(draw: random.Random) -> str:
    layout = draw.choice(_LAYOUTS)
    return json.dumps(_value(draw, 3), ensure_ascii=draw.random() < 0.3, **layout)  # type: ignore[arg-type]


def _value(draw: random.Random, depth: int) -> object:
    kind = draw.randrange(8 if depth else 5)
    if kind == 0:
        return draw.choice((True, False, None))
    if kind == 1:
        return draw.choice((draw.randint(-10, 10), draw.randint(0, 10**6), round(draw.uniform(-1e3, 1e3), 2)))
    if kind <= 4:
        return draw.choice((draw.choice(_NAMES), _prose(draw)[:40], "", f"{draw.choice(_WORDS)}@x.org", 'a\n\t"b\\'))
    if kind == 5:
        return [_value(draw, depth - 1) for _ in range(draw.randint(0, 4))]
    return {
        draw.choice((*_WORDS, *_NAMES, "id", "$ref", "_x")): _value(draw, depth - 1) for _ in range(draw.randint(0, 4))
    }


def _prose(draw: random.Random) -> str:
    words = [draw.choice(_WORDS) for _ in range(draw.randint(4, 30))]
    for _ in range(len(words) // 6):
        words[draw.randrange(len(words))] += draw.choice((",", ".", "'s", "n't", "!", " —", ";", ")", "…"))
    text = " ".join(words)
    return text.capitalize() if draw.random() < 0.5 else text


def _digits(draw: random.Random) -> str:
    runs = ["".join(draw.choices("0123456789", k=draw.randint(1, 12))) for _ in range(draw.randint(1, 5))]
    return draw.choice((" ", ",", ".", "-", "/", ":", "  ", "x")).join(runs)


def _blanks(draw: random.Random) -> str:
    parts = [
        draw.choice(_BLANKS) * draw.randint(1, 5) + draw.choice((*_WORDS[:40], "", "{", '"a"', "1")) for _ in range(5)
    ]
    return "".join(parts)


def _slice(text: str, draw: random.Random, length: int) -> str:
    start = draw.randrange(len(text) - 1)
    return text[start : start + draw.randint(1, length)]


# --- damage -------------------------------------------------------------------------------------------------------


def split_tokens(ids: Sequence[int], vocabulary: Vocabulary, draw: random.Random) -> list[int]:
    """One to three tokens are written as two each."""
    found = list(ids)
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(found))
        data = vocabulary.token_bytes[found[place]] or b""
        cuts = [c for c in range(1, len(data)) if _has(vocabulary, data[:c]) and _has(vocabulary, data[c:])]
        if cuts:
            cut = draw.choice(cuts)
            found[place : place + 1] = [_any(vocabulary, data[:cut], draw), _any(vocabulary, data[cut:], draw)]
    return found


def join_tokens(ids: Sequence[int], vocabulary: Vocabulary, draw: random.Random) -> list[int]:
    """Neighbours whose bytes together are a token are written as that token, at up to two places."""
    found = list(ids)
    for _ in range(2):
        data = [vocabulary.token_bytes[i] or b"" for i in found]
        places = [i for i in range(len(found) - 1) if _has(vocabulary, data[i] + data[i + 1])]
        if places:
            place = draw.choice(places)
            found[place : place + 2] = [_any(vocabulary, data[place] + data[place + 1], draw)]
    return found


def move_boundaries(ids: Sequence[int], vocabulary: Vocabulary, draw: random.Random) -> list[int]:
    """The boundary between two neighbours is moved, at up to three places."""
    found = list(ids)
    for _ in range(3):
        place = draw.randrange(max(1, len(found) - 1))
        data = b"".join(vocabulary.token_bytes[i] or b"" for i in found[place : place + 2])
        cuts = [c for c in range(1, len(data)) if _has(vocabulary, data[:c]) and _has(vocabulary, data[c:])]
        if cuts and len(found) > 1:
            cut = draw.choice(cuts)
            found[place : place + 2] = [_any(vocabulary, data[:cut], draw), _any(vocabulary, data[cut:], draw)]
    return found


def drop_merges(ids: Sequence[int], vocabulary: Vocabulary, draw: random.Random) -> list[int]:
    """A few tokens are taken apart into single characters (or bytes) and merged again, some merges left out."""
    found: list[int] = []
    for i in ids:
        found += _with_dropout(vocabulary.token_bytes[i] or b"", i, vocabulary, draw) if draw.random() < 0.2 else [i]
    return found


def _with_dropout(data: bytes, token: int, vocabulary: Vocabulary, draw: random.Random) -> list[int]:
    try:
        parts = [character.encode() for character in data.decode()]
    except UnicodeDecodeError:
        parts = [bytes([byte]) for byte in data]
    if not all(_has(vocabulary, part) for part in parts):
        return [token]
    while len(parts) > 1:
        places = [i for i in range(len(parts) - 1) if _has(vocabulary, parts[i] + parts[i + 1]) and draw.random() < 0.8]
        if not places:
            break
        place = draw.choice(places)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return [_any(vocabulary, part, draw) for part in parts]


def other_ids(ids: Sequence[int], vocabulary: Vocabulary, draw: random.Random) -> list[int]:
    """Some tokens are replaced by others of the same bytes, or by one token a byte."""
    found: list[int] = []
    for i in ids:
        data = vocabulary.token_bytes[i] or b""
        chance = draw.random()
        if chance < 0.1 and all(_has(vocabulary, bytes([byte])) for byte in data):
            found += [_any(vocabulary, bytes([byte]), draw) for byte in data]
        else:
            found.append(_any(vocabulary, data, draw) if chance < 0.3 and data else i)
    return found


def _has(vocabulary: Vocabulary, data: bytes) -> bool:
    return data in vocabulary.ids_by_bytes


def _any(vocabulary: Vocabulary, data: bytes, draw: random.Random) -> int:
    return draw.choice(vocabulary.ids_by_bytes[data])


DAMAGES = (split_tokens, join_tokens, move_boundaries, drop_merges, other_ids)
