"""Walks of matchers along drawn tokens, with masks compared at every step."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import strategies as st

from tokenizer_align.compiled import Compiled
from tokenizer_align.expressions import Expr
from tokenizer_align.matcher import Matcher
from tokenizer_align.recognizer import closure, run


def assert_same_masks(one: Matcher, other: Matcher, rng: random.Random, note: object = None) -> None:
    """Both let the same tokens through, to the end of a drawn text."""
    ends = set(one.compiled.vocabulary.eos_token_ids)
    while True:
        legal = set(one.compiled.ids(one.mask()))
        assert legal == set(other.compiled.ids(other.mask())), (note, one.text_bytes())
        going_on = sorted(legal - ends)
        if not going_on:
            return
        token = rng.choice(going_on)
        one.advance(token)
        other.advance(token)


def assert_masks_are_what_can_be_read(compiled: Compiled, expr: Expr, data: st.DataObject, n_steps: int) -> None:
    """A token is legal exactly where the recognizer can read on behind it, along a drawn text without an end."""
    matcher, vocabulary = compiled.matcher(), compiled.vocabulary
    for _ in range(n_steps):
        before = matcher.text_bytes()
        legal = [bool(token) and bool(closure(run(expr, before + token))) for token in vocabulary.token_bytes]
        if not any(legal):
            return
        mask = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")[: vocabulary.n_rows]
        assert mask.astype(bool).tolist() == legal, before
        matcher.advance(data.draw(st.sampled_from([i for i, is_legal in enumerate(legal) if is_legal])))
