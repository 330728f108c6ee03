"""Every `--json` document, as programs rely on it: within a schema number keys are only added and never change type.

The shapes are kept in `documents.json`. A key that went away or changed its type fails here for good; a new one is
written down with it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from dispatch.cli.cancelled import await_all
from dispatch.cli.commands import cancel, history, listing, retries, status, submit, verify, why
from dispatch.cli.documents import plain
from dispatch.cli.orders import Order, carry_out, chosen
from dispatch.cli.params import ChangeFlags, GlobalFlags
from projections.fleet import encode, entry_of
from projections.status import Around
from streams.messages.commands import HoldJob
from streams.messages.values import Phase
from tests.driver import Driver
from tests.unit.dispatch.cli.stage import EXAMPLES, Stage

KEPT = Path(__file__).parent / "documents.json"
JSON = GlobalFlags(json=True, timeout=0.5)
REASON = ChangeFlags(reason="x", yes=True)
LOCAL = submit.SubmitOptions(
    file=str(EXAMPLES / "local.yaml"), name="llama", settings=("cluster=sim", "recovery.crash.do=resubmit")
)
LOCAL_NEW = submit.SubmitOptions(file=LOCAL.file, name="llama-2", settings=LOCAL.settings)


async def driven() -> Driver:
    """A job with a hold, a retry and a run: as many parts of a document as one job can have."""
    driver = Driver()
    await driver.submit("sleep 60; exit 3", nodes=2, labels={"project": "x"})
    await driver.until(lambda d: d.phase is Phase.RUNNING)
    await driver.order(HoldJob(**driver.order_fields("c-hold"), note="look"))
    await driver.quiet()
    entry = entry_of(driver.record, Around(now=driver.at))
    await driver.bus.buckets.put_status(entry.key, encode(entry), expected=None)
    return driver


async def document(name: str) -> dict[str, Any]:
    """The document of that name, made by its command."""
    driver = await driven()
    stage = Stage(driver, JSON, ChangeFlags(reason="x", yes=True, dry_run=name in {"submit-plan", "dry-run"}))
    match name:
        case "status":
            await status._one(stage, status.StatusOptions(job="llama"), "llama")
        case "why":
            await why._why(stage, why.WhyOptions(job="llama"))
        case "history":
            await history._history(stage, history.HistoryOptions(job="llama"), None)
        case "list":
            await listing._listing(stage, listing.ListOptions())
        case "fleet":
            await status._everything(stage)
        case "verify":
            verify._judged(stage, await verify._of_bus(stage, verify.VerifyOptions(jobs=("llama",))))
        case "retries":
            await retries._set(Stage(driver, change=REASON), "sim", retries.Wanted(retries="off"))
            await retries._show(stage, None)
        case "submit-plan":
            await submit._submit(stage, LOCAL)
        case "submit":
            await submit._submit(stage, LOCAL_NEW)
        case "dry-run":
            await cancel._cancel(stage, cancel.CancelOptions(jobs=("llama",)))
        case "cancel":
            await driver.cancel()
            await driver.settle()
            async with stage.session() as session:
                await await_all(session, ["llama"], "proven")
        case "hold" | "refused":
            if name == "refused":
                await driver.cancel()
            order = Order("hold", lambda _, fields: HoldJob(**fields))
            async with stage.session() as session:
                await carry_out(session, await chosen(session, ["llama"], []), order)
        case _:
            raise AssertionError(name)
    found = json.loads(stage.said)
    assert isinstance(found, dict)
    return found


NAMES = (
    *("status", "why", "history", "list", "fleet", "verify", "retries", "submit-plan", "submit", "dry-run", "cancel"),
    *("hold", "refused"),
)


def shape(value: object) -> object:
    """What a program may rely on: keys and types. A list has the shape of its first entry."""
    match value:
        case dict():
            return {key: shape(item) for key, item in value.items()}
        case list():
            return [shape(value[0])] if value else []
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "number"
        case _:
            return "text"


def broken(kept: object, found: object, path: str = "") -> list[str]:
    """Where a program that relied on the kept shape would stumble."""
    if isinstance(kept, dict):
        if not isinstance(found, dict):
            return [f"{path}: fields became {found}"]
        gone = [f"{path}.{key}: went away" for key in kept if key not in found]
        return gone + [each for key in kept if key in found for each in broken(kept[key], found[key], f"{path}.{key}")]
    if isinstance(kept, list):
        if not isinstance(found, list):
            return [f"{path}: a list became {found}"]
        return broken(kept[0], found[0], f"{path}[]") if kept and found else []
    return [] if kept == found or "null" in (kept, found) else [f"{path}: {kept} became {found}"]


@pytest.mark.parametrize("name", NAMES)
async def test_no_key_goes_away_or_changes_its_type(name: str) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))[name]
    found = await document(name)
    assert broken(kept, shape(found)) == []
    assert kept == shape(found), f"a key was added: write the new shape of {name} into {KEPT.name}"


@pytest.mark.parametrize("name", NAMES)
async def test_a_document_has_its_schema_its_time_and_data_or_an_error(name: str) -> None:
    found = await document(name)
    number = found["schema"].removeprefix("dispatch.").partition("/")[2]
    assert number == "1"
    assert list(found)[:2] == ["schema", "at"]
    assert list(found)[2:] == ["error" if name == "refused" else "data"]


def test_times_are_rfc_3339_in_utc_with_milliseconds() -> None:
    at = datetime(2026, 11, 30, 3, 6, 34, 123456, tzinfo=timezone(timedelta(hours=1)))
    assert plain(at) == "2026-11-30T02:06:34.123Z"
    assert plain({"at": datetime(2026, 1, 1, tzinfo=UTC)}) == {"at": "2026-01-01T00:00:00.000Z"}


def test_a_list_is_a_list_when_empty_and_absent_is_null() -> None:
    assert plain(((), None, frozenset(), {})) == [[], None, [], {}]
    assert plain(float("nan")) is None


def test_what_has_no_place_in_a_document_is_refused() -> None:
    class Colour(StrEnum):
        RED = "red"

    assert plain([Colour.RED, "x", 1, True]) == ["red", "x", 1, True]
    with pytest.raises(TypeError):
        plain(object())
