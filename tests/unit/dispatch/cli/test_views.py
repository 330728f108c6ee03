"""What a person sees of one job, made by the real passes: shape and columns, at 80 and 100 columns.

The same text on a terminal and in a pipe, but for colour and cuts.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from dispatch.cli.columns import cells
from dispatch.cli.views.frame import short_id
from dispatch.cli.views.status import status_lines
from dispatch.cli.views.why import answer, why_lines
from projections.status import Around
from streams.messages.calls import Inspection
from streams.messages.commands import HoldJob
from tests.driver import Driver
from tests.unit.dispatch.cli.scenes import (
    SCENES,
    cancelled,
    cancelling,
    held,
    node_lost,
    queued,
    running,
    stuck,
    succeeded,
)
from tests.unit.dispatch.cli.stage import frame


def shown(driver: Driver, width: int | None = None) -> list[str]:
    seen = frame(driver, width=width)
    return status_lines(seen, seen.status())


def labels(lines: list[str]) -> list[str]:
    """The word that leads each line, where one does."""
    return [match[1].strip() for line in lines if (match := re.match(r"^((?:[A-Z/]+ ?)+|  [a-z]+(?: [a-z]+)?)", line))]


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("width", [80, 100])
async def test_every_line_fits_but_for_lines_to_paste(scene: str, width: int) -> None:
    driver = await SCENES[scene]()
    for line in shown(driver, width):
        assert cells(line) <= width or "dispatch " in line, line


@pytest.mark.parametrize("scene", SCENES)
async def test_a_pipe_shows_the_same_text_uncut(scene: str) -> None:
    driver = await SCENES[scene]()
    cut, whole = " ".join(shown(driver, 80)).split(), " ".join(shown(driver)).split()
    assert "…" not in " ".join(whole).replace('"…"', "")
    lost = [word for word in cut if word not in whole and not word.endswith("…")]
    assert lost == []


@pytest.mark.parametrize("scene", SCENES)
async def test_the_first_line_says_the_state_and_whether_a_person_is_needed(scene: str) -> None:
    driver = await SCENES[scene]()
    seen = frame(driver)
    told = seen.status()
    first = status_lines(seen, told)[0]
    assert first.startswith(f"llama  {told.state.value.upper()}  ")
    assert ("NEEDS A PERSON" in first) is told.needs_person
    assert first.rstrip().endswith("nlp @ sim")


@pytest.mark.parametrize("scene", SCENES)
async def test_the_second_line_says_of_which_event_and_how_old_the_schedulers_word_is(scene: str) -> None:
    driver = await SCENES[scene]()
    assert re.match(
        r"as of #\d+ · sim (read \S+ ago|never read) · (sv-a live · )?\d\d:\d\d:\d\d UTC · submitted \S+ by ana$",
        shown(driver, 100)[1],
    )


async def test_a_wait_has_its_five_parts() -> None:
    lines = shown(await node_lost(), 100)
    five = ["WAITS FOR", "since", "because", "ends", "you can", "costs"]
    assert labels(lines) == [*five, "SUB/ATT", "EXECUTION", "BUDGETS", "HOLDS", "CALLS"]
    text = "\n".join(lines)
    assert "WAITS FOR  proof that 1.0 is dead on n1, before submission 2 may start" in text
    assert "needs a person" in text
    assert 'dispatch attest n1 --job llama --is off --reason "…"' in text
    assert "costs    0 GPUs held; 1 gated object in the queue" in text


async def test_the_tables_have_the_promised_columns() -> None:
    text = "\n".join(shown(await node_lost(), 100))
    assert re.search(r"^SUB/ATT +OBJECT +ROLE +STATE +SINCE +CAUSE / NOTE$", text, re.MULTILINE)
    assert re.search(r"^1/1 +1 +canonical +ended +\S+ +node-lost: n1", text, re.MULTILINE)
    assert re.search(r"^EXECUTION +EPOCH +OBJECT +STARTED +RAN +NODES +ENDED BY +PROCESSES$", text, re.MULTILINE)
    assert re.search(r"^1\.0 +1000000 +1 +\S+ +1h +n1-n2 +node-lost +may be alive on n1$", text, re.MULTILINE)
    assert re.search(r"^BUDGETS  preempted 0/50 · bad-node 1/5 \(next wait 0s\) +AVOIDS n1$", text, re.MULTILINE)
    assert re.search(
        r"^HOLDS    person 0 · rule 0 · admin 0 · launch-failed 0 +GATE shut \(dispatch's own, no hold\)$",
        text,
        re.MULTILINE,
    )
    assert re.search(
        r"^CALLS    none in flight +CANCEL not asked +SETTLED no, \d+ of 10 clauses: see why$", text, re.MULTILINE
    )


async def test_a_hold_names_who_when_and_why() -> None:
    text = "\n".join(shown(await held(), 100))
    assert re.search(r"^HOLDS    person 1 · rule 0", text, re.MULTILINE)
    assert re.search(r'person: ana 00:00:00 "debugging", .*\(instance c-submit\)$', text, re.MULTILINE)


async def test_a_cancel_tells_how_far_it_got() -> None:
    before = "\n".join(shown(await cancelling(), 100))
    assert re.search(r'^CANCEL   asked \S+ ana "wrong data mix" → committed #\d+ \S+$', before, re.MULTILINE)
    assert "clean-up incomplete: " in before
    after = " ".join("\n".join(shown(await cancelled())).split())
    assert re.search(r"→ committed #\d+ \S+ → stopped #\d+ \S+ complete #\d+ \S+$", after)


async def test_a_finished_job_is_told_in_its_first_line() -> None:
    first = shown(await succeeded(), 100)[0]
    assert re.match(r"llama  SUCCEEDED  settled #\d+ · ran 1m\d*s? ?in 1 execution · 0 GPU-hours +nlp @ sim$", first)


async def test_a_stuck_job_names_its_attempts_and_the_line_that_gives_them_up() -> None:
    text = "\n".join(shown(await stuck(), 100))
    assert "stuck!" in text
    assert "dispatch dispose llama --attempt 1/1 --as gone" in text
    assert len(re.findall(r"^1/[123] +- +- +unknown", text, re.MULTILINE)) == 3


async def test_colour_changes_nothing_but_colour() -> None:
    driver = await node_lost()
    plain, painted = frame(driver, width=100), frame(driver, width=100, colour=True)
    bare = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in status_lines(painted, painted.status())]
    assert bare == status_lines(plain, plain.status())


async def test_an_escape_sequence_in_a_reason_is_shown_harmless() -> None:
    driver = Driver()
    await driver.submit()
    order = HoldJob(**driver.order_fields("c-h"), note="x\x1b[2Jy")
    await driver.order(order)
    assert not any("\x1b" in line for line in shown(driver))


async def test_no_live_supervisor_is_said_beside_the_time() -> None:
    driver = await running()
    seen = frame(driver)
    alone = type(seen)(seen.record, Around(now=driver.at, attended=False), seen.screen, seen.times, ())
    lines = status_lines(alone, alone.status())
    assert "UNATTENDED: no supervisor is live" in lines[1]
    assert "unattended" in lines[0]


# why


def asked(driver: Driver, width: int | None = 100, *, everything: bool = False, **around: Any) -> list[str]:
    seen = frame(driver, width=width, **around)
    return why_lines(seen, answer(seen), everything=everything)


async def test_why_names_the_condition_that_stops_the_next_step() -> None:
    lines = asked(await node_lost())
    assert re.match(r"next step: open submission 2 \(2\) +blocked by 1 of \d+ conditions$", lines[0])
    assert "  yes  one object is canonical" in lines
    blocked = next(line for line in lines if line.startswith("  NO   their processes are gone"))
    assert "(L4)" in blocked
    assert "1.0 may be alive on n1" in blocked
    assert any(line.strip().startswith("ends by: n1 reboots") for line in lines)
    assert any(line.startswith("if submission 2 ends now: preempted has 50 of 50 left") for line in lines)
    assert any(re.match(r"settled: \d+ of 10 clauses hold$", line) for line in lines)


async def test_why_of_a_queued_job_tells_the_nature_of_its_wait_when_the_cluster_was_asked() -> None:
    driver = await queued()
    asked_now = Inspection(
        pending_reason="AssocGrpGRES", position=12, estimated_start_at=driver.at + timedelta(hours=2)
    )
    lines = asked(driver, inspections=((driver.ref, asked_now),), capabilities=await driver.capabilities())
    assert re.match(r"queued 4h10m on sim: AssocGrpGRES +when others end$", lines[0])
    assert any("place 12 in the queue" in line for line in lines)


async def test_why_of_a_settled_job_says_so() -> None:
    assert asked(await succeeded())[0].startswith("llama is settled #")


async def test_why_with_all_tells_what_holds_line_by_line() -> None:
    lines = asked(await running(), everything=True)
    assert "  yes  no foreign object is undisposed" in lines


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("width", [80, 100])
async def test_every_line_of_why_fits_but_for_names_that_are_longer(scene: str, width: int) -> None:
    for line in asked(await SCENES[scene](), width):
        assert cells(line) <= width or line.startswith(("  NO", " " * 8)) or "dispatch " in line, line


@pytest.mark.parametrize(
    ("job", "object_id", "short"),
    [
        ("toy", "toy-949db5c12d3c.1.1.0db019fb", "1.1.0db019fb"),
        ("toy", "88213", "88213"),
        ("toy", "other-949db5c12d3c.1.1.0db019fb", "other-949db5c12d3c.1.1.0db019fb"),
        ("toy", "ns/toy-s1a1", "ns/toy-s1a1"),
    ],
)
def test_an_object_is_named_without_what_repeats_the_jobs_own_name(job: str, object_id: str, short: str) -> None:
    assert short_id(job, object_id) == short
