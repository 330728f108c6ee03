"""A held job is requeued, released and cancelled while its calls land in every order, where a hold is not the gate.

Two clusters have two bits: one whose hold leaves a run alone, as the local adapter's does, and Kueue, whose hold ends
the run. The job runs, waits for nodes, or is being opened when the first order is given. Nothing lifts a hold that was not released;
none is reported placed, or released, that is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from streams.messages.values import Phase
from tests.simulator.mutants.plant import Edit, Mutant, planted
from tests.unit.dispatch.parked import ORDERS, ParkedDriver, begun, check_history, come_to_rest, every_way


class Kind(NamedTuple):
    """A cluster whose hold is a bit of its own, what the job does when it is held, and how the hold is asked for."""

    name: str
    settings: SlurmSettings | KubeflowSettings
    phase: Phase
    now: bool = False

    async def begin(self) -> ParkedDriver:
        driver = await begun(self.settings, self.phase)
        driver.now_holds = self.now
        return driver


BESIDE = SlurmSettings(incomplete=False, fenced_calls=True, hold_beside_gate=True)
KUEUE = KubeflowSettings(kueue=True)
KINDS = (
    Kind("beside-running", BESIDE, Phase.RUNNING),
    Kind("beside-opening", BESIDE, Phase.GATED),
    Kind("kueue-running-now", KUEUE, Phase.RUNNING, now=True),
    Kind("kueue-queued", KUEUE, Phase.QUEUED),
)


def hold_bits(driver: ParkedDriver) -> list[bool]:
    """Whether the canonical object bears a hold: the bit itself, whatever a Find shows."""
    if isinstance(driver.cluster.settings, SlurmSettings):
        return [job.set_aside for job in driver.slurm.jobs if job.ref == driver.ref]
    return [not job.workload.active for job in driver.kubeflow.jobs if job.ref == driver.ref and job.workload]


def check_bit(driver: ParkedDriver) -> None:
    """What is reported of holds is what the object bears."""
    holds = driver.record.holds.values()
    if any(h.placed and not h.lifted for h in holds):
        assert all(hold_bits(driver)), "reported placed, and it is not on the object"
    if any(h.released for h in holds) and not driver.record.in_force and driver.record.cancel is None:
        assert not any(hold_bits(driver)), "reported released, and it is on the object"


def unneeded(kind: Kind, driver: ParkedDriver) -> bool:
    """The gate itself keeps the next run from beginning, or a hold would end a run that may go on."""
    at_gate = driver.phase is Phase.GATED and not driver.record.opened(driver.ref)
    return at_gate or (kind.settings is KUEUE and not kind.now and driver.phase is Phase.RUNNING)


async def go_every_way(kind: Kind, orders: Sequence[str]) -> int:
    ways = 0
    async for driver in every_way(kind.begin, orders, check_bit):
        await come_to_rest(driver, orders)
        check_bit(driver)
        if driver.record.in_force:
            assert unneeded(kind, driver) or all(hold_bits(driver)), ("a hold is not on the object", driver.way_taken)
        await check_history(driver)
        ways += 1
    return ways


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("orders", ORDERS, ids="-".join)
async def test_no_order_of_landing_lifts_a_hold_that_was_not_released(orders: Sequence[str], kind: Kind) -> None:
    assert await go_every_way(kind, orders) > 1


PLANTED = (
    Mutant(
        name="release-beside-a-hold-on-its-way",
        rule="no release is sent while a call of any instance is on its way",
        edits=(
            Edit(
                "dispatch.next_steps.holds:_release",
                "    if not calls.over(situation, held.ref, *CHANGES_HOLD):\n        return ()\n",
                "",
            ),
        ),
        laws=(),
    ),
    Mutant(
        name="hold-judged-while-a-call-may-land",
        rule="a hold is reported placed or released only once every call that could change it is over",
        edits=(
            Edit(
                "projections.intents:_judge_holds",
                "    if not all(c.over_before(look.as_of, look.read_revision) for c in changing):\n        return record\n",
                "",
            ),
        ),
        laws=(),
    ),
)


@pytest.mark.parametrize("mutant", PLANTED, ids=lambda mutant: mutant.name)
async def test_an_enumeration_finds_a_rule_that_is_gone(mutant: Mutant) -> None:
    with planted(mutant), pytest.raises(AssertionError, match="on the object"):
        await go_every_way(KINDS[0], ("hold", "release"))
