"""What witnesses say of many tokens at once is what a search says of each."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.tiny_bpe import tiny_bpe
from tokenizer_align import expressions as ex
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.engine import Engine
from tokenizer_align.expressions import Expr
from tokenizer_align.vocabulary import Vocabulary

LETTERS = ex.byte_set(b"abcdeZ")
TEXTS = {
    "letters": ex.repeat(LETTERS, 6, 6),
    "letters behind a sign": ex.seq(ex.repeat(LETTERS, 2, 5), ex.lit(b":"), ex.repeat(LETTERS, 1, 3)),
    "blanks": ex.seq(ex.repeat(ex.lit(b" "), 2, 4), ex.repeat(LETTERS, 1, 3)),
    "few words": ex.words([b"abab", b"abba", b"baab ab", b"cab{", b"it's"]),
}


@pytest.mark.parametrize("kind", ["gpt2", "llama3", "digits", "whole"])
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_witnesses_agree_with_the_search(name: str, kind: str) -> None:
    text: Expr = TEXTS[name]
    engine = Engine(Vocabulary.from_tokenizer(tiny_bpe(kind, 360), cache=None))
    survival = survival_for(engine)
    start, n_shown, n_known = engine.start(text), 0, 0
    for token in range(engine.vocabulary.n_rows):
        heads = engine.run_token(start, token)
        for _, p in survival.paths.ends_of(survival.paths.start, token) if heads else ():
            shown = survival.witnesses.fate(heads, p, token)
            assert shown == survival.witnesses.fates(heads, p, np.array([token], np.int32))[0]
            n_shown += bool(shown)
            if shown:
                assert survival.full.survives(heads, p, token)
            n_known += bool(survival.full.survives(heads, p, token))
    assert n_shown or name == "blanks" or not n_known
