"""One pass: read, Find, evidence, decide, act; what stops it, and what it leaves behind."""

from __future__ import annotations

import pytest

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from adapters.simulated.slurm_mishaps import SlurmMishaps
from dispatch import supervisor
from dispatch.supervisor import Result, run_pass
from projections.controls import Controls
from projections.evolve import empty, fold
from projections.verify import verify
from streams import subjects
from streams.messages.calls import Cessation, JobName
from streams.messages.commands import CancelJob, Dispose, IfUnknown, SubmitJob
from streams.messages.events import (
    CallCommitted,
    JobSettled,
    ObjectsSeen,
)
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import JobSpec, Run
from streams.messages.values import CessationAnswer, CessationBasis, Disposition, Found, MessageRef, Phase, Verb
from tests.driver import INSTALLATION, Driver
from tests.unit.dispatch.scene import SLURM, record_of
from tests.unit.dispatch.stage import Stage
from tests.unit.projections.story import launched

THIRTY_DAYS_S = 30 * 86400


def plan(*on: str, do: PlanAction = PlanAction.RESUBMIT, budget: int = 1) -> RecoveryPlan:
    rule = PlanRule(name="again", on=on, do=do, budget=budget, backoff=Backoff(first=0))
    return RecoveryPlan(rules=(rule,))


async def kinds(driver: Driver) -> list[str]:
    return [type(event).__name__ for event in await driver.events()]


async def lawful(driver: Driver) -> None:
    verdict = verify(await driver.entries())
    assert verdict.broken == ()


# what stops a pass


async def test_a_job_of_which_nothing_is_known_is_left_alone() -> None:
    driver = Driver()
    assert (await driver.look()).result is Result.UNKNOWN_JOB


async def test_a_cancel_of_a_name_never_seen_is_settled_at_once_without_a_cluster() -> None:
    """R8."""
    driver = Driver()
    await driver.order(CancelJob(**driver.order_fields("c-1"), if_unknown=IfUnknown.RECORD))
    driver.way.cut = True
    assert (await driver.look()).result is Result.ACTED
    assert await kinds(driver) == ["JobCancelled", "JobSettled"]
    assert (await driver.look()).result is Result.QUIET


async def test_a_scheduler_that_does_not_answer_changes_nothing() -> None:
    """R4, R11: nothing is decided from silence."""
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    before = await kinds(driver)
    driver.way.cut = True
    for _ in range(3):
        assert (await driver.look()).result is Result.UNREACHABLE
        await driver.pass_time(3600)
    assert await kinds(driver) == before
    driver.way.cut = False
    assert (await driver.settle()).outcome is not None


async def test_a_job_whose_cluster_nobody_serves_is_left_alone() -> None:
    driver = Driver()
    await driver.submit()
    driver.hands = type(driver.hands)(**{**vars(driver.hands), "adapter_of": lambda _: None})
    assert (await driver.look()).result is Result.NO_ADAPTER


async def test_a_message_that_nobody_can_read_stops_every_decision_until_it_is_disposed_of() -> None:
    """L15."""
    driver = Driver()
    await driver.submit("sleep 1")
    await driver.bus.history.store_bytes(subjects.job("nlp", "llama"), b"{broken")
    assert (await driver.look()).result is Result.STRANGE
    revision = driver.record.strange[0].revision
    command = Dispose(
        **driver.order_fields("c-d"), target=MessageRef(revision=revision), disposition=Disposition.IGNORE
    )
    await driver.order(command)
    assert (await driver.settle()).outcome is not None


async def test_a_first_message_that_nobody_can_read_is_told_too() -> None:
    driver = Driver()
    await driver.bus.history.store_bytes(subjects.job("nlp", "llama"), b"{broken")
    assert (await driver.look()).result is Result.STRANGE


# a history that went backwards


async def test_nothing_is_decided_while_the_history_lacks_what_the_scheduler_shows() -> None:
    """L14, R23: restored from an older copy, and the object's tag tells."""
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.GATED)
    driver.bus.history.go_back_to(2)
    await driver.bus.history.store_bytes(subjects.job("nlp", "other"), b"{}")
    driver.record = empty("nlp", "llama")
    for _ in range(3):
        done = await driver.look()
        assert done.result is Result.REGRESSED
        assert "without it" in done.why
    assert "AttemptCommitted" not in await kinds(driver)


async def test_a_held_record_newer_than_the_store_begins_again_from_nothing() -> None:
    """R23: what was held cannot be appended to."""
    driver = Driver(SlurmSettings(keeps_floor=False))
    await driver.submit()
    await driver.look()
    driver.bus.history.go_back_to(1)
    driver.cluster.jobs.clear()
    driver.cluster.bearers(driver.name).jobs.clear()
    driver.cluster.bearers(driver.name).shown = None
    done = await run_pass(driver.hands, driver.record, Controls())
    assert done.result is Result.REGRESSED
    assert done.record.empty


def test_an_object_made_between_read_and_find_is_no_regression() -> None:
    """Judged only after the tail was read again."""
    stage = _submitted()
    one = run_pass(stage.hands, stage.record, Controls())
    while one.send(None) != "find":
        pass
    other = stage.new_hands()
    stage.drive(run_pass(other, empty("nlp", "llama"), Controls()))
    stage.drive(stage._calls.pop(0))
    done = stage.drive(one)
    assert done.result is Result.MOVED


def _submitted() -> Stage:
    stage = Stage()
    spec = JobSpec(cluster="sim", run=Run(command=("sleep", "100")))
    stage.order(SubmitJob(command="c-submit", tenant="nlp", job="llama", at=stage.at, spec=spec))
    return stage


def test_a_tail_that_came_after_the_find_is_read_before_a_history_is_called_regressed() -> None:
    """L14: what told of the object was appended by another, and the evidence of it was no news any more."""
    stage = _submitted()
    stage.until(lambda s: s.cluster.jobs)
    early = fold(empty("nlp", "llama"), stage.entries()[:2])
    found = stage.quietly(stage.adapter.find(JobName(installation=INSTALLATION, tenant="nlp", job="llama")))
    able = stage.quietly(stage.adapter.capabilities())
    done = stage.drive(supervisor._regressed(stage.hands, early, found, able, "lacks it"))
    assert done.result is Result.MOVED
    assert done.record == fold(early, stage.entries())
    whole = fold(empty("nlp", "llama"), stage.entries())
    assert stage.drive(supervisor._regressed(stage.hands, whole, found, able, "lacks it")).result is Result.REGRESSED


def test_a_word_on_processes_is_dropped_when_its_run_may_begin_after_all() -> None:
    """L4, L6: an Open was committed between the question and the append of its answer."""
    story, ref = launched()
    story.opened(ref).later(5).seen(missing=(ref,))
    look = supervisor._Look(
        name=JobName(installation="main", tenant=story.tenant, job=story.job),
        found=Found(as_of=story.at),
        able=SLURM,
        read_revision=story.revision,
    )
    word = Cessation(answer=CessationAnswer.CEASED, basis=CessationBasis.OBSERVED, as_of=story.at)
    build = supervisor._cessation(ref, 0, word, look)
    assert build(record_of(story)) is not None
    assert build(record_of(story.call(Verb.OPEN, ref, run=0))) is None


# a cancel in between


def test_a_cancel_committed_while_a_pass_decides_makes_its_open_conflict() -> None:
    """L2, L5: the append of the intent is the re-read before Open."""
    stage = _submitted()
    stage.until(lambda s: s.cluster.jobs and s.record.canonical() is None)
    opening = run_pass(stage.hands, stage.record, Controls())
    while opening.send(None) != "append CallCommitted":
        pass
    stage.order(CancelJob(command="c-cancel", tenant="nlp", job="llama", at=stage.at))
    done = stage.drive(opening)
    assert done.result is Result.MOVED
    assert stage._calls == []
    assert [e.event.verb for e in stage.envelopes() if isinstance(e.event, CallCommitted)] == []
    stage.until(lambda s: s.record.settled)
    assert stage.broken() == []
    assert stage.cluster.truth.executions == []


def test_a_cancel_committed_while_the_find_is_on_its_way_ends_the_pass_before_it_decides() -> None:
    stage = _submitted()
    stage.until(lambda s: s.cluster.jobs)
    looking = run_pass(stage.hands, stage.record, Controls())
    while looking.send(None) != "find":
        pass
    stage.order(CancelJob(command="c-cancel", tenant="nlp", job="llama", at=stage.at))
    assert stage.drive(looking).result is Result.MOVED
    assert not any(isinstance(e.event, CallCommitted) for e in stage.envelopes())


def test_two_supervisors_that_pass_at_once_launch_one_object() -> None:
    """R12, L12: whichever append comes first; the other decides again."""
    stage = _submitted()
    one = run_pass(stage.hands, stage.record, Controls())
    two = run_pass(stage.new_hands(), stage.record, Controls())
    results = []
    waiting = [one, two]
    while waiting:
        for work in tuple(waiting):
            try:
                work.send(None)
            except StopIteration as done:
                results.append(done.value.result)
                waiting.remove(work)
    assert sorted(results) == [Result.ACTED, Result.MOVED]
    while stage._calls:
        stage.drive(stage._calls.pop(0))
    assert len(stage.cluster.jobs) == 1


# polling


@pytest.mark.parametrize("settings", [SlurmSettings(), KubeflowSettings()], ids=["slurm", "kubeflow"])
@pytest.mark.parametrize("queued", [True, False], ids=["queued", "running"])
async def test_thirty_days_of_polling_stay_under_two_hundred_events(
    settings: SlurmSettings | KubeflowSettings, queued: bool
) -> None:
    """R21: a Find every few minutes, and nothing in the history but what changed."""
    driver = Driver(settings)
    if queued:
        driver.fill()
    await driver.submit(f"sleep {2 * THIRTY_DAYS_S}")
    wanted = Phase.QUEUED if queued else Phase.RUNNING
    await driver.until(lambda d: d.phase is wanted)
    began, looks = driver.at, 0
    while (driver.at - began).total_seconds() < THIRTY_DAYS_S:
        done = await driver.look()
        assert done.due_at is not None
        looks += 1
        await driver.pass_time(1800)
    assert looks > 1400
    assert len(await driver.events()) < 20
    await lawful(driver)


async def test_thirty_days_beside_a_lost_node_stay_under_two_hundred_events() -> None:
    """R6, R21: it waits for proof, says so, and does not fill the history."""
    driver = Driver()
    await driver.submit("sleep 1000", plan=plan("node-lost"))
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    (lost,) = driver.slurm.truth.living[0].alive
    SlurmMishaps(driver.slurm).lose_node(lost)
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    began = driver.at
    while (driver.at - began).total_seconds() < THIRTY_DAYS_S:
        await driver.look()
        await driver.pass_time(7200)
    assert len(await driver.events()) < 40
    assert driver.phase is Phase.GATED
    await lawful(driver)


# what a pass leaves behind


async def test_a_pass_appends_nothing_that_changes_nothing() -> None:
    """Deciding twice changes nothing."""
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    before = await kinds(driver)
    for _ in range(5):
        assert (await driver.look()).result is Result.QUIET
        await driver.pass_time(30)
    assert await kinds(driver) == before


async def test_the_last_receipt_is_written_before_a_job_is_settled() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.cancel()
    await driver.settle()
    (published,) = driver.published
    assert published.cancel is not None
    assert published.cancel.complete
    assert not published.settled
    assert isinstance((await driver.events())[-1], JobSettled)


async def test_a_find_that_shows_an_end_is_recorded_with_what_was_read_before_it() -> None:
    driver = Driver()
    await driver.submit("sleep 1")
    await driver.settle()
    entries = await driver.entries()
    for entry in entries:
        event = getattr(entry.content, "event", None)
        if isinstance(event, ObjectsSeen):
            assert event.read_revision < entry.revision
