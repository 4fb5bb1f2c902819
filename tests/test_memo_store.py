"""Memos from disk are those that were worked out, and nothing that happens to the files changes a mask."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.test_fill import EXPRESSIONS, TEXTS, mask_alone, read
from tests.test_threads import VOCABULARY
from tokenizer_align import expressions as ex
from tokenizer_align import left_out, memo_store
from tokenizer_align.cache import ArrayCache
from tokenizer_align.compiled import Compiled
from tokenizer_align.engine import Engine
from tokenizer_align.fingerprints import fingerprint
from tokenizer_align.utf8 import ANY_CHAR


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArrayCache:
    """A directory of its own, for which no memo is too small."""
    monkeypatch.setattr(memo_store, "MIN_TRIE_NODES", 0)
    monkeypatch.setattr(memo_store, "MIN_WALK_S", 0.0)
    monkeypatch.setattr(memo_store, "MIN_KEPT_NODES", 0)
    return ArrayCache("memos", 1, tmp_path)


def engine_with(cache: ArrayCache | None) -> Engine:
    return Engine(VOCABULARY, memo_min_nodes=4, wide_bytes=4, cache=cache)


def check_all(engine: Engine) -> None:
    compiled = [Compiled(make(), VOCABULARY, engine=engine) for make in EXPRESSIONS]
    for which, tokens in TEXTS:
        assert np.array_equal(read(compiled[which], tokens).mask(), mask_alone(which, tokens))


def test_masks_are_the_same_with_memos_worked_out_loaded_and_dropped(cache: ArrayCache) -> None:
    first = engine_with(cache)
    check_all(first)
    assert first.memo_store.n_writes > 0
    second = engine_with(cache)
    check_all(second)
    assert second.memo_store.n_disk_hits == first.memo_store.n_writes
    assert second.memo_store.n_writes == 0
    assert second.drop_states()
    check_all(second)
    assert second.memo_store.n_hits > 0


def test_what_counted_repetitions_share_is_kept_too(cache: ArrayCache) -> None:
    expr = ex.seq(ex.lit(b'"'), ex.repeat(ANY_CHAR, 0, 3), ex.lit(b'"'))
    masks = []
    for engine in (engine_with(None), engine_with(cache), engine_with(cache)):
        matcher = Compiled(expr, VOCABULARY, engine=engine).matcher()
        masks.append([matcher.mask().tolist()])
        for token in VOCABULARY.ids_by_bytes[b'"'][:1] + VOCABULARY.ids_by_bytes[b"a"][:1]:
            matcher.advance(token)
            masks[-1].append(matcher.mask().tolist())
    assert masks[0] == masks[1] == masks[2]
    assert engine.memo_store.n_disk_hits > 0
    assert engine.memo_store.n_writes == 0


def test_damaged_files_are_worked_out_again(cache: ArrayCache) -> None:
    check_all(engine_with(cache))
    for i, path in enumerate(sorted(cache.directory.glob("*.npz"))):
        data = path.read_bytes()
        path.write_bytes((data[: len(data) // 2], b"", data[:-40] + b"x" * 40)[i % 3])
    again = engine_with(cache)
    check_all(again)
    assert again.memo_store.n_disk_hits == 0
    assert again.memo_store.n_writes > 0
    third = engine_with(cache)
    check_all(third)
    assert third.memo_store.n_disk_hits > 0


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path: Path, cache: ArrayCache) -> None:
    place = tmp_path / "file"
    place.write_text("no directory")
    engine = engine_with(ArrayCache("memos", 1, place))
    check_all(engine)
    assert engine.memo_store.n_writes == 0


def test_writers_at_the_same_time_leave_whole_files(cache: ArrayCache) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            check_all(engine_with(cache))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert not list(cache.directory.glob("*.tmp"))
    engine = engine_with(cache)
    check_all(engine)
    assert engine.memo_store.n_writes == 0


def test_other_vocabularies_and_versions_do_not_share_entries(cache: ArrayCache, tmp_path: Path) -> None:
    check_all(engine_with(cache))
    store = memo_store.MemoStore("another vocabulary", 10**6, cache)
    key = store.key(ex.star(ex.byte_set(b"abc[]{},:")), 0, 10**6)
    assert key is not None
    assert store.load(key) is None
    newer = engine_with(ArrayCache("memos", 2, tmp_path))
    check_all(newer)
    assert newer.memo_store.n_disk_hits == 0


def test_equal_expressions_have_one_name_and_different_ones_have_several() -> None:
    other = ex.byte_set(b"zyx")
    one = ex.alt(ex.seq(ex.lit(b"ab"), other), ex.repeat(other, 2, 5), ex.words([b"ab", b"cd"]))
    different = [
        one,
        ex.alt(ex.seq(ex.lit(b"ab"), other), ex.repeat(other, 2, 6), ex.words([b"ab", b"cd"])),
        ex.alt(ex.seq(ex.lit(b"ac"), other), ex.repeat(other, 2, 5), ex.words([b"ab", b"cd"])),
        ex.alt(ex.seq(ex.lit(b"ab"), other), ex.repeat(other, 2, 5), ex.words([b"ab", b"ce"])),
        ex.repeat(other, 2, None),
        ex.EPSILON,
        ex.EMPTY,
        ex.words([b"ab", b"c"]),
        ex.words([b"a", b"bc"]),
        ANY_CHAR,
    ]
    assert len({fingerprint(expr) for expr in different}) == len(different)
    assert fingerprint(ex.call(ex.Rule("r", ex.lit(b"a")))) is None


_NAME = """
from tokenizer_align import expressions as ex
from tokenizer_align.fingerprints import fingerprint
if {first}: ex.alt(ex.lit(b"cd"), ex.star(ex.lit(b"e")))
a, b = ex.star(ex.lit(b"ab")), ex.star(ex.lit(b"cd"))
print(fingerprint(ex.alt(a, b, ex.star(ex.lit(b"e")), ex.seq(b, a))).hex())
"""


def test_names_do_not_depend_on_the_process_or_on_what_was_built_before() -> None:
    names = set()
    for first, seed in ((0, "1"), (1, "2")):
        done = subprocess.run(
            [sys.executable, "-c", _NAME.format(first=first)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        names.add(done.stdout)
    assert len(names) == 1


def patterned() -> ex.Expr:
    """A string without a colon: what intersections do hangs on searches."""
    return ex.seq(ex.lit(b'"'), ex.both(ex.star(ANY_CHAR), ex.neg(ex.seq(ex.ALL, ex.lit(b":"), ex.ALL))), ex.lit(b'"'))


def masks_of(expr: ex.Expr, engine: Engine) -> list[bytes]:
    matcher, found = Compiled(expr, VOCABULARY, engine=engine).matcher(), list[bytes]()
    for byte in b'"ab{"':
        found.append(matcher.mask().tobytes())
        matcher.advance(VOCABULARY.token_bytes.index(bytes([byte])))
    return found


def test_intersections_are_kept_where_every_search_was_short(
    cache: ArrayCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_out, "_SLOW", [])
    monkeypatch.setattr(left_out, "LEFT_OUT", {})  # of other tests
    first, second = engine_with(cache), engine_with(cache)
    expected = masks_of(patterned(), engine_with(None))
    assert masks_of(patterned(), first) == expected and first.memo_store.n_writes > 0
    assert masks_of(patterned(), second) == expected and second.memo_store.n_disk_hits == first.memo_store.n_writes
    left_out.note_search(2 * left_out.SLOW_SEARCH_S)
    third = engine_with(cache)
    assert masks_of(patterned(), third) == expected
    assert third.memo_store.n_disk_hits == third.memo_store.n_writes == 0
