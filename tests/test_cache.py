"""The cache of prepared arrays: what is stored comes back, damage is noticed, a read-only place is no error."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from tokenizer_align import cache as cache_module
from tokenizer_align.cache import ArrayCache, default_directory, set_default_directory
from tokenizer_align.vocabulary import Vocabulary

ARRAYS = {
    "a": np.arange(5, dtype=np.int32),
    "b": np.array([], dtype=np.uint8),
    "c": np.ones((2, 3)),
    "column order": np.asfortranarray(np.arange(6, dtype=np.uint16).reshape(2, 3)),
    "one": np.array(7, dtype=np.int64),
    "no rows": np.zeros((0, 4), dtype=bool),
}


@pytest.fixture
def cache(tmp_path: Path) -> ArrayCache:
    return ArrayCache("things", version=1, directory=tmp_path)


def test_arrays_come_back_as_they_were(cache: ArrayCache) -> None:
    assert cache.load("k") is None
    assert cache.store("k", ARRAYS)
    loaded = cache.load("k")
    assert loaded is not None
    assert set(loaded) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert loaded[name].dtype == array.dtype
        assert loaded[name].shape == array.shape and loaded[name].flags.writeable
        assert np.array_equal(loaded[name], array)
    assert (cache.counters.hits, cache.counters.misses, cache.counters.writes) == (1, 1, 1)


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_half_written_entry_is_noticed_and_dropped(cache: ArrayCache, keep: int) -> None:
    cache.store("k", ARRAYS)
    path = cache.path("k")
    path.write_bytes(path.read_bytes()[:keep])
    assert cache.load("k") is None
    assert cache.counters.damaged == 1
    assert not path.exists()
    assert cache.store("k", ARRAYS)
    assert cache.load("k") is not None


def test_every_flipped_byte_is_noticed(cache: ArrayCache) -> None:
    cache.store("k", ARRAYS)
    path = cache.path("k")
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        assert cache.load("k") is None


def test_entries_of_another_version_are_not_read(cache: ArrayCache, tmp_path: Path) -> None:
    cache.store("k", ARRAYS)
    assert ArrayCache("things", version=2, directory=tmp_path).load("k") is None


def test_place_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    cache = ArrayCache("things", version=1, directory=blocked)
    assert not cache.store("k", ARRAYS)
    assert cache.load("k") is None
    assert cache.counters.failed_writes == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_directory_is_no_error(cache: ArrayCache) -> None:
    cache.store("k", ARRAYS)
    cache.directory.chmod(0o555)
    try:
        assert cache.load("k") is not None
        assert not cache.store("other", ARRAYS)
    finally:
        cache.directory.chmod(0o755)


def test_oldest_entries_go_first(tmp_path: Path) -> None:
    cache = ArrayCache("things", version=1, directory=tmp_path, max_entries=2)
    for age, key in enumerate(["old", "middle", "new"]):
        cache.store(key, ARRAYS)
        os.utime(cache.path(key), (1000 + age, 1000 + age))
    cache.store("newest", ARRAYS)
    assert [key for key in ("old", "middle", "new", "newest") if cache.path(key).exists()] == ["new", "newest"]


def test_no_temporary_files_stay(cache: ArrayCache) -> None:
    cache.store("k", ARRAYS)
    assert [path.name for path in cache.directory.iterdir()] == [cache.path("k").name]


def test_many_writers_leave_a_whole_entry(cache: ArrayCache) -> None:
    threads = [threading.Thread(target=cache.store, args=("k", ARRAYS)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.load("k") is not None


def test_reading_parses_no_python_source(cache: ArrayCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("k", ARRAYS)

    def refuse(*_: object) -> None:  # in CPython 3.11 it fails where threads do so at the same time
        raise AssertionError

    monkeypatch.setattr("ast.literal_eval", refuse)
    monkeypatch.setattr("ast.parse", refuse)
    assert cache.load("k") is not None


def test_default_directory_can_be_set_and_reset(tmp_path: Path) -> None:
    before = cache_module._chosen_directory
    try:
        set_default_directory(tmp_path)
        assert default_directory() == tmp_path
        assert ArrayCache("things", version=1).directory == tmp_path / "things"
        set_default_directory(None)
        assert default_directory() != tmp_path
    finally:
        set_default_directory(before)


def test_vocabulary_comes_back_from_the_cache_as_it_was_built(tmp_path: Path) -> None:
    from tests.tiny import tiny_tokenizer

    cache = ArrayCache("vocabularies", version=1, directory=tmp_path)
    backend = tiny_tokenizer().backend_tokenizer
    built = Vocabulary.from_tokenizer(type(backend).from_str(backend.to_str()), cache=cache)
    loaded = Vocabulary.from_tokenizer(type(backend).from_str(backend.to_str()), cache=cache)
    assert (cache.counters.writes, cache.counters.hits) == (1, 1)
    assert loaded == built
    for name in ("token_bytes", "n_rows", "eos_token_ids", "special_ids", "added", "usable_bytes", "single_bytes"):
        assert getattr(loaded, name) == getattr(built, name)
    for name in ("byte", "end", "depth", "token_start", "token_ids"):
        assert np.array_equal(getattr(loaded.trie, name), getattr(built.trie, name))
    assert loaded.encode is not None and built.encode is not None
    assert loaded.encode(' "naïve <|end|>') == built.encode(' "naïve <|end|>')
