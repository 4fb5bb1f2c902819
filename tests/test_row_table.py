"""Rows are found by what they depend on, as by the slow twin, through ageing and growing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.reference.plain_rows import PlainRows
from tokenizer_align import kernels as k
from tokenizer_align import row_table
from tokenizer_align.engine import Engine
from tokenizer_align.shared_rows import Reads
from tokenizer_align.vocabulary import Vocabulary

VOCABULARY = Vocabulary.from_bytes([b"a", b"b", *(bytes([b]) for b in range(99, 163)), None], [66])
cells = st.lists(st.tuples(st.integers(1, 3), st.integers(-1, 14)), min_size=1, max_size=16)
heads = st.lists(st.tuples(st.sampled_from([-1, 5, 6, k.KEY_BASE + 7]), st.integers(-1, 15)), min_size=1, max_size=3)


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, n in (("N_ENTRIES", 2), ("N_ROWS", 1), ("N_KEY_WORDS", 8), ("KEY_LENGTH", 4)):
        monkeypatch.setattr(row_table, name, n)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells, st.data())
def test_rows_are_those_of_the_twin(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    engine = Engine(VOCABULARY)
    stacks = [-1]
    for state, parent in drawn:
        stacks.append(int(k.push_cell(engine.tables.ctx, state, stacks[min(parent + 1, len(stacks) - 1)])))
    plain = PlainRows(engine.tables)
    for _ in range(data.draw(st.integers(1, 30))):
        found = data.draw(heads)
        here = tuple((code, stacks[min(stack + 1, len(stacks) - 1)]) for code, stack in found)
        what = data.draw(st.sampled_from(["keep", "keep by", "keep apart", "find", "find", "age"]))
        row = np.zeros(engine.n_words, np.uint32)
        row[0] = data.draw(st.integers(0, 3))
        if what == "age":
            engine.rows.age()
            plain.age()
        elif what == "keep":
            deepest = data.draw(st.integers(0, len(stacks)))
            plain.keep(here, row.copy(), deepest)
            engine.rows.keep(here, row, Reads(deepest, False))
        elif what == "keep by":
            depths = tuple(data.draw(st.integers(0, 4)) for _ in here)
            plain.keep_by(here, row.copy(), depths)
            engine.rows.keep(here, row, depths)
        elif what == "keep apart":
            plain.keep(here, row.copy(), -1)
            engine.rows.keep(here, row, Reads(0, True))
        one, other = engine.rows.find(here), plain.find(here)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.tolist() == other.tolist()
            assert not one.flags.writeable
