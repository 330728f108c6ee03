"""The simulated world: one job, up to three supervisors, one store, one cluster, and a seed that picks who proceeds.

Every step is one thing: a call goes one stage further, a coroutine gets its answer, the cluster moves, time passes,
somebody dies or asks for something. Checkers look after every step that changed the history or the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from adapters.simulated.kubeflow import KubeflowCluster
from adapters.simulated.slurm import SlurmCluster
from dispatch.supervisor import Pass, Result
from projections.record import Record
from streams.errors import StreamError, WrongStreamError
from streams.messages.calls import JobName
from streams.messages.reasons import RefusalCode
from streams.messages.values import Found, ObjectRef
from tests.simulator.draws import Draws
from tests.simulator.flight import ANSWERED, DEAD, AppendFlight, CallFlight, Flight
from tests.simulator.ledger import JOB, TENANT, Ledger
from tests.simulator.moves import KubeflowMoves, SlurmMoves
from tests.simulator.operators import Operators, carry_out
from tests.simulator.process import INSTALLATION, Process, Task
from tests.simulator.swarm import Swarm
from tests.simulator.watch import Watch

TICK = timedelta(milliseconds=1)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WAITS_S = (1.0, 0.2, 5.0, 12.0, 31.0, 65.0)
JUMPS_S = (3.0, -3.0, 40.0, -40.0, 300.0, -300.0)


class World:
    """Everything that one seed decides."""

    def __init__(
        self, seed: int, *, script: Sequence[int] | None = None, shape: str | None = None, trace: bool = False
    ) -> None:
        self.seed = seed
        self.draws = Draws(seed, script)
        self.swarm = Swarm(self.draws, shape)
        self.trace: list[str] | None = [] if trace else None
        self.steps = 0
        self.lives = 0
        self.ids = 0
        self.woken = False
        self.calm = False
        self.now = EPOCH
        self.host_skew = timedelta(0)
        self.ledger = Ledger(lambda: self.now)
        self.name = JobName(installation=INSTALLATION, tenant=TENANT, job=JOB)
        self.cluster: SlurmCluster | KubeflowCluster
        self.moves: SlurmMoves | KubeflowMoves
        if self.swarm.is_slurm:
            self.cluster = SlurmCluster(clock=self.host_clock, settings=self.swarm.slurm(), pace=None)
            self.moves = SlurmMoves(self, self.cluster)
        else:
            self.cluster = KubeflowCluster(clock=self.host_clock, settings=self.swarm.kubeflow(), pace=None)
            self.moves = KubeflowMoves(self, self.cluster)
        self.tasks: list[Task] = []
        self.orphans: list[Flight] = []
        self.finds: dict[datetime, Found] = {}
        self.shown_at: dict[ObjectRef, int] = {}
        self.operators = Operators(self)
        self.watch = Watch(self)
        self.processes = [Process(self, number) for number in range(self.swarm.replicas)]
        self.last_pass: Pass | None = None
        self.refusals: set[RefusalCode] = set()
        self.plan: list[tuple[int, Callable[[], str]]] = self._plan()

    # what happens next

    def _plan(self) -> list[tuple[int, Callable[[], str]]]:
        shares = (
            (36, self._flight_goes_on),
            (11, self.moves.natural),
            (4, self._time_passes),
            (4, self._somebody_wakes),
            (4, self.moves.fault),
            (2, self._somebody_asks),
            (1, self._process_fault),
            (1, self._history_fault),
        )
        return [(share, act) for share, act in shares]

    def begin(self) -> None:
        """A job is submitted."""
        command = self.operators.submit()
        self.operators.sent.append(command)
        process = self.processes[0]
        self.start(Task(process, "submit", carry_out(process, command, ask_cluster=False)))

    def step(self) -> None:
        """One thing happens."""
        self.steps += 1
        self.now += TICK
        roll = self.draws.below(63)
        for share, act in self.plan:
            if roll < share:
                what = act()
                if self.trace is not None:
                    self.trace.append(f"{self.steps:>5} {(self.now - EPOCH).total_seconds():>8.1f}s  {what or '-'}")
                break
            roll -= share
        self.watch.look()

    def quiet(self, rounds: int = 120) -> bool:
        """Faults are over: everything answers, time passes, one diligent person does what status asks for.

        Whether the job was settled, or never existed, within that many rounds.
        """
        self.calm = True
        self.say("the quiet phase begins")
        self.moves.settle_down()
        for process in self.processes:
            process.skew_s = 0.0
        for round_number in range(rounds):
            self._calm_round()
            record = self.watch.record
            if record.settled or (record.empty and not self.tasks):
                return True
            if round_number % 3 == 2:
                command = self.operators.diligent(record)
                if command is not None:
                    self.say(f"the diligent person asks: {command}")
                    self.start(Task(self.processes[0], "command", carry_out(self.processes[0], command, ask_cluster=True)))
        return False

    def _calm_round(self) -> None:
        for _ in range(3):
            self.moves.calm()
            self.watch.look()
            self._all_land()
        self.now += timedelta(seconds=20)
        for process in self.processes:
            process.wake()
        self._all_land()
        self.watch.look()

    def _all_land(self) -> None:
        """Every flight comes to its end, and every coroutine goes on until it has none."""
        for _ in range(2000):
            self.steps += 1
            self.now += TICK
            self.watch.look()
            if self.orphans:
                self._orphan_goes_on(self.orphans[0])
            elif self.tasks:
                task = self.tasks[0]
                flight = task.flight
                assert flight is not None
                while flight.stage < ANSWERED:
                    flight.advance()
                if self.trace is not None:
                    self.say(self._tell(task, flight, "is answered"))
                if flight.stage == DEAD:
                    self.resume(task, None, flight.lost())
                else:
                    self.watch.answered(task, flight)
                    self.resume(task, flight.answer, flight.error)
            else:
                return

    def say(self, what: str) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.steps:>5} {(self.now - EPOCH).total_seconds():>8.1f}s    {what}")

    # flights and coroutines

    def start(self, task: Task) -> None:
        task.process.tasks.append(task)
        self.resume(task, None, None)

    def resume(self, task: Task, answer: object, error: BaseException | None) -> None:
        """Let the real code run up to its next await."""
        try:
            flight = task.coroutine.send(answer) if error is None else task.coroutine.throw(error)
        except StopIteration:
            self._finish(task)
            return
        except WrongStreamError:
            task.failed = True
            self._finish(task)
            self.kill(task.process)
            return
        except StreamError:
            task.failed = True
            self._finish(task)
            return
        task.flight = flight
        if isinstance(flight, CallFlight) and flight.request.writes:
            self.watch.sent(flight)
        if task not in self.tasks:
            self.tasks.append(task)

    def _finish(self, task: Task) -> None:
        if task in self.tasks:
            self.tasks.remove(task)
        if task in task.process.tasks:
            task.process.tasks.remove(task)
        if task.what == "pass":
            task.process.passing = False
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
            if self._gives_up(flight):
                return self._lose(task, flight)
            flight.advance()
            if flight.stage < ANSWERED or self.draws.below(4):
                return self._tell(task, flight, "goes on")
        if flight.stage == DEAD:
            return self._lose(task, flight)
        return self._deliver(task, flight)

    def _gives_up(self, flight: Flight) -> bool:
        fault = "call-lost" if flight.kind == "call" else "append-lost" if flight.kind == "append" else "read-lost"
        return not self.calm and self.draws.chance(self.swarm.levels[fault] // 2)

    def _deliver(self, task: Task, flight: Flight) -> str:
        if not self.calm and self.draws.chance(self.swarm.levels["reply-lost"]):
            return self._lose(task, flight)
        said = self._tell(task, flight, "is answered")
        self.watch.answered(task, flight)
        self.resume(task, flight.answer, flight.error)
        return said

    def _lose(self, task: Task, flight: Flight) -> str:
        """No answer reaches the caller; what it sent may go on."""
        if flight.goes_on and self.draws.below(2):
            self.orphans.append(flight)
        said = self._tell(task, flight, "gets no answer")
        self.resume(task, None, flight.lost())
        return said

    def _orphan_goes_on(self, flight: Flight) -> str:
        flight.advance()
        if not flight.goes_on:
            self.orphans.remove(flight)
        return f"late: {describe(flight)}"

    def _tell(self, task: Task, flight: Flight, what: str) -> str:
        if self.trace is None:
            return ""
        return f"{task.process.hands.by} {task.what} {what}: {describe(flight)}"

    # time, wake-ups, deaths

    def host_clock(self) -> datetime:
        return self.now + self.host_skew

    def _time_passes(self) -> str:
        seconds = WAITS_S[self.draws.below(len(WAITS_S))]
        self.now += timedelta(seconds=seconds)
        return f"{seconds:g} s pass"

    def _somebody_wakes(self) -> str:
        process = self.draws.pick(self.processes)
        self.woken = False
        process.wake()
        return f"{process.hands.by} wakes"

    def _process_fault(self) -> str:
        if self.draws.chance(self.swarm.levels["clock-jump"] * 2):
            jump = JUMPS_S[self.draws.below(len(JUMPS_S))]
            who = self.draws.below(len(self.processes) + 1)
            if who == len(self.processes):
                self.host_skew += timedelta(seconds=jump)
                return f"the host's clock jumps {jump:g} s"
            self.processes[who].skew_s += jump
            return f"the clock of {self.processes[who].hands.by} jumps {jump:g} s"
        if self.draws.chance(self.swarm.levels["crash"] * 4):
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
        process = self.draws.pick(self.processes)
        command = self.operators.at_random(self.watch.record)
        if command is None:
            return ""
        asks = self.draws.below(2) == 1
        self.start(Task(process, "command", carry_out(process, command, ask_cluster=asks)))
        return f"a person asks: {type(command).__name__} {command.command}"

    # the store

    def staleness(self) -> int:
        if self.calm or not self.draws.chance(self.swarm.levels["read-stale"]):
            return 0
        return 1 + self.draws.below(3)

    def new_id(self) -> str:
        self.ids += 1
        return f"{self.ids:026d}"

    def _history_fault(self) -> str:
        if self.draws.chance(self.swarm.levels["restore"] // 2) and self.ledger.entries:
            keep = self.draws.below(len(self.ledger.entries) + 1)
            self.ledger.restore(keep)
            self.watch.restored()
            return f"the store is restored with the first {keep} events"
        self.ledger.noise(1 + self.draws.below(3))
        return ""

    # what the ports report

    def stored(self, flight: AppendFlight) -> None:
        self.watch.stored(flight.process.life)

    def landed(self, flight: CallFlight) -> None:
        if flight.request.verb == "find":
            if flight.error is not None:
                return
            self.finds[flight.answer.as_of] = flight.answer
        self.watch.landed(flight)

    def published(self, record: Record) -> None: ...

    def passed(self, process: Process, ended: Pass) -> None:
        self.last_pass = ended
        if self.trace is not None:
            self.say(f"{process.hands.by} pass: {ended.result.value} r{ended.record.revision} {ended.why}")

    def refused(self, code: RefusalCode) -> None:
        self.refusals.add(code)

    # truths that an operator can see

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


def describe(flight: Flight) -> str:
    """One flight in a few words."""
    if isinstance(flight, AppendFlight):
        event = flight.envelope.event
        end = f" -> r{flight.answer}" if flight.stage == ANSWERED and flight.error is None else ""
        why = f" ({flight.envelope.reason.value})" if flight.envelope.reason else ""
        return f"append {brief(event)}{why} after r{flight.envelope.expected}{end}{_error(flight)}"
    if isinstance(flight, CallFlight):
        number = f" #{flight.request.call.call}" if flight.request.call else ""
        shown = f" -> {brief(flight.answer)}" if flight.stage == ANSWERED and flight.answer is not None else ""
        return f"{flight.request.verb}{number} stage {flight.stage}{shown}{_error(flight)}"
    return f"read after r{getattr(flight, 'after', 0)}{_error(flight)}"


def _error(flight: Flight) -> str:
    return f" ! {type(flight.error).__name__}: {flight.error}" if flight.error is not None else ""


def brief(value: object) -> str:
    """A message without what the eye does not need."""
    if isinstance(value, Found):
        seen = [
            f"{s.object.id} run {s.run} {s.phase.value}{'' if s.hold.value == 'none' else ' hold ' + s.hold.value}"
            for s in value.sightings
        ]
        return f"[{'; '.join(seen)}] as of {(value.as_of - EPOCH).total_seconds():g}s"
    text = str(value)
    return text.replace("datetime.datetime(2026, 1, 1, ", "t(").replace(", tzinfo=datetime.timezone.utc)", ")")


__all__ = ["EPOCH", "Result", "World"]
