"""L9: no reply never means "not created"; a failed read, or an absent object, never means "ended"."""

from __future__ import annotations

from adapters.simulated.slurm_job import JobState, SlurmJob
from streams.messages.events import (
    CallReplied,
    Entry,
    Envelope,
    Event,
    ObjectsSeen,
    OutcomeDecided,
    StopVerified,
    SubmissionAuthorized,
    TargetDisposed,
)
from streams.messages.values import AttemptRef, Disposition, ObjectRef, ReplyOutcome, StopBasis, Verb
from tests.simulator.laws.law import Law

PERSON = "person"


class AbsenceIsNoEnd(Law):
    number = "L9"

    def before(self, envelope: Envelope, event: Event) -> None:
        match event:
            case OutcomeDecided():
                self._must_have_ended(event.submission, f"outcome {event.outcome.value}")
            case SubmissionAuthorized() if event.rule != PERSON and event.submission > 1:
                self._must_have_ended(event.submission - 1, f"submission {event.submission}")
            case CallReplied():
                self._told_truly(event)
            case StopVerified():
                self._verified_truly(event)
            case TargetDisposed(target=AttemptRef()) if event.rule != PERSON:
                self._cannot_land(event.target)
            case _:
                pass

    def after(self, entry: Entry) -> None:
        """What is recorded ended has ended: no late look says so of a run that its scheduler has never left."""
        if not isinstance(entry.content, Envelope) or not isinstance(entry.content.event, ObjectsSeen):
            return
        for job in self.world.cluster.jobs:
            if not isinstance(job, SlurmJob) or job.state is not JobState.RUNNING or job.purged:
                continue
            held = self.watch.record.objects.get(job.ref)
            run = held.run_record(job.run) if held is not None else None
            if run is not None and run.ended:
                self.broken(f"{job.ref.id} run {job.run} is recorded ended, and runs as it did")

    def _told_truly(self, reply: CallReplied) -> None:
        """A reply says done only of what was done, and refused only of what was not and will not be."""
        intent = self.watch.chronicle.calls.get(reply.call)
        if intent is None:
            return
        done = intent.nonce in self.watch.done
        if reply.outcome is ReplyOutcome.DONE and not done:
            self.broken(f"{intent.verb.value} #{reply.call} is told done, and never did anything")
        if reply.outcome is ReplyOutcome.REFUSED and (done or self.world.may_land(reply.call)):
            self.broken(f"{intent.verb.value} #{reply.call} is told refused, and was done or may still be")

    def _verified_truly(self, event: StopVerified) -> None:
        """An absent object is accounted for by a stop that was done, or by the end of all its processes."""
        if event.basis is StopBasis.PROCESSES_GONE:
            living = self.watch.living(self.watch.decided_from(event.as_of))
            if any(execution.object == event.object for execution in living):
                self.broken(f"the processes of {event.object.id} are told gone, and some live")
            return
        calls = self.watch.chronicle.calls.values()
        stops = [i.nonce for i in calls if i.verb is Verb.STOP and getattr(i.event, "object", None) == event.object]
        if not self.watch.done.intersection(stops):
            self.broken(f"{event.object.id} is told stopped, and no stop of it was ever done")

    def _must_have_ended(self, submission: int, what: str) -> None:
        chronicle = self.watch.chronicle
        ref = chronicle.canonical.get(submission)
        if ref is None:
            for (number, attempt), intent in chronicle.attempts.items():
                # By a person at any time, by a rule only once it cannot land: that is judged when it is given up.
                given_up = AttemptRef(submission=number, attempt=attempt) in chronicle.given_up
                if number == submission and self.world.may_land(intent.event.call) and not given_up:
                    self.broken(f"{what} although Start #{intent.event.call} of submission {number} can still land")
            return
        if chronicle.disposed.get(ref) in (Disposition.GONE, Disposition.STOP) or ref in self.watch.ended_once:
            return
        if ref in chronicle.verified and (self._all_gone(ref) or not self.world.swarm.cessation):
            return
        self.broken(f"{what} although {ref.id} has never ended")

    def _all_gone(self, ref: ObjectRef) -> bool:
        """Whether no process of the object lives, but for those that somebody vouched for."""
        living = [execution for execution in self.world.cluster.truth.living if execution.object == ref]
        return all(self.watch.vouched_for(execution) for execution in living)

    def _cannot_land(self, target: object) -> None:
        assert isinstance(target, AttemptRef)
        intent = self.watch.chronicle.attempts.get((target.submission, target.attempt))
        if intent is not None and self.world.may_land(intent.event.call):
            self.broken(f"attempt {target.submission}/{target.attempt} was given up although its Start can still land")
