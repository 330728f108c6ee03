"""The reference says what the types say."""

from __future__ import annotations

import json
import re

from scripts.reference import REFERENCE, pages, schemas
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
