"""What is exported: which numbers, with which interval, and in which direction."""

from math import inf, nan

import pytest

from lm_eval_bias.export.numbers import better, chosen, distance, warnings
from lm_eval_bias.measure import Metric, Number
from tests.gate.judged import found, run_of


def one(tmp_path, values, **more):
    """The results of one made-up run, by metric, and what was left out."""
    run_of(tmp_path, values, **more)
    results, left = chosen(found(tmp_path).runs)
    return {result.metric.name: result for result in results}, left


# ---- Direction


@pytest.mark.parametrize(
    "unit, way, null_value, expected",
    [
        ("%", "lower", None, "lower"),
        ("%", None, None, None),  # a description
        ("points", None, 0, None),  # signed
        ("points", "lower", 0, None),  # better the lower, and yet below 0 it is worse again
        ("%", "lower", 0, "lower"),  # there is nothing below 0 %
        ("%", "higher", 100, "higher"),
        ("count", "higher", inf, "higher"),
        ("score", "lower", 0, None),  # from -1 to 1
        ("%", None, 0, None),  # its measure declares no direction
    ],
)
def test_a_number_has_a_direction_if_it_can_err_to_one_side_alone(unit, way, null_value, expected):
    assert better(Metric("x", unit, "", better=way, null_value=null_value)) == expected


# ---- Distance


@pytest.mark.parametrize(
    "value, low, high, null_value, expected",
    [
        (6, 2, 10, 0, (6, 2, 10)),  # above: as it is
        (-6, -10, -2, 0, (6, 2, 10)),  # below: turned, the far end is the upper one
        (1, -3, 5, 0, (1, 0, 5)),  # 0 is within, so the distance may be 0, and 5 at most
        (41, 36, 46, 50, (9, 4, 14)),
        (50, 50, 60, 50, (0, 0, 10)),  # an end is the null value
    ],
)
def test_the_interval_of_a_distance_is_that_of_what_the_numbers_interval_holds(
    value, low, high, null_value, expected
):
    assert distance(Number(value, 1.0, low, high), null_value) == expected


# ---- What is chosen


def test_an_interval_without_width_or_end_is_none_and_says_why(tmp_path):
    values = {"agree": (2.0, 0.0), "bare": (2.0, None), "open": (2.0, 0.5)}
    results, _ = one(tmp_path, values, ends={"open": (1.0, inf)})
    assert not any(result.has_interval for result in results.values())
    why = {name: result.how for name, result in results.items()}
    assert why["bare"] == "the task computes none for it" and "no end" in why["open"]
    assert why["agree"].startswith("all clusters of the sample agree")


def test_what_does_not_exist_is_left_out_with_a_line(tmp_path):
    values = {
        "a": (nan, 0.5),
        "b": (inf, 0.5),
        "c": (1e308, 0.5),
        "d": (1.0, 0.5),
        "e": (None, None),
    }
    results, left = one(tmp_path, values)
    assert list(results) == ["d"]
    assert left == [
        f"mine/{name} of m is left out: it does not exist in this run" for name in "abce"
    ]


def test_a_number_beyond_the_range_of_its_unit_is_left_out(tmp_path):
    """Rounding may put 100 % a hair above 100."""
    values = {"a": (100.00000000001, None), "b": (101.0, None), "c": (-0.5, None)}
    results, left = one(tmp_path, values, unit="%")
    assert [result.number.value for result in results.values()] == [100]
    assert left == [
        "mine/b of m is left out: 101 is no number in %",
        "mine/c of m is left out: -0.5 is no number in %",
    ]


def test_a_model_that_does_not_respond_is_a_warning(tmp_path):
    values = {"gap": (3.0, 0.5), "responds": (0.02, 0.1)}
    (line,) = warnings([*one(tmp_path, values, unit="nats")[0].values()])
    assert line.startswith("m, mine: the model does not respond")
