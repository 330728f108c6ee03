"""A failing run made short: the same law broken by fewer draws.

Draws are deleted in chunks and set to 0, the calmest choice, for as long as the same law still breaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.simulator.run import Ran, run

RUNS_MAX = 1500


def shrink(
    seed: int, *, steps: int, shape: str | None = None, runs_max: int = RUNS_MAX
) -> tuple[list[int], Ran] | None:
    """The shortest script found that breaks the law that this seed breaks, and its run; None if it breaks none."""
    first = run(seed, steps=steps, shape=shape)
    if not first.broken:
        return None
    search = _Search(lambda script: run(seed, steps=steps, script=script, shape=shape), first.law, runs_max)
    best = search.reduce(first.world.draws.log)
    return best, run(seed, steps=steps, script=best, shape=shape, trace=True)


class _Search:
    """Greedy: whatever still breaks the law is kept."""

    def __init__(self, attempt: Callable[[Sequence[int]], Ran], law: str | None, runs_max: int) -> None:
        self._attempt = attempt
        self._law = law
        self._left = runs_max

    def reduce(self, script: list[int]) -> list[int]:
        best = script
        before = len(best) + 1
        while len(best) < before and self._left > 0:
            before = len(best)
            best = self._zeros(self._deletions(best))
        return best

    def _breaks(self, script: Sequence[int]) -> Ran | None:
        if self._left <= 0:
            return None
        self._left -= 1
        ran = self._attempt(script)
        return ran if ran.law == self._law else None

    def _deletions(self, best: list[int]) -> list[int]:
        size = max(1, len(best) // 2)
        while size >= 1:
            at = 0
            while at < len(best):
                candidate = [*best[:at], *best[at + size :]]
                ran = self._breaks(candidate)
                if ran is None:
                    at += size
                else:
                    # A run reads no further than it needs to break.
                    best = ran.world.draws.log[: len(candidate)]
            size //= 2
        return best

    def _zeros(self, best: list[int]) -> list[int]:
        size = max(1, len(best) // 4)
        while size >= 1:
            for at in range(0, len(best), size):
                part = best[at : at + size]
                if any(part):
                    candidate = [*best[:at], *([0] * len(part)), *best[at + size :]]
                    if self._breaks(candidate) is not None:
                        best = candidate
            size //= 2
        while best and best[-1] == 0:
            best.pop()
        return best
