"""Whether a history has gone backwards: the one judgement that stops every decision about a job (L14)."""

from __future__ import annotations

import re

from projections.record import Record
from streams.messages.values import Found

_CALLED_WITH = re.compile(r"the agent was called with r([0-9]+),")


def regressed(record: Record, found: Found, installation: str | None) -> str | None:
    """Why the history must be behind what the scheduler's side has seen, or None.

    Judged by event id, never by number alone: sequences are shared by all jobs, so a later append of anybody's
    would hide the loss. Who decides from it has read the tail again after the Find. `installation` None: not
    known, every tag with this job's name is taken for ours.
    """
    floor = found.floor
    if floor is not None and floor.revision not in record.waived:
        known = record.intents.get(floor.revision)
        if known != floor.nonce:
            return f"the agent was called with r{floor.revision}, the history ends at r{record.revision} without it"
    for seen in found.sightings:
        tag = seen.tag
        if tag is None or (tag.tenant, tag.job) != (record.tenant, record.job):
            continue
        if installation is not None and tag.installation != installation:
            continue
        held = record.objects.get(seen.object)
        disposed = held is not None and held.disposition is not None
        if record.intents.get(tag.revision) != tag.nonce and not disposed:
            return f"{seen.object.id} carries r{tag.revision}, the history ends at r{record.revision} without it"
    return None


def lacked_message(why: str) -> int | None:
    """The revision that an agent remembers and the history lacks, by the words of `regressed`; None if it is none."""
    named = _CALLED_WITH.match(why)
    return int(named[1]) if named else None


def own_installation(record: Record) -> str | None:
    """The installation whose tag the job's own objects carry, if one of them was ever seen."""
    return next((o.tag.installation for o in record.objects.values() if o.tag is not None and not o.foreign), None)
