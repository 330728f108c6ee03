"""What a verification found: which laws hold, which are broken and where, which a history cannot show."""

from __future__ import annotations

from streams.messages.values import ObjectRef, Value

JUDGED = ("L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "L9", "L10", "L15")
NOT_SHOWN = ("L11", "L12", "L13", "L14")


class Breach(Value, frozen=True, kw_only=True):
    """One law broken at one event: its number in the job, its revision, and what is wrong in one sentence."""

    law: str
    number: int
    revision: int
    sentence: str

    @property
    def line(self) -> str:
        return f"BROKEN {self.law}  #{self.number} {self.sentence}"


class Execution(Value, frozen=True, kw_only=True):
    """One run of one object that was seen to run, or to have run. `authorized`: an open committed before began it."""

    submission: int
    run: int
    object: ObjectRef
    authorized: bool

    @property
    def name(self) -> str:
        """`2.0`, and beside it the object when the record did not authorize the run."""
        number = f"{self.submission}.{self.run}"
        return number if self.authorized else f"{number} (unauthorized, {self.object.id})"


class Verdict(Value, frozen=True, kw_only=True):
    """The laws of one job's history. `together`: pairs of executions that one Find showed alive at once.

    A pair says what was seen, not whose fault it is: a scheduler or a person can bring back what dispatch had
    seen ended. L4 is broken only by a decision.
    """

    tenant: str = ""
    job: str = ""
    events: int = 0
    first_revision: int = 0
    last_revision: int = 0
    holds: tuple[str, ...] = JUDGED
    broken: tuple[Breach, ...] = ()
    not_shown: tuple[str, ...] = NOT_SHOWN
    executions: tuple[Execution, ...] = ()
    together: tuple[tuple[Execution, Execution], ...] = ()

    @property
    def lawful(self) -> bool:
        return not self.broken

    @property
    def broken_laws(self) -> tuple[str, ...]:
        """Each broken law once, in the order of their numbers."""
        return tuple(law for law in JUDGED if any(breach.law == law for breach in self.broken))

    @property
    def size(self) -> str:
        """`47 events, r48190-r52003`."""
        return f"{self.events} {_plural('event', self.events)}, r{self.first_revision}-r{self.last_revision}"

    @property
    def score(self) -> str:
        """`11 laws hold, 0 broken, 4 n/a (L11 L12 L13 L14)`."""
        laws = f"{len(self.holds)} {_plural('law', len(self.holds))} {'holds' if len(self.holds) == 1 else 'hold'}"
        return f"{laws}, {len(self.broken_laws)} broken, {len(self.not_shown)} n/a ({' '.join(self.not_shown)})"

    @property
    def story(self) -> str:
        """`executions 1.0, 2.0, never both`: whether the job ever ran twice at once."""
        if not self.executions:
            return "no execution"
        names = ", ".join(execution.name for execution in self.executions)
        if self.together:
            pairs = ", ".join(f"{a.name} and {b.name}" for a, b in self.together)
            return f"executions {names}, at once: {pairs}"
        never = {1: "", 2: ", never both"}.get(len(self.executions), ", never two at once")
        return f"{_plural('execution', len(self.executions))} {names}{never}"

    @property
    def lines(self) -> tuple[str, ...]:
        """What `dispatch verify` prints of this job, without the name in front."""
        if self.lawful:
            return (f"{self.size}   {self.score}", self.story)
        return (*(breach.line for breach in self.broken), f"{self.size}   {self.score}", self.story)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
