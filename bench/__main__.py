"""Measure every figure and tell it: python -m bench [FIGURE…].

Prints a table; when every figure was measured, docs/benchmarks/ is written anew.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

from bench import cold, commits, folds, listing, memory, settling, startup, takeover
from bench.figure import Figure
from bench.telling import table, write

FIGURES: dict[str, Callable[[], Awaitable[Figure]]] = {
    "commits": commits.measure,
    "folds": folds.measure,
    "cold": cold.measure,
    "memory": memory.measure,
    "list": listing.measure,
    "startup": startup.measure,
    "settling": settling.measure,
    "takeover": takeover.measure,
}


async def _measure(names: list[str]) -> list[Figure]:
    figures = []
    for name in names:
        sys.stderr.write(f"measuring {name}\n")
        figures.append(await FIGURES[name]())
    return figures


def main(words: list[str]) -> int:
    """Exit code 2 for a figure that there is not; a missed bar is told, not an error."""
    if unknown := set(words) - set(FIGURES):
        sys.stderr.write(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}\n")
        return 2
    figures = asyncio.run(_measure(words or list(FIGURES)))
    table(figures)
    if not words:
        write(figures)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
