"""What a call to a scheduler can raise. The class says whether a retry is safe.

AdapterError
├── RefusedError         nothing was done and asking again will not help
│   └── DeadlinePassedError  it came too late: nothing was done, and a new intent may follow
├── UnreachableError     nothing was done: a new intent may follow
│   ├── SilentError      nobody answered at all: it says nothing of the one job that was asked about
│   └── PodsRemainError  an earlier execution may still run, so nothing was admitted
└── OutcomeUnknownError  no clear answer: it may have been done, or may still be

`find` raises UnreachableError when its answer would not be complete, and so does every question that a pass asks: see
`questioned`. Only `dispatch.act` and the agent may catch these; anything else an adapter raises counts as unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class AdapterError(Exception):
    """Base. The text is one sentence, fit for the history: no secret, no path of a user."""


class RefusedError(AdapterError):
    """A clear refusal: nothing was done, and the same call will be refused again."""


class DeadlinePassedError(RefusedError):
    """The call reached its host after its committed deadline (L10): nothing was done, a new intent may follow."""


class UnreachableError(AdapterError):
    """Nothing was done; the same call may be made again under a new intent."""


class SilentError(UnreachableError):
    """No answer came: nobody listens, or not in time. The cluster is silent, not only about what was asked."""


class PodsRemainError(UnreachableError):
    """Nothing was admitted: processes of an earlier execution may still run. Names them."""


class OutcomeUnknownError(AdapterError):
    """It may have been done, may still be done, or not: only a later Find can tell."""


@contextmanager
def questioned(*, refusable: bool = False) -> Iterator[None]:
    """Whatever error a question ends in is an UnreachableError: it changes nothing, so nothing was done.

    A `refusable` question, which only people ask, may be refused as well.
    """
    try:
        yield
    except UnreachableError:
        raise
    except AdapterError as error:
        if refusable and isinstance(error, RefusedError):
            raise
        raise UnreachableError(str(error)) from error
