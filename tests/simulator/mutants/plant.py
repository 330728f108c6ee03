"""A planted bug: a few words of the real code changed while it runs, and put back."""

from __future__ import annotations

import functools
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

import msgspec


class Edit(msgspec.Struct, frozen=True):
    """In the function at `place` (module:qualified.name), `old` becomes `new`. `old` must be there exactly once."""

    place: str
    old: str
    new: str


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """One rule removed or weakened, and the laws any of which is to be found broken.

    `shapes`: where it can break one, each in its turn. `theme`: what its runs are about, of which an ordinary run has
    one of many or none. `marked`: the rule bears the design's mark.
    """

    name: str
    rule: str
    edits: tuple[Edit, ...]
    laws: tuple[str, ...]
    shapes: tuple[str, ...] = ()
    theme: str = ""
    steps: int = 300
    marked: bool = False


def _function(place: str) -> FunctionType:
    module, _, path = place.partition(":")
    owner: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    found = inspect.getattr_static(owner, name)
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, functools.cached_property):
        found = found.func
    if isinstance(found, staticmethod):
        found = found.__func__
    if not isinstance(found, FunctionType):
        raise TypeError(f"{place} is no function")
    return found


def _code(function: FunctionType, source: str) -> CodeType:
    """The code of the changed function, in the world of the one it replaces."""
    within: dict[str, Any] = {}
    flags = "from __future__ import annotations\n"
    exec(compile(flags + source, f"<planted {function.__qualname__}>", "exec"), function.__globals__, within)  # noqa: S102  # planting is what this is for
    made = within[function.__name__]
    if isinstance(made, property):
        made = made.fget
    if isinstance(made, functools.cached_property):
        made = made.func
    code: CodeType = inspect.unwrap(made).__code__
    if code.co_freevars != function.__code__.co_freevars:
        raise TypeError(f"{function.__qualname__} closes over {function.__code__.co_freevars}")
    return code


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """The real code with this bug in it. Raises LookupError where the code no longer says what is to be changed."""
    changed: dict[str, str] = {}
    functions: dict[str, FunctionType] = {}
    for edit in mutant.edits:
        function = functions.setdefault(edit.place, _function(edit.place))
        source = changed.get(edit.place) or textwrap.dedent(inspect.getsource(function))
        if source.count(edit.old) != 1:
            raise LookupError(f"{mutant.name}: {edit.place} holds {edit.old!r} {source.count(edit.old)} times")
        changed[edit.place] = source.replace(edit.old, edit.new)
    before = {place: function.__code__ for place, function in functions.items()}
    try:
        for place, source in changed.items():
            functions[place].__code__ = _code(functions[place], source)
        yield
    finally:
        for place, code in before.items():
            functions[place].__code__ = code
