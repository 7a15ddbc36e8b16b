from __future__ import annotations

from assay.measures.views.wording import (
    between,
    listed,
    methods,
    natural,
    negate,
    number,
    p_phrase,
    percent,
    plural,
    points,
    signed,
    task_instruction,
    thing,
)
from assay.support.stats.intervals import Interval


def test_numbers_are_written_as_people_read_them():
    for said, meant in (
        (number(-0.04), "0.0"),
        (number(-1234.56), "\N{MINUS SIGN}1,234.6"),
        (number(124.5, 0), "125"),
        (number(-121.5, 0), "\N{MINUS SIGN}122"),
        (signed(2.0), "+2.0"),
        (signed(-0.001), "0.0"),
        (percent(0.5), "50.0 %"),
        (percent(None), "\N{EN DASH}"),
        (points(-0.345), "\N{MINUS SIGN}34.5"),
        (between(Interval(0.1, 0.25, "x"), 100), "10.0 to 25.0"),
        (between(None), "\N{EN DASH}"),
        (p_phrase(0.0001), "p < 0.001"),
        (p_phrase(0.04), "p = 0.040"),
        (plural(1, "episode"), "1 episode"),
        (plural(1000, "success", "successes"), "1,000 successes"),
        (listed(["a", "b", "c"]), "a, b and c"),
        (listed([]), ""),
        (thing("akita_black_bowl_1+plate_1"), "akita black bowl + plate"),
    ):
        assert said == meant


def test_it_says_how_intervals_were_made():
    made = [Interval(0, 1, "student, over starts"), None, Interval(0, 1, "wilson"), Interval(0, 1, "wilson")]
    assert methods(made) == "Student, over starts; Wilson"
    assert negate(Interval(-0.5, 0.25, "wilson")) == Interval(-0.25, 0.5, "wilson")


def test_tasks_stand_in_the_order_of_their_numbers_with_their_words():
    names = ["libero_goal/10", "libero_goal/2", "libero_10/3"]
    assert sorted(names, key=natural) == ["libero_10/3", "libero_goal/2", "libero_goal/10"]
    assert (
        task_instruction("libero_goal/7") == "turn on the stove" and task_instruction("somebody's/1") is None
    )
