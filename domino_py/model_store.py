"""Models converted once and kept on disk, whole or not at all.

A model is built in a temporary directory beside its place; a manifest with the SHA-256 of every file is written last,
then the directory is renamed into place. A directory whose manifest is missing or does not match is built again. A
lock file lets several processes ask at once: one builds, the others wait and find it done.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tokenizer_align.errors import DominoError

__all__ = ["ensure_directory", "file_sha256", "is_intact"]

_MANIFEST = "manifest.json"
_FORMAT = 1
_log = logging.getLogger(__name__)


def ensure_directory(target: Path, build: Callable[[Path], None]) -> Path:
    """`target` with its files intact; where it is not, `build` fills an empty directory that takes its place.

    Raises:
        DominoError: the parent directory cannot be written.
    """
    if is_intact(target):
        return target
    import filelock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(target.with_name(target.name + ".lock")):
            if not is_intact(target):
                _rebuild(target, build)
    except PermissionError as error:
        message = f"cannot write to {target.parent}: {error}. Pass another cache_dir, or set XDG_CACHE_HOME."
        raise DominoError(message) from error
    return target


def is_intact(directory: Path) -> bool:
    """Whether a directory has a manifest and every file in it has the size and SHA-256 written there."""
    try:
        manifest = json.loads((directory / _MANIFEST).read_text(encoding="utf-8"))
        files: dict[str, list[object]] = manifest["files"]
        if manifest["format"] != _FORMAT or not files:
            return False
        # Sizes first: a file cut short is found without reading half a gigabyte.
        if any((directory / name).stat().st_size != size for name, (size, _) in files.items()):
            return False
        return all(file_sha256(directory / name) == checksum for name, (_, checksum) in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _rebuild(target: Path, build: Callable[[Path], None]) -> None:
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        build(temporary)
        files = {
            str(path.relative_to(temporary).as_posix()): [path.stat().st_size, file_sha256(path)]
            for path in sorted(temporary.rglob("*"))
            if path.is_file()
        }
        manifest = json.dumps({"format": _FORMAT, "files": files}, indent=1)
        (temporary / _MANIFEST).write_text(manifest, encoding="utf-8")
        temporary.chmod(0o755)  # mkdtemp makes it private
        if target.exists():
            _log.warning("%s is damaged or unfinished and is built again", target)
            shutil.rmtree(target)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
