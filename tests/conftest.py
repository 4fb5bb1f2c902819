"""What all tests share: one OpenMP thread, Hypothesis without a deadline, and the small default model, loaded once."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
from hypothesis import HealthCheck, settings

# A first call may compile kernels, and machines that run tests are busy: deadlines would only measure that.
settings.register_profile("new examples", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples in every run, so that a red run is the change's doing; DOMINO_SLOW=1 draws new ones each time.
settings.register_profile("same examples", settings.get_profile("new examples"), derandomize=True)
settings.load_profile("new examples" if os.environ.get("DOMINO_SLOW") else "same examples")


@pytest.fixture(scope="session")
def default_model() -> tuple[Any, Any]:
    """(model, tokenizer) of `domino_py.load_default()`, float32, one thread; skips where its package cannot be had."""
    import torch

    import domino_py as domino

    torch.set_num_threads(1)
    try:
        return domino.load_default()
    except domino.DominoError as error:
        pytest.skip(f"the default model is not available here: {error}")
