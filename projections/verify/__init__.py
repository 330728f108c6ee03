"""Histories against the laws, one law a file, with a reading of their own.

`verify` shares no decision code with the supervisor: it imports the words of `streams.messages` and nothing of
`evolve`, `settled`, the record or `dispatch`. What a history alone cannot show (L11 to L14) is said to be so. Where
the design leaves two readings, each law's docstring names the one it takes; a lawful history is never called
broken for what a history cannot show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from projections.verify import (
    l1_authorized,
    l2_cancel_final,
    l3_nothing_forgotten,
    l4_one_execution,
    l5_fresh_reads,
    l6_evidence_stays,
    l7_intent_first,
    l8_canonical_once,
    l9_absence_is_no_end,
    l10_calls_expire,
    l15_readable,
)
from projections.verify.facts import Facts, Stored
from projections.verify.reading import read
from projections.verify.verdict import JUDGED, Breach, Execution, Verdict
from streams.messages.events import Entry, Envelope
from streams.messages.values import ObjectRef

__all__ = ["Breach", "Execution", "Verdict", "verify"]

Check = Callable[[Facts, Stored], Iterator[str]]

LAWS: dict[str, Check] = {
    law.LAW: law.check
    for law in (
        l1_authorized,
        l2_cancel_final,
        l3_nothing_forgotten,
        l4_one_execution,
        l5_fresh_reads,
        l6_evidence_stays,
        l7_intent_first,
        l8_canonical_once,
        l9_absence_is_no_end,
        l10_calls_expire,
        l15_readable,
    )
}
BEHIND_UNKNOWN = (l5_fresh_reads.LAW, l15_readable.LAW)


def verify(entries: Sequence[Entry]) -> Verdict:
    """Judge one job's whole history, oldest entry first. Never raises for what the history holds."""
    if not entries:
        return Verdict()
    facts = Facts(tenant=entries[0].tenant, job=entries[0].job)
    broken: list[Breach] = []
    for entry in entries:
        broken.extend(_judge(facts, entry))
        read(facts, entry)
    if not facts.unknown_number:
        broken.extend(_breaches(l1_authorized.LAW, l1_authorized.at_end(facts)))
    broken.sort(key=lambda breach: (breach.number, JUDGED.index(breach.law)))
    found = {breach.law for breach in broken}
    executions = _executions(facts)
    return Verdict(
        tenant=facts.tenant,
        job=facts.job,
        events=len(entries),
        first_revision=entries[0].revision,
        last_revision=entries[-1].revision,
        holds=tuple(law for law in JUDGED if law not in found),
        broken=tuple(broken),
        executions=tuple(executions.values()),
        together=tuple((executions[a, m], executions[b, n]) for a, m, b, n in facts.together),
    )


def _judge(facts: Facts, entry: Entry) -> Iterator[Breach]:
    envelope = entry.content
    if not isinstance(envelope, Envelope):
        return
    stored = Stored(facts.number + 1, entry.revision, envelope)
    repeated = envelope.id in facts.event_ids
    for law, check in LAWS.items():
        if (facts.unknown_number or repeated) and law not in BEHIND_UNKNOWN:
            continue
        for sentence in check(facts, stored):
            yield Breach(law=law, number=stored.number, revision=stored.revision, sentence=sentence)


def _breaches(law: str, found: Iterable[tuple[int, int, str]]) -> Iterator[Breach]:
    for number, revision, sentence in found:
        yield Breach(law=law, number=number, revision=revision, sentence=sentence)


def _executions(facts: Facts) -> dict[tuple[ObjectRef, int], Execution]:
    """Every run of ours that was seen to run, or to have run, in the order of their epochs."""
    ran = [
        (
            (held.ref, run.run),
            Execution(
                submission=held.submission,
                run=run.run,
                object=held.ref,
                authorized=run.adopted or any(call.number < (run.alive_number or facts.number) for call in run.opens),
            ),
        )
        for held in facts.objects.values()
        if not held.foreign
        for run in held.runs.values()
        if run.ran
    ]
    return dict(sorted(ran, key=lambda pair: (pair[1].submission, pair[1].run, pair[1].object.id)))
