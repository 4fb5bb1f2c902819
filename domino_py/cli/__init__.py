"""The command `domino`: extract, generate, check, inspect, bench."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Entry point of the console script. Exit codes: 0 done, 1 some records failed or problems found, 2 wrong use."""
    from domino_py.cli.app import run

    run()
