"""What the history last recorded of the scheduler's side, and whether it is behind it (L14)."""

from __future__ import annotations

import pytest

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from adapters.simulated.slurm_mishaps import SlurmPeople
from projections.evolve import empty
from projections.recorded import last_recorded_find, presumed_capabilities
from projections.regression import own_installation, regressed
from streams.messages.commands import Dispose
from streams.messages.spec import JobSpec, KubeflowOptions, Run, SlurmOptions
from streams.messages.values import Disposition, Floor, Found, Phase
from tests.driver import INSTALLATION, Driver

RUN = Run(command=("true",))


@pytest.mark.parametrize("settings", [SlurmSettings(), KubeflowSettings(), KubeflowSettings(kueue=True)])
async def test_the_find_last_recorded_shows_what_a_find_would_show_while_nothing_changes(
    settings: SlurmSettings | KubeflowSettings,
) -> None:
    driver = Driver(settings)
    await driver.submit(nodes=2)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.quiet()
    recorded, found = last_recorded_find(driver.record), await driver.adapter.find(driver.name)
    assert recorded is not None
    assert recorded.sightings == found.sightings
    assert recorded.as_of <= found.as_of
    assert recorded.floor is None


async def test_an_object_that_was_missing_from_it_is_not_shown() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    driver.slurm.jobs[0].hidden = True
    driver.slurm.touch(driver.slurm.jobs[0])
    await driver.pass_time(5)
    await driver.quiet()
    recorded = last_recorded_find(driver.record)
    assert recorded is not None
    assert recorded.sightings == ()


def test_without_a_find_in_the_history_there_is_none() -> None:
    assert last_recorded_find(empty("nlp", "llama")) is None


@pytest.mark.parametrize(
    ("settings", "spec"),
    [
        (SlurmSettings(), JobSpec(cluster="sim", run=RUN, slurm=SlurmOptions())),
        (KubeflowSettings(), JobSpec(cluster="sim", run=RUN, kubeflow=KubeflowOptions(namespace="nlp", runtime="t"))),
        (
            KubeflowSettings(kueue=True),
            JobSpec(cluster="sim", run=RUN, kubeflow=KubeflowOptions(namespace="nlp", runtime="t", mode="kueue")),
        ),
    ],
)
async def test_what_is_presumed_of_a_cluster_is_what_one_of_its_kind_says(
    settings: SlurmSettings | KubeflowSettings, spec: JobSpec
) -> None:
    told, presumed = await Driver(settings).capabilities(), presumed_capabilities(spec)
    assert told.kind == f"simulated-{presumed.kind}"
    same = ("first_run", "gate_is_hold", "queues_gated", "hold_ends_run", "release_begins_run", "requeue_of")
    for name in (*same, "ended_runs_again"):
        assert getattr(told, name) == getattr(presumed, name), name


async def test_an_object_whose_event_the_history_lacks_is_a_regression_until_a_person_decides() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.GATED)
    found = await driver.adapter.find(driver.name)
    assert regressed(driver.record, found, INSTALLATION) is None
    assert own_installation(driver.record) == INSTALLATION
    driver.bus.history.go_back_to(1)
    driver.forget()
    await driver.look()
    shown = Found(as_of=found.as_of, sightings=found.sightings)
    assert regressed(driver.record, shown, INSTALLATION) == "1 carries r3, the history ends at r2 without it"
    assert regressed(driver.record, shown, None) is not None
    assert regressed(driver.record, shown, "another") is None
    assert own_installation(driver.record) is None
    ref = found.sightings[0].object
    await driver.order(Dispose(**driver.order_fields("c-stop"), target=ref, disposition=Disposition.STOP))
    assert regressed(driver.record, shown, INSTALLATION) is None


async def test_a_pair_that_an_agent_remembers_is_judged_by_event_id_not_by_number() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.record.attempts)
    attempt = driver.record.attempts[0]
    known = Floor(revision=attempt.revision, nonce=attempt.nonce)
    other = Floor(revision=attempt.revision, nonce="0" * 26)
    assert regressed(driver.record, Found(as_of=driver.at, floor=known), INSTALLATION) is None
    assert regressed(driver.record, Found(as_of=driver.at, floor=other), INSTALLATION) is not None


async def test_an_object_without_a_tag_is_foreign_and_no_regression() -> None:
    driver = Driver()
    await driver.submit()
    SlurmPeople(driver.slurm).submit(driver.name)
    await driver.quiet()
    assert regressed(driver.record, await driver.adapter.find(driver.name), INSTALLATION) is None
