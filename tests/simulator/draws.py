"""Every choice of a simulation, from one seed: a stream of numbers below a bound, kept so that it can be replayed.

The stream is `getrandbits` of a generator seeded with one whole number: the same on every Python and under every
PYTHONHASHSEED. A replayed run reads its numbers from a script; past the script's end every number is 0, which is
everywhere the calmest choice.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
ONE_IN = 1024


class Draws:
    """`below` is the only source; everything else is made of it. `log` holds what was drawn."""

    __slots__ = ("_at", "_bits", "_script", "log")

    def __init__(self, seed: int, script: Sequence[int] | None = None) -> None:
        self._bits = random.Random(seed).getrandbits
        self._script = script
        self._at = 0
        self.log: list[int] = []

    def below(self, bound: int) -> int:
        """A number from 0 up to, not including, `bound` (at most 65536)."""
        if self._script is None:
            value = self._bits(32) % bound
        else:
            value = self._script[self._at] % bound if self._at < len(self._script) else 0
            self._at += 1
        self.log.append(value)
        return value

    def chance(self, likely: int) -> bool:
        """True `likely` times in 1024. Draws nothing where it cannot be true."""
        return likely > 0 and self.below(ONE_IN) >= ONE_IN - likely

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))] if len(items) > 1 else items[0]

    @property
    def spent(self) -> bool:
        """Whether a script was given and has come to its end."""
        return self._script is not None and self._at >= len(self._script)
