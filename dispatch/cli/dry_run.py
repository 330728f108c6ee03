"""`--dry-run`: the decision that a replica would make at the revision read. Nothing is sent, nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch.cli.exits import Exit
from dispatch.decide import Already, Decided, Facts, Refused, decide
from dispatch.identity import now
from projections.controls import Controls
from projections.record import Record
from projections.recorded import last_recorded_find, presumed_capabilities
from streams.messages.calls import Capabilities
from streams.messages.commands import Command, SubmitJob

NONE_SET = Controls()


@dataclass(frozen=True, slots=True)
class WouldBe:
    """What the decision would be, in words and for a program."""

    line: str
    document: dict[str, object]
    exit_code: Exit


def decided(
    record: Record, command: Command, able: Capabilities | None, actor: str, controls: Controls = NONE_SET
) -> WouldBe:
    """The decision on this command now. `able` None: the cluster was not asked, its usual abilities are taken.

    `controls`: the tenant's, where the command is about them.
    """
    spec = command.spec if isinstance(command, SubmitJob) else record.spec
    abilities = able or (presumed_capabilities(spec) if spec is not None else None)
    found = last_recorded_find(record)
    facts = Facts(now=now(), capabilities=abilities, found=found, actor=actor, controls=controls)
    at = f"at #{record.number}" if record.number else "as its first event"
    match decide(record, command, facts):
        case Decided(event=event):
            kind = type(event).__name__
            return WouldBe(f"would be accepted {at}", _document("accepted", event=kind), Exit.DONE)
        case Already(number=number):
            return WouldBe(f"was accepted already, as #{number}", _document("already", number=number), Exit.DONE)
        case Refused(code=code, sentence=sentence):
            line = f"would be refused {at}: {sentence} ({code.value})"
            return WouldBe(line, _document("refused", code=code.value, sentence=sentence), Exit.REFUSED)


def _document(answer: str, **more: object) -> dict[str, object]:
    return {"answer": answer, "event": None, "number": None, "code": None, "sentence": None, **more}
