"""Many seeds, for a while: what was run, what was injected, what was reached, what broke."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from streams.messages.reasons import Reason
from tests.simulator.mutants.every import MUTANTS
from tests.simulator.mutants.search import recorded
from tests.simulator.run import STEPS, Ran, run
from tests.simulator.swarm import SHAPES

# So many schedules over every shape give each reason of a decision: the rarest is that of one run in 330.
WHOLE = 5_000


class Soaked(msgspec.Struct, kw_only=True):
    """The sum of many runs. `ranges`: the first and the last seed of each stretch; `broken`: seed, law, what was seen."""

    ranges: list[tuple[int, int]] = []
    steps: int = 0
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
    def seeds(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges)

    @property
    def steps_per_second(self) -> float:
        """Of one core: what others do on the machine meanwhile does not count."""
        return self.steps / self.core_seconds if self.core_seconds else 0.0

    @property
    def unreached(self) -> list[str]:
        """Decision reasons that no run gave."""
        return [reason.value for reason in Reason if reason.value not in self.reasons]

    @property
    def failed(self) -> bool:
        """Whether a law broke, or a soak long enough to give every reason did not give one."""
        whole = self.seeds >= WHOLE and all(shape in self.shapes for shape in SHAPES)
        return bool(self.broken) or (whole and bool(self.unreached))

    def add(self, ran: Ran) -> None:
        """One more run."""
        world = ran.world
        self.merge(
            Soaked(
                ranges=[(ran.seed, ran.seed)],
                steps=world.steps,
                events=len(world.ledger.entries),
                lives=world.lives,
                settled=int(world.watch.record.settled),
                shapes={world.swarm.shape: 1},
                faults=dict(world.faults),
                reasons=dict.fromkeys((reason.value for reason in world.watch.reasons), 1),
                refusals=dict(Counter(r.code.value for r in world.receipts.values() if r.code is not None)),
                broken=[(ran.seed, ran.law, ran.what)] if ran.law is not None else [],
            )
        )

    def merge(self, other: Soaked) -> None:
        """What another has run besides; raises ValueError where a seed would be counted twice."""
        self.ranges = joined([*self.ranges, *other.ranges])
        self.steps += other.steps
        self.core_seconds += other.core_seconds
        self.events += other.events
        self.lives += other.lives
        self.settled += other.settled
        for name in ("shapes", "faults", "reasons", "refusals"):
            mine: dict[str, int] = getattr(self, name)
            for what, times in getattr(other, name).items():
                mine[what] = mine.get(what, 0) + times
        self.broken = sorted([*self.broken, *other.broken])


def joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches of seeds, in order, those that touch made one."""
    whole: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if whole and first <= whole[-1][1]:
            raise ValueError(f"seed {first} is counted twice")
        if whole and first == whole[-1][1] + 1:
            whole[-1] = (whole[-1][0], last)
        else:
            whole.append((first, last))
    return whole


def soak(
    seeds: Iterable[int],
    *,
    seconds: float,
    steps: int = STEPS,
    shape: str | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Soaked:
    """Run seeds until there are no more, the time is over, or `stop` says so; one at least."""
    soaked = Soaked()
    began, busy = time.monotonic(), time.process_time()
    for seed in seeds:
        soaked.add(run(seed, steps=steps, shape=shape))
        if time.monotonic() - began >= seconds or stop():
            break
    soaked.core_seconds = time.process_time() - busy
    return soaked


def report(soaked: Soaked) -> str:
    """The sum in Markdown."""
    broken = [f"| {seed} | {law} | {what[:160]} |" for seed, law, what in soaked.broken]
    lines = [
        "# A soak of the simulator",
        "",
        (
            f"Seeds {', '.join(f'{first} to {last}' for first, last in soaked.ranges)}: {soaked.seeds:,} schedules, "
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
        f"Planted bugs caught: {len(recorded())} of {len(MUTANTS)} ([each of them](mutants.md)).",
        "",
    ]
    return "\n".join(lines)


def _table(what: str, counts: dict[str, int], order: tuple[str, ...] = ()) -> list[str]:
    names = order or tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    return [f"| {what} | times |", "|---|---|", *(f"| {n} | {counts.get(n, 0):,} |" for n in names), ""]
