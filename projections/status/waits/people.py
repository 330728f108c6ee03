"""Waits that only a person ends: messages nobody can read, a history gone back, holds, foreign objects, lost Starts."""

from __future__ import annotations

from projections import regression
from projections.record import HoldRecord, ObjectRecord, Strange
from projections.status import words
from projections.status.picture import Picture, alive, without_answer
from projections.status.state import foreign_hold, running_run
from projections.status.view import Can, Nature
from projections.status.waits.waiting import PATIENCE, Waiting, cancel, dispose
from streams.messages.spec import Unmatched
from streams.messages.values import HoldKind, HoldSeen, Phase

PERSON = Nature.NEEDS_A_PERSON
LIFTS = {
    HoldSeen.ADMIN: "an administrator of the cluster lifts it; dispatch may not",
    HoldSeen.USER: "whoever placed it at the scheduler releases it there",
    HoldSeen.SYSTEM: "an administrator of the cluster mends what it names",
    HoldSeen.LAUNCH_FAILED: "someone releases it at the scheduler, or cancels the job",
}


def strange(picture: Picture) -> list[Waiting]:
    return [_unreadable(picture, s) for s in picture.record.strange]


def _unreadable(picture: Picture, found: Strange) -> Waiting:
    name = f"r{found.revision}"
    if found.upgrade:
        return Waiting(
            what=f"a release of dispatch that knows {found.text}",
            nature=PERSON,
            because=(f"#{found.number} ({name}) is of type {found.text}, which this release does not know",),
            ends=("dispatch is upgraded",),
            law="L15",
        )
    can = dispose(picture.record, f"--message {name}", "ignore", "decisions go on without it")
    return Waiting(
        what=f"a decision about the message {name}, which nobody can read",
        nature=PERSON,
        because=(f"#{found.number} ({name}): {found.text}",),
        ends=("someone disposes of that message",),
        can=(can,),
        law="L15",
    )


def gone_back(picture: Picture) -> str:
    """Why the history is behind what the scheduler's side has seen, or ""."""
    if picture.around.regressed:
        return picture.around.regressed
    if picture.found is None:
        return ""
    installation = picture.around.installation or regression.own_installation(picture.record)
    return regression.regressed(picture.record, picture.found, installation) or ""


def regressed(picture: Picture) -> list[Waiting]:
    """The wait of a history that has gone backwards."""
    why = gone_back(picture)
    if not why:
        return []
    record = picture.record
    can = [dispose(record, o.ref.id, "stop", "stops it, decisions go on") for o in _of_lost_events(picture)]
    message = regression.lacked_message(why)
    if message is not None:
        can.insert(0, dispose(record, f"--message r{message}", "ignore", "decisions go on without it"))
    return [
        Waiting(
            what="a history that holds what the scheduler's side has seen",
            nature=PERSON,
            because=(why,),
            ends=("the history is restored from a newer copy", "someone disposes of what it lacks"),
            can=tuple(can),
            law="L14",
        )
    ]


def _of_lost_events(picture: Picture) -> list[ObjectRecord]:
    record = picture.record
    return [
        o
        for o in record.objects.values()
        if o.foreign and o.disposition is None and o.tag is not None and o.tag.job == record.job
    ]


def foreign(picture: Picture) -> list[ObjectRecord]:
    """Objects with our name and no attempt of ours, of which nobody has decided anything."""
    record = picture.record
    lost = _of_lost_events(picture) if gone_back(picture) else []
    return [
        o
        for o in record.objects.values()
        if o.foreign and o.disposition is None and o not in lost and not (record.cancel is not None and o.accounted)
    ]


def foreigners(picture: Picture) -> list[Waiting]:
    return [_foreigner(picture, held) for held in foreign(picture)]


def _foreigner(picture: Picture, held: ObjectRecord) -> Waiting:
    record, name = picture.record, picture.called(held.ref)
    can = [dispose(record, held.ref.id, "ignore", "it is nobody's business here", "it may run beside the job")]
    if record.adoptable:
        can.insert(0, dispose(record, held.ref.id, "adopt", "takes it for the answer to the unmatched attempt"))
    if alive(held):
        can.append(dispose(record, held.ref.id, "stop", "stops it", "ends whatever it runs"))
    return Waiting(
        what=f"a decision about {name}, which bears the job's name and is not ours",
        nature=PERSON,
        since=held.since,
        because=(f"{name} is {held.phase.value}; no attempt of this job made it",),
        ends=("someone disposes of it",),
        can=tuple(can),
        law="L3",
    )


def holds(picture: Picture) -> list[Waiting]:
    """The holds that keep the job from its next run, while none is on."""
    record = picture.record
    if record.over or running_run(record) is not None:
        return []
    waits = [_hold(picture, h) for h in record.in_force]
    held = record.canonical()
    if held is not None and foreign_hold(record) is not None:
        waits.append(_placed_outside(picture, held))
    return waits


def _hold(picture: Picture, hold: HoldRecord) -> Waiting:
    record = picture.record
    who = hold.by if hold.kind is HoldKind.PERSON else f"rule {hold.rule}"
    note = f': "{hold.note}"' if hold.note else ""
    facts = [f"held by {who}{note}"]
    held = record.canonical()
    if held is not None and held.phase is Phase.QUEUED and not hold.placed:
        facts.append(f"not yet on {picture.called(held.ref)}, which may still start")
    effect = "the next run may start" if hold.kind is HoldKind.PERSON else "authorizes the next submission"
    can = Can(command=f"dispatch release {record.job} --instance {hold.instance}", effect=effect)
    return Waiting(
        what=f"hold {hold.instance} to be lifted",
        nature=PERSON,
        since=hold.at,
        because=tuple(facts),
        ends=("someone releases it",),
        can=(can, *cancel(record)),
    )


def _placed_outside(picture: Picture, held: ObjectRecord) -> Waiting:
    name = picture.called(held.ref)
    said = picture.detail.get(held.ref)
    return Waiting(
        what=f"the {held.hold.value} hold on {name} to be lifted",
        nature=PERSON,
        since=held.since,
        because=(f"the scheduler shows it held ({said or held.hold.value}); it was not asked through dispatch",),
        ends=(LIFTS.get(held.hold, "it is lifted"),),
        can=cancel(picture.record),
    )


def stuck(picture: Picture) -> list[Waiting]:
    """Submissions of which every Start is unknown, and nothing that dispatch may do about it is left."""
    record = picture.record
    spec = record.spec
    manual = spec is not None and spec.unmatched is Unmatched.MANUAL
    waits = []
    for submission in record.submissions:
        unknown = without_answer(picture, submission)
        used = spec is None or len([a for a in submission.attempts if not a.made_nothing]) >= spec.attempts_max
        if not unknown or not (used or record.over):
            continue
        last = unknown[-1]
        names = words.attempts_text(unknown)
        cans = tuple(
            dispose(record, f"--attempt {a.submission}/{a.attempt}", "gone", "given up; if it shows up it is stopped")
            for a in unknown
        )
        by_rule = f"no Start can land after {words.stamp(last.over_at)}: then it is given up"
        waits.append(
            Waiting(
                what=f"{names} to be found: no Start was answered",
                nature=PERSON if manual else Nature.BY_ITSELF,
                since=unknown[0].at,
                because=tuple(f"{a.submission}/{a.attempt}: {a.detail or 'no answer'}" for a in unknown),
                ends=("a Find shows one of them", "someone gives them up" if manual else by_rule),
                can=(*cans, *cancel(record)),
                law="L9",
                patience=last.over_at - unknown[0].at + PATIENCE,
            )
        )
    return waits


def unmatched(picture: Picture) -> list[Waiting]:
    """Single Starts that nobody answered, under `unmatched: manual`, beside an object that did come (L3)."""
    record = picture.record
    spec = record.spec
    if spec is None or spec.unmatched is not Unmatched.MANUAL or not record.over:
        return []
    waits = []
    for attempt in picture.loose():
        held = record.submission(attempt.submission)
        if held is None or without_answer(picture, held):
            continue
        name = f"{attempt.submission}/{attempt.attempt}"
        gone = dispose(record, f"--attempt {name}", "gone", "given up; if it shows up it is stopped")
        waits.append(
            Waiting(
                what=f"a decision about attempt {name}, of which no object was ever found",
                nature=PERSON,
                since=attempt.at,
                because=(attempt.detail or "its Start was never answered",),
                ends=("someone gives it up", "a Find shows its object"),
                can=(gone,),
                law="L3",
            )
        )
    return waits


def left_alone(picture: Picture) -> list[Waiting]:
    """The newest submission's object, which a person told dispatch to ignore: no run of the job follows by itself."""
    record, held = picture.record, picture.record.canonical()
    if held is None or not held.ignored or record.over:
        return []
    name = picture.called(held.ref)
    again = Can(
        command=f'dispatch requeue {record.job} --resubmit --reason "…"',
        effect="a new submission",
        risk=f"{name} may run beside it",
    )
    return [
        Waiting(
            what=f"a decision about what follows {name}",
            nature=PERSON,
            since=record.at,
            because=(f"someone told dispatch to ignore {name}, the object of submission {held.submission}",),
            ends=("someone asks for a new submission", "someone cancels the job"),
            can=(again, *cancel(record)),
        )
    ]


def absent(picture: Picture) -> list[Waiting]:
    """Objects that a complete Find did not show and that were never seen ended: absence proves nothing (L9)."""
    return [
        Waiting(
            what=f"{picture.called(o.ref)} to be seen again, or its end",
            since=o.missing_at,
            because=(f"a complete Find does not show it; last seen {o.phase.value}",),
            ends=("a Find shows it", "its processes are proven gone"),
            can=(
                dispose(picture.record, o.ref.id, "gone", "takes it as ended", "ONLY if it can no longer run"),
                *cancel(picture.record),
            ),
            law="L9",
            patience=PATIENCE,
        )
        for o in picture.record.objects.values()
        if o.missing and not o.accounted
    ]
