"""A cluster in the shape of Slurm: one bit is gate and hold, runs are restart counts, records are purged.

With `hold_beside_gate` there are two bits, as on one machine's slots: a hold keeps the next run from beginning, opened
or not, and leaves the present one and the gate alone.

Facts are from Slurm 26.05: a requeue raises the restart count, an ended record can be requeued until it is purged,
a lost node ends a run at once while its processes may live, and leaving `completing` proves nothing.
This module holds the records and what the controller does by itself; calls are in `slurm_calls`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec

from adapters.simulated.host import Clock, HostClock
from adapters.simulated.programs import program_of
from adapters.simulated.slurm_job import JobState, Row, SlurmJob
from adapters.simulated.truth import BegunBy, Execution, Lift, Truth
from streams.messages.calls import JobName
from streams.messages.values import Cause, CauseKind, Floor, HoldSeen, Sighting


class SlurmSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What this cluster is like. `incomplete`: a requeue touches only a job that runs (`requeue Incomplete`).

    `hold_beside_gate`: a hold is a bit of its own.
    """

    nodes: tuple[str, ...] = ("n1", "n2", "n3", "n4")
    call_bound_s: float = 30.0
    fenced_calls: bool = False
    incomplete: bool = True
    hold_beside_gate: bool = False
    keeps_floor: bool = True
    presume_after_s: float | None = None


class SlurmPace(msgspec.Struct, frozen=True, kw_only=True):
    """How fast the cluster moves by itself; seconds. `purge_s` None: records stay."""

    queue_s: float = 0.0
    stop_s: float = 0.0
    row_s: float = 0.0
    purge_s: float | None = None


USUAL = SlurmSettings()
AT_ONCE = SlurmPace()


class Bearers:
    """The jobs that bear one name, and what a Find last showed of them. `changes` counts what a watch would tell."""

    __slots__ = ("changes", "floor", "jobs", "shown")

    def __init__(self) -> None:
        self.jobs: list[SlurmJob] = []
        self.shown: tuple[Sighting, ...] | None = None
        self.floor: Floor | None = None
        self.changes = 0


class SlurmCluster:
    """The controller's records and its own moves. Without a `pace` nothing moves unless somebody says so.

    `otherwise`: fields of its capabilities that it tells otherwise than its shape has them.
    """

    def __init__(
        self,
        *,
        name: str = "sim",
        clock: Clock,
        settings: SlurmSettings = USUAL,
        pace: SlurmPace | None = AT_ONCE,
    ) -> None:
        self.name = name
        self.host = HostClock(clock)
        self.settings = settings
        self.pace = pace
        self.bound = timedelta(seconds=settings.call_bound_s)
        self.instant: datetime = self.host.now()
        self.truth = Truth(settings.nodes, lambda: self.instant)
        self.jobs: list[SlurmJob] = []
        self.names: dict[JobName, Bearers] = {}
        self.changes = 0
        self.refuse_starts = ""
        self.deny_cessation = False
        self.otherwise: dict[str, Any] = {}
        self._ids = 0

    # records

    def bearers(self, name: JobName) -> Bearers:
        """The jobs of that name, kept for ever."""
        known = self.names.get(name)
        if known is None:
            known = self.names[name] = Bearers()
        return known

    def add(self, job: SlurmJob) -> None:
        self.jobs.append(job)
        self.bearers(job.name).jobs.append(job)
        self.touch(job)

    def touch(self, job: SlurmJob) -> None:
        """The job changed: show it anew."""
        bearers = self.bearers(job.name)
        job.shown = bearers.shown = None
        bearers.changes += 1
        self.changes += 1

    def next_id(self, reuse: str | None = None) -> str:
        """A job id; `reuse` hands out one that was lost with the controller's state."""
        if reuse is not None:
            return reuse
        self._ids += 1
        return str(self._ids)

    # what the controller does by itself

    def move(self, job: SlurmJob, state: JobState) -> None:
        job.state = state
        job.since = self.instant
        self.touch(job)

    def begin(self, job: SlurmJob) -> bool:
        """Start a job that is pending and not held, if nodes are free."""
        wanted = job.spec.nodes if job.spec else 1
        free = self.truth.free(job.avoid)[:wanted]
        if job.state is not JobState.PENDING or job.held or job.set_aside or len(free) < wanted:
            return False
        lift = job.lift or Lift(BegunBy.SCHEDULER)
        if job.revived is not None and (lift.call is None or lift.call.run != job.run):
            lift = job.revived
        execution = job.executions[job.run] = Execution(job.name, job.ref, job.tag, job.run, lift)
        self.truth.begin(execution, free)
        self.move(job, JobState.RUNNING)
        return True

    def end_run(self, job: SlurmJob, cause: Cause) -> None:
        """The run is to end for good: its processes are told to stop."""
        job.cause = cause
        job.requeueing = False
        self.move(job, JobState.COMPLETING)

    def exit_by_itself(self, job: SlurmJob, cause: Cause) -> None:
        """Every process of the run exits; the controller has yet to notice that all is done."""
        self.truth.end(job.executions[job.run], self.settings.nodes)
        self.end_run(job, cause)

    def processes_stop(self, job: SlurmJob) -> None:
        """What was told to stop has stopped, on every node that can be reached."""
        execution = job.executions.get(job.run)
        if execution is not None:
            self.truth.end(execution, self.truth.reachable(execution.nodes))

    def complete(self, job: SlurmJob) -> None:
        """Leave `completing`. Processes that would not die stay behind on a drained node."""
        execution = job.executions.get(job.run)
        for node in execution.alive if execution else ():
            self.truth.nodes[node].drained = self.truth.nodes[node].drained or self.truth.nodes[node].reachable
        if job.requeueing:
            self.back_to_pending(job)
        else:
            self.close(job)

    def close(self, job: SlurmJob) -> None:
        job.row = Row.LATE
        self.move(job, JobState.ENDED)

    def back_to_pending(self, job: SlurmJob) -> None:
        """A requeue is complete: the next run waits, held or not."""
        job.requeueing = False
        job.cause = None
        job.run += 1
        job.row = Row.NONE
        self.move(job, JobState.PENDING)

    def write_row(self, job: SlurmJob) -> None:
        """Accounting has answered for this job."""
        job.row = Row.WRITTEN
        self.touch(job)

    def purge(self, job: SlurmJob) -> None:
        """The controller forgets an ended job; accounting may know it, later or never."""
        job.purged = True
        self.touch(job)

    def hold(self, job: SlurmJob, label: HoldSeen) -> None:
        """Priority 0. On a running job it does nothing until a requeue."""
        job.held = True
        job.label = label
        job.lift = None
        self.touch(job)

    def unhold(self, job: SlurmJob, lift: Lift) -> None:
        """Take the bit off; nothing where it is not on."""
        if not job.held:
            return
        job.held = False
        job.label = HoldSeen.NONE
        job.lift = lift
        self.touch(job)

    def set_aside(self, job: SlurmJob, *, aside: bool) -> None:
        """The hold that is no gate: no run begins while it is on, and it opens nothing when it goes."""
        job.set_aside = aside
        self.touch(job)

    # a cluster that moves by itself

    def advance(self) -> datetime:
        """Carry out what was due by now, in order; the host's present instant."""
        now = self.host.now()
        if self.pace is not None:
            waiting = [(due, index) for index, job in enumerate(self.jobs) if (due := self._due_at(job)) is not None]
            while waiting:
                due_at, index = min(waiting)
                if due_at > now:
                    break
                self.instant = max(self.instant, due_at)
                if not self._carry_out(self.jobs[index]):
                    waiting.remove((due_at, index))
                    continue
                waiting = [(due, i) for i, job in enumerate(self.jobs) if (due := self._due_at(job)) is not None]
        self.instant = now
        return now

    def _due_at(self, job: SlurmJob) -> datetime | None:
        pace = self.pace
        if pace is None or (job.purged and job.row is not Row.LATE):
            return None
        if job.state is JobState.PENDING:
            return None if job.held or job.set_aside else job.since + timedelta(seconds=pace.queue_s)
        if job.state is JobState.RUNNING:
            return job.since + timedelta(seconds=self._runs_s(job))
        if job.state is JobState.COMPLETING:
            return job.since + timedelta(seconds=pace.stop_s)
        if job.row is Row.LATE:
            return job.since + timedelta(seconds=pace.row_s)
        return None if pace.purge_s is None else job.since + timedelta(seconds=pace.purge_s)

    def _runs_s(self, job: SlurmJob) -> float:
        if job.spec is None:
            return 3600.0
        runs_s = program_of(job.spec.run).runs_s
        return runs_s if job.spec.time_limit is None else min(runs_s, job.spec.time_limit)

    def _carry_out(self, job: SlurmJob) -> bool:
        """The one thing that was due for this job; whether anything happened."""
        if job.state is JobState.PENDING:
            return self.begin(job)
        if job.state is JobState.RUNNING:
            self.exit_by_itself(job, self._own_end(job))
        elif job.state is JobState.COMPLETING:
            self.processes_stop(job)
            self.complete(job)
        elif job.row is Row.LATE:
            self.write_row(job)
        else:
            self.purge(job)
        return True

    def _own_end(self, job: SlurmJob) -> Cause:
        if job.spec is None:
            return Cause(kind=CauseKind.COMPLETED, exit_code=0)
        program = program_of(job.spec.run)
        if job.spec.time_limit is not None and job.spec.time_limit < program.runs_s:
            return Cause(kind=CauseKind.TIME_LIMIT)
        return program.cause
