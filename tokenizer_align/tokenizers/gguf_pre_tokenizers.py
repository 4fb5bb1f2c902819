"""Pre-tokenizers of GGUF files by their name (`tokenizer.ggml.pre`), as parts of a tokenizer.json.

A GGUF file names its pre-tokenizer instead of describing it. transformers falls back to GPT-2's for names it does not
know; for SmolLM2 that changes 52 of 3,182 hard texts. Names and `ignore_merges` follow llama.cpp's llama-vocab.cpp,
patterns the original tokenizer.json files; an unknown name is refused.
"""

from __future__ import annotations

from tokenizer_align.errors import VocabularyError
from tokenizer_align.tokenizers.fidelity import Part

__all__ = ["ignores_merges", "normalizer", "pre_tokenizer"]

_ENGLISH = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_TAIL = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = rf"{_ENGLISH}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_TAIL}"
_QWEN2 = rf"{_ENGLISH}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_TAIL}"
_QWEN35 = rf"{_ENGLISH}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{_TAIL}"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_FIRST = r"[^\r\n\p{L}\p{N}]?"
_SYMBOLS = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_TEKKEN = rf"{_FIRST}{_UPPER}*{_LOWER}+|{_FIRST}{_UPPER}+{_LOWER}*|\p{{N}}|{_SYMBOLS}|{_TAIL}"
_GPT4O = (
    rf"{_FIRST}{_UPPER}*{_LOWER}+{_ENGLISH}?|{_FIRST}{_UPPER}+{_LOWER}*{_ENGLISH}?|\p{{N}}{{1,3}}|{_SYMBOLS}|{_TAIL}"
)
_DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_TAIL}"
)
_SEED = rf"{_ENGLISH}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_TAIL}"

_PATTERNS: dict[tuple[str, ...], tuple[str, ...]] = {
    (_LLAMA3,): (
        *("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"),
        *("dbrx", "smaug-bpe", "chatglm-bpe", "glm4", "glm5"),
    ),
    (_QWEN2,): (
        *("qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"),
    ),
    (_QWEN35,): ("qwen35",),
    (_TEKKEN,): ("tekken",),
    (_GPT4O,): ("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"),
    (r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+", _DEEPSEEK3): ("deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"),
    (_SEED,): ("seed-coder",),
}
_GPT2_NAMES = (
    *("gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "gigachat", "exaone4", "mellum"),
    *("a.x-4.0", "modern-bert", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v1-en", "jina-v2-code"),
    *("roberta-bpe",),
)
_DIGITS_GPT2_NAMES = ("smollm", "command-r", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2")
_IGNORE_MERGES = frozenset(
    (*_PATTERNS[(_LLAMA3,)][:9], "glm4", "glm5", "tekken", "youtu", "minicpm5", "granite-embed-multi-97m")
)
# Lost in GGUF files; present in the models' own tokenizer.json.
_NFC_NAMES = frozenset(("command-r", "qwen2", "deepseek-r1-qwen"))

_BYTES: Part = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
_BYTES_GPT2: Part = {**_BYTES, "use_regex": True}


def pre_tokenizer(name: str | None) -> Part:
    """The pre-tokenizer of a byte-level GGUF vocabulary.

    Raises:
        VocabularyError: an unknown name; another pre-tokenizer would give other tokens without a word.
    """
    if name in _GPT2_NAMES:
        return _BYTES_GPT2
    if name in _DIGITS_GPT2_NAMES:
        return _sequence({"type": "Digits", "individual_digits": True}, _BYTES_GPT2)
    if name == "falcon":
        return _sequence(
            {"type": "Punctuation", "behavior": "Contiguous"},
            _BYTES_GPT2,
            {"type": "Digits", "individual_digits": False},
            _split("[0-9][0-9][0-9]"),
        )
    if name == "deepseek-coder":
        return _sequence(
            *map(_split, ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+")),
            {"type": "Digits", "individual_digits": True},
            _BYTES,
        )
    for patterns, names in _PATTERNS.items():
        if name in names:
            return _sequence(*map(_split, patterns), _BYTES)
    known = sorted(
        {*_GPT2_NAMES, *_DIGITS_GPT2_NAMES, "falcon", "deepseek-coder", *(n for v in _PATTERNS.values() for n in v)}
    )
    raise VocabularyError(
        f"the GGUF file names the pre-tokenizer {name!r}, which is not known here; load the model's own tokenizer.json"
        f" instead. Known: {', '.join(known)}"
    )


def ignores_merges(name: str | None) -> bool:
    """Whether a whole pre-token is looked up before merging (588 of Llama-3's tokens are reachable only so)."""
    return name in _IGNORE_MERGES


def normalizer(name: str | None) -> Part | None:
    """The normalizer that the file does not tell."""
    return {"type": "NFC"} if name in _NFC_NAMES else None


def _split(pattern: str) -> Part:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def _sequence(*parts: Part) -> Part:
    return {"type": "Sequence", "pretokenizers": list(parts)}
