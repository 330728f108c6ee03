"""One small world: two supervisors, one job, one cluster, and a list of all that could happen next.

It is the simulator's own world, with its flights, its processes and its laws; only who proceeds is not drawn from a
seed but taken from `options`. Left out of the options is what nobody else could notice: what the cluster can do,
the tenant's controls (there are none), receipts and wake-ups are answered at once, and a supervisor's code runs on as
soon as its call has landed, because until its next call it touches nothing but itself.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import msgspec

from streams.messages import commands
from streams.messages.commands import Command
from streams.messages.plan import ANY, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import JobSpec, Run
from streams.messages.values import CauseKind, Phase
from tests.simulator.flight import ANSWERED, DEAD, CallFlight, Flight, ReadFlight, TellFlight
from tests.simulator.ledger import JOB, TENANT
from tests.simulator.process import Process, Task
from tests.simulator.small.key import answer_of
from tests.simulator.small.moves import moves
from tests.simulator.telling import describe
from tests.simulator.world import World

STEP = timedelta(microseconds=1)
WAIT = timedelta(seconds=100)
STALE_MAX = 2
SPEC = JobSpec(cluster="sim", run=Run(command=("train",)), attempts_max=2)
PLAN = RecoveryPlan(
    rules=(
        PlanRule(name="retry", on=(CauseKind.PREEMPTED,), do=PlanAction.RESUBMIT, budget=1),
        PlanRule(name="rest", on=(ANY,), do=PlanAction.GIVE_UP),
    )
)


class Fault:
    """The kinds of fault, of which one strikes once: the words of the table."""

    NONE = "none"
    CALL = "call-late"
    APPEND = "append-late"
    CRASH = "crash"
    STALE = "stale-read"


FAULTS = (Fault.CALL, Fault.APPEND, Fault.CRASH, Fault.STALE)


class Begins:
    """How far a cancel or a requeue has come where the exploration begins: the words of the table."""

    ASKED = "asked"
    RECORDED = "recorded"
    CALLED = "called"


class Small(msgspec.Struct, frozen=True, kw_only=True):
    """One small world: what is asked of the job, in which shape of cluster, and how much may happen.

    `begins`: with the command on the bus, with its event recorded, or with its first call landed and replied.
    `passes`: begun in all, by whichever supervisor. `waits`: how often 100 s pass, longer than any call can be late.
    """

    about: str
    shape: str
    begins: str = Begins.ASKED
    fault: str = Fault.NONE
    passes: int = 3
    waits: int = 0

    @property
    def name(self) -> str:
        return f"{self.about} {self.begins} {self.shape} {self.fault} {self.passes}"

    @property
    def calls(self) -> tuple[str, ...]:
        """Those that must be sent on some way, or what this world is about was not explored."""
        if self.about == "launch":
            return ("start",) if self.passes == 1 else ("start", "open")
        if self.about == "cancel":
            return ("stop-job",)
        return ("open",) if self.begins == Begins.CALLED else ("requeue",)


class Option(NamedTuple):
    """One thing that could happen next."""

    what: str
    happen: Callable[[], object]


class SmallWorld(World):
    """`left`: passes, waits and faults that may still come. `answers`: what each coroutine was told so far.

    `sent`: the calls that were sent since the beginning, by verb. `struck`: what the fault struck, once it has.
    """

    def __init__(self, small: Small, *, trace: bool = False) -> None:
        super().__init__(0, script=(), shape=small.shape, trace=trace)
        self.swarm.levels = dict.fromkeys(self.swarm.levels, 0)
        self.swarm.spec, self.swarm.plan = SPEC, PLAN
        self.small = small
        self.answers: dict[Task, list[str]] = {}
        self.sent: set[str] = set()
        self.struck = ""
        self.behind = 0
        self.processes = [Process(self, number, 0.0) for number in range(2)]
        self.left = [0, 0, 0]
        self._prepare()
        self.sent.clear()
        self.left = [small.passes, small.waits, int(small.fault != Fault.NONE)]

    # where it begins

    def _prepare(self) -> None:
        """The job is submitted; for a cancel and a requeue it is recorded as running too, and the command is given."""
        self.operators.publish(self.operators.submit())
        self._alone(lambda: self.processes[0].receive(self.operators.waiting()[0]))
        if self.small.about == "launch":
            return
        for _ in range(12):
            held = self.watch.record.canonical()
            if held is not None and held.phase is Phase.RUNNING:
                break
            self._alone(self.processes[0].wake)
        else:
            raise AssertionError("the record does not say that the job runs")
        self.operators.publish(self._asked())
        if self.small.begins != Begins.ASKED:
            self._alone(lambda: self.processes[0].receive(self.operators.waiting()[0]))
        if self.small.begins == Begins.CALLED:
            self.processes[0].wake()
            while self.tasks:
                self.take(self._option(self.tasks[0]))
        # A fresh start: both supervisors hold nothing, as after a crash long ago.
        for process in self.processes:
            process.begin()

    def _alone(self, first: Callable[[], None]) -> None:
        """Something happens and everything that follows from it, one at a time."""
        first()
        while options := self.options():
            self.take(options[0])

    def _asked(self) -> Command:
        base = {"command": "cmd-asked", "tenant": TENANT, "job": JOB, "at": self.now}
        if self.small.about == "cancel":
            return commands.CancelJob(**base)  # type: ignore[arg-type]  # one dict for both
        held = self.watch.record.canonical()
        assert held is not None
        return commands.RequeueJob(**base, run=held.run)  # type: ignore[arg-type]  # one dict for both

    # what may happen

    def take(self, option: Option) -> None:
        """It happens; then the laws are looked at."""
        self.steps += 1
        self.now += STEP
        if self.trace is not None:
            self.say(option.what)
        option.happen()
        self._answer_what_nobody_sees()
        self.watch.look()

    def options(self) -> list[Option]:
        """All that could happen next, in a fixed order; empty where nothing can."""
        passes, waits, _ = self.left
        found = [self._option(task) for task in self.tasks]
        found += [Option(self._say("late", f), partial(self._orphan, f)) for f in self.orphans if self._may_act(f)]
        found += [Option(what, move) for what, move in moves(self.cluster)]
        for process in self.processes:
            who = f"r{process.number}"
            found += [
                Option(f"{who} receives the command", partial(process.receive, w)) for w in self.operators.waiting()
            ]
            if passes and not process.passing:
                found.append(Option(f"{who} begins a pass", partial(self._pass, process)))
        if waits:
            found.append(Option("100 s pass", self._wait))
        return found + self._faults()

    def _say(self, how: str, flight: Flight) -> str:
        return f"{how}: {describe(flight)}" if self.trace is not None else how

    def _option(self, task: Task) -> Option:
        flight = task.flight
        assert flight is not None
        return Option(self._say(f"r{task.process.number} {task.what}", flight), partial(self._go_on, task))

    def _go_on(self, task: Task) -> None:
        """A write arrives, and lands in a step of its own; whatever lands is answered."""
        flight = task.flight
        assert flight is not None
        flight.advance()
        self._answered(task, flight)

    def _answered(self, task: Task, flight: Flight) -> None:
        if flight.stage == DEAD:
            self.resume(task, None, flight.lost())
        elif flight.stage == ANSWERED:
            self.watch.answered(task, flight)
            self.resume(task, flight.answer, flight.error)

    def _may_act(self, flight: Flight) -> bool:
        return not isinstance(flight, CallFlight) or flight.request.might_land

    def _orphan(self, flight: Flight) -> None:
        flight.advance()
        if not flight.goes_on:
            self.orphans.remove(flight)

    def _pass(self, process: Process) -> None:
        self.left[0] -= 1
        process.wake()

    def _wait(self) -> None:
        self.left[1] -= 1
        self.now += WAIT

    def _answer_what_nobody_sees(self) -> None:
        hidden = True
        while hidden:
            hidden = False
            for task in tuple(self.tasks):
                flight = task.flight
                if flight is not None and _unseen(flight):
                    hidden = True
                    flight.advance()
                    self._answered(task, flight)

    # the one fault

    def _faults(self) -> list[Option]:
        if not self.left[2]:
            return []
        kind = self.small.fault
        if kind == Fault.CRASH:
            return [
                Option(f"r{process.number} dies", partial(self._crash, process))
                for process in self.processes
                if process.tasks
            ]
        return [option for task in self.tasks for option in self._faults_of(task, kind)]

    def _faults_of(self, task: Task, kind: str) -> list[Option]:
        flight = task.flight
        if kind == Fault.STALE and isinstance(flight, ReadFlight):
            unread = len(self.ledger.read(JOB, flight.after, flight.generation))
            lacks = range(1, 1 + min(unread, STALE_MAX))
            return [Option(f"a read lacks {behind}", partial(self._stale, task, behind)) for behind in lacks]
        if flight is not None and flight.goes_on and kind == f"{flight.kind}-late":
            return [Option(self._say("no answer", flight), partial(self._lost, task))]
        return []

    def _strike(self, what: str) -> None:
        self.left[2] -= 1
        self.struck = what

    def _crash(self, process: Process) -> None:
        self._strike("supervisor")
        self.kill(process)
        self.answers = {task: told for task, told in self.answers.items() if task in self.tasks}

    def _stale(self, task: Task, behind: int) -> None:
        self._strike(f"read of a {task.what}")
        self.behind = behind
        self._go_on(task)
        self.behind = 0

    def _lost(self, task: Task) -> None:
        """Its caller is told that no answer came; it lands at any later step, or never."""
        flight = task.flight
        assert flight is not None
        self._strike(flight.request.verb if isinstance(flight, CallFlight) else flight.kind)
        self.orphans.append(flight)
        self.resume(task, None, flight.lost())

    def staleness(self) -> int:
        return self.behind

    # what the coroutines are told

    def start(self, task: Task) -> None:
        self.answers[task] = []
        super().start(task)

    def resume(self, task: Task, answer: object, error: BaseException | None) -> None:
        if task.flight is not None:
            told = answer_of(task.flight, answer, error)
            self.answers[task].append(f"{self.now:%H:%M:%S} {told}")
        super().resume(task, answer, error)
        flight = task.flight
        if isinstance(flight, CallFlight) and flight.request.writes:
            self.sent.add(flight.request.verb)

    def _finish(self, task: Task, *, first: bool) -> None:
        super()._finish(task, first=first)
        self.answers.pop(task, None)


def _unseen(flight: Flight) -> bool:
    """Answered alike at any time, and of no effect on anybody else. The acknowledgement of a command is seen."""
    if isinstance(flight, TellFlight):
        return flight.what != "ack"
    if isinstance(flight, ReadFlight):
        return flight.job != JOB
    return isinstance(flight, CallFlight) and flight.request.verb == "capabilities"
