"""The command line on a real bus and real processes: what a person types, in the order they would."""

from __future__ import annotations

import json
import re
import signal
import socket

import click
import pytest

from dispatch.cli import completing
from dispatch.cli.main import PROGRAM
from tests.acceptance.conftest import Here, Type, line_with, running, until

QUICK = 'version: 1\nranks_per_node: 2\nrun: {command: [sh, -c, "echo step 1; echo step 2"]}\n'
ENDLESS = (
    "version: 1\nranks_per_node: 2\nstop_grace: 2s\nlabels: {project: llama}\n"
    'run: {command: [sh, -c, "echo begun; exec sleep 600"]}\nrecovery: []\n'
)
CRASHING = (
    "version: 1\nranks_per_node: 2\nstop_grace: 1s\noutput: '{job}/{submission}.{run}/{rank}.log'\n"
    'run: {command: [sh, -c, "[ $RANK = 1 ] && { echo cuda error; exit 3; }; exec sleep 600"]}\nrecovery: []\n'
)
ONCE = (
    "version: 1\nrun: {command: [sh, -c, '[ $DISPATCH_RUN = 0 ] && exit 3; echo again']}\n"
    "recovery:\n  - {name: crash, on: [exit-code], do: requeue, budget: 2, backoff: {first: 0s}}\n"
)


def test_a_job_is_submitted_followed_to_its_end_and_told_afterwards(here: Here, dispatch: Type) -> None:
    told = dispatch("submit", here.write("quick.yaml", QUICK), "--name", "quick", "--wait")
    assert told.code == 0, told.err
    assert told.lines[0] == "quick  accepted #1          next: dispatch watch quick"
    assert re.match(r"quick  SUCCEEDED  settled #\d+ · ran \S+ in 1 execution", told.lines[-1])
    assert ".dispatch · default @ local     submit quick (command c-" in told.err
    events = dispatch("history", "quick")
    assert re.match(
        r" 1  \d\d:\d\d:\d\d  command   ana    submitted: 1 × 2 ranks on local +submitted$", events.lines[0]
    )
    assert dispatch("status", "qui").lines[0].startswith("quick  SUCCEEDED")
    assert dispatch("logs", "quick", "--tail", "1").lines[1:] == [f"{n}@{socket.gethostname()}  step 2" for n in (0, 1)]
    verified = dispatch("verify", "quick")
    assert (verified.code, "11 laws hold, 0 broken" in verified.out) == (0, True)


def test_the_same_submit_again_is_the_same_job_and_another_spec_is_refused(here: Here, dispatch: Type) -> None:
    file = here.write("twice.yaml", QUICK)
    assert dispatch("submit", file, "--name", "twice").code == 0
    again = dispatch("submit", file, "--name", "twice")
    assert (again.code, "(already; same spec)" in again.out) == (0, True)
    other = dispatch("submit", file, "--name", "twice", "--set", "ranks_per_node=1")
    assert other.code == 4
    assert "1 field differs: ranks_per_node" in other.err


def test_a_crash_is_recovered_by_the_plan_and_the_executions_never_overlap(here: Here, dispatch: Type) -> None:
    told = dispatch("submit", here.write("once.yaml", ONCE), "--name", "once", "--wait")
    assert told.code == 0
    assert "in 2 executions" in told.lines[-1]
    assert "executions 1.0, 1.1, never both" in dispatch("verify", "once").out
    assert "crash 1/2" in dispatch("status", "once").out


def test_what_killed_it_and_which_rank_first(here: Here, dispatch: Type) -> None:
    told = dispatch("submit", here.write("crash.yaml", CRASHING), "--name", "crash", "--wait")
    assert told.code == 20
    assert dispatch("watch", "crash", "--job-exit").code == 3
    logs = dispatch("logs", "crash", "--first-failed")
    ended = r"1\.0 \(epoch 1000000\) rank 1@\S+, ended \S+ by exit-code 3, 1 other followed within \d+\.\ds, "
    assert re.match(ended + r"last line \S+, from crash/1\.0/1\.log$", logs.lines[0])
    assert logs.lines[1].endswith("cuda error")


def test_why_says_what_an_end_would_lead_to(here: Here, dispatch: Type) -> None:
    running(dispatch, here, "why-1", ENDLESS.replace("recovery: []\n", ""))
    told = dispatch("why", "why-1")
    assert told.code == 0
    assert told.lines[0].startswith("next step: none until 1.0 ends")
    assert "if submission 1 ends now: preempted has 100 of 100 left" in told.out
    assert dispatch("cancel", "why-1", "--reason", "done", "--yes").code == 0


def test_who_cancelled_my_job_and_may_i_reuse_the_directory(here: Here, dispatch: Type) -> None:
    running(dispatch, here, "gone", ENDLESS)
    told = dispatch("cancel", "gone", "--reason", "wrong data mix", "--wait=proven", "--yes", "--timeout", "60s")
    assert told.code == 0, told.err
    stages = [line.split()[0] for line in told.lines if line.startswith("  ")]
    assert stages == ["asked", "committed", "stopped", "complete", "settled"]
    assert "processes are proven gone on 1 of 1 nodes" in told.out
    assert told.lines[-1].startswith("cancelled, settled #")
    asked = dispatch("history", "gone", "--only", "command")
    assert re.search(r'ana +cancel.* "wrong data mix"', asked.out)
    assert dispatch("watch", "gone").code == 21
    late = dispatch("hold", "gone", "--reason", "x")
    assert (late.code, "outcome-decided (exit 4)" in late.err) == (4, True)


def test_cancelling_what_has_ended_is_refused_with_its_outcome(here: Here, dispatch: Type) -> None:
    assert dispatch("submit", here.write("ended.yaml", QUICK), "--name", "ended", "--wait").code == 0
    told = dispatch("cancel", "ended", "--reason", "x", "--yes")
    assert (told.code, "already succeeded" in told.err) == (4, True)


def test_a_timed_out_submit_is_found_by_its_name_or_refused_for_ever(here: Here, dispatch: Type) -> None:
    told = dispatch("cancel", "ghost", "--reason", "never sent", "--yes")
    assert told.code == 3
    assert dispatch("cancel", "ghost", "--reason", "never sent", "--yes", "--if-unknown", "record").code == 0
    late = dispatch("submit", here.write("ghost.yaml", QUICK), "--name", "ghost")
    assert (late.code, "job-cancelled (exit 4)" in late.err) == (4, True)


def test_a_hold_lets_the_run_go_on_and_names_who_asked(here: Here, dispatch: Type) -> None:
    running(dispatch, here, "held", ENDLESS)
    assert "1.0 runs on; the next run will wait" in dispatch("hold", "held", "--reason", "look").out
    shown = dispatch("status", "held")
    assert re.search(r'person: ana \S+ "look"', shown.out)
    assert "released" in dispatch("release", "held").out
    assert dispatch("release", "held").code == 4
    assert dispatch("cancel", "held", "--reason", "x", "-y", "--wait", "--timeout", "60s").code == 0


def test_retries_can_be_stopped_shown_and_allowed(dispatch: Type) -> None:
    assert dispatch("retries", "stop", "--cluster", "local", "--reason", "storm", "--yes").code == 0
    assert "retries stopped on local since" in dispatch("retries", "show").out
    assert dispatch("retries", "allow", "--cluster", "local", "--reason", "over").code == 0
    assert dispatch("retries", "allow", "--cluster", "local", "--reason", "over").code == 4


def test_the_list_shows_open_jobs_and_finds_them_by_label(here: Here, dispatch: Type) -> None:
    running(dispatch, here, "listed", ENDLESS)
    told = until(dispatch, ("list", "-l", "project=llama"), lambda told: "listed" in told.out and "running" in told.out)
    assert re.match(r"\.dispatch · default · \S+ UTC\S* · \d+ open", told.lines[0])
    assert told.lines[1].split() == ["JOB", "STATE", "FOR", "WAITS", "FOR", "NODES", "CLUSTER", "OWNER"]
    document = json.loads(dispatch("list", "--json").out)
    assert document["schema"] == "dispatch.list/1"
    assert {job["job"] for job in document["data"]["jobs"]} >= {"listed"}
    assert dispatch("cancel", "-l", "project=llama", "--reason", "x", "--yes").code == 0


def test_is_anyone_supervising_now(dispatch: Type) -> None:
    told = dispatch("status")
    assert re.search(r"REPLICAS  sv-1 live, \S+ ago · sv-2 live, \S+ ago", told.out)


def test_what_did_dispatch_believe_then(here: Here, dispatch: Type) -> None:
    dispatch("submit", here.write("then.yaml", QUICK), "--name", "then", "--wait")
    told = dispatch("why", "then", "--at", "5")
    assert told.lines[0].startswith("next step: ")
    assert dispatch("status", "then", "--at", "99").code == 3


def test_histories_are_exported_and_verified_anywhere(here: Here, dispatch: Type) -> None:
    dispatch("submit", here.write("kept.yaml", QUICK), "--name", "kept", "--wait")
    told = dispatch("export", "--all", "--output", "all.jsonl")
    assert re.match(r"\d+ jobs, \d+ events, \d+ KiB → all\.jsonl \(sha256 \w{8}…\)$", told.lines[0])
    assert dispatch("verify", "--file", "all.jsonl").code == 0
    path = here.folder / "all.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"CanonicalChosen"', b'"CanonicalChosex"', 1))
    changed = dispatch("verify", "--file", "all.jsonl")
    assert (changed.code, "was changed since it was exported" in changed.err) == (2, True)


def test_a_redacted_export_holds_neither_values_of_env_nor_peoples_words(here: Here, dispatch: Type) -> None:
    file = here.write("env.yaml", QUICK + "env: {TOKEN: hunter2}\nhold: between us\n")
    assert dispatch("submit", file, "--name", "env").code == 0
    assert dispatch("export", "env", "--output", "env.jsonl", "--redact", "env,reason").code == 0
    text = (here.folder / "env.jsonl").read_text()
    assert "hunter2" not in text
    assert "between us" not in text
    assert dispatch("cancel", "env", "--reason", "x", "--yes").code == 0


def test_the_doctor_finds_nothing_wrong_with_what_up_made(dispatch: Type) -> None:
    told = dispatch("doctor", "--probe")
    assert told.code == 0, told.out
    assert "FAIL" not in told.out
    assert "probe: object" in told.out


def test_a_pipe_has_no_colour_unless_it_is_asked_for(here: Here, dispatch: Type) -> None:
    dispatch("submit", here.write("colour.yaml", QUICK), "--name", "colour", "--wait")
    plain, painted = dispatch("status", "colour"), dispatch("status", "colour", "--color", "always")
    assert "\x1b" not in plain.out
    assert "\x1b[32;1mSUCCEEDED\x1b[0m" in painted.out
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted.out).split()[:6] == plain.out.split()[:6]


def test_ctrl_c_leaves_a_watch_with_130_and_the_job_goes_on(here: Here, dispatch: Type) -> None:
    running(dispatch, here, "left", ENDLESS)
    for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        watching = here.start("watch", "left")
        line_with(watching, b"Ctrl-C leaves, the job goes on")
        watching.send_signal(sent)
        assert watching.wait(30) == code
        assert watching.stderr is not None
        assert b"no command was sent" in watching.stderr.read()
    assert dispatch("status", "left").lines[0].startswith("left  RUNNING")
    assert dispatch("cancel", "left", "--reason", "x", "-y", "--wait", "--timeout", "60s").code == 0


def test_a_stream_of_json_ends_with_a_line_that_says_so(here: Here, dispatch: Type) -> None:
    dispatch("submit", here.write("stream.yaml", QUICK), "--name", "stream", "--wait")
    told = dispatch("watch", "stream", "--from", "1", "--json")
    lines = [json.loads(line) for line in told.lines]
    assert [line["number"] for line in lines[:-1]] == list(range(1, len(lines)))
    assert (lines[-1]["kind"], lines[-1]["because"]) == ("end", "succeeded")
    assert told.err == ""


def test_a_bad_file_sends_nothing(here: Here, dispatch: Type) -> None:
    told = dispatch("submit", here.write("bad.yaml", "version: 1\nnods: 2\nrun: {command: [a]}\ntime_limit: 24\n"))
    assert told.code == 2
    assert told.err.splitlines() == [
        "error: bad.yaml has 2 mistakes; nothing was sent (exit 2)",
        "  line 2  nods: unknown field         did you mean nodes?",
        "  line 4  time_limit: 24 has no unit  write 24h",
    ]


def test_what_this_machine_cannot_do_is_told_before_anything_is_sent(here: Here, dispatch: Type) -> None:
    told = dispatch("submit", here.write("wide.yaml", QUICK), "--set", "nodes=3")
    assert told.code == 2
    assert "nodes: local is one machine, 3 are asked for" in told.err


@pytest.mark.parametrize("words", [("status", "nobody"), ("why", "nobody"), ("logs", "nobody"), ("history", "nobody")])
def test_a_name_that_nobody_has_is_exit_3(dispatch: Type, words: tuple[str, str]) -> None:
    assert dispatch(*words).code == 3


def test_the_version_names_the_replicas_too(dispatch: Type) -> None:
    assert re.match(r"dispatch \S+ · schema 1 · sv-1 \S+, sv-2 \S+ · bus 2\.\d+\.\d+$", dispatch("version").lines[0])


def test_jobs_are_completed_from_the_bus(here: Here, dispatch: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatch("submit", here.write("complete.yaml", QUICK), "--name", "complete", "--wait")
    monkeypatch.setattr(completing, "WITHIN_S", 20.0)
    command = PROGRAM.get_command(click.Context(PROGRAM), "status")
    assert command is not None
    until(dispatch, ("list", "--all"), lambda told: "complete" in told.out)
    assert completing.job_names(click.Context(command), command.params[0], "comp") == ["complete"]


def test_a_job_of_the_tool_itself_may_use_it_without_being_mistaken(
    here: Here, dispatch: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPATCH_TENANT", "other")
    monkeypatch.setenv("DISPATCH_JOB", "other")
    assert "default" in dispatch("context", "show").out
