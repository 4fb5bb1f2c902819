"""This library's drafts by source: each alone and all together, on a constraint's first use and on later ones.

All run `speculative.loop.decode` with `speculate="auto"`, so that a source is only used where it pays. Each method
keeps a policy of its own (what was learned about acceptance and cost of its sources), as a process has that uses
nothing else; what passes cost is known to all of them. "Later uses" come after the workload's practice questions, whose
texts are remembered; no answer is drafted from itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from domino_py.bench.methods import Exact, Method, Setting, prompt_ids_of
from domino_py.bench.results import Run
from domino_py.bench.workloads import Workload
from domino_py.compilation import compiled_for
from speculative.costs import PassCosts
from speculative.drafts.memory import DraftMemory, memory_of, set_memory
from speculative.loop import DecodeOptions, RowRequest, decode
from speculative.passes import CausalModel
from speculative.planner import built_in_sources
from speculative.policy import DraftPolicy, policy_of, set_policy
from speculative.tree_passes import takes_trees
from tokenizer_align.compiled import Compiled
from tokenizer_align.layout import DEFAULT_LAYOUT

__all__ = ["FLAT", "Drafting", "FlatCosts", "draft_methods"]

SOURCES = {
    # name of the source -> what the table calls it
    "determined": "determined runs",
    "ways": "alternatives as branches",
    "counts": "counts",
    "prompt": "prompt look-up",
    "recent": "recent outputs",
}
REMEMBERING = ("counts", "recent")
FLAT = "flat"
_FLAT_TOKEN_S = 5e-3  # reading 16 GB at 3.35 TB/s: what asking a source is weighed against


class FlatCosts(PassCosts):
    """An accelerator's nearly flat pass costs, whatever passes cost here: trees get as wide as they would be there."""

    def __init__(self) -> None:
        super().__init__("cuda", True)

    def observe(self, n_tokens: int, elapsed_s: float) -> None:
        """What passes cost on this machine says nothing about the other one."""

    def cost(self, n_tokens: int) -> float:
        return _FLAT_TOKEN_S * super().cost(n_tokens)

    def token_s(self) -> float:
        return _FLAT_TOKEN_S


class Drafting:
    """Greedy decoding with some draft sources; `sources` None: all. `draft_model` drafts too."""

    def __init__(
        self,
        setting: Setting,
        name: str,
        title: str,
        sources: Sequence[str] | None,
        *,
        practises: bool = False,
        is_flat: bool = False,
        draft_model: Any = None,
    ) -> None:
        self.name, self.title = name, title
        self._setting, self._practises, self._draft_model = setting, practises, draft_model
        self._sources = tuple(
            one for one in built_in_sources(setting.vocabulary) if sources is None or one.name in sources
        )
        self._policy = _policy_beside(setting.model, is_flat=is_flat)
        self._compiled: dict[str, Compiled] = {}
        self._memories: dict[str, DraftMemory] = {}

    def prepare(self, workload: Workload) -> None:
        compiled = self._compiled[workload.name] = compiled_for(workload.constraint(), self._setting.vocabulary)
        compiled.matcher().mask()
        self._memories[workload.name] = DraftMemory()
        if self._practises:
            for question in workload.practice:
                self.run(workload, prompt_ids_of(self._setting, workload, question))
                self._memories[workload.name] = memory_of(compiled)

    def run(self, workload: Workload, prompt_ids: list[int]) -> Run:
        setting, compiled = self._setting, self._compiled[workload.name]
        ends = setting.vocabulary.eos_token_ids
        set_memory(compiled, self._memories[workload.name].copy())
        request = RowRequest(
            prompt_ids, compiled, max_new_tokens=workload.max_new_tokens, eos_token_ids=ends, layout=DEFAULT_LAYOUT
        )
        options = DecodeOptions(draft_sources=self._sources, draft_model=self._draft_model)
        with _using(setting.model, self._policy), _watched(setting) as (steps, spent):

            def note(_: int, ids: list[int]) -> None:
                steps[-1][1] += len(ids)

            started = setting.clock()
            (result,) = decode(setting.model, setting.vocabulary, [request], options, note)
            elapsed = setting.clock() - started
        numbers, chose_end = result.statistics, result.finish_reason == "stop"
        steps[-1][1] += chose_end
        return Run(
            tuple(result.token_ids),
            elapsed,
            len(steps),
            mask_s=numbers.mask_s,
            n_drafted=sum(numbers.drafted.values()),
            n_accepted=sum(numbers.accepted.values()),
            by_source={name: (numbers.accepted.get(name, 0), n) for name, n in numbers.drafted.items()},
            steps=tuple(
                (n_head, n_run - n_head, n_decided)
                for n_head, (n_run, n_decided) in zip([len(prompt_ids), *[1] * len(steps)], steps, strict=False)
            ),
            host_s=elapsed - sum(spent),
            chose_end=chose_end,
        )


def draft_methods(setting: Setting, draft_model: Any = None) -> list[Method]:
    """Exact masks without drafts, each source alone, all together, and all together sized for an accelerator."""
    methods: list[Method] = [Exact(setting, "exact", "exact masks, no drafts", speculate=False)]
    for name, title in SOURCES.items():
        if name != "recent":  # which has nothing before there are any
            methods.append(Drafting(setting, name, title, (name,)))
        if name in REMEMBERING:
            methods.append(Drafting(setting, f"{name}-later", f"{title}, later uses", (name,), practises=True))
    if draft_model is not None:
        methods.append(Drafting(setting, "draft-model", "draft model", (), draft_model=draft_model))
    methods.append(Drafting(setting, "all", "all together", None, draft_model=draft_model))
    methods.append(
        Drafting(setting, "all-later", "all together, later uses", None, draft_model=draft_model, practises=True)
    )
    # Only their passes mean something here; benchmarks/simulated_gpu.py reckons what those would cost elsewhere.
    methods.append(Drafting(setting, FLAT, "all, as wide as on an accelerator", None, is_flat=True))
    methods.append(
        Drafting(setting, f"{FLAT}-later", "the same, later uses", None, practises=True, is_flat=True),
    )
    return methods


def _policy_beside(model: Any, *, is_flat: bool) -> DraftPolicy:
    """A policy that has learned nothing yet, but knows what this model's passes cost and whether it takes trees."""
    runner = CausalModel(model)
    shared = policy_of(model, runner.device.type, str(runner.dtype))
    own = DraftPolicy(runner.device.type, False)
    own.costs = FlatCosts() if is_flat else shared.costs
    own.takes_trees = takes_trees(runner, shared)
    return own


@contextmanager
def _using(model: Any, policy: DraftPolicy) -> Iterator[None]:
    """Let calls within learn in this policy."""
    runner = CausalModel(model)
    key = (runner.device.type, str(runner.dtype))
    before = policy_of(model, *key)
    set_policy(model, *key, policy)
    try:
        yield
    finally:
        set_policy(model, *key, before)


@contextmanager
def _watched(setting: Setting) -> Iterator[tuple[list[list[int]], list[float]]]:
    """Note each pass of the model: tokens run, and 0 for what is decided; and what it took by the setting's clock."""
    steps: list[list[int]] = []
    spent: list[float] = []

    def begin(_: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        ids = named["input_ids"] if "input_ids" in named else arguments[0]
        steps.append([int(ids.numel()), 0])
        spent.append(-setting.clock())

    def end(*_: Any) -> None:
        spent[-1] += setting.clock()

    handles = (
        setting.model.register_forward_pre_hook(begin, with_kwargs=True),
        setting.model.register_forward_hook(end),
    )
    try:
        yield steps, spent
    finally:
        for handle in handles:
            handle.remove()
