"""What a checker raises."""

from __future__ import annotations


class LawBroken(Exception):  # noqa: N818  # it is a finding, not an error of the program that raises it
    """A law does not hold. `law` is its number; the text says what was seen."""

    def __init__(self, law: str, what: str) -> None:
        super().__init__(f"{law}: {what}")
        self.law = law
        self.what = what
