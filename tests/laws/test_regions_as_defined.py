"""`after` on drawn triggers and texts, against its definition spelled out in plain Python."""

from __future__ import annotations

import itertools
import os
import random

import pytest

import domino_py as domino

N_DRAWN = 8000 if os.environ.get("DOMINO_SLOW") == "1" else 800
TEXTS = ["".join(letters) for n in range(8) for letters in itertools.product("ab", repeat=n)]


def is_legal(text: str, words: dict[str, list[str]], lo: int, hi: int | None, tail: bool) -> bool:
    """Free text until a trigger is complete (of several, the longest), one of its words, and so on."""

    def rest(at: int, n: int) -> bool:
        for end in range(at, len(text) + 1):
            here = [trigger for trigger in words if end - len(trigger) >= at and text[:end].endswith(trigger)]
            if here:
                if n == hi:
                    return False
                some = words[max(here, key=len)]
                return any(text.startswith(word, end) and rest(end + len(word), n + 1) for word in some)
        return n >= lo and (tail or at == len(text) or n == 0)

    return rest(0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_after_is_as_defined(seed: int) -> None:
    rng = random.Random(seed)
    n_legal = n_refused = 0
    for _ in range(N_DRAWN // 4):
        triggers = {"".join(rng.choices("ab", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 3))}
        words = {
            trigger: list({"".join(rng.choices("ab", k=rng.randint(0, 3))) for _ in range(rng.randint(1, 2))})
            for trigger in sorted(triggers)
        }
        lo = rng.choice([0, 0, 1, 2])
        hi = rng.choice([None, None, max(lo, 1), lo + 1])
        tail = rng.random() < 0.6
        try:
            constraint = domino.after(
                {trigger: domino.choice(some) for trigger, some in words.items()}, at_least=lo, at_most=hi, tail=tail
            )
        except domino.InvalidOption:
            n_refused += 1
            assert any(a != b and b in a[:-1] for a in triggers for b in triggers)
            continue
        for text in rng.sample(TEXTS, 60):
            expected = is_legal(text, words, lo, hi, tail)
            assert constraint.matches(text) == expected, (text, words, lo, hi, tail)
            if expected:
                n_legal += 1
                found = constraint.parse(text)
                assert all(text[one.start :].startswith(one.text) and one.text in words[one.trigger] for one in found)
    assert n_legal > 200 and n_refused
