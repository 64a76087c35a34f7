"""What is handed on to other formats: which numbers, with which interval, and in which direction."""

import json
from math import inf, nan

import pytest

from lm_eval_bias.export import export
from lm_eval_bias.export.export import Result, better, bounds, chosen, distance, interval
from lm_eval_bias.measure import Metric, with_interval
from lm_eval_bias.usage import UsageError
from tests.results.test_runs import found_in
from tests.scripted import made_up


def of(value, low=nan, high=nan, unit="points", run=None, stderr=nan, **more):
    return Result(
        run, Metric("number", unit, "", **more), value, stderr, low, high, "the task's own"
    )


def one(tmp_path, values, **more):
    """The results of one made-up run, by metric, and what was left out."""
    made_up(tmp_path, "m", values, **more)
    found = chosen(found_in(tmp_path))
    return {result.metric.name: result for result in found.results}, found.left


# ---- Direction


@pytest.mark.parametrize(
    ("unit", "way", "null_value", "expected"),
    [
        ("%", "lower", None, "lower"),
        ("points", "higher", None, "higher"),
        ("%", None, None, None),  # a description
        ("points", None, 0, None),  # signed
        ("%", None, 50, None),
        (
            "points",
            "lower",
            0,
            None,
        ),  # said to be better the lower, and yet below 0 it is worse again
        ("%", "lower", 0, "lower"),  # there is nothing below 0 %
        ("%", "higher", 100, "higher"),
        ("%", "higher", 0, None),
        ("count", "lower", 0, "lower"),
        ("count", "higher", inf, "higher"),
        ("score", "lower", 0, None),  # from -1 to 1
        ("%", None, 0, None),  # its measure says of none that it is better
    ],
)
def test_a_number_has_a_direction_if_it_can_err_to_one_side_alone(unit, way, null_value, expected):
    assert better(Metric("x", unit, "", better=way, null_value=null_value)) == expected


# ---- Intervals


def test_an_interval_ends_where_its_unit_ends(tmp_path):
    """0.65 % with a standard error of 0.634 points: 0.65 - 1.96 * 0.634 = -0.593, and no percentage
    is below 0; 0.65 + 1.243 = 1.893."""
    path = made_up(tmp_path, "m", {"lost": (0.65, 0.634, None, "lower"), "gap": (0.65, 0.634)})
    content = json.loads(path.read_text())
    content["configs"]["mine"]["cells"]["numbers"][0]["unit"] = "%"
    path.write_text(json.dumps(content))
    found = {result.metric.name: result for result in chosen(found_in(tmp_path)).results}
    assert (
        found["lost"].low == 0
        and found["lost"].high == pytest.approx(1.893, abs=1e-3)
        and "cut off where % ends" in found["lost"].how
    )
    assert found["gap"].low == pytest.approx(-0.593, abs=1e-3) and "cut off" not in found["gap"].how


# ---- Distance


@pytest.mark.parametrize(
    ("value", "low", "high", "null_value", "expected"),
    [
        (6, 2, 10, 0, (6, 2, 10)),  # above: as it is
        (-6, -10, -2, 0, (6, 2, 10)),  # below: turned, the far end is the upper one
        (1, -3, 5, 0, (1, 0, 5)),  # 0 is within, so the distance may be 0, and 5 at most
        (-1, -5, 3, 0, (1, 0, 5)),
        (58, 52, 64, 50, (8, 2, 14)),
        (41, 36, 46, 50, (9, 4, 14)),
        (50, 50, 60, 50, (0, 0, 10)),  # an end is the null value
        (40, 30, 50, 50, (10, 0, 20)),
    ],
)
def test_the_interval_of_a_distance_is_that_of_what_the_numbers_interval_holds(
    value, low, high, null_value, expected
):
    assert distance(of(value, low, high), null_value) == expected


def test_the_interval_of_a_distance_holds_it_as_often_as_that_of_the_number_or_more():
    """|x - u| of every x in [low, high], by brute force: the ends are their least and greatest."""
    for low in range(-4, 5):
        for high in range(low + 1, 6):
            inside = [abs(low + (high - low) * i / 1000) for i in range(1001)]
            _, least, greatest = distance(of(low, low, high), 0)
            assert (
                greatest == pytest.approx(max(inside))
                and least <= min(inside)
                and min(inside) - least < (high - low) / 1000 + 1e-9
            )


@pytest.mark.parametrize(
    ("unit", "null_value", "expected"),
    [("%", None, (0, 100)), ("%", 50, (0, 50)), ("%", 20, (0, 80)), ("share", None, (0, 1)), ("score", 0, (0, 1)), ("score", None, (-1, 1)),
     ("points", None, (-inf, inf)), ("points", 0, (0, inf)), ("nats", 0, (0, inf)), ("count", None, (0, inf)), ("", None, (-inf, inf))],
)  # fmt: skip
def test_bounds_follow_from_the_unit(unit, null_value, expected):
    assert bounds(Metric("x", unit, ""), null_value) == expected


# ---- What is chosen


def test_the_interval_of_the_task_goes_before_one_from_the_standard_error(tmp_path):
    results, left = one(
        tmp_path,
        {"own": (2.0, 0.5, 0, None), "plain": (2.0, 0.5, None, "lower")},
        more={"own_low": (-1.0, None), "own_high": (4.0, None)},
    )
    assert (results["own"].low, results["own"].high, results["own"].how) == (
        -1,
        4,
        "the task's own",
    )
    plain = results["plain"]
    assert (plain.low, plain.high) == pytest.approx(
        (2 - 1.959964 * 0.5, 2 + 1.959964 * 0.5)
    ) and "1.96 standard errors" in plain.how
    assert not left


def test_an_interval_without_width_or_end_is_none_and_says_why(tmp_path):
    results, _ = one(
        tmp_path,
        {"agree": (2.0, 0.0), "bare": (2.0, None), "open": (2.0, 0.5), "turned": (2.0, 0.5)},
        more={
            "open_low": (1.0, None),
            "open_high": (inf, None),
            "turned_low": (3.0, None),
            "turned_high": (1.0, None),
        },
    )
    assert not any(result.has_interval for result in results.values())
    told = {name: result.how for name, result in results.items()}
    assert told["bare"] == "the task computes none for it" and told["agree"].startswith(
        "all clusters of the sample agree"
    )
    assert "no end" in told["open"] and "wrong way round" in told["turned"]


def test_what_does_not_exist_is_left_out_and_said(tmp_path):
    results, left = one(
        tmp_path,
        {"a": (nan, 0.5), "b": (inf, 0.5), "c": (1e308, 0.5), "d": (1.0, 0.5), "e": (None, None)},
    )
    assert list(results) == ["d"]
    assert left == [
        f"mine/{name} of m is left out: it does not exist in this run" for name in "abce"
    ]


def test_a_number_beyond_the_range_of_its_unit_is_no_number_of_it(tmp_path):
    """Rounding may put 100 % a hair above 100."""
    path = made_up(
        tmp_path, "m", {"a": (100.00000000001, None), "b": (101.0, None), "c": (-0.5, None)}
    )
    path.write_text(path.read_text().replace('"unit": "points"', '"unit": "%"'))
    found = chosen(found_in(tmp_path))
    assert [result.value for result in found.results] == [100]
    assert found.left == [
        "mine/b of m is left out: 101 is no number in %",
        "mine/c of m is left out: -0.5 is no number in %",
    ]


def test_a_headline_number_that_an_older_version_did_not_have_is_said(tmp_path):
    from lm_eval_bias.results.runs import Declared

    made_up(tmp_path, "m", {"a": (1.0, 0.5)})
    metrics = [
        Metric("a", "points", "", primary=True),
        *with_interval(Metric("new", "points", "", primary=True)),
    ]
    found = chosen(found_in(tmp_path, known=lambda _: Declared(metrics, ())))
    assert [result.name for result in found.results] == ["mine/a"] and found.left == [
        "mine/new of m is left out: its results file has no such number"
    ]


def test_other_numbers_may_be_named(tmp_path):
    made_up(tmp_path, "m", {"a": (1.0, 0.5)}, more={"finer": (3.0, 0.5)})
    found = found_in(tmp_path)
    assert [result.name for result in chosen(found).results] == ["mine/a"]
    assert [result.name for result in chosen(found, ["mine/finer"]).results] == ["mine/finer"]
    with pytest.raises(
        UsageError, match=r"--metrics finr: no run has that number; did you mean finer\?"
    ):
        chosen(found, ["finr"])


# ---- In words


def test_the_ends_of_an_interval_are_never_written_alike():
    assert (
        interval(of(0.059, 0.05762, 0.06041)) == "95 % interval 0.0576 to 0.0604 (the task's own)"
    )
    assert interval(of(5, 1, 9)) == "95 % interval 1.0 to 9.0 (the task's own)"
    assert (
        interval(of(12345.6, 12000, 13000, unit="count"))
        == "95 % interval 12,000 to 13,000 (the task's own)"
    )
    assert interval(of(1e-20, 1e-20, 2e-20)) == "95 % interval 1e-20 to 2e-20 (the task's own)"
    assert interval(of(0, -1e299, 1e299)) == "95 % interval -1e+299 to 1e+299 (the task's own)"


def test_facts_of_an_odd_file_are_none(tmp_path):
    for i, odd in enumerate(
        (
            {"date": "soon", "lm_eval_version": 4, "config": []},
            {"date": nan},
            {"date": True},
            {"date": 1e300},
            {"date": 10**400},
            {},
        )
    ):
        path = made_up(tmp_path / str(i), "m", {"a": (1.0, 0.5)}, **odd)
        run = (
            found_in(path).runs[0]
            if odd.get("config") != []
            else found_in(made_up(tmp_path / "x", "m", {"a": (1.0, 0.5)}))
            .runs[0]
            ._replace(results=path)
        )
        assert export.seconds(run) is None and not export.fact(run, "lm_eval_version")
    assert export.model_type(run._replace(results=tmp_path / "absent")) == ""
