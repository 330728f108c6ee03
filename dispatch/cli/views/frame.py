"""What every view of one job is told in: the times, the room, and what was known beside the record."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch.cli.screen import Screen
from dispatch.cli.times import Times
from projections.record import Record
from projections.status import Around, Picture, Status, status

PAINT_OF_STATE = {
    "failed": ("red", "bold"),
    "succeeded": ("green", "bold"),
    "running": ("bold",),
    "cancelled": ("bold",),
}
NATURES = {
    "by-itself": "by itself",
    "when-others-end": "when others end",
    "needs-a-person": "needs a person",
    "will-not-end-as-it-is": "will not end as it is",
}


@dataclass(frozen=True, slots=True)
class Frame:
    """One job, everything around it, and the screen it is shown on. `live`: the replicas that beat."""

    record: Record
    around: Around
    screen: Screen
    times: Times
    live: tuple[str, ...] | None = None

    @property
    def picture(self) -> Picture:
        """The record with its surroundings."""
        return Picture(self.record, self.around)

    def status(self) -> Status:
        """Everything that is told of the job."""
        return status(self.record, self.around)

    @property
    def width(self) -> int | None:
        return self.screen.width

    def place(self) -> str:
        """`nlp @ hpc2 (slurm)`."""
        spec = self.record.spec
        if spec is None:
            return self.record.tenant
        able = self.picture.capabilities
        kind = able.kind.removeprefix("simulated-") if able is not None else ""
        return f"{self.record.tenant} @ {spec.cluster}" + (f" ({kind})" if kind and kind != spec.cluster else "")

    def as_of(self) -> list[str]:
        """`as of #22 · hpc2 read 8s ago · sv-b live · 03:06:34 UTC+1 · submitted … by ana`, in its parts."""
        record, status_ = self.record, self.status()
        spec = record.spec
        parts = [f"as of #{record.number}"]
        if spec is not None:
            read_at = status_.as_of.cluster_read_at
            said = "never read" if read_at is None else f"read {self.times.since(read_at)} ago"
            if self.around.unreachable_since is not None:
                said = f"UNREACHABLE {self.times.since(self.around.unreachable_since)}"
            parts.append(f"{spec.cluster} {said}")
        parts.append(self.owner())
        parts.append(self.times.header())
        if record.submitted_at is not None:
            by = f" by {record.submitted_by}" if record.submitted_by else ""
            parts.append(f"submitted {self.times.at(record.submitted_at)}{by}")
        return [part for part in parts if part]

    def owner(self) -> str:
        """Who decided last and whether a supervisor lives; nothing of a settled job."""
        if self.record.settled or self.live is None:
            return ""
        owner = self.record.owner.partition(":")[2]
        if owner in self.live:
            return f"{owner} live"
        if self.live:
            return f"{self.live[0]} live"
        return "UNATTENDED: no supervisor is live"


def short_id(job: str, object_id: str) -> str:
    """An object's id without the scheduler name that is the job's own: `1.1.68b87dcc`. `dispose` takes it too."""
    named, dot, rest = object_id.partition(".")
    return rest if dot and rest and named.startswith(f"{job}-") else object_id
