"""Following one or several jobs from now on, by reading their histories: `watch`, and `submit --wait`.

Survives a bus that goes away and comes back. Ends by itself at its goal; Ctrl-C leaves, and the job goes on.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from dispatch.cli.columns import table
from dispatch.cli.exits import Exit
from dispatch.cli.looking import frame_of
from dispatch.cli.session import Read, Session
from dispatch.cli.times import elapsed
from dispatch.cli.views.frame import Frame
from dispatch.cli.views.history import chosen, event_document, full_lines, live_row
from projections.fleet import line_of
from projections.status import SETTLED, State
from projections.timeline import timeline
from streams.errors import BusClosedError, BusUnreachableError

POLL_S = 0.25
GONE = frozenset({State.ENDING, State.CANCELLING, *SETTLED})


@dataclass(frozen=True, slots=True)
class Goal:
    """When following ends: `running`, `ended`, `settled`, `action` (a person is needed), or `told`.

    `told`: the history is, up to event `last` or else to settlement; the job's outcome does not matter.
    `kinds`: the kinds of event that are shown; None for all. `full`: with their fields. `named`: each line says of
    which job it is.
    """

    until: str = "settled"
    job_exit: bool = False
    kinds: frozenset[str] | None = None
    named: bool = False
    full: bool = False
    last: int | None = None

    def reached(self, frame: Frame) -> Exit | None:
        """How following ends now, or None while it goes on. An end of the job ends every goal."""
        if self.passed(frame):
            return Exit.DONE
        told = frame.status()
        if self.until == "told":
            return Exit.DONE if told.state in SETTLED else None
        if told.state in SETTLED:
            return self._outcome(frame)
        if self.until == "action" and told.needs_person:
            return Exit.NEEDS_PERSON
        if self.until == "running" and (told.state is State.RUNNING or told.state in GONE):
            return Exit.DONE if told.state is State.RUNNING else self._outcome(frame)
        if self.until == "ended" and told.state in GONE:
            return self._outcome(frame)
        return None

    def passed(self, frame: Frame) -> bool:
        """Whether the last event that was asked for is there."""
        return self.last is not None and frame.record.number >= self.last

    def _outcome(self, frame: Frame) -> Exit:
        """What a committed outcome means for the exit code."""
        record = frame.record
        if record.cancel is not None:
            return Exit.JOB_CANCELLED
        return Exit.JOB_FAILED if record.outcome is not None and record.outcome.outcome.value == "failed" else Exit.DONE


def own_exit(frame: Frame) -> int | None:
    """The exit code of the first failing rank, or None where the end has none."""
    outcome = frame.record.outcome
    if outcome is None:
        return None
    if outcome.cause.exit_code:
        return outcome.cause.exit_code
    return 128 + outcome.cause.signal if outcome.cause.signal else None


async def follow(session: Session, job: str, goal: Goal, *, start: int | None = None) -> int:
    """Print what happens to the job until the goal is reached or `--timeout` ends the wait; the exit code."""
    follower = Follower(session, await session.read(job), goal, start)
    return await follower.run()


class Follower:
    """One job, read again and again from the last event seen."""

    def __init__(self, session: Session, read: Read, goal: Goal, start: int | None) -> None:
        self.session = session
        self.tool = session.tool
        self.read = read
        self.goal = goal
        self.shown = read.record.number if start is None else start - 1
        self._lost_at: float | None = None
        self._frame: Frame | None = None
        self._framed: Read | None = None

    async def run(self) -> int:
        """Follow to the end; the exit code."""
        bounded = self.tool.flags.timeout
        deadline = None if bounded is None else time.monotonic() + bounded
        frame = await self._look()
        self._first(frame)
        while True:
            self._print(frame)
            code = self.goal.reached(frame)
            if code is not None:
                return self._end(frame, code)
            if deadline is not None and time.monotonic() >= deadline:
                self._last("timeout")
                self.tool.screen.hint(f"--timeout ended the wait; {self.read.job} goes on")
                return Exit.TIMED_OUT
            await asyncio.sleep(POLL_S)
            frame = await self._look()

    async def _look(self) -> Frame:
        """The job now, or as it was last seen while the bus is away."""
        try:
            self.read = await self.session.refreshed(self.read)
            if self._framed is not self.read or self.goal.until == "action":
                self._frame = await frame_of(self.session, self.read)
                self._framed = self.read
            self._back()
        except BusClosedError:
            raise
        except BusUnreachableError:
            if self._lost_at is None:
                self._lost_at = time.monotonic()
                self.tool.screen.hint("the bus does not answer; waiting for it")
            if self._frame is None:
                raise
        assert self._frame is not None
        return self._frame

    def _back(self) -> None:
        if self._lost_at is not None:
            lost = elapsed(time.monotonic() - self._lost_at)
            self.tool.screen.hint(f"bus lost {lost}, resumed at #{self.read.record.number}")
            self._lost_at = None

    def _first(self, frame: Frame) -> None:
        """The state in one line, before anything that happens from now on."""
        if self.tool.flags.json or self.goal.until == "told":
            return
        told = frame.status()
        waits = ""
        if told.waits:
            since = told.waits[0].since
            lasted = f" {frame.times.since(since)}" if since is not None else ""
            waits = f", waits{lasted}: {line_of(told.waits[0].what)}"
        leave = "" if told.state in SETTLED else "     Ctrl-C leaves, the job goes on"
        self.tool.screen.say(f"{told.job}  {told.state.value}{frame.times.local(waits)}{leave}")

    def _print(self, frame: Frame) -> None:
        entries, last = self.read.entries, self.goal.last
        fresh = timeline(entries)[self.shown : last] if self.shown < len(entries) else ()
        self.shown += len(fresh)
        lines = chosen(fresh, self.goal.kinds)
        if self.tool.flags.json:
            for line in lines:
                self.tool.stream({"job": self.read.job} | event_document(line, entries, full=self.goal.full))
        elif self.goal.full:
            for text in full_lines(frame.times, lines, entries):
                self.tool.screen.say(text)
        elif lines:
            job = [self.read.job] if self.goal.named else []
            rows = [[*job, *live_row(frame.times, line)] for line in lines]
            self.tool.screen.lines(table(rows, free=3 + len(job), width=self.tool.screen.width))

    def _end(self, frame: Frame, code: Exit) -> int:
        self._last("to" if self.goal.passed(frame) else frame.status().state.value)
        if not self.tool.flags.json and self.goal.until != "told":
            self.tool.screen.say(_summary(frame))
        if self.goal.job_exit and code is Exit.JOB_FAILED:
            return own_exit(frame) or code
        return code

    def _last(self, because: str) -> None:
        """The last line of a stream, so that a cut one is told from a finished one."""
        if self.tool.flags.json:
            end = {"job": self.read.job, "kind": "end", "because": because, "revision": self.read.record.revision}
            self.tool.stream(end)


def _summary(frame: Frame) -> str:
    from dispatch.cli.views.status import headline

    return headline(frame, frame.status())[0]
