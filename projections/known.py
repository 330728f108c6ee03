"""What a reader of a history has met so far, so that an event can be told by name: `Start 2/1`, `2.0`, `88543`.

No rule and no decision: only names for the audit view. Mutable, and never leaves one call of `timeline`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from streams.messages.events import (
    AttemptCommitted,
    CallCommitted,
    CallReplied,
    Event,
    JobSubmitted,
    ObjectsSeen,
    RequeueAuthorized,
    SubmissionAuthorized,
    TargetDisposed,
)
from streams.messages.spec import JobSpec
from streams.messages.values import Disposition, ObjectRef, Phase, Sighting, Tag, Verb

BEGINS = (Verb.OPEN, Verb.ADMIT, Verb.RELEASE)
_NUMBERED = re.compile(r"(.*?)([0-9]+)\Z")


@dataclass
class Known:
    """Attempts, calls and objects by the names that people use for them."""

    tenant: str = ""
    job: str = ""
    spec: JobSpec | None = None
    budgets: dict[str, int | None] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=dict)
    attempts: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    starts: dict[int, tuple[int, int]] = field(default_factory=dict)
    calls: dict[int, CallCommitted] = field(default_factory=dict)
    makers: dict[ObjectRef, tuple[int, int]] = field(default_factory=dict)
    last: dict[ObjectRef, Sighting] = field(default_factory=dict)
    looked_at: dict[ObjectRef, datetime] = field(default_factory=dict)
    uncounted: set[int] = field(default_factory=set)
    opened: set[tuple[ObjectRef, int]] = field(default_factory=set)
    ran: set[tuple[ObjectRef, int]] = field(default_factory=set)

    def name(self, ref: ObjectRef) -> str:
        """The scheduler's id; with the creation identity where an id was used twice (R10)."""
        twins = [other for other in {*self.makers, *self.last} if other.id == ref.id and other != ref]
        return f"{ref.id} ({ref.created[:8]})" if twins else ref.id

    def maker(self, ref: ObjectRef, tag: Tag | None = None) -> tuple[int, int] | None:
        """Submission and attempt of ours that made the object."""
        if ref in self.makers or tag is None or (tag.tenant, tag.job) != (self.tenant, self.job):
            return self.makers.get(ref)
        return self.attempts.get((tag.revision, tag.nonce))

    def execution(self, ref: ObjectRef, run: int) -> str:
        """`2.0`; for an object that no attempt of ours made, its id and run."""
        maker = self.maker(ref)
        return f"{maker[0]}.{run}" if maker else f"run {run} of {self.name(ref)}"

    def use(self, rule: str) -> str:
        """`bad-node 1/5`, the use that is being made now."""
        budget = self.budgets.get(rule)
        return f"{rule} {self.uses.get(rule, 0) + 1}" + (f"/{budget}" if budget is not None else "")

    def meet(self, revision: int, event_id: str, event: Event) -> None:
        """Remember what this event names."""
        match event:
            case JobSubmitted(spec=spec, plan=plan):
                self.spec = self.spec or spec
                self.budgets = self.budgets or {rule.name: rule.budget for rule in plan.rules}
            case SubmissionAuthorized(rule=rule) | RequeueAuthorized(rule=rule):
                self.uses[rule] = self.uses.get(rule, 0) + 1
            case AttemptCommitted(submission=submission, attempt=attempt, call=call):
                self.attempts[revision, event_id] = (submission, attempt)
                self.starts[call] = (submission, attempt)
            case CallCommitted() as committed:
                self.calls[committed.call] = committed
                if committed.verb in BEGINS and committed.object is not None and committed.run is not None:
                    self.opened.add((committed.object, committed.run))
            case CallReplied(call=call, object=ObjectRef() as made) if call in self.starts:
                self.makers.setdefault(made, self.starts[call])
            case CallReplied(call=call, retry=True) if call in self.starts:
                self.uncounted.add(call)
            case ObjectsSeen(sightings=sightings, as_of=as_of):
                for seen in sightings:
                    self._see(seen, as_of)
            case TargetDisposed(target=ObjectRef() as ref, submission=int(n), attempt=int(k), disposition=how):
                if how is Disposition.ADOPT:
                    self.makers[ref] = (n, k)
            case _:
                pass

    def place(self, submission: int) -> int:
        """Which Start of the submission the next one is, of those that count."""
        return 1 + sum(1 for call, (n, _) in self.starts.items() if n == submission and call not in self.uncounted)

    def older(self, seen: Sighting, as_of: datetime) -> bool:
        """Whether a newer look at the object is already known."""
        return seen.object in self.looked_at and as_of < self.looked_at[seen.object]

    def _see(self, seen: Sighting, as_of: datetime) -> None:
        maker = self.maker(seen.object, seen.tag)
        if maker is not None:
            self.makers[seen.object] = maker
        if seen.phase in (Phase.RUNNING, Phase.ENDING) or (seen.phase is Phase.ENDED and seen.nodes):
            self.ran.add((seen.object, seen.run))
        if not self.older(seen, as_of):
            self.last[seen.object], self.looked_at[seen.object] = seen, as_of


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = list(words) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def node_list(nodes: Iterable[str]) -> str:
    """Node names with neighbours drawn together: `n14-n16 n18`."""
    runs: list[list[str]] = []
    for node in sorted(set(nodes), key=_by_number):
        if runs and _follows(runs[-1][-1], node):
            runs[-1].append(node)
        else:
            runs.append([node])
    return " ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _by_number(node: str) -> tuple[str, int, str]:
    found = _NUMBERED.match(node)
    return (found[1], int(found[2]), node) if found else (node, -1, node)


def _follows(one: str, other: str) -> bool:
    before, after = _NUMBERED.match(one), _NUMBERED.match(other)
    if before is None or after is None or before[1] != after[1]:
        return False
    if len(before[2]) != len(after[2]) and "0" in (before[2][0], after[2][0]):
        return False
    return int(after[2]) == int(before[2]) + 1
