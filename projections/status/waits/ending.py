"""The wait of a run that is being ended: by its scheduler, or by us; it goes on until its end is seen (L9)."""

from __future__ import annotations

from projections.record import RunRecord
from projections.status import words
from projections.status.picture import Picture
from projections.status.waits.waiting import PATIENCE, Waiting, cancel
from streams.messages.values import Phase


def ending(picture: Picture, run: RunRecord) -> list[Waiting]:
    """What the next run waits for while the present one is on its way out; nothing while that runs."""
    held = picture.canonical
    if held is None or held.phase is not Phase.ENDING:
        return []
    name, cause = words.execution(held, run.run), run.cause or held.cause
    where = f" on {words.nodes_text(run.nodes)}" if run.nodes else ""
    facts = [f"{picture.called(held.ref)} is ending{where}{f': {words.cause_text(cause)}' if cause else ''}"]
    facts += [said for ref, said in picture.detail.items() if ref == held.ref]
    what = "its pods are gone" if picture.kubernetes else "its processes are gone"
    return [
        Waiting(
            what=f"the end of {name}, before another run may begin",
            since=held.since,
            because=tuple(facts),
            ends=(f"a Find shows it ended: {what}",),
            can=cancel(picture.record),
            law="L4",
            patience=PATIENCE,
        )
    ]
