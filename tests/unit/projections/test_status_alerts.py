"""Each alert is raised by what it is for, and lowered when that is over."""

from __future__ import annotations

from datetime import timedelta

from adapters.simulated.slurm import SlurmSettings
from adapters.simulated.slurm_mishaps import SlurmPeople
from projections.controls import Control, Controls
from projections.status import Alert, Around, Nature, Status, status
from streams import subjects
from streams.messages.commands import Dispose
from streams.messages.plan import PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import Unmatched
from streams.messages.values import AttemptRef, Disposition, MessageRef, Phase
from tests.driver import CLUSTER, Driver

AGAIN = RecoveryPlan(rules=(PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3),))


def told(driver: Driver, **around: object) -> Status:
    return status(driver.record, Around(now=driver.at, controls=driver.controls, **around))  # type: ignore[arg-type]


async def test_a_submission_whose_starts_are_all_unknown_is_stuck_under_manual_until_a_person_gives_them_up() -> None:
    driver = Driver()
    driver.way.lost = {"start"}
    await driver.submit(attempts_max=2, unmatched=Unmatched.MANUAL)
    await driver.until(lambda d: len(d.record.attempts) == 2)
    await driver.quiet()
    stuck = told(driver)
    assert stuck.alerts == (Alert.STUCK,)
    assert stuck.needs_person
    assert stuck.waits[0].what == "attempts 1/1-1/2 to be found: no Start was answered"
    assert stuck.waits[0].can[0].command == 'dispatch dispose llama --attempt 1/1 --as gone --reason "…"'
    for number in (1, 2):
        target = AttemptRef(submission=1, attempt=number)
        await driver.order(
            Dispose(**driver.order_fields(f"c-gone-{number}"), target=target, disposition=Disposition.GONE)
        )
    assert told(driver).alerts == ()


async def test_starts_that_dispatch_will_give_up_by_itself_are_a_wait_and_no_alert() -> None:
    driver = Driver()
    driver.way.lost = {"start"}
    await driver.submit(attempts_max=1)
    await driver.until(lambda d: len(d.record.attempts) == 1)
    await driver.quiet()
    assert told(driver).alerts == ()
    assert told(driver).waits[0].nature is Nature.BY_ITSELF


async def test_an_object_with_our_name_and_no_attempt_of_ours_is_foreign_until_somebody_decides() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    job = SlurmPeople(driver.slurm).submit(driver.name)
    await driver.quiet()
    shown = told(driver)
    assert shown.alerts == (Alert.FOREIGN,)
    assert shown.state == "running"
    assert shown.waits[0].nature is Nature.NEEDS_A_PERSON
    assert [o.role for o in shown.objects] == ["canonical", "foreign"]
    await driver.order(
        Dispose(**driver.order_fields("c-ignore"), target=job.ref, disposition=Disposition.IGNORE), actor="cai"
    )
    assert told(driver).alerts == ()


async def test_a_gate_lifted_by_other_hands_is_an_unauthorized_run_until_it_is_stopped() -> None:
    driver = Driver()
    await driver.submit(hold="not yet")
    await driver.until(lambda d: d.phase is Phase.GATED)
    assert SlurmPeople(driver.slurm).release(driver.slurm.jobs[0])
    await driver.pass_time(1)
    await driver.look()
    shown = told(driver)
    assert Alert.UNAUTHORIZED_RUN in shown.alerts
    assert shown.waits[0].law == "L1"
    await driver.until(lambda d: d.phase is Phase.ENDED)
    assert Alert.UNAUTHORIZED_RUN not in told(driver).alerts


async def test_a_run_that_begins_after_settlement_is_an_alert_on_a_settled_job() -> None:
    driver = Driver(SlurmSettings(incomplete=False))
    await driver.submit("sleep 30; exit 3", plan=RecoveryPlan())
    await driver.settle()
    assert told(driver).alerts == ()
    assert not told(driver).needs_person
    assert SlurmPeople(driver.slurm).requeue(driver.slurm.jobs[0])
    await driver.pass_time(1)
    await driver.look()
    shown = told(driver)
    assert shown.state == "failed"
    assert shown.alerts == (Alert.UNAUTHORIZED_RUN,)
    assert shown.needs_person


async def test_a_history_that_lacks_what_an_object_carries_is_regressed_and_says_so_from_the_record_alone() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    driver.bus.history.go_back_to(1)
    driver.forget()
    await driver.look()
    shown = told(driver)
    assert shown.alerts == (Alert.REGRESSED,)
    assert shown.waits[0].law == "L14"
    assert "carries r3, the history ends at r" in shown.waits[0].because[0]


async def test_what_an_agent_remembers_and_the_history_lacks_is_regressed() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    driver.slurm.jobs[0].hidden = True
    driver.slurm.touch(driver.slurm.jobs[0])
    driver.bus.history.go_back_to(2)
    driver.forget()
    done = await driver.look()
    assert told(driver).alerts == ()
    assert told(driver, found=done.found).alerts == (Alert.REGRESSED,)
    behind = told(driver, regressed=done.why).waits[0]
    assert behind.because == (done.why,)
    floor = done.found.floor if done.found else None
    assert floor is not None
    assert behind.can[0].command == f'dispatch dispose llama --message r{floor.revision} --as ignore --reason "…"'


async def test_a_message_nobody_can_read_is_quarantined_until_somebody_disposes_of_it() -> None:
    driver = Driver()
    await driver.submit()
    await driver.bus.history.store_bytes(subjects.job("nlp", "llama"), b"\x00 not ours")
    await driver.read()
    shown = told(driver)
    assert shown.alerts == (Alert.QUARANTINED,)
    assert shown.waits[0].can[0].command == 'dispatch dispose llama --message r2 --as ignore --reason "…"'
    await driver.order(
        Dispose(**driver.order_fields("c-skip"), target=MessageRef(revision=2), disposition=Disposition.IGNORE)
    )
    assert told(driver).alerts == ()


async def test_an_event_of_a_newer_release_asks_for_an_upgrade_not_for_a_disposal() -> None:
    driver = Driver()
    await driver.submit()
    stored = [s async for s in driver.bus.history.stored()]
    await driver.bus.history.store_bytes(stored[0].subject, stored[0].data.replace(b"JobSubmitted", b"JobTransmuted"))
    await driver.read()
    shown = told(driver)
    assert shown.alerts == (Alert.QUARANTINED,)
    assert shown.waits[0].what == "a release of dispatch that knows JobTransmuted"
    assert shown.waits[0].can == ()


async def test_a_retry_that_the_brake_keeps_raises_it_and_names_the_line_that_lifts_it() -> None:
    driver = Driver()
    until = driver.at + timedelta(minutes=15)
    braked = Control(cluster=CLUSTER, brake_until_at=until, brake_cause="31 jobs ended within 4s", set_at=driver.at)
    await driver.submit("sleep 30; exit 3", plan=AGAIN)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    driver.controls = Controls(by_cluster={CLUSTER: braked})
    assert told(driver).alerts == ()
    await driver.until(lambda d: d.phase is Phase.ENDED)
    await driver.quiet()
    shown = told(driver)
    assert shown.alerts == (Alert.BRAKE,)
    [wait] = [w for w in shown.waits if w.what == "the brake on retries to be lifted"]
    assert wait.because == ("1.0 ended by exit-code 3 (rank 0)", "31 jobs ended within 4s")
    assert wait.can[0].command == 'dispatch retries allow --cluster sim --reason "…"'
    await driver.until(lambda d: len(d.record.submissions) == 2, step_s=60)
    assert driver.at >= until
    assert told(driver).alerts == ()


async def test_unattended_and_unreachable_need_no_person_and_are_told_only_of_open_jobs() -> None:
    driver = Driver()
    await driver.submit("sleep 30; exit 0")
    alone = told(driver, attended=False, unreachable_since=driver.at - timedelta(minutes=14))
    assert alone.alerts == (Alert.UNATTENDED, Alert.UNREACHABLE)
    assert not alone.needs_person
    assert [w.what for w in alone.waits] == ["a live supervisor", "sim to answer"]
    await driver.settle()
    assert told(driver, attended=False, unreachable_since=driver.at).alerts == ()
