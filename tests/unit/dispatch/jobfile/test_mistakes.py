"""Every mistake is told with its field, its line and what to do, and all of them at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.jobfile import JobFile, JobFileError, read_job_file
from dispatch.jobfile.kinds import every_path
from streams.messages.checks import spec_faults

LEAST = "version: 1\ncluster: local\nrun: {command: [true]}\n"
RUN = "version: 1\ncluster: local\n"
TRANSCRIPT = (Path(__file__).parent / "mistakes.txt").read_text(encoding="utf-8")
CASES = [tuple(block.rstrip("\n").split("\n> ")) for block in TRANSCRIPT.split("\n\n") if "\n> " in block]


def read(text: str, *sets: str) -> JobFile:
    return read_job_file(text.encode(), source="llama.yaml", settings=sets)


def told(text: str, *sets: str) -> str:
    with pytest.raises(JobFileError) as caught:
        read(text, *sets)
    return str(caught.value)


@pytest.mark.parametrize(("written", "says"), CASES, ids=[case[1].split(":")[0] for case in CASES])
def test_a_mistake_names_its_field_its_line_and_what_to_do(written: str, says: str) -> None:
    assert told(f"{LEAST}{written}\n") == f"llama.yaml {says} (exit 2)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("cluster: a\nrun: {command: [a]}", "line 1, version: missing; write version: 1"),
        ("version: 2\ncluster: a\nrun: {command: [a]}", "line 1, version: 2 is out of bounds; only 1"),
        ("version: 1\nrun: {command: [a]}", "line 1, cluster: missing; name one, or give --cluster"),
        ("version: 1\ncluster: a", "line 1, run: missing; write run: {command: [ … ]}"),
        (RUN + "run: {}", "line 3, run: give exactly one of run.command and run.script"),
        (RUN + "run: {command: [a], script: b}", "line 3, run: give exactly one of run.command and run.script"),
        (RUN + "run: {command: []}", "line 3, run.command: must begin with the program to run"),
        (RUN + "run: {command: python x.py}", "line 3, run.command: must be a list; write [python x.py]"),
        ("[1, 2]", "line 1: must be fields (version, name, tenant, cluster, …)"),
        ("just text", "line 1: must be fields (version, name, tenant, cluster, …)"),
        ("version: 1\nversion: 1", "line 2: version: the key is there twice (first in line 1)"),
        ("", ": the file is empty"),
    ],
)
def test_what_every_job_needs_is_missed_in_words(text: str, says: str) -> None:
    assert told(text) == f"llama.yaml {says} (exit 2)".replace(" :", ":")


def test_the_mistakes_of_a_file_are_told_all_at_once() -> None:
    text = """\
version: 1
name: llama-7b
cluster: hpc1
labels: {}
nods: 8

ranks_per_node: 8
time_limit: 24
run: {command: [a]}
stop_grace: 90s
env:
  DISPATCH_JOB: x
"""
    assert told(text, "nodez=3").splitlines() == [
        "llama.yaml has 4 mistakes; nothing was sent (exit 2)",
        "  line  5  nods: unknown field                      did you mean nodes?",
        "  line  8  time_limit: 24 has no unit               write 24h",
        "  line 12  env.DISPATCH_JOB: reserved for dispatch  choose another name",
        "  --set    nodez: unknown field                     did you mean nodes?",
    ]


def test_a_mistake_of_the_cluster_stands_where_the_field_was_written() -> None:
    job = read(LEAST + "recovery:\n  - {name: a, on: [any], do: requeue, budget: 1}\n")
    mistake = job.mistake("recovery[0].do", "hpc1 cannot requeue", "use resubmit (local and hpc2 can requeue)")
    assert str(JobFileError("llama.yaml", [mistake])) == (
        "llama.yaml line 5, recovery[0].do: hpc1 cannot requeue; use resubmit (local and hpc2 can requeue) (exit 2)"
    )


def test_many_mistakes_end_in_a_count() -> None:
    lines = told(LEAST + "".join(f"x{number}: 1\n" for number in range(30))).splitlines()
    assert lines[0].startswith("llama.yaml has 30 mistakes")
    assert lines[-1] == "  and 10 more"


@pytest.mark.parametrize("directive", ["--hold", "--array=1-3", "-J other", "--requeue", "--clusters=x"])
def test_a_script_may_not_touch_what_dispatch_owns(directive: str) -> None:
    text = RUN + f"run:\n  script: |\n    #!/bin/sh\n    #SBATCH {directive}\n    srun x\n"
    assert told(text).startswith("llama.yaml line 4, run.script: line 2: ")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["1h", "off", "any", "x", "9G", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "on", "do", "command", "first", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from([path for path in every_path() if "." not in path])


@given(st.dictionaries(NAMES, VALUES, max_size=8))
@settings(max_examples=300)
def test_any_values_in_any_fields_are_a_job_or_mistakes_with_words(wire: dict[str, object]) -> None:
    text = json.dumps(wire)
    try:
        job = read(text)
    except JobFileError:
        assert told(text).startswith("llama.yaml")
    else:
        assert spec_faults(job.spec, job.plan) == ()
