"""What a benchmark tells: a figure and the parts that it was made from agree."""

from __future__ import annotations

from bench.figure import Figure, Turns, in_turns


def test_a_figure_is_the_quotient_of_the_parts_that_stand_beside_it() -> None:
    odd = Turns([(3.0, 1.0), (8.0, 4.0), (1.0, 1.0)])
    assert (odd.ours_s, odd.bare_s, odd.ratio) == (8.0, 4.0, 2.0)
    even = Turns([(10.0, 1.0), (8.0, 4.0), (9.0, 3.0), (1.0, 1.0)])
    assert (even.ours_s, even.bare_s, even.ratio) == (8.0, 4.0, 2.0)


async def test_both_sides_have_each_turn_and_begin_it_alternately() -> None:
    took: list[str] = []

    async def ours() -> None:
        took.append("ours")

    async def bare() -> None:
        took.append("bare")

    turns = await in_turns(3, ours, bare)
    assert took == ["ours", "bare", "bare", "ours", "ours", "bare"]
    assert turns.ratio == turns.ours_s / turns.bare_s


def test_a_bar_is_met_from_the_side_that_is_better() -> None:
    assert Figure(name="a", what="", value=5.0, bar=5.0).met
    assert not Figure(name="a", what="", value=5.1, bar=5.0, less_is_better=True).met
    assert Figure(name="a", what="", value=5.1).met is None
