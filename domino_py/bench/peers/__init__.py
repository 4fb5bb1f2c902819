"""Other libraries beside this one, each in a small adapter; what is not installed is left out and named.

An adapter makes a logits processor for transformers' `generate`. `find_peers` imports only what is installed.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from domino_py.bench.methods import Method, Setting

__all__ = ["PEERS", "Absent", "find_peers"]

PEERS = {
    # name -> (adapter module, distribution, title)
    "transformers": ("transformers_peer", "transformers", "transformers, unconstrained"),
    "xgrammar": ("xgrammar_peer", "xgrammar", "transformers + xgrammar"),
    "llguidance": ("llguidance_peer", "llguidance", "transformers + llguidance"),
    "outlines": ("outlines_peer", "outlines", "transformers + Outlines"),
    "guidance": ("guidance_peer", "guidance", "guidance"),
    "lm-format-enforcer": ("lm_format_enforcer_peer", "lm-format-enforcer", "transformers + lm-format-enforcer"),
}


@dataclass(frozen=True, slots=True)
class Absent:
    """A peer that cannot be run here, and why."""

    name: str
    reason: str


def find_peers(setting: Setting) -> tuple[list[Method], list[Absent]]:
    """The peers that are installed and take this tokenizer, and the others with the reason."""
    found: list[Method] = []
    absent: list[Absent] = []
    for name, (module, distribution, _) in PEERS.items():
        try:
            adapter = importlib.import_module(f"domino_py.bench.peers.{module}")
            found.append(adapter.make(setting))
        except ImportError as error:
            absent.append(Absent(name, f"{distribution} is not installed (pip install {distribution}): {error}"))
        except Exception as error:  # whatever a foreign library raises for this tokenizer is a result, not our error
            absent.append(Absent(name, f"{type(error).__name__}: {error}"))
    return found, absent
