"""The document of `dispatch status --json`: exactly the promised keys, every value JSON, nothing left out."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any

from adapters.simulated.kubeflow import KubeflowSettings
from adapters.simulated.slurm import SlurmSettings
from adapters.simulated.slurm_mishaps import SlurmMishaps
from projections.status import Around, document, status, words
from projections.status.view import AsOf
from streams.messages.commands import HoldJob
from streams.messages.plan import PlanAction, PlanRule, RecoveryPlan
from streams.messages.values import Cause, CauseKind, Phase
from tests.driver import Driver

TOP = [
    *("job", "state", "alerts", "needs_person", "as_of", "waits", "wanted", "submissions", "objects", "executions"),
    *("budgets", "holds", "gate", "calls", "avoids", "cancel", "outcome", "settled"),
]
PLAN = RecoveryPlan(
    rules=(PlanRule(name="bad-node", on=("node-lost",), do=PlanAction.RESUBMIT, budget=5, avoid_nodes=True),)
)


async def shown(driver: Driver) -> dict[str, Any]:
    """The document as a program would parse it."""
    told = status(driver.record, Around(now=driver.at, controls=driver.controls))
    held: dict[str, Any] = json.loads(json.dumps(document(told)))
    return held


async def lost_and_resubmitted() -> Driver:
    """A job whose first run lost node n1 of two, held by a person, its second submission at the gate."""
    driver = Driver()
    await driver.submit(nodes=2, plan=PLAN)
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    SlurmMishaps(driver.slurm).lose_node("n1")
    await driver.order(HoldJob(**driver.order_fields("c-hold"), note="look first"), actor="bo")
    await driver.until(lambda d: len(d.record.submissions) == 2 and d.phase is Phase.GATED)
    await driver.quiet()
    return driver


async def test_the_document_has_the_promised_keys_in_their_order() -> None:
    told = await shown(await lost_and_resubmitted())
    assert list(told) == TOP
    assert list(told["as_of"]) == ["number", "revision", "read_at", "cluster_read_at"]
    assert list(told["waits"][0]) == ["for", "nature", "since", "because", "ends", "can", "law"]
    assert list(told["waits"][0]["can"][0]) == ["command", "effect", "risk"]
    assert list(told["submissions"][0]) == ["n", "rule", "budget_key", "attempts", "canonical"]
    assert list(told["submissions"][0]["attempts"][0]) == ["n", "reply", "object"]
    assert list(told["objects"][0]) == ["id", "uid", "role", "state", "since", "cause"]
    assert list(told["executions"][0]) == [
        *("id", "epoch", "object", "nodes", "started_at", "ended_at", "cause", "raw", "processes"),
    ]
    assert list(told["budgets"][0]) == ["rule", "used", "of", "next_wait_s"]
    assert list(told["holds"][0]) == ["kind", "instance", "by", "reason", "since", "on_object"]
    assert list(told["settled"]) == ["holds", "clauses"]


async def test_what_is_absent_is_null_and_what_is_empty_is_a_list() -> None:
    driver = Driver()
    await driver.submit()
    told = await shown(driver)
    assert told["cancel"] is None
    assert told["outcome"] is None
    assert told["objects"] == told["alerts"] == told["calls"] == []
    assert told["as_of"]["cluster_read_at"] is None
    assert told["waits"][0]["law"] is None


async def test_one_lost_node_is_told_in_every_table_that_it_concerns() -> None:
    driver = await lost_and_resubmitted()
    told = await shown(driver)
    assert told["state"] == "held"
    assert told["submissions"][1]["rule"] == "bad-node"
    assert told["submissions"][1]["budget_key"] == "bad-node/1.0"
    assert told["avoids"] == ["n1"]
    assert told["budgets"] == [{"rule": "bad-node", "used": 1, "of": 5, "next_wait_s": 60.0}]
    assert [(o["role"], o["state"], o["cause"]) for o in told["objects"]] == [
        ("canonical", "ended", "node-lost"),
        ("canonical", "gated", None),
    ]
    [run] = told["executions"]
    assert (run["id"], run["epoch"], run["nodes"], run["processes"]) == (
        "1.0",
        1_000_000,
        ["n1", "n2"],
        "may be alive on n1",
    )
    [hold] = told["holds"]
    assert (hold["kind"], hold["by"], hold["reason"], hold["on_object"]) == ("person", "bo", "look first", False)
    assert told["gate"] == "shut"
    assert told["wanted"] == "held"
    assert [c["name"] for c in told["settled"]["clauses"] if not c["holds"]] == [
        "an outcome is committed",
        "every recorded object has ended",
        "all processes are proven gone",
    ]


async def test_a_cancel_tells_its_stages_by_event_number_and_what_blocks_it() -> None:
    driver = Driver()
    await driver.submit()
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.cancel()
    asked = await shown(driver)
    assert asked["cancel"]["committed"]["number"] == driver.record.number
    assert asked["cancel"]["stopped"] is None
    assert asked["cancel"]["blocked_by"] == ["1 to end"]
    assert asked["outcome"]["outcome"] == "cancelled"
    await driver.settle()
    done = await shown(driver)
    assert done["cancel"]["stopped"]["number"] < done["cancel"]["complete"]["number"]
    assert done["cancel"]["blocked_by"] == []


async def test_a_call_without_an_answer_is_listed_until_it_can_no_longer_land() -> None:
    driver = Driver(SlurmSettings(call_bound_s=30))
    driver.way.lost = {"open"}
    await driver.submit()
    await driver.until(lambda d: any(c.verb == "open" for c in d.record.calls.values()))
    told = await shown(driver)
    assert [(c["kind"], c["outcome"]) for c in told["calls"]] == [("open", "unknown")]
    assert told["gate"] == "opening"
    await driver.pass_time(120)
    later = Around(now=driver.at, found=await driver.adapter.find(driver.name))
    assert status(driver.record, later).calls == ()


async def test_an_ended_object_of_kubeflow_is_not_taken_for_settled_until_it_was_stopped() -> None:
    driver = Driver(KubeflowSettings())
    driver.way.lost = {"stop"}
    await driver.submit("sleep 30; exit 3", plan=RecoveryPlan())
    await driver.until(lambda d: d.record.outcome is not None)
    told = status(driver.record, Around(now=driver.at, capabilities=await driver.capabilities()))
    assert "kubeflow ns/llama-s1a1 to be stopped for good" in [w.what for w in told.waits]


def test_times_are_utc_with_milliseconds_whatever_zone_they_came_in() -> None:
    at = datetime(2026, 11, 29, 23, 8, 1, 234_567, tzinfo=timezone(timedelta(hours=1)))
    told = document(AsOf(number=1, revision=2, read_at=at, cluster_read_at=None))
    assert told == {"number": 1, "revision": 2, "read_at": "2026-11-29T22:08:01.234Z", "cluster_read_at": None}
    assert words.stamp(at) == "2026-11-29T22:08:01Z"


def test_nodes_are_told_in_short() -> None:
    assert words.nodes_text(["n18", "n14", "n15", "n16"]) == "n14-n16 n18"
    assert words.nodes_text(["gpu-9", "gpu-10", "gpu-009"]) == "gpu-009 gpu-9 gpu-10"
    assert words.nodes_text([]) == ""
    assert words.nodes_text(["login", "login"]) == "login"


def test_a_cause_names_code_rank_and_nodes() -> None:
    assert words.cause_text(Cause(kind=CauseKind.EXIT_CODE, exit_code=3, rank=0)) == "exit-code 3 (rank 0)"
    assert words.cause_text(Cause(kind=CauseKind.NODE_LOST, nodes=("n17",))) == "node-lost: n17"
    assert words.cause_text(Cause(kind=CauseKind.SIGNAL, signal=11)) == "signal 11"
    assert words.cause_text(None) == "unknown"
