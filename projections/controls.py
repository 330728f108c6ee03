"""A tenant's controls, folded from its `_controls` subject: kill switch, brake, observe mode.

They bind retries only, never a stop, a cancel or a person's act.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from streams.messages.events import ControlsSet, Entry, Envelope
from streams.messages.values import Value


class Control(Value, frozen=True, kw_only=True):
    """What stands for one cluster, or for all of a tenant's (`cluster` None)."""

    cluster: str | None = None
    retries: bool = True
    brake_until_at: datetime | None = None
    brake_cause: str = ""
    observe: bool = False
    set_at: datetime | None = None
    set_by: str = ""
    note: str = ""
    number: int = 0

    def stands(self, now: datetime) -> tuple[str, ...]:
        """Everything of this control that keeps a retry now, of `retries-stopped`, `observed` and `brake`."""
        kept = {
            "retries-stopped": not self.retries,
            "observed": self.observe,
            "brake": self.brake_until_at is not None and now < self.brake_until_at,
        }
        return tuple(why for why, stands in kept.items() if stands)

    def keeps(self, now: datetime) -> str | None:
        """Why a retry waits for this control now: `retries-stopped`, `observed` or `brake`; None if it may go."""
        return next(iter(self.stands(now)), None)


class Controls(Value, frozen=True, kw_only=True):
    """Everything that stands for one tenant: by cluster, and under "" for all of them."""

    revision: int = 0
    number: int = 0
    ids: frozenset[str] = frozenset()
    by_cluster: dict[str, Control] = {}

    def standing(self, cluster: str | None) -> Control:
        """The control set for exactly this cluster, or the default one."""
        return self.by_cluster.get(cluster or "", Control(cluster=cluster))

    def standing_now(self, cluster: str | None, now: datetime) -> tuple[Control, ...]:
        """Every control that keeps retries of this cluster now, or of any (None); that of all clusters first."""
        bound = [held for name, held in sorted(self.by_cluster.items()) if cluster is None or name in ("", cluster)]
        return tuple(held for held in bound if held.stands(now))

    def retries_wait(self, cluster: str, now: datetime) -> str | None:
        """Why a retry on this cluster waits now, or None if it may go."""
        return self.standing(None).keeps(now) or self.standing(cluster).keeps(now)


def fold_controls(controls: Controls, entries: Iterable[Entry]) -> Controls:
    """The controls after these entries.

    What is no `ControlsSet`, or was there before, changes nothing but revision and number.
    """
    for entry in entries:
        if entry.revision > controls.revision:
            controls = replace(_after(controls, entry), revision=entry.revision, number=controls.number + 1)
    return controls


def _after(controls: Controls, entry: Entry) -> Controls:
    content = entry.content
    if not isinstance(content, Envelope) or not isinstance(content.event, ControlsSet) or content.id in controls.ids:
        return controls
    event = content.event
    control = Control(
        cluster=event.cluster,
        retries=event.retries,
        brake_until_at=event.brake_until_at,
        brake_cause=event.brake_cause,
        observe=event.observe,
        set_at=content.at,
        set_by=content.on_behalf_of or content.actor or content.by,
        note=content.note or "",
        number=controls.number + 1,
    )
    by_cluster = {**controls.by_cluster, event.cluster or "": control}
    return replace(controls, by_cluster=by_cluster, ids=controls.ids | {content.id})
