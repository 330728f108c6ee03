"""Many seeds, for a while: what was run, what was injected, what was reached, what broke."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from streams.messages.reasons import Reason
from tests.simulator.run import STEPS, Ran, run
from tests.simulator.swarm import SHAPES


class Soaked(msgspec.Struct, kw_only=True):
    """The sum of many runs. `broken` holds seed, law and what was seen."""

    first_seed: int
    seeds: int = 0
    steps: int = 0
    seconds: float = 0.0
    core_seconds: float = 0.0
    events: int = 0
    lives: int = 0
    settled: int = 0
    shapes: dict[str, int] = {}
    faults: dict[str, int] = {}
    reasons: dict[str, int] = {}
    refusals: dict[str, int] = {}
    broken: list[tuple[int, str, str]] = []

    @property
    def steps_per_second(self) -> float:
        """Of one core: what others do on the machine meanwhile does not count."""
        return self.steps / self.core_seconds if self.core_seconds else 0.0

    @property
    def unreached(self) -> list[str]:
        """Decision reasons that no run gave."""
        return [reason.value for reason in Reason if reason.value not in self.reasons]

    def add(self, ran: Ran) -> None:
        world = ran.world
        self.seeds += 1
        self.steps += world.steps
        self.events += len(world.ledger.entries)
        self.lives += world.lives
        self.settled += world.watch.record.settled
        for name, counted in (
            ("shapes", Counter([world.swarm.shape])),
            ("faults", world.faults),
            ("reasons", Counter(reason.value for reason in world.watch.reasons)),
            ("refusals", Counter(r.code.value for r in world.receipts.values() if r.code is not None)),
        ):
            total = Counter(getattr(self, name))
            total.update(counted)
            setattr(self, name, dict(total))
        if ran.law is not None:
            self.broken.append((ran.seed, ran.law, ran.what))


def soak(
    seeds: Iterator[int],
    *,
    seconds: float,
    steps: int = STEPS,
    shape: str | None = None,
    stop: Callable[[Soaked], bool] = lambda _: False,
) -> Soaked:
    """Run seeds until the time is over, or `stop` says so."""
    first = next(seeds)
    soaked = Soaked(first_seed=first)
    began, busy = time.monotonic(), time.process_time()
    seed = first
    while not (soaked.seeds and (time.monotonic() - began >= seconds or stop(soaked))):
        soaked.add(run(seed, steps=steps, shape=shape))
        soaked.seconds = time.monotonic() - began
        soaked.core_seconds = time.process_time() - busy
        seed = next(seeds)
    return soaked


def report(soaked: Soaked) -> str:
    """The sum in Markdown."""
    broken = [f"| {seed} | {law} | {what[:160]} |" for seed, law, what in soaked.broken]
    lines = [
        "# A soak of the simulator",
        "",
        (
            f"Seeds {soaked.first_seed} to {soaked.first_seed + soaked.seeds - 1}: {soaked.seeds:,} schedules, "
            f"{soaked.steps:,} steps in {soaked.core_seconds:,.0f} core seconds "
            f"({soaked.steps_per_second:,.0f} steps per second of one core), "
            f"{soaked.events:,} events, {soaked.lives:,} lives of supervisors, {soaked.settled:,} jobs settled."
        ),
        "",
        f"Laws broken: {len(soaked.broken)}.",
        "",
        *(["| seed | law | what |", "|---|---|---|", *broken, ""] if broken else []),
        *_table("Shape", soaked.shapes, SHAPES),
        *_table("Fault injected", soaked.faults),
        *_table("Reason reached (runs)", soaked.reasons),
        *_table("Refusal given (runs)", soaked.refusals),
        f"Reasons that no run reached: {', '.join(soaked.unreached) or 'none'}.",
        "",
    ]
    return "\n".join(lines)


def _table(what: str, counts: dict[str, int], order: tuple[str, ...] = ()) -> list[str]:
    names = order or tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    return [f"| {what} | times |", "|---|---|", *(f"| {n} | {counts.get(n, 0):,} |" for n in names), ""]
