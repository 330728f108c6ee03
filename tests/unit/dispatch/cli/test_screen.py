"""What reaches a screen: no control characters of others, ASCII where the locale needs it, colour as asked."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.cli.columns import cells, cut, flush, table, wrap_items
from dispatch.cli.screen import Screen, clean, printable


def screen(**given_: bool) -> Screen:
    return Screen(io.StringIO(), io.StringIO(), **given_)


def test_an_escape_sequence_in_somebodys_words_never_reaches_a_terminal() -> None:
    assert printable("a\x1b[2Jb\x07\x7f", unicode=True, colour=False) == "a?[2Jb??"
    assert clean("a\x1b[2J\nb\u202e") == "a [2J b "


def test_colour_is_never_the_only_sign_and_off_unless_asked() -> None:
    assert screen().paint("FAIL", "red") == "FAIL"
    assert screen(colour=True).paint("FAIL", "red", "bold") == "\x1b[31;1mFAIL\x1b[0m"


def test_a_locale_without_utf8_gets_ascii_signs() -> None:
    shown = Screen(out := io.StringIO(), io.StringIO(), unicode=False)
    shown.say("1 × 2 · “a” → b… ≤ 日")
    assert out.getvalue() == '1 x 2 - "a" -> b... <= ?\n'


def test_hints_are_silent_with_quiet_and_complaints_never() -> None:
    quiet = Screen(io.StringIO(), err := io.StringIO(), quiet=True)
    quiet.hint("next: …")
    quiet.complain("error: x")
    assert err.getvalue() == "error: x\n"


def test_only_the_free_column_is_cut_and_nothing_without_a_width() -> None:
    rows = [["JOB", "WAITS FOR", "NODES"], ["llama-7b", "proof that submission 1 is dead on n17", "8"]]
    assert table(rows, free=1, width=40, right=frozenset({2})) == [
        "JOB       WAITS FOR                NODES",
        "llama-7b  proof that submission …      8",
    ]
    assert table(rows, free=1, width=None)[1] == "llama-7b  proof that submission 1 is dead on n17  8"


def test_no_column_but_the_free_one_is_ever_cut() -> None:
    assert table([["x" * 90, "free text here", "y" * 20]], free=1, width=80)[0].startswith("x" * 90 + "  ")


@given(st.text(max_size=30), st.integers(1, 20))
def test_a_cut_text_fits_and_says_that_it_was_cut(text: str, width: int) -> None:
    short = cut(text, width)
    assert short == text or (cells(short) <= width and short.endswith("…"))


def test_wide_signs_count_twice() -> None:
    assert cells("日本") == 4
    assert table([["日本", "a"], ["abcd", "b"]], free=1, width=None) == ["日本  a", "abcd  b"]


def test_what_stands_at_the_end_of_a_line_never_touches_its_beginning() -> None:
    assert flush("abc", "def", 20) == "abc" + " " * 14 + "def"
    assert flush("a" * 30, "def", 20) == "a" * 30 + "  def"
    assert flush("abc", "", 20) == "abc"


def test_items_that_do_not_fit_go_below_their_label() -> None:
    assert wrap_items("ends  ", ["one", "two", "three"], 16) == ["ends  one · two", "      three"]


@pytest.mark.parametrize("width", [80, 100, None])
def test_every_line_of_a_table_fits(width: int | None) -> None:
    rows = [[f"job-{number}", "running", "x" * number] for number in range(1, 120)]
    lines = table(rows, free=2, width=width)
    assert width is None or max(map(cells, lines)) <= width
