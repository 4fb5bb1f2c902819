"""A directory of prepared arrays, addressed by content.

One file an entry, `<version>-<key>.npz`, without pickle. It is written beside its place and renamed into it, so that a
reader sees a whole file or none; it ends with a SHA-256 of the rest, so that a damaged one is noticed, dropped and
built again. A directory that cannot be written is no error: the entry is simply built anew next time.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = [
    "ArrayCache",
    "CacheCounters",
    "default_directory",
    "set_default_directory",
    "vocabulary_cache",
    "write_atomically",
]

Arrays = dict[str, npt.NDArray[np.generic]]

_log = logging.getLogger(__name__)
_CHECKSUM_BYTES = 32
_HEADER = re.compile(r"\{'descr': '([^']+)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \}\s*")
_chosen_directory: Path | None = None


def default_directory() -> Path:
    """The directory of everything this library keeps: as set by `set_default_directory`, else the user's cache."""
    if _chosen_directory is not None:
        return _chosen_directory
    import platformdirs

    return Path(platformdirs.user_cache_dir("domino_py", appauthor=False))


def set_default_directory(directory: str | Path | None) -> None:
    """Keep prepared files under `directory` from now on; None returns to the user's cache directory."""
    global _chosen_directory
    _chosen_directory = None if directory is None else Path(directory)


@dataclass(slots=True)
class CacheCounters:
    """What a cache did so far."""

    hits: int = 0
    misses: int = 0
    damaged: int = 0
    writes: int = 0
    failed_writes: int = 0


class ArrayCache:
    """Named arrays on disk, one entry a key; at most `max_entries` and an eighth, the least recently used go first."""

    def __init__(self, folder: str, version: int, directory: Path | None = None, max_entries: int = 64) -> None:
        """Args:
        folder: name of the sub-directory.
        version: of the format; entries of other versions are never read.
        directory: parent directory; None follows `default_directory()` at every call.
        """
        self._folder, self._version, self._directory = folder, version, directory
        self._max_entries = max_entries
        self.counters = CacheCounters()

    @property
    def directory(self) -> Path:
        """Where the entries lie at present."""
        return (self._directory or default_directory()) / self._folder

    def path(self, key: str) -> Path:
        """The file of an entry, whether it exists or not."""
        return self.directory / f"{self._version}-{key}.npz"

    def load(self, key: str) -> Arrays | None:
        """The arrays stored under `key`, or None where there are none or they are damaged."""
        path = self.path(key)
        try:
            data = path.read_bytes()
        except OSError:
            self.counters.misses += 1
            return None
        try:
            arrays = _unpack(data)
        except ValueError as error:
            _log.warning("dropping the damaged cache entry %s: %s", path, error)
            self.counters.damaged += 1
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        self.counters.hits += 1
        with contextlib.suppress(OSError):
            os.utime(path)
        return arrays

    def store(self, key: str, arrays: Mapping[str, npt.NDArray[np.generic]]) -> bool:
        """Write an entry; False where the directory cannot be written."""
        path = self.path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, _pack(arrays))
        except OSError as error:
            _log.info("cannot write the cache entry %s: %s", path, error)
            self.counters.failed_writes += 1
            return False
        self.counters.writes += 1
        self._prune()
        return True

    def _prune(self) -> None:
        with contextlib.suppress(OSError):
            n_entries = sum(name.endswith(".npz") for name in os.listdir(self.directory))
            if n_entries <= self._max_entries + self._max_entries // 8:  # not every write asks for all ages
                return
            entries = sorted(self.directory.glob("*.npz"), key=lambda entry: entry.stat().st_mtime, reverse=True)
            for entry in entries[self._max_entries :]:
                entry.unlink(missing_ok=True)


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees the old file, the new one, or none, but never a part."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _pack(arrays: Mapping[str, npt.NDArray[np.generic]]) -> bytes:
    buffer = io.BytesIO()
    members: dict[str, npt.NDArray[np.generic]] = dict(arrays)
    np.savez(buffer, allow_pickle=False, **members)
    data = buffer.getvalue()
    return data + hashlib.sha256(data).digest()  # zip readers ignore what follows the archive


def _unpack(stored: bytes) -> Arrays:
    data, checksum = memoryview(stored)[:-_CHECKSUM_BYTES], stored[-_CHECKSUM_BYTES:]
    # Before anything is parsed: a damaged archive can make its reader raise almost anything.
    if hashlib.sha256(data).digest() != checksum:
        raise ValueError("the checksum does not match")
    with zipfile.ZipFile(io.BytesIO(stored)) as archive:
        return {member.filename.removesuffix(".npy"): _array(_content(data, member)) for member in archive.infolist()}


def _content(data: memoryview, member: zipfile.ZipInfo) -> memoryview:
    """A member's bytes where they lie: it was stored as it is, and the archive's own sums need no second look."""
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError("a compressed array")
    header = (
        member.header_offset
    )  # 30 bytes, at the end the lengths of a name and of what else stands before the content
    start = header + 30 + sum(int.from_bytes(data[at : at + 2], "little") for at in (header + 26, header + 28))
    return data[start : start + member.file_size]


def _array(data: memoryview) -> npt.NDArray[np.generic]:
    """The array of a `.npy` file (numpy.lib.format). `np.load` reads the header as Python source, and CPython 3.11
    counts the depth of all threads' sources together: it may fail where threads load at the same time."""
    major, size_at = data[6], slice(8, 10 if data[6] == 1 else 12)
    end = size_at.stop + int.from_bytes(data[size_at], "little")
    found = _HEADER.fullmatch(str(data[size_at.stop : end], "latin-1"))
    if bytes(data[:6]) != b"\x93NUMPY" or major > 3 or found is None:
        raise ValueError("not an array of numbers")
    shape = tuple(map(int, re.findall("[0-9]+", found[3])))
    flat = np.frombuffer(data, np.dtype(found[1]), offset=end).copy()
    return flat.reshape(shape, order="F" if found[2] == "True" else "C")


# Raise the version whenever a reader comes to other bytes or rules than before.
vocabulary_cache = ArrayCache("vocabularies", version=7)
