"""`generate`: text that satisfies a constraint, out of any transformers causal language model.

Everything that can be wrong with a call is found before the model runs: options, prompts, constraints, budgets,
context length. Then the rows run (`running`), and come back with their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from domino_py.arguments import check_model, constraints_for_rows
from domino_py.assistant import check_assistant
from domino_py.chat import behind_prompt, settle, shown_tools
from domino_py.compilation import check_tokenization
from domino_py.options import Options, resolve_options
from domino_py.progress import progress_bar
from domino_py.prompts import prompts_to_ids, split_prompts
from domino_py.running import PreparedRow, prepare_row, run_rows
from tokenizer_align.vocabulary import Vocabulary

__all__ = ["Call", "generate", "prepare_call"]


def generate(
    model: Any,
    tokenizer: Any,
    prompt: Any,
    constraint: Any = None,
    *,
    max_new_tokens: int | None = None,
    speculate: Any = "auto",
    tokenization: str = "aligned",
    heal_prompt: bool = False,
    seed: int | None = None,
    measure: str = "light",
    progress: bool = True,
    **generation_options: Any,
) -> Any:
    """Generate text that satisfies a constraint; the replacement of `model.generate`.

    `prompt` is text, chat messages or token ids, or a list of these; a list of prompts gives a list of results.
    `constraint` is a `Constraint`, a Python type, a schema dict, None (free text), or a list with one for each prompt.
    The text is complete and legal within `max_new_tokens` (default: 256, or what the model's context leaves), whatever
    the model says. `speculate` turns drafts on or off;
    they change the speed, never the tokens. `tokenization` is the law of docs/canonicality.md that the output's tokens
    obey ("aligned", "canonical" or "any"); with `heal_prompt`, the prompt's last tokens are written anew where the text
    would merge with them. The same `seed` gives the same texts. `measure="full"` also measures what
    takes another pass of the model. Many texts show a progress bar on a terminal; `progress=False` turns it off.
    `generation_options` have the names and defaults of transformers' GenerationConfig
    (do_sample, temperature, top_k, top_p, min_p, typical_p, repetition_penalty, num_return_sequences, eos_token_id),
    and besides frequency_penalty, presence_penalty, truncate ("model" or "masked"), exact, max_draft and batch_size.
    `assistant_model`, a smaller model of the same tokenizer, drafts too (`assistant_tokenizer`, if given, is compared).
    `cache_implementation="static"` or a `cache` of transformers' (emptied first) replaces the cache that grows.

    Returns a GenerationResult, or a list of them for a list of prompts or num_return_sequences above 1.

    Raises, before any model time is spent: InvalidOption, ConstraintError, BudgetTooSmall, VocabularyError.

        result = domino.generate(model, tokenizer, "2 + 2 = ", domino.regex(r"[0-9]+"))
        result.text, result.report
    """
    call = prepare_call(
        model,
        tokenizer,
        prompt,
        constraint,
        generation_options,
        max_new_tokens=max_new_tokens,
        speculate=speculate,
        tokenization=tokenization,
        heal_prompt=heal_prompt,
        seed=seed,
        measure=measure,
    )
    with progress_bar(call.rows, "texts", shown=progress and len(call.rows) > 1) as bar:
        results = run_rows(
            model, call.vocabulary, call.rows, call.options, on_result=lambda _, one: bar.finished(), progress=bar
        )
    return results if call.gives_list else results[0]


@dataclass(frozen=True, slots=True)
class Call:
    """A checked call: what runs, and whether a list of results is wanted."""

    vocabulary: Vocabulary
    rows: list[PreparedRow]
    options: Options
    gives_list: bool


def prepare_call(
    model: Any,
    tokenizer: Any,
    prompt: Any,
    constraint: Any,
    generation_options: dict[str, Any],
    **call_options: Any,
) -> Call:
    """Check everything that can be wrong with a call of `generate` or `stream`, and compile its constraints."""
    check_model(model)
    options = resolve_options(
        generation_options,
        getattr(model, "generation_config", None),
        **call_options,
    )
    check_tokenization(options.tokenization)
    vocabulary = Vocabulary.from_tokenizer(tokenizer, eos_token_ids=options.eos_token_id, model=model)
    check_assistant(options, vocabulary)
    prompts, batched = split_prompts(prompt)
    constraints = [settle(one, tokenizer) for one in constraints_for_rows(constraint, len(prompts), batched=batched)]
    prompt_ids, _ = prompts_to_ids(prompt, tokenizer, vocabulary.n_rows, tools=[*map(shown_tools, constraints)])
    constraints = [behind_prompt(one, ids, vocabulary) for one, ids in zip(constraints, prompt_ids, strict=True)]
    copies = options.num_return_sequences
    rows = [
        replace(prepared, row=index * copies + copy)
        for index, (ids, one) in enumerate(zip(prompt_ids, constraints, strict=True))
        for prepared in [prepare_row(ids, one, vocabulary, model, options, f"prompt[{index}]" if batched else "prompt")]
        for copy in range(copies)
    ]
    return Call(vocabulary, rows, options, gives_list=batched or copies > 1)
