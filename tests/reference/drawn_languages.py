"""Small finite languages in which tokenizations have something to decide: what a schema or a choice leaves."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

_ALPHABETS = [
    "ab",
    '{}":, a',
    " \n\tx",
    "a'st ",
    "0123 ",
    "é€😀a ",
    "中文。a1",
    '\\"n/u',
    "-+.e12",
    "A b\r\n",
    "…—“”x ",
]


def draw_language(rng: random.Random, words: Sequence[str]) -> list[str]:
    """Up to a dozen texts; `words` are texts of tokens to build from."""
    kind = rng.randrange(6)
    if kind == 0:
        alphabet = rng.choice(_ALPHABETS) + rng.choice(_ALPHABETS)
        return _several(rng, lambda: "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 8))))
    if kind == 1:
        return _several(rng, lambda: "".join(rng.choice(words) for _ in range(rng.randint(1, 4))))
    if kind == 2:
        stem = "".join(rng.choice(words) for _ in range(rng.randint(1, 3)))
        return _several(rng, lambda: stem[: rng.randint(1, len(stem))] + rng.choice(words)[: rng.randint(1, 4)])
    if kind == 3:
        keys = [rng.choice(words).strip() or "k" for _ in range(rng.randint(1, 2))]
        layout = rng.choice([(",", ":", None), (", ", ": ", None), (",", ": ", 2)])
        values = [True, False, None, 0, 1.5, -12, "", rng.choice(words), rng.choice(words).strip(), [], [1], {"a": "b"}]

        def one() -> str:
            return json.dumps(
                {key: rng.choice(values) for key in keys},
                separators=layout[:2],
                indent=layout[2],
                ensure_ascii=rng.random() < 0.3,
            )

        return _several(rng, one)
    if kind == 4:
        return _several(
            rng, lambda: str(rng.randrange(10 ** rng.randint(1, 6))) + rng.choice(["", " ", ".5", "%", "e3"])
        )
    word = rng.choice(words)
    return [
        word,
        *_several(rng, lambda: word[: rng.randint(1, len(word))] + rng.choice(["", " ", "s", "'s", "\n", "."])),
    ]


def _several(rng: random.Random, one: object) -> list[str]:
    assert callable(one)
    return sorted({str(one()) for _ in range(rng.randint(1, 10))} - {""}) or ["a"]
