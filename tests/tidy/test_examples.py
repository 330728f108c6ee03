"""What a document or an example shows works as it stands: messages decode, job files are read without a mistake."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dispatch.jobfile import read_job_file
from examples.demo import CRASH_AT, LONG, TRAIN, Demo
from streams import codec, subjects
from tests.tidy.sources import ROOT, files
from tests.tidy.test_documents import documents

MINIMAL = "version: 1\ncluster: local\nrun: {command: [python3, train.py]}\n"


def blocks(language: str) -> list[Any]:
    """Every fenced block of that language in every document, named by its place."""
    found = []
    for document in documents():
        text = document.read_text()
        for match in re.finditer(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start()) + 1
            found.append(pytest.param(match.group(1), id=f"{document.relative_to(ROOT)}:{line}"))
    return found


@pytest.mark.parametrize("text", blocks("json"))
def test_every_message_in_a_document_is_one_that_the_codec_reads(text: str) -> None:
    wire = json.loads(text)
    subject = subjects.command(wire["tenant"], "ana", wire["verb"], wire["job"])
    assert codec.decode_command(subject, text.encode()).command == wire["command"]


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_job_file_in_a_document_is_read_without_a_mistake(text: str) -> None:
    whole = text if text.startswith("version") else MINIMAL + text
    assert read_job_file(whole.encode(), source="job.yaml").spec.cluster


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.name) for path in files("examples", endings=(".yaml", ".yml"))]
)
def test_every_example_is_read_without_a_mistake(path: Path) -> None:
    assert read_job_file(path.read_bytes(), source=path.name).spec.cluster


@pytest.mark.parametrize("text", blocks("python"))
def test_every_program_in_a_document_compiles(text: str) -> None:
    compile(text, "document", "exec")


@pytest.mark.parametrize("text", [TRAIN, LONG])
def test_every_job_file_of_the_demo_is_read_without_a_mistake(text: str, tmp_path: Path) -> None:
    path = tmp_path / Demo(tmp_path).job_file("job", text)
    command = read_job_file(path.read_bytes(), source=path.name).spec.run.command or ()
    assert ("--crash-at" in command) is (text is TRAIN)
    assert str(CRASH_AT) in command or text is LONG
