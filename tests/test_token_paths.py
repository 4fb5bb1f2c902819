"""The compiled loops over the pre-tokenizer's automaton and the constraint's equal one step after the other."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference.tiny_bpe import tiny_bpe
from tokenizer_align import expressions as ex
from tokenizer_align.canonical.choose_law import survival_for
from tokenizer_align.canonical.constraint_walks import ids_of
from tokenizer_align.canonical.survival import Survival
from tokenizer_align.engine import Engine
from tokenizer_align.vocabulary import Vocabulary


def survival_of(kind: str) -> Survival:
    return survival_for(Engine(Vocabulary.from_tokenizer(tiny_bpe(kind, 330), cache=None)))


@pytest.mark.parametrize("kind", ["gpt2", "whole"])
def test_rows_and_ends_are_those_of_single_tokens(kind: str) -> None:
    paths = survival_of(kind).paths
    tokens = np.arange(len(paths.kinds), dtype=np.int32)
    poor: set[int] = set()
    for p in np.flatnonzero(~paths.pre_tokens.inside).tolist():  # within a token that is read as a whole none begins
        ends = {token: paths.ends_of(p, token) for token in tokens.tolist()}
        for bit, row in enumerate(paths.rows(p)):
            assert set(ids_of(row).tolist()) == {t for t, found in ends.items() if bit in {one for one, _ in found}}
        listed = {(int(tokens[i]), bit, after) for i, bit, after in paths.ends_of_all(p, tokens).tolist()}
        assert listed == {(t, bit, after) for t, found in ends.items() for bit, after in found}
        poor |= {t for t, found in ends.items() if any(paths.cuts[after] == 0 for _, after in found)}
    assert poor <= set(ids_of(paths.poor).tolist())


@pytest.mark.parametrize("kind", ["gpt2", "whole"])
def test_texts_end_where_they_are_read_to_byte_by_byte(kind: str) -> None:
    paths = survival_of(kind).paths
    tokens = np.arange(len(paths.kinds), dtype=np.int32)
    for states in ((paths.start,), tuple(range(0, len(paths.cuts), 3))):
        listed = sorted(map(tuple, paths.read_all(states, tokens).tolist()))
        texts = [bytes(paths.text[paths.text_start[t] : paths.text_start[t + 1]]) for t in tokens]
        assert listed == [(t, after) for t, data in enumerate(texts) if data for after in paths.read(states, data)]


def test_a_cut_is_a_byte_behind_which_everything_is_as_at_the_beginning() -> None:
    paths = survival_of("gpt2").paths
    for p, cuts in enumerate(paths.cuts):
        for byte in range(256):
            fresh = {after for _, after in paths.step(paths.start, byte)}
            bounded = {after for bit, after in paths.step(p, byte) if bit}
            spells = any(paths.pre_tokens.spelling[after] for after in fresh)
            assert bool(cuts >> byte & 1) == (bool(fresh) and fresh <= bounded and not spells)
            assert bool(paths.weak_cuts[p] >> byte & 1) == (bool(bounded) and not cuts >> byte & 1)


def test_groups_and_narrow_tokens_are_those_of_single_runs() -> None:
    survival = survival_of("gpt2")
    engine, walks, cuts = survival.engine, survival.walks, survival.paths.cuts
    text = ex.seq(ex.lit(b'{"'), ex.star(ex.byte_set(b'ab "\\{}:,1')), ex.lit(b'"}'))
    heads = engine.start(text)
    for data in (b"", b'{"', b'{"ab', b'{"ab"'):
        here = engine.run(heads, np.frombuffer(data, np.uint8))
        legal = ids_of(engine.mask(here))
        groups = walks.groups(here, legal)
        for i, token in enumerate(legal.tolist()):
            after = engine.run_token(here, token)
            assert groups.heads[groups.group[i]] == after
            live = int.from_bytes(groups.live[groups.group[i]].tobytes(), "little")
            assert live == engine.live_bytes(after)
        narrow = set(walks.narrow_tokens(here).tolist())
        for token in set(legal.tolist()) - narrow:
            live = engine.live_bytes(engine.run_token(here, token))
            assert all(live & some for some in cuts if some)
