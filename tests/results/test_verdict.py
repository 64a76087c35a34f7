"""The five verdicts: what an interval, the null value and refusals make of a number, and what every
page quotes."""

from math import nan

import pytest

from lm_eval_bias.exhibit import Column, Exhibit, Numbers, intervals
from lm_eval_bias.measure import Metric, Number
from lm_eval_bias.results import runs
from lm_eval_bias.results.paired import Difference
from lm_eval_bias.results.verdict import (
    answers,
    heading,
    judged,
    judged_rows,
    kind,
    of_difference,
    sentences,
    strongest,
    verdict,
)
from tests.hostile import run_of

SURE = Number(3, 1, 1, 5, 20)


@pytest.fixture
def run(tmp_path):
    (run,) = runs.find([run_of(tmp_path)]).runs
    return run


def test_a_yes_names_the_models_without_meaning_that_have_it_too(run):
    metric = Metric("gap", "points", "", null_value=0, confounds=("words_alone",))
    found = verdict(run._replace(metrics=[metric]), metric, SURE)
    assert found.sentence.endswith(
        " rates words as good or bad, whoever they describe, can give the same result."
    )


def test_without_placebos_nothing_is_said_of_people(run):
    people = Metric("raw", "points", "", null_value=0)
    metric = Metric("gap", "points", "", null_value=0, raw="raw", placebos="things")
    number = {("raw", None): SURE}
    found = verdict(run._replace(metrics=[metric, people], numbers=number), metric, Number(nan))
    assert found == ("cannot be told", "Cannot be told: there are no answers about things.")


def test_a_whole_names_the_parts_with_other_evidence_or_no_answers(run):
    """Of skin 3 [1, 5], of height 0 [-2, 2]; of too few clusters, or if most answers are refused or
    not read, nothing can be told. Of hair no answer counts, or it has no such number."""
    metric = Metric("gap", "points", "", null_value=0, by="axis")
    parts = {"skin": SURE, "height": Number(0, 1, -2, 2, 20), "weight": SURE}
    parts |= {"shape": Number(9, 1, 8, 10, 4), "hair": Number(nan, n=0)}
    lost = {"refused": 26, "unparsed": 25}
    numbers = {("gap", key): n for key, n in parts.items()}
    numbers |= {(name, "weight"): Number(rate) for name, rate in lost.items()}
    run = run._replace(metrics=[metric, *(Metric(name, "%", "") for name in lost)], numbers=numbers)
    parts = " By part: skin yes, hair cannot be told: too few usable answers; 0.1 of 2 expected to"
    assert f" excluded.{parts}" in verdict(run, metric, Number(1, 1, -1, 3, 20)).sentence
    assert parts in verdict(run, metric, Number(-3, 1, -5, -1, 20)).sentence
    numbers["refused", "hair"] = Number(0, n=9)
    assert "By part" not in verdict(run, metric._replace(between_models="refused"), SURE).sentence


def test_the_surest_come_first_then_what_is_calibrated_and_has_no_warning(run):
    """Of each the interval is the value ± 2; on four clusters it tells nothing."""
    known = {"metrics": [run.metrics[0]._replace(systematic=((0.0, 0.1),))]}

    def of(model, value, clusters=40, **changes):
        numbers = {("gap", None): Number(value, 1.0, value - 2, value + 2, clusters)}
        return run._replace(model=model, numbers=numbers, **changes)

    tests = judged(
        [
            of("few", 9.0, 4, **known),
            of("not calibrated", 8.0),
            of("items of one's own", 7.0, options={"items": "mine.csv"}, **known),
            of("warned", 6.0, warnings=("asked 10 of 100 documents",), **known),
            of("near", 3.0, **known),
            of("far", 5.0, **known),
        ]
    )
    order = ["far", "near", "warned", "not calibrated", "items of one's own", "few"]
    assert [test.run.model for test in strongest(tests)] == order
    assert sentences(tests)[0] == "6 answers of 6 models: 5 yes, 1 cannot be told."
    assert answers(tests)[0].startswith("far: Q Yes: 5.0 points")
    assert "Its interval leaves out the systematic error" in answers(tests)[3]


def test_without_evidence_nothing_is_claimed(run):
    (nothing,) = sentences([])
    assert nothing.startswith("There is no test")
    number = Number(0.1, 1.0, -2.0, 2.0, 40)
    first, *rest = sentences(judged([run._replace(numbers={("gap", None): number})]))
    assert first == "1 question: no difference." and "This is no proof of no bias" in rest[-1]


NAN, PARTS = (nan, nan, nan), ("", "_low", "_high")
EXCLUDED = "No difference was found; more than {} is excluded."
IN_RAW = "No difference was found in raw; more than a factor of 2.719 is excluded."


@pytest.mark.parametrize(
    "ends, more, sentence",
    [
        ((13.2, 1.4, 25.1), {}, "Yes: 13.2 points more (between 1.4 and 25.1)."),
        ((-13.2, -25.1, -1.4), {}, "The reverse: 13.2 points less (between 1.4 and 25.1)."),
        (
            (62, 53, 71),
            {"unit": "%", "null_value": 50},
            "Yes: 12.0 points more (between 3.0 and 21.0).",
        ),
        # e ** 0.4055 is 1.5, e ** 0.0953 is 1.1, e ** 0.6931 is 2
        (
            (0.4055, 0.0953, 0.6931),
            {"unit": "nats"},
            "Yes: a factor of 1.500 more (between 1.100 and 2.000).",
        ),
        ((5.0, -2.0, 11.2), {}, EXCLUDED.format("11.2 points")),
        ((-5.0, -11.2, 2.0), {}, EXCLUDED.format("11.2 points")),
        ((-5.0, -11.2, 2.0), {"better": "lower"}, EXCLUDED.format("2.0 points")),
        ((-3.0, -5.0, -1.0), {"better": "lower"}, "No: 3.0 points less (between 1.0 and 5.0)."),
        ((3.0, 1.0, 5.0), {"better": "higher"}, "No: 3.0 points more (between 1.0 and 5.0)."),
        ((-3.0, -5.0, -1.0), {"better": "higher"}, "Yes: 3.0 points less (between 1.0 and 5.0)."),
        (NAN, {}, "Cannot be told: too few usable answers."),
        (
            (3.0, nan, nan),
            {},
            "Cannot be told: too few answers or placebos for an interval, or all equal.",
        ),
        (
            (9.0, 8.0, 10.0),
            {"clusters": 9},
            "Cannot be told: too few answers, from 9 independent templates, themes or events where "
            "10 are needed.",
        ),
        (
            (9.0, 8.0, 10.0),
            {"refused": 31.0, "unparsed": 20.0},
            "Cannot be told: 51 % of the answers were refused or could not be read.",
        ),
        ((9.0, 8.0, 10.0), {"refused": 50.0}, "Yes: 9.0 points more (between 8.0 and 10.0)."),
    ],
)
def test_an_answer_follows_from_interval_null_value_clusters_and_refusals(
    run, ends, more, sentence
):
    clusters = more.pop("clusters", 10)
    lost = {name: Number(more.pop(name, 0.0)) for name in ("refused", "unparsed")}
    words = {"question": "Q", "above": "{size} more", "below": "{size} less"}
    metric = Metric("gap", more.pop("unit", "points"), "", primary=True, **words)
    metric = metric._replace(**{"null_value": 0, **more})
    numbers = {("gap", None): Number(ends[0], 1.0, *ends[1:], clusters)}
    numbers |= {(name, None): rate for name, rate in lost.items()}
    metrics = [metric, *(Metric(name, "%", "") for name in lost)]
    run = run._replace(metrics=metrics, numbers=numbers)
    (test,) = judged([run])
    assert test.verdict.sentence == sentence
    assert kind(run, metric, numbers["gap", None]) == test.verdict.kind


@pytest.mark.parametrize(
    "people, beyond, expected, sentence",
    [
        # e ** 3 is 20.086, e ** 2 7.389, e ** 4 54.598; a third of 3 is the placebos'
        (
            (3, 2, 4),
            (2, 1, 3),
            "yes",
            "Yes: a factor of 20.086 more (between 7.389 and 54.598); things get 33 % of it, which "
            "leaves a factor of 7.389 (between 2.718 and 20.086).",
        ),
        (
            (3, 2, 4),
            (0.3, -0.7, 1.3),
            "perhaps words",
            "Yes, or the words: a factor of 20.086 more (between 7.389 and 54.598); things get "
            "90 % of it, which leaves a factor of 1.350 (between 0.497 and 3.669).",
        ),
        (
            (-3, -4, -2),
            (-0.3, -1.3, 0.7),
            "perhaps words",
            "The reverse, or the words: a factor of 20.086 less (between 7.389 and 54.598); things "
            "get 90 % of it, which leaves a factor of 1.350 (between 0.497 and 3.669).",
        ),
        # What is beyond placebos alone is theirs: e is 2.718
        ((0, -1, 1), (3, 2, 4), "no difference", IN_RAW),
        ((3, 2, 4), (-3, -4, -2), "perhaps words", None),
        ((3, 2, 4), (3, nan, nan), "cannot be told", None),
        ((3, nan, nan), (3, 2, 4), "cannot be told", None),
        # Without a number of people alone the other one decides
        (NAN, (0.3, -0.7, 1.3), "no difference", None),
    ],
)
def test_evidence_is_of_people_alone_and_of_people_beyond_placebos(
    run, people, beyond, expected, sentence
):
    ends = {"gap": beyond, "raw": people}
    numbers = {(k, "g"): Number(v[0], 1.0, *map(float, v[1:]), 10) for k, v in ends.items()}
    judge = Metric("gap", "nats", "", null_value=0, raw="raw", placebos="things", question="Q")
    judge = judge._replace(primary=True)
    raw = Metric("raw", "nats", "", null_value=0, above="{size} more", below="{size} less")
    run = run._replace(metrics=[judge, raw], numbers=numbers)
    found = verdict(run, judge, numbers["gap", "g"], "g")
    assert found == (expected, sentence or found.sentence)
    # rows that are no groups of the run have their own numbers
    row = {f"{name}{part}": x for name, v in ends.items() for part, x in zip(PARTS, v, strict=True)}
    other = run._replace(numbers={})
    (shown,) = judged_rows(SHOWN, other, [{"part": "g", **row}])
    assert shown["gap_verdict"] == expected
    # without people alone, theirs is that of their group, or of the whole
    whole = run._replace(numbers={(k, None): n for (k, _), n in numbers.items()})
    del row["raw"]
    for of, part in ((run, "g"), (whole, "all")):
        (shown,) = judged_rows(SHOWN, of, [{"part": part, **row}])
        assert shown["gap_verdict"] == expected
    # nor are those of common documents
    assert kind(other, judge, numbers["gap", "g"], "g", numbers["raw", "g"]) == expected
    # no difference is sorted by the number that it quotes
    (test,) = judged([whole])
    quoted = numbers["raw" if expected == "no difference" and people is not NAN else "gap", "g"]
    assert test.distance == quoted.distance_in_interval_widths(0)


# ---- Figures, and two runs

SHOWN = Exhibit(
    "The gap by part",
    "",
    Numbers(by="part", whole="all"),
    [Column("part", "Part"), Column("gap", "Gap", "points")],
    "",
    "",
    figure=intervals("gap", "part", reference=0)._replace(test="gap"),
)


def test_a_heading_has_the_verdict_of_the_whole_of_each_model(run):
    metrics = [Metric("gap", "points", "", null_value=0, primary=True)]
    away, at = (
        run._replace(numbers={("gap", None): number}, metrics=metrics)
        for number in (Number(3, 1, 1, 5), Number(0, 1, -2, 2))
    )
    assert heading(SHOWN, [away]) == "The gap by part: yes"
    assert heading(SHOWN, [away, away]) == "The gap by part: 2 yes"
    assert heading(SHOWN, [at]) == "The gap by part: no difference"
    assert heading(SHOWN._replace(figure=SHOWN.figure._replace(test="")), [away]) == ""
    assert heading(SHOWN, [away._replace(metrics=[])]) == ""


@pytest.mark.parametrize(
    "more, first, second, towards",
    [
        ({"null_value": 0}, 2.0, 1.0, "nearer"),
        ({"null_value": 0}, 2.0, -3.0, "across"),
        ({"null_value": 50}, 60.0, 70.0, "farther"),
        ({"better": "lower"}, 60.0, 70.0, "worse"),
        ({"better": "higher"}, 60.0, 70.0, "better"),
        ({}, 70.0, 60.0, "lower"),
    ],
)
def test_a_difference_is_judged_by_its_p(more, first, second, towards):
    change = Difference(first, second, second - first, 1.0, nan, nan, 0.01, 12)
    metric = Metric("gap", "points", "", **more)
    assert of_difference(metric, change, 0.05) == ("yes", towards)
    for p in (0.06, nan):
        assert of_difference(metric, change, p) == ("no difference", "no difference")
    assert of_difference(metric, change._replace(why="few"), 0.05) == ("cannot be told", "few")
