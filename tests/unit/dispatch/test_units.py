from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.units import elapsed, exact_duration, exact_size, parse_duration, parse_size, whole_number


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("24h", 86400),
        ("1h30m", 5400),
        ("2d04h", 187200),
        ("250ms", Decimal("0.25")),
        ("1m250ms", Decimal("60.25")),
        ("1.5h", 5400),
        ("0s", 0),
    ],
)
def test_a_duration_is_the_sum_of_its_parts(text: str, seconds: Decimal) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["24", "0", "1.5"])
def test_a_number_without_a_unit_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=f"^{text} has no unit$"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["", "h", "5x", "-5m", "5m 3s", "30s1h", "1h1h", "٣s", "1e3s", "5min", "1_000s"])
def test_what_is_no_duration_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("900G", 900 * 10**9),
        ("1M", 10**6),
        ("64T", 64 * 10**12),
        ("2Gi", 2**31),
        ("1.5G", 15 * 10**8),
        ("5GB", 5 * 10**9),
    ],
)
def test_sizes_are_powers_of_1000_and_with_an_i_of_1024(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["G", "5 G", "5g", "-1G", "5P", ""])
def test_what_is_no_size_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@given(st.integers(min_value=0, max_value=10**8))
def test_a_duration_written_exactly_reads_back_as_itself(seconds: int) -> None:
    assert parse_duration(exact_duration(seconds)) == seconds


@given(st.integers(min_value=1, max_value=10**6), st.sampled_from(["K", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]))
def test_a_size_written_exactly_reads_back_as_itself(number: int, unit: str) -> None:
    size = parse_size(f"{number}{unit}")
    assert parse_size(exact_size(size)) == size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (86400, "24h"),
        (172800, "48h"),
        (259200, "3d"),
        (300, "5m"),
        (90, "90s"),
        (30, "30s"),
        (5400, "90m"),
        (5430, "1h30m30s"),
    ],
)
def test_a_setting_is_written_as_a_person_would(seconds: int, text: str) -> None:
    assert exact_duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (8, "8s"),
        (1231, "20m31s"),
        (840, "14m"),
        (12600, "3h30m"),
        (7440, "2h04m"),
        (187200, "2d04h"),
        (-3, "0s"),
        (59.9, "59s"),
    ],
)
def test_elapsed_time_has_two_units_at_most(seconds: float, text: str) -> None:
    assert elapsed(seconds) == text


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_a_whole_number_is_made_of_digits(text: str, number: int) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", "²", "٣", "-1", "+1", "1\n", " 1", "1_000", "1.0", "9" * 19])
def test_what_int_would_take_or_stumble_over_is_no_whole_number(text: str) -> None:
    assert whole_number(text) is None
