"""L7: no call without its intent, each intent sent once, each budget key used once.

Judged: a reply to a call that no earlier event committed; a call number, attempt or budget key used twice; more
Starts than `attempts_max` (one that found its scheduler unreachable does not count); more uses of a
rule than its budget; and two clear replies that differ, which only two sends of one call can give. A stop may be
sent again under its number, since what it hits is condemned.
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.verify.facts import Facts, Stored
from streams.messages.events import (
    AttemptCommitted,
    CallCommitted,
    CallReplied,
    JobSubmitted,
    RequeueAuthorized,
    SubmissionAuthorized,
)
from streams.messages.plan import paid_key
from streams.messages.values import ReplyOutcome, Verb

LAW = "L7"
SENT_AGAIN = (Verb.STOP, Verb.STOP_JOB)


def check(facts: Facts, stored: Stored) -> Iterator[str]:
    """Whether this event's call has its one intent, and what is spent is spent once."""
    match stored.envelope.event:
        case JobSubmitted():
            if facts.submitted is not None:
                yield "the job was submitted twice"
        case SubmissionAuthorized(rule=rule, budget_key=key) | RequeueAuthorized(rule=rule, budget_key=key):
            yield from _budget(facts, rule, key)
        case AttemptCommitted() as event:
            yield from _number(facts, event.call)
            yield from _attempt(facts, event)
        case CallCommitted() as event:
            yield from _number(facts, event.call)
        case CallReplied() as event:
            yield from _reply(facts, event, stored.revision)
        case _:
            pass


def _budget(facts: Facts, rule: str, key: str) -> Iterator[str]:
    if key in facts.budget_keys:
        yield f"budget key {key} was already used at #{facts.budget_keys[key]}"
        return
    if paid_key(key) in facts.budget_keys:
        return
    rules = facts.submitted.plan.rules if facts.submitted is not None else ()
    budget = next((r.budget for r in rules if r.name == rule), None)
    if budget is not None and facts.rule_uses.get(rule, 0) >= budget:
        yield f"rule {rule} was used more often than its budget of {budget}"


def _number(facts: Facts, call: int) -> Iterator[str]:
    if call in facts.calls:
        yield f"call {call} was already committed at #{facts.calls[call].number}"


def _attempt(facts: Facts, event: AttemptCommitted) -> Iterator[str]:
    submission = facts.submission(event.submission)
    if submission is None:
        return
    earlier = facts.attempt(event.submission, event.attempt)
    if earlier is not None:
        yield f"attempt {earlier.name} was already committed at #{earlier.start.number}"
    most = facts.submitted.spec.attempts_max if facts.submitted is not None else 0
    counted = [a for a in submission.attempts if a.counted]
    if facts.submitted is not None and len(counted) >= most:
        yield f"attempt {event.submission}/{event.attempt} committed, but {most} is the most"


def _reply(facts: Facts, event: CallReplied, revision: int) -> Iterator[str]:
    call = facts.calls.get(event.call)
    if call is None:
        yield f"call {event.call} replied, but no intent for it before r{revision}"
        return
    if call.verb in SENT_AGAIN or not call.answered or event.outcome is ReplyOutcome.UNKNOWN:
        return
    if (event.outcome, event.object) != (call.reply, call.made):
        yield f"{call.what} replied {event.outcome.value}, but it had replied otherwise: it was sent twice"
