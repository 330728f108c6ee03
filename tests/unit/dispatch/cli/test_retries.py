"""What keeps retries is shown with the line that lifts it, and that line, typed, lifts it."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Coroutine, Iterator
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from dispatch import why
from dispatch.cli.looking import controls
from dispatch.cli.main import run
from dispatch.cli.params import ChangeFlags, GlobalFlags
from dispatch.client import AsyncClient, Said
from projections.controls import Control, Controls
from projections.fleet import encode, entry_of
from projections.status import Around, status
from streams.messages.commands import Retries
from streams.messages.events import ControlsSet, Envelope
from streams.messages.plan import Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.reasons import Reason
from streams.messages.values import Phase
from streams.subjects import CONTROLS
from tests.driver import CLUSTER, Driver
from tests.unit.dispatch.cli.stage import Stage, decide

T = TypeVar("T")
AGAIN = RecoveryPlan(
    rules=(PlanRule(name="again", on=("any",), do=PlanAction.RESUBMIT, budget=3, backoff=Backoff(first=0)),)
)
STOP, OBSERVE, BRAKE = "retries-stopped", "observed", "brake"
STANDING: dict[str, tuple[tuple[str | None, str], ...]] = {
    "a brake": ((CLUSTER, BRAKE),),
    "a stop of one cluster": ((CLUSTER, STOP),),
    "a stop of every cluster": ((None, STOP),),
    "one cluster observed": ((CLUSTER, OBSERVE),),
    "every cluster observed": ((None, OBSERVE),),
    "a stop of every cluster over a brake": ((None, STOP), (CLUSTER, BRAKE)),
    "one cluster stopped and observed": ((CLUSTER, STOP), (CLUSTER, OBSERVE)),
    "everything": ((None, OBSERVE), (None, STOP), (CLUSTER, OBSERVE), (CLUSTER, STOP), (CLUSTER, BRAKE)),
}
FOR_ALL = pytest.mark.parametrize("name", STANDING)


class Typed(Stage):
    """A stage whose commands run in the loop of its desk, as they are typed."""

    desk: Desk

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.desk.run(work)


class Desk:
    """A job whose retry waits, and a person who types whole lines."""

    def __init__(self, runner: asyncio.Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run = runner.run
        self.driver = Driver()
        self.last = Stage(self.driver)
        monkeypatch.setattr("dispatch.cli.tool.Tool", self._tool)

    def _tool(self, flags: GlobalFlags, change: ChangeFlags) -> Typed:
        self.last = tool = Typed(self.driver, flags, change)
        tool.desk = self
        return tool

    def type(self, line: str) -> int:
        """The exit code of the line, as a shell would split it."""
        program, *words = shlex.split(line)
        assert program == "dispatch"
        return run(words)

    def shown(self, *flags: str) -> list[str]:
        """The lines of `retries show`."""
        assert self.type(" ".join(["dispatch retries show", *flags])) == 0
        return self.last.said.splitlines()

    def controls(self) -> Controls:
        async def read() -> Controls:
            async with Stage(self.driver, supervised=False).session() as session:
                return await controls(session)

        return self.run(read())

    def standing(self) -> set[tuple[str | None, str]]:
        """Everything that keeps a retry."""
        found = self.controls().standing_now(None, self.driver.at)
        return {(control.cluster, why) for control in found for why in control.stands(self.driver.at)}

    def set(self, asked: tuple[tuple[str | None, str], ...]) -> None:
        """Let all of these stand, and the job's run end."""
        self.run(self._set(asked))
        self.driver.controls = self.controls()
        self.run(self._ended())
        assert self.standing() == set(asked)

    async def _set(self, asked: tuple[tuple[str | None, str], ...]) -> None:
        await self.driver.submit("sleep 100; exit 3", plan=AGAIN)
        await self.driver.until(lambda d: d.phase is Phase.RUNNING)
        client = AsyncClient(self.driver.bus, tenant="nlp", actor="ana")
        deciding = asyncio.create_task(decide(self.driver))
        for cluster, what in asked:
            if what == STOP:
                await client.controls(cluster=cluster, retries=Retries.OFF, said=Said(note="storm"))
            elif what == OBSERVE:
                await client.controls(cluster=cluster, observe=True, said=Said(note="a look first"))
        deciding.cancel()
        await asyncio.gather(deciding, return_exceptions=True)
        if (CLUSTER, BRAKE) in asked:
            await self._brake(len(asked) - 1)

    async def _brake(self, number: int) -> None:
        """What a replica appends when many jobs end at once: whole values."""
        entries = await self.driver.bus.history.read("nlp", CONTROLS)
        assert len(entries) == number
        held = (await self._folded()).standing(CLUSTER)
        event = ControlsSet(
            cluster=CLUSTER,
            retries=held.retries,
            observe=held.observe,
            brake_until_at=self.driver.at + timedelta(days=1),
            brake_cause="31 jobs ended within 4s",
        )
        envelope = Envelope(
            id="0" * 26,
            tenant="nlp",
            job=CONTROLS,
            expected=entries[-1].revision if entries else 0,
            at=self.driver.at,
            by="replica:sv-b",
            event=event,
            reason=Reason.BRAKE_TRIPPED,
        )
        await self.driver.bus.history.append(envelope)

    async def _folded(self) -> Controls:
        async with Stage(self.driver, supervised=False).session() as session:
            return await controls(session)

    async def _ended(self) -> None:
        await self.driver.until(lambda d: d.phase is Phase.ENDED)
        await self.driver.quiet()
        around = Around(now=self.driver.at, controls=self.driver.controls)
        entry = entry_of(self.driver.record, around)
        await self.driver.bus.buckets.put_status(entry.key, encode(entry), expected=None)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with asyncio.Runner() as runner:
        yield Desk(runner, monkeypatch)


def printed(line: str) -> str:
    """The line to paste at the end of a shown one."""
    return line.rpartition(" · ")[2]


@FOR_ALL
def test_each_line_of_show_typed_lifts_what_it_names_and_nothing_beside_it(desk: Desk, name: str) -> None:
    desk.set(STANDING[name])
    lines = [line for line in desk.shown() if " · " in line]
    assert len(lines) == len(STANDING[name])
    for line in dict.fromkeys(map(printed, lines)):
        before = desk.standing()
        assert desk.type(line) == 0, line
        cluster = CLUSTER if f"--cluster {CLUSTER} " in line else None
        gone = {OBSERVE} if "observe --off" in line else {STOP, BRAKE}
        assert before - desk.standing() == {(c, w) for c, w in before if c == cluster and w in gone}
    assert desk.standing() == set()


@FOR_ALL
def test_the_lines_that_a_waiting_job_is_shown_typed_let_its_retry_go(desk: Desk, name: str) -> None:
    desk.set(STANDING[name])
    around = Around(now=desk.driver.at, controls=desk.driver.controls)
    shown = status(desk.driver.record, around)
    lines = [can.command for wait in shown.waits for can in wait.can]
    [condition] = [c for c in why.why(desk.driver.record, around).conditions if c.name == "retries may go"]
    assert condition.ends == (" and ".join(lines),)
    assert [desk.type(line) for line in lines] == [0] * len(lines)
    assert desk.standing() == set()
    desk.driver.controls = desk.controls()
    desk.run(desk.driver.until(lambda d: len(d.record.submissions) == 2))


@FOR_ALL
def test_the_plain_lines_lift_everything_that_stands(desk: Desk, name: str) -> None:
    desk.set(STANDING[name])
    stopped = any(what != OBSERVE for _, what in STANDING[name])
    assert desk.type("dispatch retries allow --reason over") == (0 if stopped else 4)
    assert {what for _, what in desk.standing()} <= {OBSERVE}
    observed = bool(desk.standing())
    assert ("retries observe --off" in desk.last.hinted) is observed
    assert desk.type("dispatch retries observe --off --reason over") == (0 if observed else 4)
    assert desk.standing() == set()
    assert desk.type("dispatch retries allow --reason over") == 4


def test_an_allow_of_one_cluster_says_that_all_clusters_are_still_stopped(desk: Desk) -> None:
    desk.set(((None, STOP), (CLUSTER, BRAKE)))
    assert desk.type(f"dispatch retries allow --cluster {CLUSTER} --reason over") == 0
    assert desk.standing() == {(None, STOP)}
    told = desk.last.hinted.splitlines()[-1]
    assert told.startswith("retries on every cluster still wait (retries-stopped) · ")
    assert desk.type(printed(told)) == 0
    assert desk.standing() == set()


def test_one_command_id_does_not_repeat_several_commands(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.set(((None, STOP), (CLUSTER, BRAKE)))
    assert desk.type("dispatch retries allow --reason over --command-id c-1") == 2
    assert "they stand on every cluster, sim" in capsys.readouterr().err
    assert len(desk.standing()) == 2
    assert desk.type(f"dispatch retries allow --cluster {CLUSTER} --reason over --command-id c-1") == 0
    assert desk.type("dispatch retries allow --all-clusters --cluster sim --reason over") == 2


def test_a_dry_run_decides_on_each_and_sends_nothing(desk: Desk) -> None:
    desk.set(((None, STOP), (CLUSTER, BRAKE)))
    assert desk.type("dispatch retries allow --reason over --dry-run") == 0
    assert desk.last.said.splitlines() == [
        "every cluster  would be accepted at #2; nothing was sent",
        "sim  would be accepted at #2; nothing was sent",
    ]
    assert desk.type("dispatch retries allow --cluster rig --reason over --dry-run") == 4
    assert len(desk.standing()) == 2


def test_a_cluster_is_shown_with_what_binds_every_cluster(desk: Desk) -> None:
    desk.set(((None, STOP), (CLUSTER, OBSERVE)))
    [line] = [each for each in desk.shown("--cluster rig") if " · " in each]
    assert line.startswith("retries stopped on every cluster since ")
    assert [each.split(" since")[0] for each in desk.shown(f"--cluster {CLUSTER}") if " · " in each] == [
        "retries stopped on every cluster",
        "observing on sim",
    ]


@pytest.mark.parametrize(("what", "begin"), [(BRAKE, "brake on sim since "), (STOP, "retries stopped on sim since ")])
def test_who_set_it_since_when_how_many_retries_wait_and_which_jobs_are_shown(
    desk: Desk, what: str, begin: str
) -> None:
    desk.set(((CLUSTER, what),))
    line, held = desk.shown()
    assert line.startswith(begin)
    assert (" by sv-b #1 until " in line, ": 31 jobs ended within 4s, " in line) == (what == BRAKE, what == BRAKE)
    assert (' by ana #1 "storm", ' in line) is (what == STOP)
    assert ", 1 retry waits · " in line
    assert held == "  holds llama"
    assert desk.type("dispatch retries show --json") == 0
    assert json.loads(desk.last.said)["data"]["waiting"] == [{"job": "llama", "cluster": CLUSTER}]


def test_an_order_that_binds_every_cluster_is_not_told_as_one_of_the_contexts_cluster(desk: Desk) -> None:
    desk.set(())
    assert desk.type("dispatch retries stop --reason storm --yes") == 0
    assert desk.last.hinted.startswith("prod · nlp @ every cluster     retries (command c-")
    assert desk.controls().standing(None) == Control(
        retries=False, set_at=desk.controls().standing(None).set_at, set_by="ana", note="storm", number=1
    )
