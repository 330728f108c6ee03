"""The simulated world: one job, up to three supervisors, one store, one cluster, and a seed that picks who proceeds.

Every step is one thing: a call goes one stage further, a coroutine gets its answer, the cluster moves, time passes,
somebody dies or asks for something. Checkers look after every step that changed the history or the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.slurm import SlurmCluster
from dispatch.replica.passes import RETRY_AFTER
from dispatch.supervisor import Pass
from streams.errors import StreamError, WrongStreamError
from streams.messages.calls import JobName
from streams.messages.receipts import Receipt
from streams.messages.values import Found, ObjectRef
from tests.simulator.draws import Draws
from tests.simulator.flight import ANSWERED, DEAD, AppendFlight, CallFlight, Flight
from tests.simulator.late import TICK, caller_gives_up, hold_back, is_late, time_passes
from tests.simulator.ledger import JOB, TENANT, Ledger
from tests.simulator.moves_kubeflow import KubeflowMoves
from tests.simulator.moves_slurm import SlurmMoves
from tests.simulator.operators import Operators
from tests.simulator.process import INSTALLATION, Process, Task
from tests.simulator.store_faults import StoreFaults
from tests.simulator.swarm import Swarm
from tests.simulator.telling import describe
from tests.simulator.watch import Watch

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
JUMPS_S = (3.0, -3.0, 40.0, -40.0, 300.0, -300.0)
LOST = {"call": "call-lost", "append": "append-lost", "read": "read-lost", "tell": "read-lost"}


class World:
    """Everything that one seed decides."""

    cluster: SlurmCluster | KubeflowCluster
    moves: SlurmMoves | KubeflowMoves

    def __init__(
        self,
        seed: int,
        *,
        script: Sequence[int] | None = None,
        shape: str | None = None,
        swarm: Swarm | None = None,
        trace: bool = False,
    ) -> None:
        self.seed = seed
        self.draws = Draws(seed, script)
        self.swarm = swarm or Swarm(self.draws, shape)
        self.trace: list[str] | None = [] if trace else None
        self.faults: Counter[str] = Counter()
        self.steps = self.lives = self.ids = 0
        self.woken = self.calm = self.store_is_down = False
        self.now = EPOCH
        self.host_skew = timedelta(0)
        self.host_drift = self.swarm.host_drift
        self.ledger = Ledger(lambda: self.now)
        self.name = JobName(installation=INSTALLATION, tenant=TENANT, job=JOB)
        self._make_cluster()
        if not self.swarm.cessation:
            self.cluster.otherwise["cessation"] = False
        self.tasks: list[Task] = []
        self.orphans: list[Flight] = []
        self.finds: dict[datetime, Found] = {}
        self.shown_at: dict[ObjectRef, int] = {}
        self.receipts: dict[str, Receipt] = {}
        self.last_pass: Pass | None = None
        self.timer_at: datetime | None = None
        self.operators = Operators(self)
        self.store = StoreFaults(self)
        self.watch = Watch(self)
        self.processes = [Process(self, number, drift) for number, drift in enumerate(self.swarm.drifts)]
        self._shares: tuple[tuple[int, Callable[[], str]], ...] = (
            (33, self._flight_goes_on),
            (10, self.moves.natural),
            (4, self._time_passes),
            (4, self._somebody_wakes),
            (4, self.moves.fault),
            (3, self._somebody_asks),
            (3, self._somebody_receives),
            (1, self._process_fault),
            (1, self.store.fault),
        )

    def _make_cluster(self) -> None:
        if self.swarm.is_slurm:
            self.cluster = SlurmCluster(clock=self.host_clock, settings=self.swarm.slurm(), pace=None)
            self.moves = SlurmMoves(self, self.cluster)
        else:
            self.cluster = KubeflowCluster(clock=self.host_clock, settings=self.swarm.kubeflow(), pace=None)
            self.moves = KubeflowMoves(self, self.cluster)

    @property
    def elapsed(self) -> timedelta:
        return self.now - EPOCH

    def begin(self) -> None:
        """A job is submitted."""
        self.operators.publish(self.operators.submit())
        self.processes[0].receive(self.operators.queue[0])

    def step(self) -> None:
        """One thing happens."""
        self.steps += 1
        self.now += TICK
        roll = self.draws.below(63)
        for share, act in self._shares:
            if roll < share:
                what = act()
                if what and self.trace is not None:
                    self.say(what)
                break
            roll -= share
        self.watch.look()

    def say(self, what: str) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.steps:>5} {self.elapsed.total_seconds():>8.1f}s  {what}")

    # flights and coroutines

    def start(self, task: Task) -> None:
        task.process.tasks.append(task)
        self.resume(task, None, None)

    def resume(self, task: Task, answer: object, error: BaseException | None) -> None:
        """Let the real code run up to its next await."""
        first = task.flight is None
        try:
            flight = task.coroutine.send(answer) if error is None else task.coroutine.throw(error)
        except StopIteration:
            self._finish(task, first=first)
            return
        except StreamError as ended:
            task.failed = True
            self._finish(task, first=first)
            if isinstance(ended, WrongStreamError):
                self.kill(task.process)
            return
        flight.task = task
        task.flight = flight
        flight.known = task.known
        if isinstance(flight, CallFlight) and flight.request.writes:
            self.watch.sent(flight)
        if is_late(self, flight):
            hold_back(self, flight)
        if first:
            self.tasks.append(task)

    def _finish(self, task: Task, *, first: bool) -> None:
        if not first:
            self.tasks.remove(task)
        task.process.tasks.remove(task)
        if task.what == "pass":
            task.process.passing = False
        if task.command is not None:
            task.command.in_hand = False
        self.watch.finished(task)

    def _flight_goes_on(self) -> str:
        count = len(self.tasks)
        if not count and not self.orphans:
            return self._somebody_wakes()
        index = self.draws.below(count + len(self.orphans))
        if index >= count:
            return self._orphan_goes_on(self.orphans[index - count])
        task = self.tasks[index]
        flight = task.flight
        assert flight is not None
        if flight.stage < ANSWERED:
            if self._fault(LOST[flight.kind]):
                return self._lose(task, flight)
            if flight.held_until > self.steps:
                return self._lose(task, flight) if caller_gives_up(self, flight) else ""
            flight.advance()
            if flight.stage < ANSWERED or self.draws.below(4):
                return self._tell(task, flight, "goes on")
        if flight.stage == DEAD:
            return self._lose(task, flight)
        if self._fault("reply-lost", times=2):
            return self._lose(task, flight)
        said = self._tell(task, flight, "is answered")
        self.watch.answered(task, flight)
        self.resume(task, flight.answer, flight.error)
        return said

    def _fault(self, name: str, *, times: int = 1) -> bool:
        if self.calm or not self.draws.chance(self.swarm.levels[name] * times // 2):
            return False
        self.faults[name] += 1
        return True

    def _lose(self, task: Task, flight: Flight) -> str:
        """No answer reaches the caller; what it sent may go on."""
        if flight.goes_on and self.draws.below(4):
            self.orphans.append(flight)
        said = self._tell(task, flight, "gets no answer")
        self.watch.lost(task, flight)
        self.resume(task, None, flight.lost())
        return said

    def _orphan_goes_on(self, flight: Flight) -> str:
        if flight.held_until > self.steps and not self.calm:
            return ""
        flight.advance()
        if not flight.goes_on:
            self.orphans.remove(flight)
        return f"late: {describe(flight)}" if self.trace is not None else ""

    def land_all(self) -> None:
        """Every flight comes to its end, and every coroutine goes on until it has none: the calm's way."""
        for _ in range(3000):
            self.steps += 1
            self.now += TICK
            self.watch.look()
            if self.orphans:
                self._orphan_goes_on(self.orphans[0])
            elif self.tasks:
                self._land(self.tasks[0])
            else:
                return

    def _land(self, task: Task) -> None:
        flight = task.flight
        assert flight is not None
        while flight.stage < ANSWERED:
            self.steps += 1
            flight.advance()
        if self.trace is not None:
            self.say(self._tell(task, flight, "is answered"))
        if flight.stage == DEAD:
            self.resume(task, None, flight.lost())
        else:
            self.watch.answered(task, flight)
            self.resume(task, flight.answer, flight.error)

    def _tell(self, task: Task, flight: Flight, what: str) -> str:
        return f"{task.process.hands.by} {task.what} {what}: {describe(flight)}" if self.trace is not None else ""

    # time, wake-ups, deaths

    def host_clock(self) -> datetime:
        now = self.now + self.host_skew
        return now + self.host_drift * self.elapsed if self.host_drift else now

    def host_takes(self, time: timedelta) -> timedelta:
        """How long it is until this much has passed by the host's clock."""
        return time / (1 + self.host_drift) if self.host_drift else time

    def host_drifts_no_more(self) -> None:
        """What the host's clock is ahead or behind, it stays."""
        self.host_skew += self.host_drift * self.elapsed
        self.host_drift = 0.0

    def _time_passes(self) -> str:
        seconds = self.draws.pick(self.swarm.waits_s)
        time_passes(self, timedelta(seconds=seconds))
        return f"{seconds:g} s pass"

    def _somebody_wakes(self) -> str:
        process = self.draws.pick(self.processes)
        self.woken = False
        process.wake()
        return f"{process.hands.by} wakes"

    def _process_fault(self) -> str:
        if self.draws.chance(self.swarm.levels["clock-jump"] * 2):
            self.faults["clock-jump"] += 1
            jump = timedelta(seconds=JUMPS_S[self.draws.below(len(JUMPS_S))])
            who = self.draws.below(len(self.processes) + 1)
            if who == len(self.processes):
                self.host_skew += jump
                return f"the host's clock jumps {jump.total_seconds():g} s"
            self.processes[who].skew += jump
            return f"the clock of {self.processes[who].hands.by} jumps {jump.total_seconds():g} s"
        if self.draws.chance(self.swarm.levels["crash"] * 4):
            self.faults["crash"] += 1
            process = self.draws.pick(self.processes)
            said = f"{process.hands.by} dies"
            self.kill(process)
            return said
        return ""

    def kill(self, process: Process) -> None:
        """A process dies at whatever it was waiting for and starts again with nothing."""
        self.tasks = [task for task in self.tasks if task.process is not process]
        self.orphans += process.crash()

    # people

    def _somebody_asks(self) -> str:
        command = self.operators.at_random(self.watch.record)
        if command is None:
            return ""
        self.operators.publish(command)
        return f"a person asks: {type(command).__name__} {command.command}" if self.trace is not None else ""

    def _somebody_receives(self) -> str:
        waiting = self.operators.waiting()
        if not waiting:
            return ""
        process = self.draws.pick(self.processes)
        process.receive(waiting[0])
        return f"{process.hands.by} receives {waiting[0].subject}"

    # what the ports report

    def new_id(self) -> str:
        self.ids += 1
        return f"{self.ids:026d}"

    def staleness(self) -> int:
        """How many of the newest entries a read lacks now."""
        return 1 + self.draws.below(3) if self._fault("read-stale", times=4) else 0

    def stored(self, flight: AppendFlight) -> None:
        self.watch.stored(flight)

    def landed(self, flight: CallFlight) -> None:
        if flight.request.verb == "find":
            if flight.error is not None:
                return
            self.finds[flight.answer.as_of] = flight.answer
        self.watch.landed(flight)

    def passed(self, process: Process, ended: Pass) -> None:
        self.last_pass = ended
        wait = RETRY_AFTER.get(ended.result)
        self.timed(process.clock() + wait if wait is not None else ended.due_at)
        if process.generation == self.ledger.generation:
            self.watch.passed(ended)
        if self.trace is not None:
            self.say(f"  {process.hands.by}: pass {ended.result.value} r{ended.record.revision} {ended.why}")

    def timed(self, at: datetime | None) -> None:
        """The job's one timer is set anew, unless there is nothing to wait for."""
        self.timer_at = at or self.timer_at

    # truths that a person can see

    def lives_on(self, ref: ObjectRef, run: int, node: str) -> bool:
        return any(e.object == ref and e.run == run and node in e.alive for e in self.cluster.truth.living)

    def exists(self, ref: ObjectRef) -> bool:
        """Whether the cluster still holds the object, or a process of it lives."""
        if any(execution.object == ref for execution in self.cluster.truth.living):
            return True
        found = [job for job in self.cluster.jobs if job.ref == ref]
        return any(not (getattr(job, "purged", False) or getattr(job, "gone", False)) for job in found)

    def calls_on_their_way(self) -> list[CallFlight]:
        """Writes that may still act on the scheduler."""
        flying = [task.flight for task in self.tasks if task.flight is not None] + self.orphans
        return [f for f in flying if isinstance(f, CallFlight) and f.goes_on and f.request.might_land]

    def may_land(self, call: int) -> bool:
        """Whether a write with this number is still on its way."""
        return any(f.request.call is not None and f.request.call.call == call for f in self.calls_on_their_way())
