"""A test waits for a condition, not for a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.tidy.sources import Source, none_of, planted, sources

SLEEPS = frozenset({"time.sleep", "asyncio.sleep", "anyio.sleep", "sleep"})


def sleeps(source: Source) -> Iterator[str]:
    """Sleeps of a set time; `sleep(0)` only lets others run."""
    for node in source.nodes:
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in SLEEPS or not node.args:
            continue
        length = node.args[0]
        fixed = isinstance(length, ast.Constant) and length.value != 0
        if fixed and not source.says(node, "waits"):
            yield source.at(node, "sleeps for a set time: await the condition, or say why not with `# waits: <reason>`")


def test_no_test_sleeps_where_a_condition_can_be_awaited() -> None:
    none_of(finding for source in sources("tests") for finding in sleeps(source))


def test_the_rule_finds_a_sleep_without_a_reason() -> None:
    text = (
        "await asyncio.sleep(0.1)\ntime.sleep(2)  # waits: the lease itself is under test\nsleep(0)\ntime.sleep(step)\n"
    )
    assert [finding.split(":")[1] for finding in sleeps(planted(text))] == ["1"]
