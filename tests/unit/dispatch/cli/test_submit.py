"""Submit: the file is checked here, the name is said before sending, a dry run shows the plan."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from dispatch.cli.commands import submit
from dispatch.cli.errors import CliError, told
from dispatch.cli.exits import Exit
from dispatch.cli.fitting import check_fits
from dispatch.cli.params import ChangeFlags, GlobalFlags
from dispatch.cli.views.plan import plan_lines
from dispatch.client import CommandIdUsedError
from dispatch.jobfile import JobFileError, read_job_file
from streams.messages.calls import Capabilities
from streams.messages.values import Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import EXAMPLES, Stage

LOCAL = str(EXAMPLES / "local.yaml")
HERE = ("cluster=sim", "recovery.crash.do=resubmit", "run.command=[sh, -c, sleep 60]")


def options(**given: Any) -> submit.SubmitOptions:
    return submit.SubmitOptions(**{"file": LOCAL, "name": "llama", "settings": HERE, **given})


async def test_an_accepted_submit_says_what_to_type_next() -> None:
    stage = Stage(Driver())
    assert await submit._submit(stage, options()) is Exit.DONE
    assert stage.said == "llama  accepted #1          next: dispatch watch llama\n"
    assert re.match(
        r"prod · nlp @ sim     submit llama \(command (c-\w+)\)\nllama  stored on the bus \(command \1\)$",
        stage.hinted.strip(),
    )


async def test_the_same_job_twice_has_the_first_receipt() -> None:
    driver = Driver()
    await submit._submit(Stage(driver), options())
    again = Stage(driver)
    assert await submit._submit(again, options()) is Exit.DONE
    assert again.said.startswith("llama  accepted #1 at 00:00:00 (already; same spec)")


async def test_another_spec_under_the_name_is_refused_with_the_fields_that_differ() -> None:
    driver = Driver()
    await submit._submit(Stage(driver), options())
    other = Stage(driver)
    changed = (*HERE, "nodes=2", "recovery.crash.budget=9")
    assert await submit._submit(other, options(settings=changed)) is Exit.REFUSED
    lines = other.hinted.splitlines()[2:]
    assert lines[0] == 'error: job "llama" exists with another spec: submit under a new name (--new)'
    assert re.match(r"  why   submitted 00:00:00 by ana; 2 fields differ: \S+, \S+$", lines[1])
    assert "recovery.crash.budget" in lines[1]
    assert re.match(rf"  do    dispatch submit {re.escape(LOCAL)} --new +a new job under a new name$", lines[2])
    assert re.match(r"        dispatch status llama +the old one \(\w+\)$", lines[3])
    assert lines[4] == "  code  spec-differs (exit 4)"


async def test_new_makes_a_fresh_name_and_a_file_without_one_gets_its_stem() -> None:
    for given, stem in ((options(new=True), "llama"), (options(name=None), "local")):
        stage = Stage(Driver())
        assert await submit._submit(stage, given) is Exit.DONE
        assert re.match(rf"{stem}-[a-z2-9]{{5}}  accepted #1 ", stage.said)


REPEATED = ChangeFlags(command_id="c-again")


@pytest.mark.parametrize("given", [{"new": True}, {"name": None}], ids=["--new", "without a name"])
async def test_a_repeat_that_would_make_a_second_name_is_refused_and_nothing_is_sent(given: dict[str, Any]) -> None:
    driver = Driver()
    with pytest.raises(CliError, match="this one would make a new name") as caught:
        await submit._submit(Stage(driver, change=REPEATED), options(**given))
    assert (caught.value.code, caught.value.exit_code) == ("bad-usage", Exit.USAGE)
    assert caught.value.do == ("--name NAME --command-id ID, as they were printed, without --new",)
    assert await driver.bus.commands.waiting() == 0


async def test_a_repeat_from_another_job_without_a_name_is_refused_too() -> None:
    driver = Driver()
    await submit._submit(Stage(driver), options())
    with pytest.raises(CliError, match="this one would make a new name"):
        await submit._submit(Stage(driver, change=REPEATED), submit.SubmitOptions(of="llama"))


@pytest.mark.parametrize("given", [{"new": True}, {"name": None}], ids=["--new", "without a name"])
async def test_what_is_printed_after_exit_7_repeats_the_submit_and_makes_no_second_job(given: dict[str, Any]) -> None:
    driver = Driver()
    unanswered = Stage(driver, supervised=False)
    assert await submit._submit(unanswered, options(**given)) is Exit.UNDECIDED
    printed = re.search(r"to repeat it: --name (\S+) --command-id (\S+) \(without --new\)$", unanswered.said.strip())
    assert printed is not None
    name, command = printed.groups()
    again = Stage(driver, GlobalFlags(timeout=3.0), change=ChangeFlags(command_id=command))
    assert await submit._submit(again, options(name=name)) is Exit.DONE
    assert again.said.startswith(f"{name}  accepted #1 ")
    assert len(await driver.bus.history.read("nlp", name)) == 1


async def test_after_exit_7_the_document_says_how_to_repeat_the_submit() -> None:
    stage = Stage(Driver(), GlobalFlags(json=True, timeout=0.2), supervised=False)
    assert await submit._submit(stage, options(new=True)) is Exit.UNDECIDED
    error = json.loads(stage.said)["error"]
    assert error["do"] == [f"the same with --name {error['job']} --command-id {error['command']} (without --new)"]


async def test_the_id_of_another_jobs_submit_is_refused_with_that_job_named() -> None:
    driver = Driver()
    await submit._submit(Stage(driver, change=REPEATED), options())
    with pytest.raises(CommandIdUsedError) as caught:
        await submit._submit(Stage(driver, change=REPEATED), options(name="bert"))
    shown = told(caught.value)
    assert shown is not None
    assert shown.lines() == [
        "error: command id c-again was used for the submit of job llama, not of bert; nothing was sent",
        "  why   a command id repeats one command of one job",
        "  do    the same without --command-id",
        "        dispatch history llama --only command",
        "  code  command-id-used (exit 4)",
    ]


async def test_a_file_whose_name_has_a_space_is_printed_so_that_it_can_be_pasted(tmp_path: Path) -> None:
    file = tmp_path / "my job.yaml"
    file.write_bytes(Path(LOCAL).read_bytes())
    driver = Driver()
    await submit._submit(Stage(driver), options())
    other = Stage(driver)
    assert await submit._submit(other, options(file=str(file), settings=(*HERE, "nodes=2"))) is Exit.REFUSED
    assert f"  do    dispatch submit '{file}' --new " in other.hinted


async def test_a_bad_file_sends_nothing_and_names_every_mistake() -> None:
    driver = Driver()
    with pytest.raises(JobFileError, match="has 2 mistakes; nothing was sent"):
        await submit._submit(Stage(driver), options(settings=("nodez=1", "nodes=0")))
    assert await driver.bus.commands.waiting() == 0


async def test_a_file_of_another_tenant_is_not_sent_in_this_ones_name() -> None:
    with pytest.raises(CliError, match="the job is of tenant vision, the settings are of nlp"):
        await submit._submit(Stage(Driver()), options(settings=(*HERE, "tenant=vision")))


async def test_stdin_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"version: 1\ncluster: sim\nrun: {command: [sleep, '60']}\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    stage = Stage(Driver())
    assert await submit._submit(stage, options(file="-", settings=(), name=None)) is Exit.DONE
    assert stage.said.startswith("job-")


async def test_a_job_can_be_submitted_from_an_earlier_one_with_settings() -> None:
    driver = Driver()
    await submit._submit(Stage(driver), options())
    stage = Stage(driver)
    again = submit.SubmitOptions(of="llama", name="llama-2", settings=("nodes=2",))
    assert await submit._submit(stage, again) is Exit.DONE
    entries = await driver.bus.history.read("nlp", "llama-2")
    assert entries[0].content.event.spec.nodes == 2  # type: ignore[union-attr]
    assert entries[0].content.event.plan == driver_plan(await driver.events())  # type: ignore[union-attr]


def driver_plan(events: list[object]) -> object:
    return events[0].plan  # type: ignore[attr-defined]


async def test_a_submit_held_says_for_which_reason() -> None:
    driver = Driver()
    assert await submit._submit(Stage(driver), options(hold="look first")) is Exit.DONE
    record = await driver.read()
    assert [held.note for held in record.in_force] == ["look first"]


async def test_with_no_supervisor_it_is_stored_exit_7_and_how_to_refuse_it_is_said() -> None:
    stage = Stage(Driver(), supervised=False)
    assert await submit._submit(stage, options()) is Exit.UNDECIDED
    assert "stored; no supervisor is live" in stage.said
    assert "dispatch cancel llama --if-unknown record" in stage.hinted


async def test_a_dry_run_shows_the_plan_and_what_would_be_decided() -> None:
    driver = Driver()
    stage = Stage(driver, change=ChangeFlags(dry_run=True))
    assert await submit._submit(stage, options()) is Exit.DONE
    lines = stage.said.splitlines()
    assert re.match(r"plan: llama on sim +nothing was sent$", lines[0])
    assert lines[-1] == "  would be accepted as its first event"
    assert await driver.bus.commands.waiting() == 0
    assert not await driver.entries()


async def test_a_dry_run_of_what_would_be_refused_is_exit_4() -> None:
    driver = Driver()
    await submit._submit(Stage(driver), options())
    stage = Stage(driver, GlobalFlags(json=True, timeout=0.5), ChangeFlags(dry_run=True))
    assert await submit._submit(stage, options(settings=(*HERE, "nodes=2"))) is Exit.REFUSED
    document = json.loads(stage.said)
    assert document["data"]["verdict"]["code"] == "spec-differs"


def test_the_plan_of_the_sample_has_its_shape() -> None:
    job = read_job_file((EXAMPLES / "slurm.yaml").read_bytes(), settings=["nodes=16"])
    assert job.plan is not None
    able = Capabilities(kind="slurm", call_bound_s=412)
    assert plan_lines("llama-7b-k3f9q", job.spec, job.plan, able, width=100) == [
        "plan: llama-7b-k3f9q on hpc2 (slurm)                                                nothing was sent",
        "  launch   16 nodes × 8 ranks, created gated, opened once it is the one object of its submission",
        "  per run  24h, USR1 5m before the end, 90s to stop      never two runs: proof by cgroup or reboot",
        "  WHEN IT ENDS BY           THEN                         AT MOST  WAIT        WHEN SPENT",
        "  preempted                 resubmit                     50       1m to 30m   give-up",
        "  node-lost, launch-failed  resubmit, avoid those nodes  5        30s to 15m  hold",
        "  time-limit                resubmit                     20       30s         give-up",
        "  out-of-memory             hold for a person            -        -           -",
        "  all else                  give-up                      -        -           -",
    ]


async def test_submit_and_wait_follows_to_the_end_and_exits_as_the_job_did() -> None:
    driver = Driver()
    await submit._submit(
        Stage(driver), options(settings=(*HERE[:2], "run.command=[sh, -c, 'sleep 60; exit 3']", "recovery=[]"))
    )
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.settle()
    for flags, code in ((options(), Exit.JOB_FAILED), (options(job_exit=True), 3)):
        stage = Stage(driver)
        given = submit.SubmitOptions(
            file=flags.file, name="llama", wait=True, job_exit=flags.job_exit,
            settings=(*HERE[:2], "run.command=[sh, -c, 'sleep 60; exit 3']", "recovery=[]"),
        )  # fmt: skip
        assert await submit._submit(stage, given) == code
        assert re.search(r"^llama  FAILED  settled #\d+", stage.said, re.MULTILINE)


@pytest.mark.parametrize("given", [{"job_exit": True}, {"until": "ended"}], ids=["--job-exit", "--until"])
async def test_how_far_and_how_to_exit_are_words_of_a_wait_and_so_they_wait(given: dict[str, Any]) -> None:
    driver = Driver()
    settings = (*HERE[:2], "run.command=[sh, -c, 'sleep 60; exit 3']", "recovery=[]")
    await submit._submit(Stage(driver), options(settings=settings))
    await driver.settle()
    stage = Stage(driver)
    code = 3 if "job_exit" in given else Exit.JOB_FAILED
    assert await submit._submit(stage, options(settings=settings, **given)) == code
    assert re.search(r"^llama  FAILED  settled #\d+", stage.said, re.MULTILINE)


async def test_a_submit_that_waits_is_still_one_document_where_there_is_nothing_to_wait_for() -> None:
    driver = Driver()
    await submit._submit(Stage(driver), options())
    flags = GlobalFlags(json=True, timeout=0.3)
    refused = Stage(driver, flags)
    changed = options(settings=(*HERE, "nodes=2"), wait=True)
    assert await submit._submit(refused, changed) is Exit.REFUSED
    assert json.loads(refused.said)["error"]["code"] == "spec-differs"
    stored = Stage(Driver(), flags, supervised=False)
    assert await submit._submit(stored, options(wait=True)) is Exit.UNDECIDED
    assert json.loads(stored.said)["error"]["outcome"] == "stored"


def test_what_the_cluster_cannot_do_is_told_with_the_files_own_line() -> None:
    text = b"version: 1\ncluster: local\nnodes: 3\nrun: {command: [a]}\nrecovery:\n  - {name: a, on: [any], do: requeue, budget: 1}\n"
    job = read_job_file(text)
    with pytest.raises(JobFileError) as caught:
        check_fits(job, Capabilities(kind="local", call_bound_s=5), "a.yaml")
    assert str(caught.value).splitlines()[1:] == [
        "  line 3  nodes: local is one machine, 3 are asked for  write nodes: 1",
        "  line 6  recovery[0].do: local cannot requeue          use resubmit",
    ]
    check_fits(read_job_file(text, settings=["nodes=1", "recovery=[]"]), Capabilities(kind="local", call_bound_s=5), "")


def test_a_limit_in_seconds_is_kept_by_this_machine_and_refused_for_a_scheduler_that_counts_in_minutes() -> None:
    job = read_job_file(b"version: 1\ncluster: hpc2\nrun: {command: [a]}\ntime_limit: 30s\n")
    with pytest.raises(JobFileError) as caught:
        check_fits(job, Capabilities(kind="slurm", call_bound_s=412), "a.yaml")
    assert "line 4, time_limit: 30s is less than the 60s that this cluster keeps" in str(caught.value)
    check_fits(job, Capabilities(kind="local", call_bound_s=5, limit_min_s=1), "a.yaml")
