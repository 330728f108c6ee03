"""The rules that the design marks ◆, in its order, and the planted bugs in which each is gone.

Where one is not planted as it stands, `OTHERWISE` says how it is, or who keeps it.
"""

from __future__ import annotations

MARKED: dict[str, tuple[str, ...]] = {
    "a call is sent only by the pass whose own append of its intent was accepted, once; a repeat is a new intent": (
        "undecided-append-taken-for-accepted",
        "call-sent-twice",
        "open-sent-again-under-an-old-intent",
        "open-without-a-re-read",
    ),
    "if the fold lacks what an object's tag or the agent's floor names, nothing is decided for that job": (
        "regression-guard-off",
        "regression-judged-without-the-floor",
        "regression-judged-by-number-alone",
    ),
    "every append names the stream it expects, so older writers are refused": ("older-writers-append",),
    "the Find of this very pass shows every other object ended and its processes gone": (
        "gate-by-recorded-ends",
        "gate-ignores-processes",
    ),
    "requeue calls are over before that Find began": ("gate-ignores-requeues-and-their-ends",),
    "processes of which nobody can tell keep the gate shut": ("unknown-processes-taken-as-gone",),
    "evidence carries the execution it saw and never covers a later one": ("evidence-covers-a-later-execution",),
    "a submission given up is closed: its objects are retired on sight and never chosen": (
        "closed-submission-goes-on",
        "given-up-before-its-start-is-over",
    ),
    "a requeued object is at its gate, and opened like any other once its earlier execution is proven gone": (
        "requeue-not-into-the-gate",
        "gate-ignores-earlier-runs",
    ),
    "a requeue is sent only when every Open and release of the object is over": ("requeue-while-an-open-may-land",),
    "as_of is read on the host before the query, and it alone says which calls are over": (
        "as-of-read-after-the-query",
        "over-by-the-supervisors-clock",
        "find-before-read",
    ),
    "an end counts only from a Find begun after every requeue of the object was over": (
        "end-seen-before-a-requeue-was-over",
    ),
    "a second stop by name once nothing can land; complete when a later Find shows every object ended": (
        "cancel-without-second-stop",
        "clean-up-complete-without-a-find",
        "clean-up-complete-while-a-start-may-land",
    ),
    "no hold and no release is sent while a call of another instance can land, or one is in force": (
        "hold-placed-while-an-earlier-call-may-land",
        "release-while-another-hold-is-in-force",
    ),
    "a hold is reported placed, or released, by a Find begun after every call that could change it": (
        "hold-judged-while-a-call-may-land",
    ),
    "where gate and hold are one bit the gate stays shut under any hold, and at the gate no release is sent": (
        "gate-opens-while-held",
        "release-sent-at-the-gate",
    ),
    "settled once every Start is matched, clearly refused or over": ("settled-while-a-start-may-land",),
    "one append of A, one write, which carries the resource version read before the list": (
        "pods-listed-before-the-read",
        "write-without-the-version",
        "admission-number-not-raised",
    ),
    "in Kueue mode a pod scheduling gate makes late pods harmless": ("kueue-without-the-pod-fence",),
    "an ended TrainJob is suspended first, and the next gate waits for it, its controllers and its pods": (
        "ended-object-not-stopped",
        "chain-not-closed",
    ),
    "stopping or holding an object always changes its resource version": ("stop-that-leaves-the-version",),
}

OTHERWISE: dict[str, str] = {
    "older-writers-append": "in the ledger, which keeps the rule here; the real append's header in tests/integration/nats",
    "as-of-read-after-the-query": "as after a query of 90 s: a look is one step here, and nothing comes between its two halves",
}
