"""One session of the command line: it never shows less than its own receipt, and completes names from what it reads."""

from __future__ import annotations

import asyncio
import re
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import click
import pytest

from dispatch.cli import completing
from dispatch.cli.commands import cancel, submit
from dispatch.cli.commands.submit import SubmitOptions
from dispatch.cli.errors import CliError
from dispatch.cli.exits import Exit
from dispatch.cli.params import ChangeFlags
from dispatch.cli.tool import Tool
from dispatch.client import Stored
from projections.fleet import encode, entry_of
from projections.status import Around, State
from streams.messages.events import Entry
from streams.messages.spec import JobSpec, Run
from streams.messages.values import Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.scenes import waiting_for_proof
from tests.unit.dispatch.cli.stage import EXAMPLES, Stage

LOCAL = str(EXAMPLES / "local.yaml")
HERE = ("cluster=sim", "run.command=[sh, -c, sleep 60]", "recovery=[]")
YES = ChangeFlags(reason="wrong data mix", yes=True)


class OldCopy:
    """A copy of the history that lacks everything of late for its first reads, as any copy on the bus may."""

    def __init__(self, history: Any, reads: int) -> None:
        self._history = history
        self.left = reads

    async def read(self, tenant: str, job: str, *, after: int = 0) -> tuple[Entry, ...]:
        entries: tuple[Entry, ...] = await self._history.read(tenant, job, after=after)
        self.left -= 1
        return () if self.left >= 0 else entries


def behind(driver: Driver, reads: int) -> OldCopy:
    """From now on the command line reads from an old copy, and supervisors from the real one."""
    copy = OldCopy(driver.bus.history, reads)
    driver.bus.history = copy  # type: ignore[assignment]
    return copy


async def test_a_wait_that_begins_on_an_old_copy_still_shows_the_job_that_was_accepted() -> None:
    driver = Driver()
    await driver.submit("sleep 60")
    await driver.settle()
    stage = Stage(driver)
    copy = behind(driver, 3)
    async with stage.session() as session:
        session.answered("llama", 1)
        read = await session.read("llama")
    assert copy.left < 0
    assert read.record.number == driver.record.number


async def test_submit_and_wait_never_says_that_the_job_it_made_does_not_exist() -> None:
    driver = Driver()
    stage = Stage(driver)
    given = SubmitOptions(file=LOCAL, name="llama", settings=HERE, wait=True)
    copy = behind(driver, 4)
    assert await submit._submit(stage, given) == Exit.TIMED_OUT
    assert copy.left < 0
    assert re.search(r"^llama  accepted$|^llama  accepted, waits", stage.said, re.MULTILINE)


async def test_a_cancel_is_waited_for_from_its_own_event_on() -> None:
    driver = Driver()
    await driver.submit("sleep 1000")
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    stage = Stage(driver, change=YES)
    async with stage.session() as session:
        await cancel._cancel(stage, cancel.CancelOptions(jobs=("llama",)))
        session.answered("llama", 10)
        behind(driver, 2)
        assert (await session.exactly("llama")).record.cancel is not None


async def test_a_view_that_stays_behind_says_so() -> None:
    driver = Driver()
    await driver.submit()
    stage = Stage(driver)
    async with stage.session() as session:
        session.answered("llama", 9)
        read = await session.read("llama")
    assert read.record.number == 1
    assert stage.hinted.strip() == "behind: at #1, the receipt says #9"


# completion


async def waiting_for_a_node() -> Driver:
    driver = await waiting_for_proof()
    await driver.pass_time(1200)
    entry = entry_of(driver.record, Around(now=driver.at))
    await driver.bus.buckets.put_status(entry.key, encode(entry), expected=None)
    return driver


async def test_nodes_are_those_of_which_a_proof_is_waited_for() -> None:
    async with Stage(await waiting_for_a_node()).session() as session:
        assert await completing._nodes(session, None) == ["n1"]
        assert await completing._nodes(session, "llama") == ["n1"]
        assert await completing._nodes(session, "nobody") == []


async def test_clusters_are_those_that_jobs_and_replicas_name() -> None:
    async with Stage(await waiting_for_a_node()).session() as session:
        assert await completing._clusters(session) == ["sim"]


def context_of(**params: object) -> click.Context:
    context = click.Context(click.Command("submit"))
    context.params = dict(params)
    return context


ANY = click.Option(["--any"])


def test_settings_are_completed_by_the_fields_and_by_the_rules_that_the_file_names() -> None:
    context = context_of(file=str(EXAMPLES / "slurm.yaml"))
    assert completing.settings(context, ANY, "time_l") == ["time_limit="]
    assert completing.settings(context, ANY, "recovery.bad-node.bu") == ["recovery.bad-node.budget="]
    assert completing.settings(context, ANY, "recovery.pre") == [
        f"recovery.preempted.{field}="
        for field in (
            *("name", "on", "do", "exit_codes", "budget", "backoff", "backoff.first", "backoff.factor", "backoff.max"),
            *("avoid_nodes", "when_spent"),
        )
    ]
    assert completing.settings(context_of(file=None), ANY, "recovery.") == []


def test_causes_and_words_are_completed_behind_the_equals_sign() -> None:
    context = context_of(file=LOCAL)
    assert completing.settings(context, ANY, "recovery.crash.on=[pre") == ["recovery.crash.on=[preempted]"]
    assert completing.settings(context, ANY, "recovery.crash.do=re") == [
        "recovery.crash.do=resubmit",
        "recovery.crash.do=requeue",
    ]
    assert completing.settings(context, ANY, "unmatched=m") == ["unmatched=manual"]
    assert completing.settings(context, ANY, "kubeflow.pod_fence=t") == ["kubeflow.pod_fence=true"]
    assert completing.settings(context, ANY, "nodes=") == []


def test_states_are_completed_one_after_the_other() -> None:
    assert completing.state_names(context_of(), ANY, "running,can") == ["running,cancelling", "running,cancelled"]
    assert completing.state_names(context_of(), ANY, "") == [state.value for state in State]


def test_completion_of_a_file_that_cannot_be_read_is_silent(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("nodes: [")
    for file in (tmp_path / "bad.yaml", tmp_path / "none.yaml"):
        assert completing.settings(context_of(file=str(file)), ANY, "recovery.") == []


def test_completion_gives_up_on_a_bus_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def never(_tool: Tool) -> Any:
        await asyncio.Event().wait()
        yield

    session: Any = never
    assert isinstance(session(Tool.__new__(Tool)), AbstractAsyncContextManager)
    monkeypatch.setattr(Tool, "session", session)
    for complete in (completing.job_names, completing.cluster_names, completing.node_names):
        assert complete(context_of(), ANY, "") == []


async def test_a_submit_that_waits_for_a_supervisor_is_not_taken_for_one_that_never_was() -> None:
    stage = Stage(Driver(), supervised=False)
    async with stage.session() as session:
        with pytest.raises(CliError) as never:
            await session.read("llama")
        assert isinstance(
            await session.client.submit("llama", JobSpec(cluster="sim", run=Run(script="sleep 60"))), Stored
        )
        with pytest.raises(CliError) as waits:
            await session.read("llama")
    assert never.value.why == ("nothing was ever submitted to prod under it",)
    assert waits.value.why == ("it has no event yet, and 1 command waits on prod for a supervisor to decide",)
    assert (waits.value.code, waits.value.exit_code) == ("no-such-job", Exit.NOT_FOUND)
