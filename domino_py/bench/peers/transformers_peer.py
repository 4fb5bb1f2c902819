"""transformers' own `generate` without any constraint: what its loop costs, and what the model says if left alone."""

from __future__ import annotations

from domino_py.bench.methods import Method, Setting
from domino_py.bench.peers.processed import Processed
from domino_py.bench.workloads import Workload

__all__ = ["make"]


class _Plain(Processed):
    def prepare(self, workload: Workload) -> None:
        """Nothing to do."""

    def processor(self, workload: Workload) -> None:
        return None


def make(setting: Setting) -> Method:
    return _Plain(setting, "transformers", "transformers, unconstrained")
