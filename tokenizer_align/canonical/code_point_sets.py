"""Which code points a set of a pattern holds: asked of the engine that the tokenizer runs.

Engines differ in their Unicode version (17,144 code points in the letters alone between two of today's packages), in
what `\\w` is and in how they ignore case. So each set is matched once against all code points by the very engine, and
the answer kept. Surrogates are in no set. Planes 4 to 13, 15 and 16 are asked by sample: nothing is assigned there.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tokenizer_align.errors import VocabularyError

__all__ = ["N_CODE_POINTS", "Engine", "atoms_of", "engine_version", "members"]

Engine = Literal["tokenizers", "tiktoken", "regex"]
Flags = npt.NDArray[np.bool_]

N_CODE_POINTS = 0x110000
_STEP = 0x1000


@cache
def _asked() -> npt.NDArray[np.int64]:
    """The code points that are asked: all of planes 0 to 3, the tags of plane 14, of the rest the ends of blocks."""
    points = np.arange(N_CODE_POINTS)
    ends = (points % _STEP == 0) | (points % _STEP == _STEP - 1)
    kept = (points < 0x40000) | ((points >= 0xE0000) & (points < 0xE1000)) | ends
    asked: npt.NDArray[np.int64] = points[kept & ~((points >= 0xD800) & (points < 0xE000))]
    return asked


@cache
def _asked_text() -> str:
    return "".join(map(chr, _asked()))


def engine_version(engine: Engine) -> str:
    """Name and version, for the key of what is kept on disk."""
    module = __import__(engine)
    return f"{engine} {module.__version__}"


@cache
def members(engine: Engine, name: str) -> Flags:
    """bool[0x110000]: the code points that a set holds, as a text of the engine's dialect ("digits",
    "punctuation", "word" and "blank" name what the tokenizers library has no pattern for, or none in the same dialect).

    Raises:
        VocabularyError: the engine does not know the set, or it holds sequences of code points.
    """
    try:
        found = _ASK[engine](name)
    except Exception as error:  # pattern errors of the engines are bare exceptions
        raise VocabularyError(f"the {engine} package does not understand the set {name!r}: {error}") from error
    full = np.zeros(N_CODE_POINTS, np.bool_)
    full[_asked()] = found
    for start in [*range(0x40000, 0xE0000, _STEP), *range(0xE1000, N_CODE_POINTS, _STEP)]:
        if full[start] != full[start + _STEP - 1]:
            raise VocabularyError(f"the set {name!r} cuts the unassigned block at U+{start:X}, which is not supported")
        full[start : start + _STEP] = full[start]
    full.setflags(write=False)
    return full


def _ask_tokenizers(name: str) -> Flags:
    from tokenizers import Regex, normalizers, pre_tokenizers

    parts: dict[str, Any] = {"digits": pre_tokenizers.Digits, "punctuation": pre_tokenizers.Punctuation}
    if name in parts:
        part = parts[name](False) if name == "digits" else parts[name]("contiguous")
        pieces = part.pre_tokenize_str("0" + _asked_text() if name == "digits" else "!" + _asked_text())
        flags = np.zeros(len(_asked_text()) + 1, np.bool_)
        for _, (start, stop) in pieces[::2]:  # members and others in turn
            flags[start:stop] = True
        return flags[1:]
    if name in ("word", "blank"):
        return _words_and_blanks()[name]
    # Where the mark stands for itself, another one tells.
    mark, other = "\x01", "\x02"
    replaced = str(normalizers.Replace(Regex(name), mark).normalize_str(_asked_text()))
    if len(replaced) != len(_asked_text()):
        raise ValueError("it matches more than one code point at once")
    changed: Flags = _code_points(replaced) != _asked()
    changed[ord(mark)] = str(normalizers.Replace(Regex(name), other).normalize_str(mark)) == other
    return changed


@cache
def _words_and_blanks() -> dict[str, Flags]:
    """The library's own \\w and \\s, which tell where words and blanks beside added tokens are."""
    from tokenizers import pre_tokenizers

    splitter = pre_tokenizers.Whitespace()  # runs of \\w, and of what is neither \\w nor \\s
    text = _asked_text()
    word, blank = np.zeros(len(text), np.bool_), np.ones(len(text), np.bool_)
    for piece, (start, stop) in splitter.pre_tokenize_str(text):
        blank[start:stop] = False
        word[start:stop] = len(splitter.pre_tokenize_str("a" + piece[0])) == 1
    return {"word": word, "blank": blank}


def _ask_tiktoken(name: str) -> Flags:
    from tiktoken._tiktoken import CoreBPE

    encoder = {bytes([i]): i for i in range(256)}
    matched = bytes(CoreBPE(encoder, {}, name).encode_ordinary(_asked_text())).decode()
    flags = np.zeros(N_CODE_POINTS, np.bool_)
    flags[_code_points(matched)] = True
    return flags[_asked()]


def _ask_regex(name: str) -> Flags:
    import regex

    flags = np.zeros(len(_asked_text()), np.bool_)
    for match in regex.finditer(name, _asked_text()):
        if match.end() - match.start() != 1:
            raise ValueError("it matches more than one code point at once")
        flags[match.start()] = True
    return flags


_ASK = {"tokenizers": _ask_tokenizers, "tiktoken": _ask_tiktoken, "regex": _ask_regex}


def _code_points(text: str) -> npt.NDArray[np.int64]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)


def atoms_of(sets: list[Flags]) -> tuple[npt.NDArray[np.int16], list[int]]:
    """Code points that no set tells apart, as one atom.

    Returns:
        atom_of_code_point: int16[0x110000], -1 for surrogates;
        example: one code point of each atom.
    """
    is_text = np.ones(N_CODE_POINTS, np.bool_)
    is_text[0xD800:0xE000] = False
    table = np.array([is_text, *sets])
    starts = np.concatenate([[0], 1 + np.flatnonzero((table[:, 1:] != table[:, :-1]).any(axis=0))])
    columns, atom = np.unique(table[:, starts], axis=1, return_inverse=True)
    atom = atom.reshape(-1) - 1  # the surrogates' column, which begins with False, comes first
    examples = [int(starts[np.argmax(atom == i)]) for i in range(columns.shape[1] - 1)]
    return np.repeat(atom, np.diff(starts, append=N_CODE_POINTS)).astype(np.int16), examples
