"""A job whose calls stay on their way until they are told to land, led along every way there is through its orders."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from dispatch.decide import Decided
from projections.evolve import empty, evolve
from projections.verify import verify
from streams.messages.commands import HoldJob, ReleaseJob, RequeueJob
from streams.messages.events import CallCommitted
from streams.messages.plan import RecoveryPlan
from streams.messages.values import Phase, Verb
from tests.driver import Driver

ONCE_EACH = tuple(
    order
    for length in (2, 3, 4)
    for order in itertools.permutations(("hold", "requeue", "release", "cancel"), length)
    if order[0] == "hold"
)
HELD_AGAIN = (
    ("hold", "release", "hold2"),
    ("hold", "release", "hold2", "requeue"),
    ("hold", "release", "requeue", "hold2"),
)
ORDERS = (*ONCE_EACH, *HELD_AGAIN)
# How many passes and landings, in every order of theirs, while so many orders are given.
MOMENTS = {2: 6, 3: 3, 4: 2}


class ParkedDriver(Driver):
    """Calls stay on their way until they are told to land. `now_holds`: a hold also ends the run in progress."""

    def __init__(self, settings: SlurmSettings | KubeflowSettings) -> None:
        super().__init__(settings)
        self.parked: list[Coroutine[Any, Any, None]] = []
        self.parking = False
        self.now_holds = False
        self.way_taken: list[str] = []

    def _spawn(self, call: Coroutine[Any, Any, None]) -> None:
        if self.parking:
            self.parked.append(call)
        else:
            super()._spawn(call)

    async def land(self, which: int) -> None:
        await self.parked.pop(which)
        await self.read()

    async def give(self, order: str) -> bool:
        """Whether the order became an event."""
        if order == "cancel":
            return isinstance(await self.cancel(), Decided)
        fields = self.order_fields(f"c-{order}")
        if order.startswith("hold"):
            return isinstance(await self.order(HoldJob(**fields, now=self.now_holds)), Decided)
        if order == "release":
            return isinstance(await self.order(ReleaseJob(**fields)), Decided)
        held = self.record.canonical()
        return isinstance(await self.order(RequeueJob(**fields, run=held.run if held else 0)), Decided)


Begin = Callable[[], Coroutine[Any, Any, ParkedDriver]]
Check = Callable[[ParkedDriver], None]


async def begun(settings: SlurmSettings | KubeflowSettings, phase: Phase) -> ParkedDriver:
    """A job that runs, or waits for nodes, or stands at its gate with its Open on its way.

    From here on calls stay on their way.
    """
    driver = ParkedDriver(settings)
    await driver.submit(plan=RecoveryPlan())
    if phase is Phase.QUEUED:
        driver.fill()
    if phase is not Phase.GATED:
        await driver.until(lambda d: d.phase is phase)
    driver.parking = True
    while phase is Phase.GATED and not (driver.phase is phase and driver.parked):
        while driver.parked:
            await driver.land(0)
        await driver.look()
    return driver


async def every_way(begin: Begin, orders: Sequence[str], check: Check) -> AsyncIterator[ParkedDriver]:
    """The job at the end of each way: the orders given, and between them, in every order, passes and landings.

    At each moment the next order is given, a pass looks (unless the last one changed nothing and nothing happened
    since), or a call on its way lands, the oldest or the newest. After so many moments the rest is given and lands.
    """
    path: list[int] = []
    while True:
        driver = await begin()
        choices = await _go(driver, list(orders), path, check)
        yield driver
        while choices and choices[-1][0] == choices[-1][1] - 1:
            choices.pop()
        if not choices:
            return
        path = [taken for taken, _ in choices]
        path[-1] += 1


async def _go(driver: ParkedDriver, left: list[str], path: list[int], check: Check) -> list[tuple[int, int]]:
    """Along this path of choices and then the first of each; every choice made, and of how many."""
    choices: list[tuple[int, int]] = []
    moments, quiet = MOMENTS[len(left)], False
    await driver.give(left.pop(0))
    while moments:
        options = ["order"] * bool(left) + ["pass"] * (not quiet) + ["oldest", "newest"][: len(driver.parked)]
        if not options:
            break
        taken = path[len(choices)] if len(choices) < len(path) else 0
        choices.append((taken, len(options)))
        driver.way_taken.append(left[0] if options[taken] == "order" else options[taken])
        before = (driver.record.revision, len(driver.parked))
        if options[taken] == "order":
            await driver.give(left.pop(0))
        else:
            moments -= 1
            await _moment(driver, options[taken], check)
        quiet = options[taken] == "pass" and before == (driver.record.revision, len(driver.parked))
    for order in left:
        await driver.give(order)
    driver.empty()
    while driver.parked:
        await driver.land(0)
    driver.parking = False
    return choices


async def _moment(driver: ParkedDriver, what: str, check: Check) -> None:
    if what == "pass":
        await driver.look()
        await driver.pass_time(1.0)
        check(driver)
    else:
        await driver.land(0 if what == "oldest" else -1)


async def come_to_rest(driver: ParkedDriver, orders: Sequence[str]) -> None:
    """Settled, where the job was cancelled; else whatever passes and two minutes change has changed."""
    if "cancel" in orders:
        await driver.settle()
        assert driver.record.cancel is not None
        return
    await driver.quiet()
    for _ in range(3):
        await driver.pass_time(40.0)
        await driver.look()


async def check_history(driver: ParkedDriver) -> None:
    """Nothing began, by the cluster's own account, while a hold was reported placed; none was opened or released then."""
    entries = await driver.entries()
    record = empty(driver.name.tenant, driver.name.job)
    spans, since = [], None
    for entry in entries:
        event = getattr(entry.content, "event", None)
        if isinstance(event, CallCommitted) and event.verb in (Verb.OPEN, Verb.RELEASE):
            assert not record.in_force, f"{event.verb} at r{entry.revision} while a hold is in force"
        record = evolve(record, entry)
        placed = any(h.placed and not h.lifted for h in record.holds.values())
        at = entry.content.at  # type: ignore[union-attr]  # every entry here is ours
        if placed and since is None:
            since = at
        elif not placed and since is not None:
            spans.append((since, at))
            since = None
    began = [run.began_at for run in driver.cluster.truth.executions if run.began_at]
    within = [f"{at} within {span}" for at in began for span in spans if span[0] < at < span[1]]
    assert not within, "a run began while a hold was reported placed"
    verdict = verify(entries)
    assert not verdict.broken, verdict.broken
