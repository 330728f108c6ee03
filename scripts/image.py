"""Build the dispatch image: `python -m scripts.image TAG BASE`. Needs Docker, and a checkout that `make setup` made ready.

The image holds this checkout's wheel and what it needs, nothing else: of requirements.lock those packages alone that
the distribution asks for, each download checked against its hash. The build itself fetches no Python package, and BASE
must therefore bring the Python that runs this.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^(?P<name>[A-Za-z0-9_.\-]+)(?:\[[^\]]*\])?==.*?(?=^[A-Za-z0-9]|\Z)", re.MULTILINE | re.DOTALL)


def needed() -> frozenset[NormalizedName]:
    """The names of every package that dispatch needs where this runs, found from what is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [Requirement(text) for text in project["dependencies"]]
    found: set[NormalizedName] = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found and not wanted.extras:
            continue
        found.add(name)
        asked = map(Requirement, metadata.requires(name) or ())
        waiting += [each for each in asked if _applies(each, wanted.extras or {""})]
    return frozenset(found)


def _applies(wanted: Requirement, extras: set[str]) -> bool:
    return wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in extras)


def locked(names: frozenset[NormalizedName], lock: str) -> str:
    """The lines of the lock file for these packages. Raises KeyError, naming those that it lacks."""
    blocks = {canonicalize_name(block["name"]): block.group() for block in BLOCK.finditer(lock)}
    if missing := names - blocks.keys():
        raise KeyError(f"requirements.lock lacks {', '.join(sorted(missing))}: make lock")
    return "".join(blocks[name] for name in sorted(names))


def gather(context: Path) -> None:
    """Fill the folder that is given to Docker: Dockerfile and wheels."""
    wheels = context / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    wheels.mkdir(parents=True)
    shutil.copy(ROOT / "deploy" / "compose" / "Dockerfile", context)
    (context / "requirements.txt").write_text(locked(needed(), (ROOT / "requirements.lock").read_text()))
    python = sys.executable
    pip = [python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels)]
    subprocess.run([*pip, "--require-hashes", "-r", str(context / "requirements.txt")], check=True)
    build = [python, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels), str(ROOT)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Gather, then build under the given tag."""
    tag, base = sys.argv[1:]
    context = ROOT / "dist" / "image"
    gather(context)
    build = ["docker", "build", "--quiet", "--build-arg", f"BASE={base}", "--tag", tag, str(context)]
    subprocess.run(build, check=True)


if __name__ == "__main__":
    main()
