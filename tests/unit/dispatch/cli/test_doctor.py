from __future__ import annotations

from pathlib import Path

import pytest

from adapters.local.calls import CAPABILITIES
from dispatch.cli.errors import CliError
from dispatch.cli.job_doctor import examine_job, fits
from dispatch.jobfile import read_job_file
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage

GOOD = "version: 1\ncluster: sim\nranks_per_node: 2\nrun: {command: [python3, train.py]}\n"


async def test_a_job_file_with_mistakes_is_told_a_finding_each_and_no_bus_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("version: 1\ncluster: sim\nnods: 2\ntime_limit: 24\nrun: {command: [python3]}\n")
    stage = Stage(Driver())
    findings = await examine_job(stage, str(file))
    assert [each.level for each in findings] == ["FAIL", "FAIL"]
    assert [each.what for each in findings] == [
        f"{file} line 3: nods: unknown field",
        f"{file} line 4: time_limit: 24 has no unit",
    ]
    assert findings[0].do == "did you mean nodes?"


async def test_a_good_job_file_is_told_what_a_submit_would_come_to_and_nothing_is_sent(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(GOOD + "name: fresh\n")
    stage = Stage(Driver())
    size, cluster, decision = await examine_job(stage, str(file))
    assert (size.level, size.what) == ("ok", f"{file}: 2 ranks, default recovery rules on sim")
    assert (cluster.level, cluster.do) == ("warn", "dispatch doctor sim")
    assert (decision.level, decision.what) == (
        "ok",
        "a submit would be accepted as its first event under the name fresh",
    )
    assert await stage.driver.bus.history.read("nlp", "fresh") == ()


async def test_a_job_of_another_tenant_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(GOOD + "tenant: vision\n")
    findings = await examine_job(Stage(Driver()), str(file))
    (wrong,) = [each for each in findings if each.level == "FAIL"]
    assert wrong.what == "the job is of tenant vision, the settings are of nlp"


def test_what_the_cluster_cannot_do_is_told_with_its_line() -> None:
    job = read_job_file(b"version: 1\ncluster: local\nnodes: 2\nrun: {command: [python3]}\n")
    (wrong,) = fits(job, CAPABILITIES, "job.yaml")
    assert (wrong.level, wrong.what) == ("FAIL", "job.yaml line 3: nodes: local is one machine, 2 are asked for")
    assert wrong.do == "write nodes: 1"


async def test_a_file_that_is_not_there_is_an_error_of_use(tmp_path: Path) -> None:
    with pytest.raises(CliError, match="cannot be read"):
        await examine_job(Stage(Driver()), str(tmp_path / "none.yaml"))
