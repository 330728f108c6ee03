"""The reference says what the types say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from scripts.reference import REFERENCE, pages, schemas
from scripts.reference_asyncapi import document
from streams import subjects
from streams.messages.commands import VERBS
from streams.messages.reasons import RefusalCode


def test_the_reference_is_what_the_types_say_else_run_make_reference() -> None:
    for name, text in pages().items():
        path = REFERENCE / name
        assert path.read_text() == text, f"docs/reference/{name} is not as the types say: run `make reference`"


def test_every_pattern_in_a_schema_is_one_that_every_dialect_knows() -> None:
    for text in schemas().values():
        json.loads(text)
        assert "\\\\Z" not in text


def test_every_refusal_code_is_explained_with_what_to_do() -> None:
    page = (REFERENCE / "errors.md").read_text()
    explained = re.findall(r"^\| `([a-z-]+)` \| .+ \| .+ \|$", page, re.MULTILINE)
    assert sorted(explained) == sorted(RefusalCode)


def refs(value: object) -> Iterator[str]:
    """Every `$ref` in a document."""
    match value:
        case {"$ref": str(ref)}:
            yield ref
        case dict():
            for item in value.values():
                yield from refs(item)
        case list():
            for item in value:
                yield from refs(item)
        case _:
            pass


def test_every_reference_in_the_asyncapi_document_leads_somewhere() -> None:
    told = document()
    found = list(refs(told))
    assert {"schemas/command.json", "schemas/receipt.json", "schemas/event.json"} <= set(found)
    for ref in found:
        place: Any = told
        if ref.startswith("#/"):
            for step in ref.removeprefix("#/").split("/"):
                place = place[step]
        else:
            assert (REFERENCE / ref).exists(), ref


def test_every_address_in_the_asyncapi_document_is_one_that_we_read() -> None:
    filled = {
        name: channel["address"].format(tenant="nlp", actor="ana", job="llama", command="c-1")
        for name, channel in document()["channels"].items()
    }
    for verb in VERBS:
        assert subjects.parse_command(filled[f"command-{verb}"]).verb == verb
    assert subjects.parse_job(filled["history"]) == ("nlp", "llama")
    assert subjects.parse_job(filled["controls"]) == ("nlp", subjects.CONTROLS)
    assert filled["receipt"] == subjects.receipt("nlp", "c-1")
