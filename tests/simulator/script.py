"""A world told what to do, step by step: the shortest ways in which a rule's absence breaks a law."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from adapters.simulated.slurm_job import SlurmJob
from adapters.simulated.trainjob import TrainJob
from streams import subjects
from streams.messages import commands
from streams.messages.commands import Command
from streams.messages.plan import ANY, Backoff, PlanAction, PlanRule, RecoveryPlan
from streams.messages.spec import JobSpec, Run, Unmatched
from tests.simulator.calm import quiet
from tests.simulator.flight import ANSWERED, DEAD, AppendFlight, CallFlight, Flight
from tests.simulator.process import Process, Task
from tests.simulator.swarm import Swarm
from tests.simulator.world import World

RETRY = RecoveryPlan(
    rules=(PlanRule(name="retry", on=(ANY,), do=PlanAction.RESUBMIT, budget=5, backoff=Backoff(first=0.0)),)
)
IN_PLACE = RecoveryPlan(
    rules=(PlanRule(name="retry", on=(ANY,), do=PlanAction.REQUEUE, budget=5, backoff=Backoff(first=0.0)),)
)


def spec(**fields: Any) -> JobSpec:
    given: dict[str, Any] = {"nodes": 1, "attempts_max": 3, "unmatched": Unmatched.GIVE_UP, **fields}
    return JobSpec(cluster="sim", run=Run(command=("train",)), **given)


class Script:
    """Nothing moves unless it is told to. `jobs` are the cluster's objects in the order of their making.

    Not `submitted`: the job's name is new.
    """

    def __init__(
        self,
        shape: str,
        *,
        plan: RecoveryPlan = RETRY,
        replicas: int = 2,
        submitted: bool = True,
        **fields: Any,
    ) -> None:
        swarm = Swarm.calm(shape, replicas=replicas, spec=spec(**fields), plan=plan)
        self.world = World(0, script=(), swarm=swarm, trace=True)
        self.moves: Any = self.world.moves
        self.people: Any = self.moves.people
        self.mishaps: Any = self.moves.mishaps
        self.cluster: Any = self.world.cluster
        self.one = self.world.processes[0]
        self.two = self.world.processes[-1]
        if submitted:
            self.submits()

    @property
    def jobs(self) -> list[Any]:
        return list(self.cluster.jobs)

    @property
    def first(self) -> Any:
        return self.cluster.jobs[0]

    def submits(self) -> None:
        """The job of this script is submitted."""
        self.world.begin()
        self.rest()

    # passes and calls

    def wakes(self, process: Process) -> Task:
        """A pass begins and waits for its first answer."""
        self._tick()
        process.wake()
        return next(task for task in process.tasks if task.what == "pass")

    def until(self, task: Task, reached: Callable[[Flight], bool]) -> Flight:
        """Let this coroutine run on until it waits for a flight like that."""
        while task in self.world.tasks:
            flight = task.flight
            assert flight is not None
            if reached(flight):
                return flight
            self.lands(flight)
            self.answers(flight)
        raise AssertionError("it came to its end before that")

    def ends(self, task: Task) -> None:
        """Let this coroutine run to its end."""
        while task in self.world.tasks:
            assert task.flight is not None
            self.lands(task.flight)
            self.answers(task.flight)

    def passes(self, process: Process) -> None:
        """One whole pass; the calls it sends are left on their way."""
        self.ends(self.wakes(process))

    def settles(self, process: Process, passes: int = 1) -> None:
        """So many passes, each with the calls that it sends."""
        for _ in range(passes):
            self.passes(process)
            self.rest()

    def rest(self) -> None:
        """Whatever is on its way arrives and is answered."""
        while self.world.tasks:
            flight = self.world.tasks[0].flight
            assert flight is not None
            self.lands(flight)
            self.answers(flight)

    def sent(self, verb: str) -> CallFlight:
        """The call of this verb that waits to be sent on."""
        for task in self.world.tasks:
            flight = task.flight
            if task.what == "call" and isinstance(flight, CallFlight) and flight.request.verb.startswith(verb):
                return flight
        raise AssertionError(f"no {verb} is on its way")

    def on_its_way(self, verb: str) -> CallFlight:
        """The call of this verb, sent on, that stays there until it is landed."""
        flight = self.sent(verb)
        self.arrives(flight)
        return flight

    def looks_through(self, verb: str) -> None:
        """One of the looks that a call begins with is made, and its caller told."""
        flight = self.on_its_way(verb)
        self.answers(flight)

    def arrives(self, flight: Flight) -> None:
        """One stage further."""
        self._tick()
        flight.advance()
        self.world.watch.look()

    def lands(self, flight: Flight) -> None:
        """It does what it does; nobody is told yet."""
        while flight.stage < ANSWERED:
            self.arrives(flight)

    def answers(self, flight: Flight) -> None:
        """Its caller is told."""
        task = flight.task
        assert task is not None
        self.world.say(self.world._tell(task, flight, "is answered"))
        if flight.stage == DEAD:
            self.world.resume(task, None, flight.lost())
        else:
            self.world.watch.answered(task, flight)
            self.world.resume(task, flight.answer, flight.error)
        self.world.watch.look()

    def loses(self, flight: Flight) -> Flight:
        """Its caller hears nothing; the flight itself may still be landed."""
        assert flight.task is not None
        self.world.say(self.world._tell(flight.task, flight, "gets no answer"))
        if flight.goes_on:
            self.world.orphans.append(flight)
        self.world.watch.lost(flight.task, flight)
        self.world.resume(flight.task, None, flight.lost())
        return flight

    # people, time, the cluster

    def asks(self, command: Command) -> None:
        """A command is published and answered."""
        self.world.operators.publish(command)
        self.one.receive(self.world.operators.waiting()[0])
        for task in [task for task in self.world.tasks if task.what == "command"]:
            self.ends(task)

    def cancels(self) -> None:
        self.asks(commands.CancelJob(**self.base()))

    def holds(self, *, now: bool = False) -> None:
        self.asks(commands.HoldJob(**self.base(), now=now))

    def releases(self) -> None:
        self.asks(commands.ReleaseJob(**self.base()))

    def requeues(self, run: int, *, resubmit: bool = False) -> None:
        self.asks(commands.RequeueJob(**self.base(), run=run, resubmit=resubmit))

    def base(self) -> dict[str, Any]:
        return self.world.operators._base()

    def base_of_controls(self) -> dict[str, Any]:
        return {**self.base(), "job": subjects.CONTROLS}

    def waits(self, seconds: float) -> None:
        self.world.now += timedelta(seconds=seconds)
        self.cluster.advance()
        self.world.watch.look()

    def moves_on(self, job: SlurmJob | TrainJob) -> None:
        """The scheduler does with this object what it would do by itself, once."""
        self._tick()
        if isinstance(job, SlurmJob):
            self.cluster.begin(job)
        else:
            for step in self.moves.controllers:
                step(job)
            for pod in tuple(job.pods):
                if self.cluster.lift_fence(pod):
                    self.cluster.bind(pod)
                self.cluster.bind(pod)
        self.world.watch.look()

    def looks(self) -> None:
        """The checkers look now."""
        self._tick()
        self.cluster.advance()
        self.world.watch.look()

    def _tick(self) -> None:
        self.world.steps += 1
        self.world.now += timedelta(milliseconds=1)

    def comes_to_rest(self) -> None:
        """The quiet phase: the job is settled."""
        quiet(self.world)


def appends(kind: str, verb: str | None = None) -> Callable[[Flight], bool]:
    """Waits for the append of an event of this kind (and verb)."""

    def reached(flight: Flight) -> bool:
        if not isinstance(flight, AppendFlight) or type(flight.envelope.event).__name__ != kind:
            return False
        return verb is None or getattr(flight.envelope.event, "verb", None) == verb

    return reached


def asks_for(verb: str) -> Callable[[Flight], bool]:
    """Waits for a call of this verb to the scheduler."""
    return lambda flight: isinstance(flight, CallFlight) and flight.request.verb == verb
