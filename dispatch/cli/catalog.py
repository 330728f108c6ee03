"""The commands, in the order of the help page. Data only: a command's module is imported when it is typed."""

from __future__ import annotations

HELP_COLUMNS_MAX = 100
CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": HELP_COLUMNS_MAX}

# group -> (verb, module under dispatch.cli.commands, one line)
CATALOG: dict[str, tuple[tuple[str, str, str], ...]] = {
    "See": (
        ("status", "status", "what is going on: one job, or everything"),
        ("why", "why", "which condition stops the next step"),
        ("watch", "watch", "what happens from now on"),
        ("history", "history", "every event as a sentence"),
        ("list", "listing", "open jobs, those that need a person first"),
        ("logs", "logs", "what the ranks wrote"),
    ),
    "Submit and change": (
        ("submit", "submit", "give dispatch a job"),
        ("cancel", "cancel", "end a job for good"),
        ("hold", "hold", "start no further run"),
        ("release", "release", "lift holds"),
        ("requeue", "requeue", "run again, by a person's order"),
        ("dispose", "dispose", "decide about what dispatch may not decide alone"),
        ("attest", "attest", "give your word that a node is off"),
        ("retries", "retries", "kill switch, brake and observe mode"),
    ),
    "Prove and keep": (
        ("verify", "verify", "check histories against the laws"),
        ("export", "export", "histories as files"),
        ("doctor", "doctor", "check the bus and a scheduler"),
    ),
    "Run": (
        ("up", "up", "bus, local cluster and supervisors on this machine"),
        ("setup", "setup", "make the streams and buckets, print permissions"),
        ("supervise", "supervise", "one stateless supervisor"),
        ("agent", "agent", "serve one cluster, next to its scheduler"),
    ),
    "This tool": (
        ("context", "context", "which bus, in whose name"),
        ("completion", "completion", "the script for your shell"),
        ("version", "version", "versions and schemas"),
    ),
}

VERBS: dict[str, tuple[str, str]] = {
    verb: (module, line) for commands in CATALOG.values() for verb, module, line in commands
}
