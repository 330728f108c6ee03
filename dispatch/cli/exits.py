"""The exit codes: one table, from which the reference is generated. A command's code agrees with its words."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """How far a command got."""

    DONE = 0
    FAULT = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    NOT_PERMITTED = 5
    UNREACHABLE = 6
    UNDECIDED = 7
    TIMED_OUT = 8
    CHECK_FAILED = 9
    JOB_FAILED = 20
    JOB_CANCELLED = 21
    NEEDS_PERSON = 22
    INTERRUPTED = 130
    TERMINATED = 143


MEANINGS: dict[Exit, str] = {
    Exit.DONE: "what was asked is so (with `--wait`: the job succeeded)",
    Exit.FAULT: "a fault in dispatch itself; the message says where the report lies",
    Exit.USAGE: "bad usage, bad job file, or a question nobody could answer",
    Exit.NOT_FOUND: "no such job, object, node or event; or the prefix fits several (they are listed)",
    Exit.REFUSED: "refused by a decision; the receipt says why; nothing changed",
    Exit.NOT_PERMITTED: "credentials missing, expired or without the right",
    Exit.UNREACHABLE: "bus or agent not reachable, or the server's settings unsafe; **nothing was sent**",
    Exit.UNDECIDED: "**undecided**: sent, and no answer in time, or the bus went away; it may take effect; repeat it with the printed "
    "`--command-id` (of a submit `--name` too)",
    Exit.TIMED_OUT: "`--timeout` ended a wait; the job goes on",
    Exit.CHECK_FAILED: "a check failed: `verify` found a broken law, `doctor` a FAIL",
    Exit.JOB_FAILED: "waited: the job failed",
    Exit.JOB_CANCELLED: "waited: the job was cancelled",
    Exit.NEEDS_PERSON: "waited: the job needs a person (`--until action`); of several jobs the highest of 20 to 22",
    Exit.INTERRUPTED: "interrupted by Ctrl-C; no job is stopped by it, and the last line says which command stands",
    Exit.TERMINATED: "terminated by a signal; as for Ctrl-C",
}

# Codes of the command line itself; those of a refusal are `streams.messages.reasons.RefusalCode`.
CODES: dict[str, tuple[Exit, str, str]] = {
    "internal": (Exit.FAULT, "something dispatch did not expect", "send the report it names, with what was typed"),
    "bad-usage": (Exit.USAGE, "an unknown command, flag or value", "`dispatch COMMAND --help`"),
    "bad-settings": (Exit.USAGE, "the config file, a flag or a variable makes no sense", "mend the line it names"),
    "bad-job-file": (Exit.USAGE, "the job file has mistakes; each is listed with its line", "mend them; nothing was sent"),
    "not-written": (Exit.USAGE, "a file that was asked for cannot be written: no room, no right, no such folder", "another place, or room; what stood there before is as it was"),
    "unusable-path": (Exit.USAGE, "a file or directory cannot be read, made or written", "mend what the error says of it, or name another"),
    "bad-command": (Exit.USAGE, "the command breaks a rule of its type", "mend the field it names"),
    "message-too-large": (Exit.USAGE, "one message is larger than the servers take; nothing was sent", "ask for less at once, or raise `max_payload` on the servers"),
    "no-answer": (Exit.USAGE, "a question, and no terminal to answer it", "`--yes`, or `--confirm NAME` where the name is typed"),
    "not-confirmed": (Exit.USAGE, "the question was answered with no, or the name typed differs", "nothing was sent"),
    "no-bus": (Exit.USAGE, "no place names a bus; localhost is never guessed", "`dispatch up`, or `dispatch context use NAME`"),
    "no-tenant": (Exit.USAGE, "no place names a tenant", "`--tenant NAME`, or `tenant:` in the context"),
    "no-such-context": (Exit.USAGE, "the config file has no context of that name", "`dispatch context list`"),
    "no-such-job": (Exit.NOT_FOUND, "no job of that name, no name begins so, or it is on another cluster than the one typed", "`dispatch list --all`; check the tenant"),
    "several-jobs": (Exit.NOT_FOUND, "the prefix fits several jobs", "type more of the name"),
    "no-such-event": (Exit.NOT_FOUND, "the history has no event of that number", "`dispatch history JOB`"),
    "no-such-object": (Exit.NOT_FOUND, "the job has no object, run or rank of that name", "`dispatch status JOB`"),
    "no-output": (Exit.NOT_FOUND, "no output is left of that execution", "the sentence says why"),
    "refused": (Exit.REFUSED, "a decision refused it", "the receipt's own code and sentence say more"),
    "no-credentials": (Exit.NOT_PERMITTED, "the credentials file cannot be read", "check the path and its owner"),
    "open-credentials": (Exit.NOT_PERMITTED, "others may read the credentials file", "`chmod 600 FILE`"),
    "not-permitted": (Exit.NOT_PERMITTED, "the credentials lack the right; on the bus it looks like a time-out", "`dispatch context show`; ask who gave them out"),
    "bus-unreachable": (Exit.UNREACHABLE, "no server of the bus answers; nothing was sent", "`dispatch context show` names the servers"),
    "agent-unreachable": (Exit.UNREACHABLE, "the cluster's agent does not answer", "`dispatch status` shows since when"),
    "unsafe-settings": (Exit.UNREACHABLE, "a server, stream or bucket is not set as safety needs", "`dispatch doctor bus`"),
    "older-generation": (Exit.UNREACHABLE, "the history was replaced by a newer generation", "start again with today's version and context"),
    "bus-full": (Exit.UNREACHABLE, "a stream's limit or the disk is reached; nothing was stored", "`dispatch doctor bus`"),
    "undecided": (Exit.UNDECIDED, "sent, and no answer in time", "the same command with the printed `--command-id`, of a submit with the printed `--name` too"),
    "bus-lost": (Exit.UNDECIDED, "the bus went away after something had been sent; the error says what stands", "what is not named, again; what may take effect, with the printed `--command-id`"),
    "timed-out": (Exit.TIMED_OUT, "`--timeout` ended a wait", "the job goes on; `dispatch watch JOB`"),
    "foreign-package": (Exit.FAULT, "another distribution installed a package of the same name", "a virtual environment of its own"),
}  # fmt: skip


def exit_of(code: str) -> Exit:
    """The exit code that goes with a slug; a refusal's own code is 4."""
    return CODES[code][0] if code in CODES else Exit.REFUSED
