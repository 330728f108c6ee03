"""What is asked at three in the morning, each question with its command, on a real bus and real processes.

What one machine cannot show (a lost node, a brake) is in tests/unit/dispatch/cli/test_persons.py.
"""

from __future__ import annotations

import re
import signal

from tests.acceptance.conftest import Here, Type, running, until

RUN = "version: 1\nranks_per_node: %d\nstop_grace: 1s\nrun: {command: [sh, -c, '%s']}\nrecovery: %s\n"
QUICK = RUN % (1, "echo step 1", "[]")
ENDLESS = RUN % (1, "exec sleep 600", "[{name: lost, on: [node-lost], do: resubmit, budget: 5, backoff: {first: 1m}}]")
WHOLE = RUN % (8, "exec sleep 600", "[]")
CRASHING = RUN % (2, "[ $RANK = 1 ] && exit 137; exec sleep 600", "[]")
ASKING = RUN % (1, "exit 3", "[{name: look, on: [any], do: hold}]")


def gone(dispatch: Type, *names: str) -> None:
    assert dispatch("cancel", *names, "--reason", "over", "-y", "--wait=proven", "--timeout", "60s").code == 0


def test_why_is_it_not_running(here: Here, dispatch: Type) -> None:
    running(dispatch, here, "whole", WHOLE)
    assert dispatch("submit", here.write("next.yaml", WHOLE), "--name", "next").code == 0
    told = until(dispatch, ("why", "next", "--live"), lambda told: "waits for slots" in told.lines[0])
    assert re.match(
        r"queued \S+ on local: waits for slots: needs 8, 0 of 8 free \(live\) +when others end$", told.lines[0]
    )
    assert "  ends: others that take up the same room end" in told.lines
    gone(dispatch, "next", "whole")


def test_does_anything_need_me(here: Here, dispatch: Type) -> None:
    words = ("submit", here.write("ask.yaml", ASKING), "--name", "ask", "--wait", "--until", "action")
    assert dispatch(*words, "--timeout", "60s").code == 22
    told = until(dispatch, ("list", "--needs-person"), lambda told: "ask" in told.out)
    assert re.search(r" need(s)? a person", told.lines[0])
    assert re.match(r"!  ask +held +\S+ +hold ", told.lines[2])
    gone(dispatch, "ask")


def test_what_killed_it_and_which_rank_first(here: Here, dispatch: Type) -> None:
    assert dispatch("submit", here.write("crash.yaml", CRASHING), "--name", "crash", "--wait").code == 20
    told = dispatch("logs", "crash", "--first-failed")
    assert (told.code, "no output" in told.err or "nothing is left" in told.err) == (3, True), told.err
    header = r"1\.0 \(epoch 1000000\) rank 1@\S+, ended \S+ by exit-code 137, 1 other followed within \d+\.\ds, from \S+/1\.log$"
    assert re.match(header, told.lines[0])
    assert re.search(r"exit-code 137 \(rank 1\)", dispatch("status", "crash").out)


def test_will_it_try_again(here: Here, dispatch: Type) -> None:
    running(dispatch, here, "again", ENDLESS)
    told = dispatch("why", "again")
    assert "if submission 1 ends now: lost has 5 of 5 left, waits 1m; all else → give-up" in told.out
    gone(dispatch, "again")


def test_is_it_really_cancelled_and_may_i_reuse_the_directory_and_who_did_it(here: Here, dispatch: Type) -> None:
    running(dispatch, here, "dir", ENDLESS)
    told = dispatch("cancel", "dir", "--reason", "wrong data mix", "--wait=proven", "-y", "--timeout", "60s")
    assert told.code == 0
    assert re.search(
        r"^  complete .*nothing of it can land any more; its processes are proven gone on 1 of 1",
        told.out,
        re.MULTILINE,
    )
    asked = dispatch("history", "dir", "--only", "command")
    assert re.search(r'^ *\d+  \S+  command  ana +cancel.*"wrong data mix"', asked.out, re.MULTILINE)


def test_my_submit_timed_out_is_it_there(here: Here, dispatch: Type) -> None:
    file = here.write("slow.yaml", QUICK)
    assert dispatch("submit", file, "--name", "slow").code == 0
    again = dispatch("submit", file, "--name", "slow")
    assert re.match(r"slow  accepted #1 at \S+ \(already; same spec\)", again.lines[0])


def test_the_scheduler_does_not_answer_am_i_losing_jobs(here: Here, dispatch: Type) -> None:
    agent = ("agent", "local", "--cluster", "away", "--dir", "away", "--slots", "2")
    serving = here.start(*agent)
    words = ("submit", here.write("away.yaml", ENDLESS), "--name", "away", "--cluster", "away")
    until(dispatch, (*words, "--command-id", "c-away"), lambda told: told.code == 0)
    assert dispatch("watch", "away", "--until", "running", "--timeout", "60s").code == 0
    serving.send_signal(signal.SIGKILL)
    serving.wait()
    told = until(dispatch, ("status",), lambda told: "away UNREACHABLE" in told.out)
    assert re.search(
        r"^away UNREACHABLE.*: 1 jobs? as last seen; nothing is decided from silence$", told.out, re.MULTILINE
    )
    assert dispatch("status", "away").lines[0].startswith("away  RUNNING")
    here.start(*agent)
    gone(dispatch, "away")


def test_will_it_stampede(dispatch: Type) -> None:
    assert dispatch("retries", "show").lines[0].startswith("retries are on")
    assert dispatch("retries", "stop", "--cluster", "local", "--reason", "half the cluster died", "-y").code == 0
    assert "· dispatch retries allow --cluster local" in dispatch("retries", "show").lines[0]
    assert dispatch("retries", "allow", "--cluster", "local", "--reason", "over").code == 0


def test_did_it_ever_run_twice(here: Here, dispatch: Type) -> None:
    once = RUN % (
        1,
        "[ $DISPATCH_RUN = 0 ] && exit 3; true",
        "[{name: a, on: [exit-code], do: requeue, budget: 1, backoff: {first: 0s}}]",
    )
    assert dispatch("submit", here.write("twice.yaml", once), "--name", "twice", "--wait").code == 0
    told = dispatch("verify", "twice")
    assert re.match(r"twice  \d+ events, r\d+-r\d+   11 laws hold, 0 broken, 4 n/a", told.lines[0])
    assert told.lines[1].strip() == "executions 1.0, 1.1, never both"


def test_what_did_dispatch_believe_then_and_is_anyone_supervising_now(here: Here, dispatch: Type) -> None:
    assert dispatch("submit", here.write("then.yaml", QUICK), "--name", "then", "--wait").code == 0
    assert dispatch("why", "then", "--at", "5").lines[0].startswith("next step: ")
    told = dispatch("status")
    assert re.search(r"^REPLICAS  sv-1 live, \S+ ago · sv-2 live, \S+ ago · 0 jobs unattended$", told.out, re.MULTILINE)
