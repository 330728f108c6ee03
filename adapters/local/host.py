"""The host of one directory: its objects, its slots, and what becomes of runs. One thread, one thing at a time.

Everything that matters is on disk before it is answered, so a host that is killed anywhere is replaced by one that
reads the directory and carries on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import msgspec

from adapters.clock import HostClock
from adapters.errors import UnreachableError
from adapters.floors import FloorStore
from adapters.local.changes import ChangesWriter
from adapters.local.objects import LocalObject, ObjectState, ObjectStore
from adapters.local.plan import Site, make_plan
from adapters.local.runner import ORDER
from adapters.local.runs import Ended, LocalRun, Stage, reap_children
from adapters.local.settings import LocalSettings
from adapters.local.slots import Waiting, may_begin, why_waiting
from adapters.names import scheduler_name
from streams.messages.calls import JobName
from streams.messages.values import Cause, CauseKind, HoldSeen, Phase, Sighting

UNREADABLE = (OSError, ValueError, KeyError, msgspec.DecodeError)
PURGE_EVERY_S = 3600.0
log = logging.getLogger(__name__)
PHASES = {Stage.BEGINNING: Phase.QUEUED, Stage.RUNNING: Phase.RUNNING}


class LocalHost:
    """Raises OSError and what is in `UNREADABLE` when the disk fails it; its callers turn that into an answer."""

    def __init__(self, state_dir: Path, settings: LocalSettings, clock: HostClock, *, boot: str) -> None:
        self.settings = settings
        self.clock = clock
        self.site = Site(state_dir, settings, boot=boot)
        self.store = ObjectStore(state_dir / "objects")
        self.floors = FloorStore(state_dir / "floors")
        self.changes = ChangesWriter(state_dir)
        self._active = {one.id: one for one in self.store.all() if one.live or one.waiting}
        self._runs: dict[str, LocalRun] = {}
        self._stages: dict[str, Stage] = {}
        self._purged_at = time.monotonic() - PURGE_EVERY_S
        self.faults: dict[str, str] = {}

    def take_settings(self, settings: LocalSettings) -> None:
        """Go by these from now on; the boot id was read when this host began."""
        self.settings = settings
        self.site = Site(self.site.state_dir, settings, boot=self.site.boot)

    @property
    def busy(self) -> bool:
        """Whether an object is alive: queued, running or ending."""
        return bool(self._active)

    def change(self, one: LocalObject, state: ObjectState) -> None:
        """Take this state for the object, on disk first, and tell whoever watches."""
        before = one.state
        try:
            one.change(state)
        finally:  # taken or not: a disk that fails half-way leaves the one or the other
            if one.state != before:
                if one.live or one.waiting:
                    self._active[one.id] = one
                else:
                    self._active.pop(one.id, None)
                self.changes.note(one.record.name)

    def tend(self) -> None:
        """Look at every run in progress, and begin what may begin. What the disk refuses is tried again next time."""
        reap_children()
        for one in [one for one in self._active.values() if one.live]:
            self._try(self.look, one)
        for chosen in may_begin(self.waiting(), slots=self.settings.slots, taken=self.taken()):
            self._try(self._begin, self._active[chosen.id])
        self._purge()

    def _begin(self, one: LocalObject) -> None:
        self.change(one, msgspec.structs.replace(one.state, begun=True))
        self.look(one)

    def _try(self, step: Callable[[LocalObject], object], one: LocalObject) -> None:
        try:
            step(one)
        except UNREADABLE as error:
            if self.faults.get(one.id) != str(error):
                self.faults[one.id] = str(error)
                log.warning("object %s: %r", one.id, error)

    def look(self, one: LocalObject) -> Stage:
        """See how the object's run stands, and take the step that follows: begin, end, clear up or close it."""
        run = self.run_of(one, one.state.run)
        stage = run.stage()
        ordered = one.state.stopped or one.state.requeue
        if ordered and stage in (Stage.BEGINNING, Stage.RUNNING) and not (run.folder / ORDER).exists():
            run.order("stop" if one.state.stopped else "requeue")
            stage = run.stage()
        elif ordered and stage is Stage.RUNNING:
            run.insist(one.record.spec.stop_grace)
        elif stage is Stage.BEGINNING:
            run.begin(lambda: make_plan(one, run.run, self.site))
        elif stage is Stage.LOST:
            run.clear(one.record.spec.stop_grace)
            stage = run.stage()
        if self._stages.get(one.id) is not stage:
            self._stages[one.id] = stage
            self.changes.note(one.record.name)
        if stage is Stage.ENDED:
            self._close(one, run)
        return stage

    def run_of(self, one: LocalObject, run: int) -> LocalRun:
        """That run of the object; the one in progress is remembered, so that its steps are paced."""
        known = self._runs.get(one.id)
        if known is not None and known.run == run:
            return known
        found = LocalRun(run, one.run_folder(run), self.site.mark(one, run), self.site)
        if one.live and run == one.state.run:
            self._runs[one.id] = found
        return found

    def end_unbegun(self, one: LocalObject, state: ObjectState) -> None:
        """End an object whose run never began: nothing of it lives, nothing will."""
        cause = Cause(kind=CauseKind.STOPPED, raw={"by": "before it began"})
        self.change(one, msgspec.structs.replace(state, end=cause, ended_at=self.clock.now()))

    def sightings(self, name: JobName) -> list[tuple[Sighting, str]]:
        """Every object of the job as it stands now, with why it waits.

        Raises UnreachableError if one cannot be read, OSError if the disk does not promise to keep what would be told.
        """
        broken = self.store.broken.get(scheduler_name(name))
        if broken is not None:
            raise UnreachableError(broken)
        objects = self.store.of(name)
        seen = [self._sighting(one) for one in objects]  # to look at a run may close it, which is a change
        for one in objects:
            one.keep()
        return seen

    def waiting(self) -> list[Waiting]:
        return [
            Waiting(id=one.id, ranks=one.record.spec.ranks, opened_at=one.state.opened_at, held=one.state.held)
            for one in self._active.values()
            if one.waiting and one.state.opened_at is not None
        ]

    def taken(self) -> int:
        """Slots in use: a run keeps its ranks' slots until its processes are gone."""
        return sum(one.record.spec.ranks for one in self._active.values() if one.live)

    def why(self, one: LocalObject) -> tuple[str, int | None]:
        """Why the object's run does not begin, or does not end; its place in the queue."""
        if one.waiting:
            waiting = self.waiting()
            [this] = [w for w in waiting if w.id == one.id]
            return why_waiting(this, waiting, slots=self.settings.slots, taken=self.taken())
        if one.live:
            run = self.run_of(one, one.state.run)
            stage = run.stage()
            if stage is Stage.BEGINNING:
                return "its runner is starting", None
            if stage is Stage.LOST:
                left = ", ".join(str(process) for process in run.remains()) or "a process of another container"
                return f"its runner died; still alive: {left}", None
            return "", None
        return ("", None) if one.state.end else ("its gate is shut", None)

    def _sighting(self, one: LocalObject) -> tuple[Sighting, str]:
        phase, cause = self._now(one)
        begun = one.live and phase is not Phase.QUEUED
        sighting = Sighting(
            object=one.ref(self.settings.cluster),
            tag=one.record.tag,
            run=one.state.run,
            phase=phase,
            hold=HoldSeen.USER if one.state.held else HoldSeen.NONE,
            cause=cause,
            end_final=phase is Phase.ENDED and one.state.stopped,
            nodes=(self.site.node,) if begun else cause.nodes if cause is not None else (),
        )
        return sighting, self.why(one)[0] if phase in (Phase.QUEUED, Phase.ENDING) else ""

    def _now(self, one: LocalObject) -> tuple[Phase, Cause | None]:
        """Looked at afresh. A run that ends to come back to its gate has no cause: it is not the object's end."""
        stage = self.look(one) if one.live else None
        if one.state.end is not None:
            return Phase.ENDED, one.state.end
        if one.live and stage is not None:
            phase = PHASES.get(stage, Phase.ENDING)
            ending = phase is Phase.ENDING and not one.state.requeue
            return phase, self.run_of(one, one.state.run).ending() if ending else None
        return (Phase.QUEUED if one.waiting else Phase.GATED), None

    def _close(self, one: LocalObject, run: LocalRun) -> None:
        """The run is over and nothing of it lives: the object has ended, or is back at its gate."""
        ended = run.ended()
        assert isinstance(ended, Ended), "a run that has ended says so on disk"
        if one.state.requeue and not one.state.stopped:
            state = next_run(one.state)
        else:
            state = msgspec.structs.replace(one.state, end=ended.cause, ended_at=self.clock.now())
        self._stages.pop(one.id, None)
        self._runs.pop(one.id, None)
        self.change(one, state)

    def _purge(self) -> None:
        """Forget objects that ended long ago."""
        if time.monotonic() - self._purged_at < PURGE_EVERY_S:
            return
        self._purged_at = time.monotonic()
        before = self.clock.now() - timedelta(seconds=self.settings.keep_ended_s)
        for one in self.store.all():
            if one.state.ended_at is not None and one.state.ended_at < before:
                self._try(self.store.forget, one)


def next_run(state: ObjectState) -> ObjectState:
    """Back at the gate, one run on; a hold stays."""
    return ObjectState(run=state.run + 1, held=state.held, stopped=state.stopped)
