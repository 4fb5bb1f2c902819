"""The machine and the versions that a measurement belongs to."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["describe_machine", "versions_of"]

PACKAGES = ("domino-decoding", "torch", "transformers", "numpy", "numba", "tokenizers")


def describe_machine() -> dict[str, str | int]:
    """Processor, cores, memory, threads, operating system, Python, and the date."""
    import torch

    facts: dict[str, str | int] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 0,
        "torch threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    if hasattr(os, "getloadavg"):
        facts["load"] = f"{os.getloadavg()[0]:.1f}"
    if torch.cuda.is_available():
        facts["accelerator"] = torch.cuda.get_device_name(0)
    return facts


def versions_of(*more: str) -> dict[str, str]:
    """Versions of the packages that matter and of these ones, where installed."""
    found = {}
    for package in (*PACKAGES, *more):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        return platform.processor() or "Apple"
    return platform.processor() or platform.machine()
