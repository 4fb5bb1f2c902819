"""Draft trees: how proposals merge, which nodes are run, and that a pass over one is a pass over each of its paths."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

from speculative.columns import Columns
from speculative.drafts import Draft
from speculative.legality import LegalSet
from speculative.passes import CausalModel
from speculative.policy import Acceptance, DraftPolicy
from speculative.tree import ROOT, DraftTree, Run, build_tree
from speculative.tree_passes import takes_trees
from tests.reference.fake_matcher import FakeCompiled
from tests.reference.tiny_models import tiny_gemma3, tiny_llama, tiny_qwen3_next, tiny_vocabulary

VOCABULARY = tiny_vocabulary()


def ids_of(text: str) -> tuple[int, ...]:
    assert VOCABULARY.encode is not None
    return tuple(VOCABULARY.encode(text))


def grown(texts: list[bytes], *drafts: tuple[str, str]) -> DraftTree:
    """A tree of drafts (kind of all their tokens, text) in a language."""
    legal = LegalSet(FakeCompiled(texts, VOCABULARY).matcher(), VOCABULARY, frozenset({0}))
    chains = [Draft("test", ids_of(text), (kind,) * len(ids_of(text))) for kind, text in drafts]
    tree = build_tree(chains, legal, VOCABULARY.n_rows, -1, Acceptance())
    assert legal.matcher.text_bytes() == b""
    return tree


def paths(tree: DraftTree) -> set[bytes]:
    """The text of every node."""
    found = []
    for node in range(len(tree)):
        tokens = []
        while node != ROOT:
            tokens.append(tree.token_ids[node])
            node = tree.parents[node]
        found.append(VOCABULARY.decode(reversed(tokens)))
    return set(found)


LANGUAGE = [b"yes, no", b"yes, yes", b"yes; no", b"blue"]


def test_common_beginnings_are_one_node_and_alternatives_are_branches() -> None:
    tree = grown(LANGUAGE, ("forced", "yes, no"), ("way2", "yes, yes"), ("way2", "yes; no"))
    assert len(tree.children[ROOT]) == 1  # "yes", which all three begin with
    (first,) = tree.children[ROOT].values()
    assert len(tree.children[first]) == 2
    assert {text[:4] for text in paths(tree) if len(text) > 3} == {b"yes,", b"yes;"}


def test_what_is_illegal_and_what_ends_the_text_is_no_node() -> None:
    tree = grown([b"yes, no"], ("forced", "yes, blue"), ("forced", "yes, no"))
    assert paths(tree) == {b"yes", b"yes, "}


def test_ends_and_ids_beyond_the_vocabulary_are_no_nodes() -> None:
    legal = LegalSet(FakeCompiled([b"yes, no"], VOCABULARY).matcher(), VOCABULARY, frozenset({0}))
    drafts = [Draft("test", ids, ("forced",) * len(ids)) for ids in ((0, 5), (-1,), (10**9,))]
    assert len(build_tree(drafts, legal, VOCABULARY.n_rows, -1, Acceptance())) == 0
    assert len(build_tree(drafts[1:], None, VOCABULARY.n_rows, -1, Acceptance())) == 0


def test_alternatives_share_one_chance() -> None:
    tree = grown(
        [b"red, no", b"green, no", b"blue, no"], *(("forced", f"{word}, no") for word in ("red", "green", "blue"))
    )
    first = [tree.chances[node] for node in tree.children[ROOT].values()]
    assert sum(first) == pytest.approx(1.0)


class Counts:
    """Knows that after the first state only one token came."""

    def __init__(self, token: int) -> None:
        self.token = token

    def share(self, state: Any, last_token: int, token_id: int) -> tuple[float, float] | None:
        return (20.0 * (token_id == self.token), 20.0) if state == b"" else None


def test_what_followed_this_state_before_outweighs_the_label() -> None:
    legal = LegalSet(FakeCompiled([b"red, no", b"blue, no"], VOCABULARY).matcher(), VOCABULARY, frozenset({0}))
    drafts = [Draft("test", ids_of(text), ("way2",) * len(ids_of(text))) for text in ("red, no", "blue, no")]
    tree = build_tree(drafts, legal, VOCABULARY.n_rows, -1, Acceptance(), Counts(ids_of("blue")[0]))
    chances = {VOCABULARY.token_bytes[tree.token_ids[n]]: tree.chances[n] for n in tree.children[ROOT].values()}
    assert chances[VOCABULARY.token_bytes[ids_of("blue")[0]]] > 0.85
    assert chances[VOCABULARY.token_bytes[ids_of("red")[0]]] < 0.15


def random_tree(rng: random.Random, n: int) -> DraftTree:
    tree = DraftTree()
    for _ in range(n):
        node = tree.add(rng.randrange(-1, len(tree)), rng.randrange(1, 200))
        tree.conditional[node] = rng.random()
        tree.labels[node] = [("test", "guess", False)]
    tree.weigh()
    return tree


def test_every_beginning_of_the_best_nodes_is_a_tree_and_runs_its_likeliest_path_first() -> None:
    rng = random.Random(0)
    for _ in range(100):
        tree = random_tree(rng, rng.randint(1, 25))
        best = tree.best()
        assert sorted(best) == list(range(len(tree)))
        for width in range(len(best) + 1):
            run = tree.run(best[:width])
            assert sorted(run.nodes) == sorted(best[:width])
            for place, parent in enumerate(run.parents):
                assert parent < place
                assert (ROOT if parent == ROOT else run.nodes[parent]) == tree.parents[run.nodes[place]]
        path = tree.best_path()
        run = tree.run(best)
        assert run.nodes[: len(path)] == tuple(path)


def test_children_are_found_by_token() -> None:
    run = Run((0, 1, 2, 3), (5, 6, 7, 6), (-1, 0, 0, -1))
    assert [run.child(-1, 5), run.child(-1, 6), run.child(0, 6), run.child(0, 7), run.child(1, 6)] == [0, 3, 1, 2, None]
    assert not run.is_chain
    assert Run((0, 1), (5, 6), (-1, 0)).is_chain


# Passes --------------------------------------------------------------------------------------------------------------


def logits_of(runner: CausalModel, columns: Columns, cache: Any, heads: Any, drafts: Any, parents: Any) -> Any:
    block = columns.block(heads, drafts, parents)
    return runner.run(block, cache).float().numpy()


@pytest.mark.parametrize("make", [tiny_llama, tiny_gemma3, lambda: tiny_gemma3(window=6)])
def test_the_logits_of_a_node_are_those_of_its_path_in_a_plain_pass(make: Any) -> None:
    model, rng = make(), random.Random(3)
    runner = CausalModel(model)
    with torch.inference_mode():
        for _ in range(6):
            n_rows = rng.randint(1, 3)
            prompts = [[rng.randrange(1, 200) for _ in range(rng.randint(1, 14))] for _ in range(n_rows)]
            columns, cache = Columns(n_rows), runner.new_cache()
            logits_of(runner, columns, cache, prompts, [[]] * n_rows, None)
            columns.settle([()] * n_rows)
            trees = [random_tree(rng, rng.randint(1, 9)) for _ in range(n_rows)]
            runs = [tree.run(tree.best()) for tree in trees]
            heads = [[7]] * n_rows
            found = logits_of(runner, columns, cache, heads, [r.token_ids for r in runs], [r.parents for r in runs])
            for row, run in enumerate(runs):
                for place in range(-1, len(run)):
                    path, at = [], place
                    while at >= 0:
                        path.insert(0, run.token_ids[at])
                        at = run.parents[at]
                    alone = runner.run(Columns(1).block([[*prompts[row], 7, *path]], [[]]), runner.new_cache())
                    assert np.abs(found[row, place + 1] - alone[0, -1].numpy()).max() < 2e-4


def test_models_are_tried_before_their_first_branch() -> None:
    for model, takes in ((tiny_llama(), True), (tiny_gemma3(), True), (tiny_qwen3_next(), False)):
        policy = DraftPolicy("cpu", is_half=False)
        assert takes_trees(CausalModel(model), policy) is takes
        assert bool(policy.takes_trees) is takes


def test_a_model_that_ignores_the_mask_is_found_out() -> None:
    model = tiny_llama()
    forward = model.forward

    def without_mask(*args: Any, attention_mask: Any = None, position_ids: Any = None, **kwargs: Any) -> Any:
        return forward(*args, position_ids=position_ids, **kwargs)

    runner = CausalModel(model)
    model.forward = without_mask
    assert takes_trees(runner, DraftPolicy("cpu", is_half=False)) is False


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_models_are_tried_in_half_precision_too(dtype: torch.dtype) -> None:
    for make in (tiny_llama, tiny_gemma3):
        model = make().to(dtype)
        assert takes_trees(CausalModel(model), DraftPolicy("cpu", is_half=True))
        forward = model.forward

        def without_mask(*args: Any, attention_mask: Any = None, forward: Any = forward, **kwargs: Any) -> Any:
            return forward(*args, **kwargs)

        runner = CausalModel(model)
        model.forward = without_mask
        assert takes_trees(runner, DraftPolicy("cpu", is_half=True)) is False
