"""A run that leaves a test out is red, and says why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A tests folder with our conftest and one passing unit test."""
    for name in [name for name in sys.modules if name == "tests" or name.startswith("tests.")]:
        monkeypatch.delitem(sys.modules, name)
    pytester.makeini(
        "[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider\nasyncio_default_fixture_loop_scope = function\n"
    )
    tests = pytester.mkdir("tests")
    (tests / "conftest.py").write_text(CONFTEST.read_text())
    write(pytester, "unit", "def test_one(): pass\n")
    return pytester


def write(run: pytest.Pytester, tier: str, body: str) -> None:
    folder = run.path / "tests" / tier
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"test_{folder.name}.py").write_text(f"import pytest\n{body}")


def test_a_run_where_all_pass_is_green_and_prints_the_time_of_each_tier(run: pytest.Pytester) -> None:
    result = run.runpytest_inprocess()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*time per tier*", "unit * 1 tests *"])


@pytest.mark.parametrize(
    "body",
    [
        "def test_x(): pytest.skip('no disk')\n",
        "@pytest.mark.skip(reason='no disk')\ndef test_x(): pass\n",
        "pytest.skip('no disk', allow_module_level=True)\n",
        "@pytest.mark.xfail(reason='no disk')\ndef test_x(): assert False\n",
        "@pytest.mark.xfail(reason='no disk', strict=True)\ndef test_x(): pass\n",
        "pytest.importorskip('no_such_module', reason='no disk')\n",
    ],
    ids=["skip", "mark", "module", "xfail", "xpass", "import"],
)
def test_a_test_left_out_fails_the_run_with_its_reason(run: pytest.Pytester, body: str) -> None:
    write(run, "unit/more", body)
    result = run.runpytest_inprocess()
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*no disk*"])


def test_a_tier_excluded_by_name_is_not_even_imported_and_is_named(run: pytest.Pytester) -> None:
    write(run, "integration/slurm", "raise RuntimeError('imported')\n")
    result = run.runpytest_inprocess("--without", "slurm")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*excluded by name: slurm*", "*1 passed*"])


def test_excluding_a_tier_that_does_not_exist_is_refused(run: pytest.Pytester) -> None:
    result = run.runpytest_inprocess("--without", "slrum")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*slrum: no such tier; there are unit*"])


def test_a_missing_service_fails_the_tests_of_its_tier(run: pytest.Pytester) -> None:
    conftest = run.path / "tests" / "conftest.py"
    conftest.write_text(conftest.read_text().replace('"nats-server"', '"no-such-server"'))
    write(run, "integration/nats", "def test_x(): pass\n")
    result = run.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*tier nats needs no-such-server*--without nats*"])
