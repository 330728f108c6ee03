"""`version --schemas` has a schema of every `--json` document, and each is that of the documents that are printed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dispatch.cli.commands import history
from dispatch.cli.commands.logs import LogsOptions
from dispatch.cli.main import run
from dispatch.cli.output import show_output
from dispatch.cli.params import GlobalFlags
from dispatch.cli.schemas import schemas
from tests.unit.dispatch.cli.stage import Stage
from tests.unit.dispatch.cli.test_documents import KEPT, shape
from tests.unit.dispatch.cli.test_rank_output import ran, stage

SCHEMAS: dict[str, dict[str, Any]] = schemas()
SHAPES: dict[str, dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))
VIEW_OF = {"refused": "hold"}
SOURCES = Path(run.__code__.co_filename).parent
WORDS = {"string": "text", "integer": "number", "number": "number", "boolean": "true or false", "null": "null"}


def misfits(kind: dict[str, Any], found: object, whole: dict[str, Any], path: str = "") -> list[str]:
    """Where the shape of a document is not what the schema says, keys that it does not name among them."""
    if not {"$ref", "anyOf", "type", "enum", "const"} & set(kind):
        return []
    if "$ref" in kind:
        return misfits(whole["$defs"][kind["$ref"].rpartition("/")[2]], found, whole, path)
    if "anyOf" in kind:
        tried = [misfits(each, found, whole, path) for each in kind["anyOf"]]
        return min(tried, key=len)
    if isinstance(found, dict):
        return _of_object(kind, found, whole, path)
    if isinstance(found, list):
        if kind.get("type") != "array":
            return [f"{path}: a list"]
        return [each for item in found for each in misfits(kind.get("items", {}), item, whole, f"{path}[]")]
    expected = WORDS.get(kind.get("type", ""), "text" if {"enum", "const"} & set(kind) else "")
    return [] if found == expected else [f"{path}: {found}, the schema says {expected or kind.get('type')}"]


def _of_object(kind: dict[str, Any], found: dict[str, Any], whole: dict[str, Any], path: str) -> list[str]:
    if kind.get("type") != "object":
        return [f"{path}: an object"]
    known, more = kind.get("properties", {}), kind.get("additionalProperties", {})
    free = "properties" not in kind
    told = [f"{path}.{key}: not there" for key in kind.get("required", ()) if key not in found]
    told += [f"{path}.{key}: not in the schema" for key in found if key not in known and not free]
    for key, value in found.items():
        told += misfits(known.get(key, more), value, whole, f"{path}.{key}")
    return told


def of(document: dict[str, Any], name: str | None = None) -> list[str]:
    kind = SCHEMAS[name or str(document["schema"])]
    return misfits(kind, shape(document), kind)


@pytest.mark.parametrize("name", SHAPES)
def test_the_schema_of_a_document_is_that_of_the_shape_that_is_kept(name: str) -> None:
    kind = SCHEMAS[f"dispatch.{VIEW_OF.get(name, name)}/1"]
    assert misfits(kind, SHAPES[name], kind) == []


def test_a_key_that_is_no_longer_told_or_of_another_type_is_found() -> None:
    kind = SCHEMAS["dispatch.history/1"]
    kept = SHAPES["history"]
    assert misfits(kind, {**kept, "data": {"events": []}}, kind) == [".data.job: not there"]
    assert misfits(kind, {**kept, "data": {"job": "number", "events": []}}, kind) == [
        ".data.job: number, the schema says text"
    ]
    assert misfits(kind, {**kept, "data": {"job": "text", "events": [], "new": "text"}}, kind) == [
        ".data.new: not in the schema"
    ]


def test_every_view_that_a_command_prints_has_a_schema() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    views = set(re.findall(r'\.(?:answer|document|failed)\(\s*"([a-z-]+)"', text))
    assert {"status", "logs", "completion", "doctor-fix", "setup-permissions"} <= views
    assert {f"dispatch.{view}/1" for view in views} <= set(SCHEMAS)


def test_what_crosses_the_bus_has_its_schema_beside_the_documents() -> None:
    assert {"command", "event", "receipt", "job-spec", "recovery-plan"} <= set(SCHEMAS)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (["completion", "zsh"], "script"),
        (["doctor", "--print-fix"], "nats_server"),
        (["setup", "--print-permissions", "auditor", "--tenant", "nlp"], "permissions"),
        (["version"], "dispatch"),
        (["version", "--schemas"], "dispatch.version/1"),
        (["context", "show"], "tenant"),
    ],
)
def test_what_is_printed_without_a_bus_is_one_document_with_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("CONTEXT", "CONFIG", "NATS_URL", "NATS_CREDS", "DEFAULT_TENANT", "DEFAULT_CLUSTER"):
        monkeypatch.delenv(f"DISPATCH_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run(words) == 0
    told = capsys.readouterr().out
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert of(document) == []
    assert document["data"][key]
    if key in {"script", "nats_server", "permissions"}:
        assert document["data"][key] == told.removesuffix("\n")


@pytest.mark.parametrize("words", [["logs", "llama"], ["list"], ["completion", "tcsh"]])
def test_an_error_is_a_document_of_its_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([*words, "--json", "--context", "nobody"]) == 2
    assert of(json.loads(capsys.readouterr().out)) == []


async def test_the_output_of_ranks_and_the_lines_of_streams_are_as_their_schemas_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = await ran()
    shown, _ = stage(monkeypatch, driver, b"a\n")
    await show_output(shown, LogsOptions(job="llama"))
    assert of(json.loads(shown.said)) == []
    shown, _ = stage(monkeypatch, driver, b"a\n")
    await show_output(shown, LogsOptions(job="llama", follow=True))
    assert [each for line in shown.said.splitlines() for each in of(json.loads(line), "stream-output")] == []
    told = Stage(driver, GlobalFlags(json=True))
    await history._history(told, history.HistoryOptions(job="llama", follow=True, full=True), None)
    assert [each for line in told.said.splitlines() for each in of(json.loads(line), "stream-events")] == []
