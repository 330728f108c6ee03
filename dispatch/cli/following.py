"""Following one or several jobs from now on, by reading their histories: `watch`, and `submit --wait`.

Survives a bus that goes away and comes back. Ends by itself at its goal; Ctrl-C leaves, and the job goes on.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from dispatch.cli.columns import table
from dispatch.cli.exits import Exit
from dispatch.cli.patience import Watched, unread
from dispatch.cli.session import Read, Session
from dispatch.cli.views.frame import Frame
from dispatch.cli.views.history import chosen, event_document, full_lines, live_row
from projections.fleet import line_of
from projections.status import SETTLED, State
from projections.timeline import timeline

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
    """Print what happens to the job, of exactly this name, until the goal is reached or `--timeout` ends the wait.

    The exit code. The job need not have been read yet: a bus that is away from the first read on is waited for.
    """
    return await Follower(session, unread(session, job), goal, start).run()


class Follower:
    """What happens to one job, printed as it comes. `start`: the event to begin with; None: what comes from now on."""

    def __init__(self, session: Session, read: Read, goal: Goal, start: int | None) -> None:
        self.tool = session.tool
        self.goal = goal
        self.shown = None if start is None else start - 1
        if start is None and read.entries:
            self.shown = read.record.number
        self._watched = Watched(session, read)

    @property
    def read(self) -> Read:
        """The job as far as it is read."""
        return self._watched.read

    async def run(self) -> int:
        """Follow to the end; the exit code."""
        begun = False
        while True:
            frame = await self._watched.look(around=self.goal.until == "action")
            if frame is not None:
                if not begun:
                    self._first(frame)
                begun = True
                self._print(frame)
                code = self.goal.reached(frame)
                if code is not None:
                    return self._end(frame, code)
            if self._watched.patience.over:
                self._last("timeout")
                self.tool.screen.hint(f"--timeout ended the wait; {self.read.job} goes on")
                return Exit.TIMED_OUT
            await asyncio.sleep(POLL_S)

    def _first(self, frame: Frame) -> None:
        """The state in one line, before anything that happens from now on."""
        if self.shown is None:
            self.shown = frame.record.number
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
        entries, last, shown = self.read.entries, self.goal.last, self.shown or 0
        fresh = timeline(entries)[shown:last] if shown < len(entries) else ()
        self.shown = shown + len(fresh)
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
