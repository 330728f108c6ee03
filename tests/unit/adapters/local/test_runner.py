"""A runner starts with every run, so it starts with little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[4]
HEAVY = {"asyncio", "dataclasses", "inspect", "logging", "pathlib", "socket", "subprocess", "tempfile", "typing"}


def test_a_runner_needs_the_standard_library_alone_and_little_of_it() -> None:
    code = "import sys; sys.path.append(sys.argv[1]); import adapters.local.runner; print(*(m for m in sys.modules if m[0] != '_'))"
    argv = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    loaded = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    packages = {name.split(".")[0] for name in loaded}
    assert packages - {"adapters"} <= sys.stdlib_module_names
    assert packages & HEAVY == set()
