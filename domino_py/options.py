"""Generation options: names and defaults are transformers' GenerationConfig's.

What the caller gives comes first, then what the model's own `generation_config` says, then transformers' defaults
(among them top_k=50 when sampling). An unknown name raises and names the nearest; a name that transformers knows
and this library does not offer raises and says so. What a model's configuration sets and this library cannot apply
is noted in the report.
"""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from speculative.fixed_caches import CACHE_NAMES
from tokenizer_align.errors import InvalidOption

DEFAULT_MAX_NEW_TOKENS = 256


@dataclass(frozen=True, slots=True)
class _Rule:
    """What an option may be: its type, the range it must lie in as text and as a test, and transformers' default."""

    kind: type
    default: Any
    range_text: str
    test: Any
    sampling_only: bool = False
    ours: bool = False


_LOWEST_TEMPERATURE = 1e-30  # scores divided by less leave the range of float32

_RULES: dict[str, _Rule] = {
    "do_sample": _Rule(bool, False, "True or False", lambda v: True),
    "temperature": _Rule(
        float, 1.0, f"{_LOWEST_TEMPERATURE} or more", lambda v: v >= _LOWEST_TEMPERATURE, sampling_only=True
    ),
    "top_k": _Rule(int, 50, "0 (off) or more", lambda v: v >= 0, sampling_only=True),
    "top_p": _Rule(float, 1.0, "above 0 and at most 1", lambda v: 0 < v <= 1, sampling_only=True),
    "min_p": _Rule(float, None, "from 0 to 1", lambda v: 0 <= v <= 1, sampling_only=True),
    "typical_p": _Rule(float, 1.0, "above 0 and at most 1", lambda v: 0 < v <= 1, sampling_only=True),
    "repetition_penalty": _Rule(float, 1.0, "above 0", lambda v: v > 0),
    "frequency_penalty": _Rule(float, 0.0, "a number", lambda v: True, ours=True),
    "presence_penalty": _Rule(float, 0.0, "a number", lambda v: True, ours=True),
    "num_return_sequences": _Rule(int, 1, "1 or more", lambda v: v >= 1),
    "truncate": _Rule(str, "model", "'model' or 'masked'", lambda v: v in ("model", "masked"), ours=True),
    "exact": _Rule(bool, False, "True or False", lambda v: True, ours=True),
    "max_draft": _Rule(int, None, "1 or more", lambda v: v >= 1, ours=True),
    "batch_size": _Rule(int, None, "1 or more", lambda v: v >= 1, ours=True),
}
_END_IDS = "eos_token_id"
_ASSISTANT = ("assistant_model", "assistant_tokenizer")
_CACHE = ("cache", "cache_implementation")
KNOWN_OPTIONS = (*_RULES, _END_IDS, *_ASSISTANT, *_CACHE)
RESOLVED = ("max_new_tokens", "speculate", "tokenization", "heal_prompt", "seed", "measure")  # named by `generate`
CALL_OPTIONS = (*RESOLVED, "progress", "constraint", "prompt")

# Arguments of transformers' generate that are no options of GenerationConfig.
_ARGUMENTS_OF_GENERATE = frozenset(
    {
        *("inputs", "input_ids", "attention_mask", "past_key_values", "generation_config", "streamer"),
        *("logits_processor", "stopping_criteria", "prefix_allowed_tokens_fn", "synced_gpus", "custom_generate"),
        *("negative_prompt_ids", "negative_prompt_attention_mask", "use_model_defaults"),
    }
)
_INSTEAD = {  # what does here what callers look for
    "max_length": "max_new_tokens, which leaves the prompt out",
    "streamer": "stream()",
    "prefix_allowed_tokens_fn": "a constraint",
}
_OF_EXTRACT = {  # options of extract that callers look for here, and what to use instead
    "return_report": "every result has its report: generate(...).report",
    "instructions": "write them into the prompt",
    "out": "write the texts of the results yourself, or use extract",
    "resume": "only extract writes files that can be resumed",
    "on_error": "a call with a fault raises before any text is written",
}
_LIKE_DYNAMIC = ("dynamic_full", "hybrid", "sliding_window")  # the same numbers, kept elsewhere or in other shapes
# What a GenerationConfig may set that changes outputs, and the value that means "off".
_NOT_APPLIED: dict[str, Any] = {
    "num_beams": 1,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0,
    "bad_words_ids": None,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
    "sequence_bias": None,
    "exponential_decay_length_penalty": None,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
    "top_h": None,
    "guidance_scale": None,
    "min_new_tokens": None,
    "min_length": 0,
    "stop_strings": None,
    "watermarking_config": None,
    "penalty_alpha": None,
    "dola_layers": None,
}


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one call, checked and complete. `notes` are sentences for the report."""

    do_sample: bool
    temperature: float
    top_k: int
    top_p: float
    min_p: float | None
    typical_p: float
    repetition_penalty: float
    frequency_penalty: float
    presence_penalty: float
    num_return_sequences: int
    truncate: Literal["model", "masked"]
    exact: bool
    max_draft: int | None
    batch_size: int | None
    max_new_tokens: int
    max_new_tokens_given: bool
    speculate: Literal["auto"] | bool
    tokenization: str
    seed: int
    measure: Literal["light", "full"]
    heal_prompt: bool
    eos_token_id: tuple[int, ...]
    notes: tuple[str, ...]
    assistant_model: Any = None
    assistant_tokenizer: Any = None
    cache: Any = None  # "dynamic", "static" or a cache of transformers


def resolve_options(
    given: Mapping[str, Any],
    generation_config: Any = None,
    *,
    max_new_tokens: Any = None,
    default_max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS,
    speculate: Any = "auto",
    tokenization: Any = "aligned",
    seed: Any = None,
    measure: Any = "light",
    heal_prompt: Any = False,
) -> Options:
    """Check the options of a call and fill in what was not given.

    Raises InvalidOption for an unknown name, a wrong type or a value out of range.
    """
    for name in given:
        _refuse_unknown(name)
    values: dict[str, Any] = {}
    notes: list[str] = []
    for name, rule in _RULES.items():  # do_sample is the first: greedy, the model's settings for sampling say nothing
        value = given.get(name)
        source = "option"
        if value is None and not rule.ours and (values.get("do_sample") or not rule.sampling_only):
            value, source = getattr(generation_config, name, None), "model.generation_config"
        values[name] = rule.default if value is None else _checked(name, value, rule, source)
    if values["num_return_sequences"] > 1 and not values["do_sample"]:
        if given.get("num_return_sequences") is not None:
            raise InvalidOption(
                "num_return_sequences",
                "num_return_sequences above 1 needs do_sample=True: greedy decoding gives the same text each time.",
            )
        values["num_return_sequences"] = 1
    idle = [name for name, rule in _RULES.items() if rule.sampling_only and given.get(name) is not None]
    if idle and not values["do_sample"]:
        message = f"{', '.join(idle)} has no effect without do_sample=True"
        warnings.warn(message, UserWarning, stacklevel=4)
        notes.append(message)
    notes.extend(_not_applied(generation_config))
    cache = _cache(given, generation_config, notes)
    if not isinstance(speculate, bool) and speculate != "auto":
        raise InvalidOption("speculate", f"speculate must be 'auto', True or False, not {speculate!r}.")
    if measure not in ("light", "full"):
        raise InvalidOption("measure", f"measure must be 'light' or 'full', not {measure!r}.")
    if not isinstance(heal_prompt, bool):
        raise InvalidOption("heal_prompt", f"heal_prompt must be True or False, not {heal_prompt!r}.")
    return Options(
        **values,
        max_new_tokens=_whole(
            "max_new_tokens", default_max_new_tokens if max_new_tokens is None else max_new_tokens, 1
        ),
        max_new_tokens_given=max_new_tokens is not None,
        speculate=speculate,
        tokenization=tokenization,
        seed=secrets.randbits(63) if seed is None else _whole("seed", seed, 0),
        measure=measure,
        heal_prompt=heal_prompt,
        eos_token_id=_ids(given.get(_END_IDS), _END_IDS),
        notes=tuple(notes),
        assistant_model=given.get("assistant_model"),
        assistant_tokenizer=given.get("assistant_tokenizer"),
        cache=cache,
    )


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `resolve_options` takes by name, and the generation options."""
    named = {name: value for name, value in options.items() if name in RESOLVED}
    return named, {name: value for name, value in options.items() if name not in RESOLVED}


def _cache(given: Mapping[str, Any], generation_config: Any, notes: list[str]) -> Any:
    """The caller's cache or the name of one; a kind in the model's configuration that is not offered is noted."""
    cache, name = given.get("cache"), given.get("cache_implementation")
    if cache is not None and name is not None:
        raise InvalidOption("cache_implementation", "cache and cache_implementation exclude each other; pass one.")
    if cache is not None:
        if not hasattr(cache, "layers"):
            raise InvalidOption(
                "cache", f"cache={cache!r} must be a cache of transformers; a kind goes into cache_implementation."
            )
        return cache
    if name is not None:
        if name not in CACHE_NAMES:
            message = f"cache_implementation={name!r} must be {' or '.join(map(repr, CACHE_NAMES))}."
            raise InvalidOption("cache_implementation", message, CACHE_NAMES)
        return name
    name = getattr(generation_config, "cache_implementation", None)
    if name is not None and name not in (*CACHE_NAMES, *_LIKE_DYNAMIC):
        notes.append(f"model.generation_config.cache_implementation={name!r} is not applied")
    return name if name in CACHE_NAMES else None


def _refuse_unknown(name: str) -> None:
    if name in KNOWN_OPTIONS:
        return
    kind = "argument" if name in _ARGUMENTS_OF_GENERATE else "option"
    if kind == "argument" or name in _NOT_APPLIED or _in_transformers(name):
        instead = f" Use {_INSTEAD[name]}." if name in _INSTEAD else ""
        raise InvalidOption(name, f"{name!r} is an {kind} of transformers' generate that is not offered here.{instead}")
    if name in _OF_EXTRACT:
        raise InvalidOption(name, f"{name!r} is an option of extract, not of generate; {_OF_EXTRACT[name]}.")
    others = () if name in CALL_OPTIONS else (*KNOWN_OPTIONS, *CALL_OPTIONS)
    raise InvalidOption(name, f"{name!r} is not an option.", others)


def _in_transformers(name: str) -> bool:
    from transformers import GenerationConfig

    return not name.startswith("_") and name in vars(GenerationConfig())


def _checked(name: str, value: Any, rule: _Rule, source: str) -> Any:
    wanted = rule.kind
    right = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        value, right = float(value), True
    if right and not (wanted is float and not math.isfinite(value)) and rule.test(value):
        return value
    where = "" if source == "option" else f" (from {source})"
    cold = name == "temperature" and right and 0 <= value < _LOWEST_TEMPERATURE
    advice = " For the most likely text use do_sample=False." if cold else ""
    raise InvalidOption(name, f"{name}={value!r}{where} must be {_a(wanted)}, {rule.range_text}.{advice}")


def _a(kind: type) -> str:
    return {bool: "a bool", int: "a whole number", float: "a number", str: "a string"}[kind]


def _whole(name: str, value: Any, low: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise InvalidOption(name, f"{name}={value!r} must be a whole number, {low} or more.")
    return value


def _ids(value: Any, name: str) -> tuple[int, ...]:
    """None, one id, a list of ids or a tensor of ids, as a tuple."""
    if value is None:
        return ()
    if hasattr(value, "tolist"):
        value = value.tolist()
    items = [value] if isinstance(value, int) else list(value) if isinstance(value, list | tuple | set) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, int) or item < 0:
            raise InvalidOption(name, f"{name}={value!r} must be a token id or a list of token ids.")
    return tuple(items)


def _not_applied(generation_config: Any) -> list[str]:
    notes = []
    for name, off in _NOT_APPLIED.items():
        value = getattr(generation_config, name, None)
        if value is not None and value != off and value != []:
            notes.append(f"model.generation_config.{name}={value!r} is not applied")
    return notes
