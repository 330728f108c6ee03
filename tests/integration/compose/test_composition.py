"""The whole of compose.yaml: it comes up healthy, loses a supervisor and a NATS node under load, and every job settles.

Building images and starting nine containers takes longer than other tests may: each has a quarter of an hour here.
"""

from __future__ import annotations

import json
import re
import signal
from collections import Counter

import pytest

from tests.integration.compose.composition import IMAGE, SUPERVISORS, Composition, done, run, until

pytestmark = pytest.mark.timeout(900)

MARK = 'echo "$DISPATCH_JOB $DISPATCH_EPOCH $RANK'
WORK = f'{MARK} begin" >> marks; while [ ! -e go ]; do sleep 0.2; done; {MARK} end" >> marks'
STEADY = f"""version: 1
ranks_per_node: 2
run: {{command: [sh, -c, '{WORK}']}}
recovery: []
"""
CRASHING = f"""version: 1
run: {{command: [sh, -c, '{WORK}; [ $DISPATCH_RUN != 0 ]']}}
recovery:
  - {{name: crash, on: [exit-code], do: requeue, budget: 2, backoff: {{first: 0s}}}}
"""
STEADY_JOBS = ("steady-1", "steady-2")
JOBS = (*STEADY_JOBS, "crashing", "late")

MAKE_A_STREAM = """
import asyncio, os
from pathlib import Path
from dispatch.config import Flags, resolve
from streams.errors import NotPermittedError
from streams.jetstream.connect import BusSettings, connect

async def attempt():
    at = resolve(Flags(), os.environ, Path.cwd()).bus()
    bus = await connect(BusSettings(urls=at.urls, creds=at.creds, inbox_prefix=at.inbox_prefix))
    try:
        await bus.wire.api("STREAM.CREATE.EXTRA", {"name": "EXTRA", "subjects": ["extra"]})
        print("made")
    except NotPermittedError:
        print("not permitted")
    finally:
        await bus.close()

asyncio.run(attempt())
"""
READ_MONITOR = """
import asyncio, json
from streams.jetstream.monitor import read_monitor

print(json.dumps(asyncio.run(read_monitor("http://nats-1:8222", "jsz?accounts=true&streams=true"))))
"""


def submit(composition: Composition, job: str, text: str) -> None:
    told = composition.dispatch("submit", composition.write(f"{job}.yaml", text), "--name", job, "--timeout", "60s")
    assert told.code == 0, told.out


def leader_of_history(composition: Composition) -> str:
    """The service whose server leads the history: its loss is the one that is felt."""
    told = composition.inside(f"{composition.project}-person", "python3", "-c", READ_MONITOR)
    assert told.code == 0, told.out
    accounts = json.loads(told.out)["account_details"]
    streams = [stream for account in accounts for stream in account.get("stream_detail", ())]
    (history,) = [stream for stream in streams if stream["name"] == "DISPATCH_HISTORY_1"]
    return str(history["cluster"]["leader"])


@pytest.mark.usefixtures("images")
def test_the_image_is_run_by_a_user_without_rights_and_holds_no_tool_to_install_with() -> None:
    alone = ("docker", "run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL")
    assert "Usage: dispatch" in done(*alone, IMAGE)
    assert done(*alone, IMAGE, "id", "-un").strip() == "dispatch"
    assert done(*alone, IMAGE, "dispatch", "doctor", "local").startswith("ok ")
    assert run(*alone, IMAGE, "python3", "-m", "pip").code == 1


def test_what_runs_once_has_ended_well_and_the_supervisors_are_as_many_as_asked_for(composition: Composition) -> None:
    for once in ("credentials", "setup"):
        (container,) = composition.ids(once)
        assert composition.state(container)["ExitCode"] == 0
    live = composition.dispatch("doctor", "bus").out
    replicas = re.search(r"live supervisors: (.*)", live)
    assert replicas is not None, live
    hosts = {name.strip().partition("-")[0] for name in replicas[1].split(",")}
    assert hosts == {container[:12] for container in composition.ids("supervisor")}
    assert len(hosts) == SUPERVISORS


def test_each_service_is_given_its_own_credential_and_only_setups_may_make_streams(composition: Composition) -> None:
    for service in ("agent", "supervisor"):
        container = composition.ids(service)[0]
        assert composition.inside(container, "ls", "/run/dispatch").out.split() == ["config.yaml", "nats.seed"]
        assert composition.inside(container, "id", "-u").out.strip() == "10001"
        assert composition.inside(container, "python3", "-c", MAKE_A_STREAM).out == "not permitted\n"
    once = ("run", "--rm", "--no-deps", "-T", "--entrypoint", "python3")
    assert composition.compose(*once, "dispatch", "-c", MAKE_A_STREAM).splitlines()[0] == "not permitted"
    assert composition.compose(*once, "setup", "-c", MAKE_A_STREAM).splitlines()[0] == "made"


@pytest.mark.parametrize(
    ("service", "program", "check"),
    [
        ("agent", "dispatch agent", ("python3", "-m", "dispatch.health", "agent", "local")),
        ("supervisor", "dispatch supervise", ("python3", "-m", "dispatch.health", "supervisor")),
    ],
)
def test_a_service_that_stands_still_is_not_healthy_and_is_again_once_it_goes_on(
    composition: Composition, service: str, program: str, check: tuple[str, ...]
) -> None:
    container = composition.ids(service)[-1]
    composition.signal(container, program, signal.SIGSTOP)
    try:
        until(lambda: composition.inside(container, *check).code == 1, f"{service} ill", within_s=90)
    finally:
        composition.signal(container, program, signal.SIGCONT)
    until(lambda: composition.inside(container, *check).code == 0, f"{service} healthy again", within_s=90)


def test_a_supervisor_and_a_node_killed_while_jobs_run_leave_every_job_settled_and_every_law_kept(
    composition: Composition,
) -> None:
    for job in STEADY_JOBS:
        submit(composition, job, STEADY)
    submit(composition, "crashing", CRASHING)
    for job in (*STEADY_JOBS, "crashing"):
        assert composition.dispatch("watch", job, "--until", "running", "--timeout", "60s").code == 0

    composition.kill(composition.ids("supervisor")[0])
    lost = leader_of_history(composition)
    (node,) = composition.ids(lost)
    composition.kill(node)
    submit(composition, "late", STEADY)
    (agent,) = composition.ids("agent")
    composition.inside(agent, "touch", "go")

    for job in JOBS:
        told = composition.dispatch("watch", job, "--until", "settled", "--timeout", "180s")
        assert told.code == 0, told.out
    done("docker", "start", node)
    composition.healthy(lost)

    verified = composition.dispatch("verify", "--all")
    assert verified.code == 0, verified.out
    assert f"{len(JOBS)} jobs: 0 broken" in verified.out
    executions = dict.fromkeys([(job, "1000000") for job in (*STEADY_JOBS, "late")], 2)
    executions |= {("crashing", "1000000"): 1, ("crashing", "1000001"): 1}
    for word in ("begin", "end"):
        counted = Counter((job, epoch) for job, epoch, _, what in composition.marks() if what == word)
        assert counted == executions
    order = [(epoch, what) for job, epoch, _, what in composition.marks() if job == "crashing"]
    assert order == [("1000000", "begin"), ("1000000", "end"), ("1000001", "begin"), ("1000001", "end")]
