"""The rules of a test run: tiers by folder, a missing service fails, a skip fails.

A tier is a folder under `tests/` (under `tests/integration/` the folder below it). `--without TIER` excludes one by
name; nothing else may leave a test out. See `tests/README.md`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import settings

pytest_plugins = ["pytester"]

TESTS = Path(__file__).parent

# Programs without which a tier cannot keep its promises. A missing one is a failure, never a skip.
SERVICES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("conformance", "nats", "kills", "promises", "acceptance"), ("nats-server",)),
    "compose": ("docker", "mmdebstrap"),
    "services": ("nats-server", "nats", "node"),
}

EXCLUDED = pytest.StashKey[frozenset[str]]()
SECONDS = pytest.StashKey[dict[str, list[float]]]()

# No deadline: how long an example takes is the machine's matter, not a promise.
settings.register_profile("dispatch", deadline=None, print_blob=True)
settings.load_profile("dispatch")


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    """A command that serves sets up its log, on this test's own stderr: the next test must not inherit that."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def tier_of(path: Path) -> str | None:
    """The tier that a file or folder belongs to; None for `tests/` itself and what is outside of it."""
    if not path.is_relative_to(TESTS):
        return None
    parts = path.relative_to(TESTS).parts
    if parts[:1] == ("integration",):
        parts = parts[1:]
    if not parts or parts[0].endswith(".py"):
        return None
    return parts[0]


def tiers() -> frozenset[str]:
    """Every tier there is: a folder with tests in it."""
    folders = [*TESTS.iterdir(), *(TESTS / "integration").glob("*")]
    return frozenset(tier for folder in folders if any(folder.rglob("test_*.py")) and (tier := tier_of(folder)))


def missing_services(tier: str | None) -> tuple[str, ...]:
    """The programs that the tier needs and this machine lacks."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return tuple(name for name in SERVICES.get(tier or "", ()) if shutil.which(name, path=path) is None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without", action="append", default=[], metavar="TIER", help="exclude a tier by its name")


def pytest_configure(config: pytest.Config) -> None:
    excluded = frozenset(config.getoption("--without"))
    if unknown := excluded - tiers():
        raise pytest.UsageError(
            f"--without {' '.join(sorted(unknown))}: no such tier; there are {', '.join(sorted(tiers()))}"
        )
    config.stash[EXCLUDED] = excluded
    config.stash[SECONDS] = defaultdict(lambda: [0.0, 0.0])


def pytest_report_header(config: pytest.Config) -> str | None:
    excluded = config.stash[EXCLUDED]
    return f"tiers excluded by name: {', '.join(sorted(excluded))}" if excluded else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return True if tier_of(collection_path) in config.stash[EXCLUDED] else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    tier = tier_of(item.path)
    if missing := missing_services(tier):
        pytest.fail(
            f"tier {tier} needs {', '.join(missing)}: install it, or exclude the tier by name: --without {tier}",
            pytrace=False,
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    took = item.config.stash[SECONDS][tier_of(item.path) or "tests"]
    took[0] += report.duration
    took[1] += report.when == "call"
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"left out ({reason_of(report)}): a test that does not run keeps no promise; exclude its tier by name or mend it"
        if hasattr(report, "wasxfail"):
            del report.wasxfail
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.outcome == "skipped":
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} left out ({reason_of(report)}): exclude its tier by name or mend it"
    return report


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why a test was skipped or expected to fail, as its author wrote it."""
    if hasattr(report, "wasxfail"):
        return f"xfail {report.wasxfail}".strip()
    return str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    seconds = config.stash[SECONDS]
    if seconds:
        terminalreporter.section("time per tier")
        for tier, (took_s, count) in sorted(seconds.items()):
            terminalreporter.line(f"{tier:<14}{count:>6.0f} tests  {took_s:>7.1f} s")
