"""What a pass costs by its number of tokens, learned from the passes really run.

Before the first measurement the shape of the curve is assumed: measured with a 135M model (float32 and bfloat16 on
one CPU core) and, for accelerators, nearly flat. Each measured size then corrects the curve, nearest sizes first; the
median of the latest passes of a size counts, so a busy machine's outliers do not.
"""

from __future__ import annotations

import bisect
import math
import threading
from collections import deque
from statistics import median

__all__ = ["PassCosts"]

_SHAPES: dict[str, tuple[tuple[int, float], ...]] = {
    "cpu-float32": ((1, 1.0), (2, 1.6), (4, 1.6), (8, 1.7), (16, 2.15), (32, 3.0), (64, 4.75), (128, 8.5)),
    "cpu-half": ((1, 1.0), (2, 1.06), (4, 1.1), (8, 1.25), (16, 1.55), (32, 2.0), (64, 3.0), (128, 5.0)),
    "accelerator": ((1, 1.0), (8, 1.03), (16, 1.06), (32, 1.1), (64, 1.2), (128, 1.5), (256, 2.0)),
}
_LATEST = 9
_LATEST_OF_ALL = 31


class PassCosts:
    """Cost of a pass in seconds (in passes of one token, until one was measured); shared by threads."""

    def __init__(self, device_type: str, is_half: bool) -> None:
        shape = "accelerator" if device_type != "cpu" else "cpu-half" if is_half else "cpu-float32"
        self._sizes = [size for size, _ in _SHAPES[shape]]
        self._shape = [cost for _, cost in _SHAPES[shape]]
        self._lock = threading.Lock()
        self._measured: dict[int, deque[float]] = {}  # size -> latest seconds / shape
        self._latest: deque[float] = deque(maxlen=_LATEST_OF_ALL)
        self._points: list[tuple[float, float]] | None = []  # (log2 size, seconds / shape), by size

    def observe(self, n_tokens: int, elapsed_s: float) -> None:
        """Take in one pass over `n_tokens` tokens in all rows together."""
        ratio = elapsed_s / self._assumed(n_tokens)
        with self._lock:
            self._measured.setdefault(n_tokens, deque(maxlen=_LATEST)).append(ratio)
            self._latest.append(ratio)
            self._points = None

    def cost(self, n_tokens: int) -> float:
        """Return what a pass over this many tokens is expected to cost."""
        return self._assumed(n_tokens) * self._correction(n_tokens)

    def token_s(self) -> float:
        """Return what a pass of one token costs in seconds; 0 before any was measured."""
        return self.cost(1) if self._latest else 0.0

    def _assumed(self, n_tokens: int) -> float:
        index = bisect.bisect_left(self._sizes, n_tokens)
        if index == 0:
            return self._shape[0]
        index = min(index, len(self._sizes) - 1)
        low, high = self._sizes[index - 1], self._sizes[index]
        slope = (self._shape[index] - self._shape[index - 1]) / (high - low)
        return self._shape[index - 1] + slope * (n_tokens - low)

    def _correction(self, n_tokens: int) -> float:
        """Measured over assumed cost, between the two nearest measured sizes by log size."""
        points = self._current_points()
        if not points:
            return 1.0
        place = math.log2(n_tokens)
        index = bisect.bisect_left(points, (place, -math.inf))
        if index == 0:
            return points[0][1]
        if index == len(points):
            return points[-1][1]
        (x0, y0), (x1, y1) = points[index - 1], points[index]
        return y0 + (y1 - y0) * (place - x0) / (x1 - x0)

    def _current_points(self) -> list[tuple[float, float]]:
        with self._lock:
            if self._points is None:
                scale = median(self._latest)
                self._points = sorted(
                    (math.log2(size), median([*ratios, scale, scale])) for size, ratios in self._measured.items()
                )
            return self._points
