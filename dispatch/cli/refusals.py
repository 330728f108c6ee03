"""Every code of a refusal: what happened and what to do. `docs/reference/errors.md` is generated from this table.

A refusal changed nothing: the command may be mended and sent again under a new command id.
"""

from __future__ import annotations

from streams.messages.reasons import RefusalCode

REFUSALS: dict[RefusalCode, tuple[str, str]] = {
    RefusalCode.SPEC_DIFFERS: (
        "A job of that name exists with another spec.",
        "Submit under a new name (`--new`), or look at the old one with `dispatch status`.",
    ),
    RefusalCode.INVALID_SPEC: (
        "The spec breaks a limit that the job file's page names.",
        "Mend the field that the sentence names.",
    ),
    RefusalCode.UNKNOWN_CLUSTER: (
        "No adapter or agent serves that cluster.",
        "Check the name; start `dispatch agent` for it.",
    ),
    RefusalCode.PLAN_UNSUPPORTED: (
        "A rule asks for what the cluster cannot do, such as `requeue` where there is none.",
        "Use `resubmit` in that rule.",
    ),
    RefusalCode.NO_SUCH_JOB: (
        "Nothing was ever submitted under that name.",
        "Check the tenant and the name. To refuse a submit that is still on its way: cancel with `--if-unknown record`.",
    ),
    RefusalCode.JOB_CANCELLED: (
        "The name was cancelled; a cancel is final, also for a submit that arrives later.",
        "Submit under a new name.",
    ),
    RefusalCode.OUTCOME_DECIDED: (
        "The job has its outcome: nothing that would run it again is accepted.",
        "The receipt names the outcome. `dispatch submit --from JOB` makes a new job of the same spec.",
    ),
    RefusalCode.INSTANCE_USED: (
        "A hold instance of that name was asked for before.",
        "Leave the instance out: the command's own id is used.",
    ),
    RefusalCode.NOTHING_TO_LIFT: (
        "No hold that you may lift is in force.",
        "`dispatch status` shows the holds; one by an admin is the site's to lift.",
    ),
    RefusalCode.RUN_IS_OVER: (
        "The run to end is not running any more.",
        "Look again; `--resubmit` asks for a new submission instead.",
    ),
    RefusalCode.OTHER_RUN: (
        "Another run than the one you saw is current.",
        "Look again and repeat with that run.",
    ),
    RefusalCode.NO_REQUEUE: (
        "The cluster cannot run the same object again.",
        "`--resubmit`.",
    ),
    RefusalCode.NO_HOLD_NOW: (
        "The cluster cannot end a run and keep its object held.",
        "Hold without `--now`: the next run waits.",
    ),
    RefusalCode.TARGET_UNKNOWN: (
        "The record holds no such object, attempt or message.",
        "`dispatch status` lists them.",
    ),
    RefusalCode.TARGET_NOT_DISPOSABLE: (
        "The target is none that waits for a person.",
        "Nothing: dispatch decides about it by itself.",
    ),
    RefusalCode.STILL_ALIVE: (
        "`gone` was said of an object that the latest Find shows.",
        "Stop it (`--as stop`), or wait for its end.",
    ),
    RefusalCode.NO_ATTEMPT_TO_ADOPT: (
        "No unmatched attempt of the newest submission is there for the object to answer.",
        "`--as stop` or `--as ignore`.",
    ),
    RefusalCode.NODE_NOT_WAITED_FOR: (
        "No run of this job waits for proof about that node.",
        "`dispatch why` names the nodes that are waited for.",
    ),
    RefusalCode.NO_CHANGE: (
        "The controls are already so.",
        "Nothing.",
    ),
    RefusalCode.COMMAND_ID_USED: (
        "That command id was used for something else.",
        "Leave the id out, or repeat exactly the command that had it.",
    ),
    RefusalCode.DECISIONS_STOPPED: (
        "The history holds what this version cannot read, or went backwards: nothing is decided for the job.",
        "`dispatch status` says which message; dispose of it, or upgrade.",
    ),
    RefusalCode.MALFORMED: (
        "The bytes are no command.",
        "The sentence names the field; the [schemas](messages.md) are exact.",
    ),
    RefusalCode.SUBJECT_DIFFERS: (
        "Tenant, job or verb in the body are not those of the subject.",
        "Publish on the subject that the body names.",
    ),
    RefusalCode.UNKNOWN_VERB: (
        "No command has that verb.",
        "See [the commands](messages.md#commands).",
    ),
    RefusalCode.TOO_LARGE: (
        "The command is larger than a job's spec may be (256 KiB).",
        "Put scripts and data on a file system that the ranks see.",
    ),
}
