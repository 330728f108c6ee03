"""An image that means whatever was pushed last is warned about, wherever a job file is looked at, and never refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dispatch.cli.commands import submit
from dispatch.cli.job_doctor import examine_job
from dispatch.cli.params import ChangeFlags, GlobalFlags
from dispatch.jobfile.cautions import moves
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import Stage

FILE = """\
version: 1
cluster: k8s-a
run:
  command: [torchrun, train.py]
  image: {image}
kubeflow: {{namespace: nlp, runtime: torch-gang}}
"""
LATEST, FIXED = "registry.example/bert:latest", "registry.example/bert:1.4"
SAID = "line 5: run.image: registry.example/bert:latest may be another image by the next run of this job"
DO = "name a version or a digest"


@pytest.fixture
def written(tmp_path: Path) -> str:
    file = tmp_path / "bert.yaml"
    file.write_text(FILE.format(image=LATEST))
    return str(file)


async def given(file: str, *, dry_run: bool = False, flags: GlobalFlags | None = None) -> Stage:
    """A stage on which the file was submitted."""
    stage = Stage(Driver(job="bert"), flags or GlobalFlags(timeout=0.3), ChangeFlags(dry_run=dry_run), supervised=False)
    await submit._submit(stage, submit.SubmitOptions(file=file, name="bert"))
    return stage


@pytest.mark.parametrize(
    ("image", "is_moving"),
    [
        (LATEST, True),
        ("bert", True),
        ("registry.example/bert", True),
        ("registry.example:5000/bert", True),
        ("registry.example:5000/bert:latest", True),
        (FIXED, False),
        ("registry.example:5000/bert:1.4", False),
        ("bert:latest-2026", False),
        ("registry.example/bert@sha256:" + "0" * 64, False),
        ("registry.example/bert:latest@sha256:" + "0" * 64, False),
    ],
)
def test_an_image_moves_by_the_tag_latest_or_by_having_none_and_a_digest_never_does(
    image: str, is_moving: bool
) -> None:
    assert moves(image) is is_moving


async def test_a_submit_of_a_moving_image_is_warned_about_with_its_line_and_sent(written: str) -> None:
    stage = await given(written)
    warning, where, stored = stage.hinted.splitlines()[:3]
    assert warning == f"warning: {SAID}; {DO}"
    assert where.startswith("prod · nlp @ k8s-a     submit bert (command ")
    assert stored.startswith("bert  stored on the bus")


async def test_a_dry_run_lists_the_warning_before_its_verdict_and_in_its_document(written: str) -> None:
    stage = await given(written, dry_run=True)
    assert stage.said.splitlines()[-2] == f"  warning  {SAID}; {DO}"
    document = await given(written, dry_run=True, flags=GlobalFlags(json=True, timeout=0.3))
    assert json.loads(document.said)["data"]["warnings"] == [f"{SAID}; {DO}"]


async def test_a_doctor_of_the_file_warns_too(written: str) -> None:
    warned = [each for each in await examine_job(Stage(Driver()), written) if "run.image" in each.what]
    assert [(each.level, each.what, each.do) for each in warned] == [("warn", f"{written} {SAID}", DO)]


async def test_an_image_of_a_version_is_no_reason_to_warn(tmp_path: Path) -> None:
    file = tmp_path / "bert.yaml"
    file.write_text(FILE.format(image=FIXED))
    assert "warning" not in (await given(str(file))).hinted
    dry = await given(str(file), dry_run=True, flags=GlobalFlags(json=True, timeout=0.3))
    assert json.loads(dry.said)["data"]["warnings"] == []
    assert not [each for each in await examine_job(Stage(Driver()), str(file)) if "run.image" in each.what]


async def test_an_image_without_a_tag_is_told_to_be_latest(tmp_path: Path) -> None:
    file = tmp_path / "bert.yaml"
    file.write_text(FILE.format(image="registry.example/bert"))
    assert "run.image: registry.example/bert (no tag means latest) may be another" in (await given(str(file))).hinted
