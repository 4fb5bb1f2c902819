"""transformers' own `generate` without any constraint: what its loop costs, and what the model says if left alone.

Also with its own drafts: prompt look-up decoding, and assisted decoding where there is a smaller model.
"""

from __future__ import annotations

from typing import Any

from domino_py.bench.methods import Method, Setting
from domino_py.bench.peers.processed import Processed
from domino_py.bench.workloads import Workload

__all__ = ["assisted", "looked_up", "make"]

_N_LOOKED_UP = 10  # the example of transformers' documentation


class _Plain(Processed):
    def prepare(self, workload: Workload) -> None:
        """Nothing to do."""

    def processor(self, workload: Workload) -> None:
        return None


def make(setting: Setting) -> Method:
    return _Plain(setting, "transformers", "transformers, unconstrained")


def looked_up(setting: Setting) -> Method:
    """Prompt look-up decoding: drafts are what stood behind the last tokens where they stood before."""
    return _Plain(
        setting,
        "transformers-lookup",
        "transformers, prompt look-up, unconstrained",
        {"prompt_lookup_num_tokens": _N_LOOKED_UP},
    )


def assisted(setting: Setting, draft_model: Any) -> Method:
    """Assisted decoding: a smaller model drafts."""
    return _Plain(
        setting,
        "transformers-assisted",
        "transformers, assisted, unconstrained",
        {"assistant_model": draft_model},
    )
