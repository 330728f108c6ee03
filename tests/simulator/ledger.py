"""The simulated history: what the store holds, as bytes, under the real codec and the real condition.

One job's subject and its tenant's controls share one sequence with the noise of other jobs. A restore from an older
copy opens a new generation; writers and readers of the old one are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from streams import codec, subjects
from streams.errors import ConflictError, RegressionError, WrongStreamError
from streams.messages.events import Entry, Envelope

TENANT = "nlp"
JOB = "llama"


class Ledger:
    """`entries` holds the job's own, `controls` the tenant's. `version` grows with every change."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.generation = 1
        self.sequence = 0
        self.version = 0
        self.entries: list[Entry] = []
        self.controls: list[Entry] = []
        self.lost: list[Entry] = []
        self._subjects = {name: subjects.job(TENANT, name) for name in (JOB, subjects.CONTROLS)}

    def of(self, job: str) -> list[Entry]:
        return self.entries if job == JOB else self.controls

    def read(self, job: str, after: int, generation: int, behind: int = 0) -> tuple[Entry, ...]:
        """Entries above `after`; `behind` leaves out so many of the newest, as a lagging server would."""
        self._check(generation)
        entries = self.of(job)
        if behind:
            entries = entries[: max(0, len(entries) - behind)]
        if not entries or entries[-1].revision <= after:
            return ()
        first = len(entries)
        while first and entries[first - 1].revision > after:
            first -= 1
        return tuple(entries[first:])

    def append(self, envelope: Envelope, data: bytes, generation: int) -> tuple[int, bool]:
        """Store it if the subject's last revision is the one expected: its revision, and whether it is new."""
        self._check(generation)
        entries = self.of(envelope.job)
        subject = self._subjects[envelope.job]
        current = entries[-1].revision if entries else 0
        if current == envelope.expected:
            return self.store(envelope.job, data), True
        if current < envelope.expected:
            raise RegressionError(subject, envelope.expected, current)
        first = next(entry for entry in entries if entry.revision > envelope.expected)
        if isinstance(first.content, Envelope) and first.content.id == envelope.id:
            return first.revision, False
        raise ConflictError(subject, envelope.expected, current)

    def store(self, job: str, data: bytes) -> int:
        """Bytes as they are, at the next revision."""
        self.sequence += 1
        entry = codec.decode_event(self._subjects[job], data, revision=self.sequence, stored_at=self._now())
        self.of(job).append(entry)
        self.version += 1
        return self.sequence

    def noise(self, count: int) -> None:
        """Other jobs append: the sequence moves on."""
        self.sequence += count

    def restore(self, keep: int) -> None:
        """The store comes back from a copy that holds the job's first `keep` events, as a new generation."""
        self.lost.extend(self.entries[keep:])
        del self.entries[keep:]
        newest = max((entry.revision for entry in (*self.entries, *self.controls)), default=0)
        kept = self.entries[-1].revision if self.entries else 0
        self.controls = [entry for entry in self.controls if entry.revision <= kept]
        self.sequence = max(kept, min(newest, self.sequence))
        self.generation += 1
        self.version += 1

    def _check(self, generation: int) -> None:
        if generation != self.generation:
            raise WrongStreamError("this history was replaced by a newer generation")
