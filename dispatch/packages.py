"""Whether the packages that would be imported are dispatch's own.

Other distributions install the same import names (`adapters`, AdapterHub's; `dispatch-py`), and an installer overwrites
one with the other without a word. What follows is an ImportError far from its cause, so the program asks first.

ForeignPackageError    another distribution's package stands where one of ours should be
"""

from __future__ import annotations

import os
from importlib.machinery import PathFinder

PACKAGES = ("streams", "projections", "adapters", "dispatch")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # pathlib would add a tenth to every start
CLAIMANTS = {"adapters": ("adapters",), "dispatch": ("dispatch-py", "dispatch")}


class ForeignPackageError(ImportError):
    """One of the four packages is not ours. The text is one sentence that says which, whose, and what to do."""


def check_packages(*, root: str | os.PathLike[str] = ROOT, search: list[str] | None = None) -> None:
    """Return if each of the four packages is found beside this one and is ours; else raise ForeignPackageError.

    Nothing is imported. Ours have an empty `__init__.py`, which is how one that was overwritten is told.
    `search` stands for `sys.path`.
    """
    for name in PACKAGES:
        spec = PathFinder.find_spec(name, search)
        found = spec.origin if spec is not None else None
        ours = os.path.join(root, name, "__init__.py")
        if not found or not os.path.samefile(found, ours) or os.stat(found).st_size > 0:
            raise ForeignPackageError(_sentence(name, found, search), name=name)


def _sentence(name: str, found: str | None, search: list[str] | None) -> str:
    from importlib.metadata import distributions  # noqa: PLC0415  it costs as much as the rest of a start, and few need it

    installed = {
        distribution.name for distribution in (distributions() if search is None else distributions(path=search))
    }
    others = [claimant for claimant in CLAIMANTS.get(name, ()) if claimant in installed]
    whose = f"the distribution {others[0]!r} installs the same name" if others else "something else has the same name"
    return (
        f"the package {name!r} ({os.path.dirname(found) if found else 'a folder without __init__.py'}) is not dispatch's: {whose}; "
        "give dispatch-supervisor a virtual environment of its own and install it there again"
    )
