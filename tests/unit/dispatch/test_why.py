"""What `dispatch why` answers is what the next pass decides by: the step it names is the step that is taken."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from adapters.simulated.slurm_mishaps import SlurmMishaps, SlurmPeople
from dispatch.why import Why, why
from projections.controls import Control, Controls
from projections.evolve import empty, fold
from projections.status import Around, document
from streams import subjects
from streams.messages.commands import HoldJob, ReleaseJob
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan, WhenSpent
from streams.messages.values import Phase
from tests.driver import CLUSTER, Driver

PLAN = RecoveryPlan(
    rules=(
        PlanRule(name="preempted", on=("preempted",), do=PlanAction.RESUBMIT, budget=50),
        PlanRule(
            name="bad-node",
            on=("node-lost", "launch-failed"),
            do=PlanAction.RESUBMIT,
            budget=5,
            avoid_nodes=True,
            backoff=Backoff(first=0),
        ),
        PlanRule(name="oom", on=("out-of-memory",), do=PlanAction.HOLD),
        PlanRule(name="rest", on=("any",), do=PlanAction.GIVE_UP),
    )
)
AGAIN = RecoveryPlan(
    rules=(
        PlanRule(name="code", on=("exit-code",), exit_codes=(7,), do=PlanAction.HOLD),
        PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=1, when_spent=WhenSpent.HOLD),
    )
)


def told(driver: Driver, **around: object) -> Why:
    return why(driver.record, Around(now=driver.at, controls=driver.controls, **around))  # type: ignore[arg-type]


def unmet(answer: Why) -> dict[str, tuple[str, ...]]:
    """The conditions that do not hold, and what each waits for."""
    return {c.name: c.waits_for for c in answer.conditions if not c.holds}


async def running(plan: RecoveryPlan | None = PLAN, program: str = "sleep 100; exit 3", **spec: Any) -> Driver:
    driver = Driver()
    await driver.submit(program, plan=plan, **spec)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    return driver


async def test_a_lost_node_keeps_the_next_submission_shut_and_every_way_out_is_named() -> None:
    driver = await running(nodes=2)
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    await driver.quiet()
    answer = told(driver, capabilities=await driver.capabilities())
    assert answer.next_step == "open submission 2 (slurm 2)"
    assert answer.blocked_by == 1
    assert unmet(answer) == {"their processes are gone": ("1.0 may be alive on n1",)}
    [condition] = [c for c in answer.conditions if not c.holds]
    assert condition.law == "L4"
    assert condition.ends == ("n1 reboots", "n1 reports no process of 1", "someone attests that n1 is off")
    assert not answer.live
    SlurmMishaps(driver.slurm).return_node("n1", rebooted=True)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    assert told(driver).next_step == "none until 2.0 ends (2 is running)"


async def test_why_at_an_earlier_event_tells_what_was_known_then() -> None:
    driver = await running()
    history = await driver.entries()
    steps = []
    for number in range(1, len(history) + 1):
        record = fold(empty("nlp", "llama"), history[:number])
        at = record.at
        assert at is not None
        steps.append(why(record, Around(now=at)).next_step)
    assert steps == [
        "authorize submission 1",
        "send Start 1/1",
        "send Start 1/2",
        "choose the object of submission 1",
        "choose the object of submission 1",
        "open submission 1 (1)",
        "open submission 1 (1)",
        "open submission 1 (1)",
        "none until 1.0 ends (1 is running)",
    ]


@pytest.mark.parametrize("settings", [SlurmSettings(), KubeflowSettings(), KubeflowSettings(kueue=True)])
async def test_an_open_without_an_answer_blocks_the_next_one_until_it_is_over(
    settings: SlurmSettings | KubeflowSettings,
) -> None:
    driver = Driver(settings)
    driver.way.lost = {"open"}
    await driver.submit()
    await driver.until(lambda d: any(c.verb == "open" and c.reply for c in d.record.calls.values()))
    [first] = [c for c in driver.record.calls.values() if c.verb == "open"]
    found, able = await driver.adapter.find(driver.name), await driver.capabilities()
    asked = told(driver, found=found, capabilities=able)
    assert (asked.live, list(unmet(asked))) == (True, ["no Open is on its way"])
    await driver.pass_time((first.over_at - driver.at).total_seconds() + 60)
    free = told(driver, found=await driver.adapter.find(driver.name), capabilities=able)
    assert free.blocked_by == 0
    await driver.look()
    assert len([c for c in driver.record.calls.values() if c.verb == "open"]) == 2


async def test_a_hold_is_the_condition_that_does_not_hold() -> None:
    driver = Driver()
    await driver.submit(hold="wait for the data")
    await driver.quiet()
    answer = told(driver)
    assert unmet(answer) == {"the job is meant to run": ("hold c-submit is in force",)}
    await driver.order(ReleaseJob(**driver.order_fields("c-release")))
    assert (
        unmet(told(driver))
        == {
            "lifted holds are released": ("hold c-submit is lifted and not yet released on 1",),
        }
        or unmet(told(driver)) == {}
    )


async def test_a_pause_between_submissions_is_a_condition_of_the_next_start() -> None:
    driver = await running(AGAIN)
    await driver.until(lambda d: len(d.record.submissions) == 2)
    answer = told(driver)
    newest = driver.record.newest
    assert newest is not None
    assert answer.next_step == "send Start 2/1"
    assert unmet(answer) == {"the pause before it is over": (f"until {newest.not_before_at:%Y-%m-%dT%H:%M:%SZ}",)}


async def test_a_cluster_that_takes_no_calls_is_a_condition_of_the_next_start_and_of_the_gate() -> None:
    driver = Driver()
    await driver.submit()
    driver.slurm.otherwise = {"read_only": True}
    await driver.quiet()
    read_only = await driver.capabilities()
    assert unmet(told(driver, capabilities=read_only)) == {"the cluster takes calls": ("sim is read-only",)}
    gone = replace(read_only, takes_stops=True)
    assert unmet(told(driver, capabilities=gone)) == {"the cluster takes calls": ("sim is gone",)}
    driver.slurm.otherwise = {}
    await driver.until(lambda d: len(d.record.attempts) == 1)
    driver.slurm.otherwise = {"read_only": True}
    await driver.quiet()
    assert unmet(told(driver, capabilities=read_only)) == {"the cluster takes calls": ("sim is read-only",)}


async def test_starts_that_are_all_unknown_leave_nothing_to_send() -> None:
    driver = Driver()
    driver.way.lost = {"start"}
    await driver.submit(attempts_max=2)
    await driver.until(lambda d: len(d.record.attempts) == 2)
    await driver.quiet()
    assert unmet(told(driver)) == {"fewer than 2 Starts may have made one": ("attempts 1/1-1/2: unknown",)}


async def test_an_end_that_the_brake_keeps_names_the_line_that_lifts_it() -> None:
    driver = await running(AGAIN)
    until = driver.at + timedelta(hours=1)
    driver.controls = Controls(by_cluster={CLUSTER: Control(cluster=CLUSTER, brake_until_at=until)})
    await driver.until(lambda d: d.phase is Phase.ENDED)
    await driver.quiet()
    answer = told(driver)
    assert answer.next_step == "answer the end of 1.0 (exit-code 3 (rank 0)): resubmit by rule again"
    assert unmet(answer) == {"retries may go": ("brake",)}


async def test_a_failed_launch_held_by_slurm_is_an_end_that_the_plan_answers() -> None:
    driver = await running(PLAN)
    assert SlurmMishaps(driver.slurm).launch_fails(driver.slurm.jobs[0])
    found = await driver.adapter.find(driver.name)
    await driver.look()
    assert driver.record.uses == {"submit": 1, "bad-node": 1}
    assert told(driver, found=found).next_step is not None


async def test_an_unreadable_message_stops_everything() -> None:
    driver = await running()
    await driver.bus.history.store_bytes(subjects.job("nlp", "llama"), b"{")
    await driver.read()
    answer = told(driver)
    assert answer.next_step == "decide anything about this job"
    assert list(unmet(answer)) == ["every message of it can be read"]


async def test_a_foreign_object_shuts_the_gate() -> None:
    driver = Driver()
    await driver.submit(hold="not yet")
    await driver.quiet()
    SlurmPeople(driver.slurm).submit(driver.name)
    await driver.quiet()
    await driver.order(ReleaseJob(**driver.order_fields("c-release")))
    await driver.quiet()
    assert unmet(told(driver)) == {"every other object of the job has ended": ("2 is not seen ended",)}


async def test_a_cancelled_job_waits_for_the_clauses_of_settlement() -> None:
    driver = await running()
    await driver.cancel()
    answer = told(driver)
    assert answer.next_step == "settle the job"
    assert unmet(answer)["every recorded object has ended"] == ("1 is running",)
    assert answer.if_it_ends is None
    await driver.settle()
    assert (told(driver).next_step, told(driver).settled.holds) == (None, True)


async def test_what_an_end_would_lead_to_is_told_by_rule_with_what_is_left() -> None:
    driver = await running()
    ends = told(driver).if_it_ends
    assert ends is not None
    assert ends.sentence == (
        "if submission 1 ends now: preempted has 50 of 50 left, waits 30s; bad-node has 5 of 5 left, waits 0s; "
        "out-of-memory → hold; all else → give-up"
    )
    assert [(r.rule, r.do, r.left, r.of, r.wait_s) for r in ends.rules] == [
        ("preempted", "resubmit", 50, 50, 30.0),
        ("bad-node", "resubmit", 5, 5, 0.0),
        ("oom", "hold", None, None, None),
        ("rest", "give-up", None, None, None),
    ]
    assert ends.rules[1].causes == ("node-lost", "launch-failed")


async def test_a_budget_that_is_spent_tells_what_comes_instead_and_exit_codes_are_told_apart() -> None:
    driver = await running(AGAIN)
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.RUNNING)
    ends = told(driver).if_it_ends
    assert ends is not None
    assert ends.sentence == "if submission 2 ends now: exit-code 7 → hold; all else → hold (budget spent)"


async def test_a_plan_without_rules_gives_up_whatever_happens() -> None:
    ends = told(await running(RecoveryPlan())).if_it_ends
    assert ends is not None
    assert ends.sentence == "if submission 1 ends now: all else → give-up"


async def test_a_hold_on_a_running_job_blocks_nothing_that_is_on() -> None:
    driver = await running()
    await driver.order(HoldJob(**driver.order_fields("c-hold")))
    assert told(driver).blocked_by == 0


async def test_a_name_that_was_only_cancelled_has_nothing_but_settlement() -> None:
    driver = Driver()
    await driver.cancel_unknown()
    answer = told(driver)
    assert (answer.next_step, answer.blocked_by) == ("settle the job", 0)
    assert document(answer)["if_it_ends"] is None
