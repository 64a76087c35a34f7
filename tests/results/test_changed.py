"""The questions that two models answer most differently, over sample files by hand."""

import json
from math import log
from types import SimpleNamespace

import pytest

from lm_eval_bias.results.changed import MOST, changed
from lm_eval_bias.results.comparison import Pair
from tests.results.test_report_asked import generated, sample


def written(path, samples):
    path.write_text("".join(f"{json.dumps(sample)}\n" for sample in samples))
    return [path]


def chosen(number, **shares):
    """Choices by likelihood."""
    requests = {text: {"a": f"Question {number}?", "b": text} for text in shares}
    answers = [[[log(share), False]] for share in shares.values()]
    return sample(requests, answers, number=number)


def test_the_largest_distance_comes_first_and_none_is_left_out(tmp_path):
    """Of 0.9 and 0.1 against 0.2 and 0.8 the distance is 0.7; of 0.6 and 0.4 against 0.5 and 0.5 it
    is 0.1; the third is the same, the fourth was asked one alone. The order of lines differs."""
    first = [chosen(1, a=0.6, b=0.4), chosen(2, a=0.9, b=0.1), chosen(3, a=0.5, b=0.5)]
    second = [chosen(4, a=1.0, b=0.5), chosen(3, a=0.5, b=0.5), chosen(2, a=0.2, b=0.8)]
    second.append(chosen(1, a=0.5, b=0.5))
    files = written(tmp_path / "1", first), written(tmp_path / "2", second)
    found = changed(*files)
    assert [(of.asked.number, round(of.distance, 6)) for of in found] == [("2", 0.7), ("1", 0.1)]
    ((one, two),) = found[0].answers
    assert one == pytest.approx({"a": 0.9, "b": 0.1}) and two == pytest.approx({"a": 0.2, "b": 0.8})
    assert found[0].asked.turns[0].prompt == "Question 2?"


def test_drawn_answers_are_compared_as_the_task_reads_them_and_shown_as_they_are(tmp_path):
    """Other words that are read alike are no change; three and one "x" of four draws are 0.5."""
    first = [generated(1, ["Yes."], ["yes"]), generated(2, list("xxxy"), [list("XXXY")])]
    second = [generated(1, ["Yes!"], ["yes"]), generated(2, list("xyyy"), [list("XYYY")])]
    (found,) = changed(written(tmp_path / "1", first), written(tmp_path / "2", second))
    assert found.asked.number == "2" and found.distance == 0.5
    assert found.answers == [({"x": 0.75, "y": 0.25}, {"x": 0.25, "y": 0.75})]


def test_ten_are_shown(tmp_path):
    sides = [[chosen(n, a=0.5, b=share) for n in range(30)] for share in (0.1, 0.9)]
    first, second = (written(tmp_path / str(i), side) for i, side in enumerate(sides))
    assert len(changed(first, second)) == MOST == 10


def test_the_answers_that_made_a_number_worse_are_found(benchmark_named):
    """Of 200 one is better by 90 points, three are worse by 40, 50 and 30, and the others by 0.1:
    without the three the mean, above 0 in both runs, is less by 0.25, 0.2 and 0.15."""
    measure = benchmark_named("worlds/gate").MEASURE
    worse = {7: 40.0, 9: -90.0, 81: 50.0, 199: 30.0}
    runs = [
        SimpleNamespace(
            measure=measure,
            options={},
            records=[
                {"theme": i % 13, "gap": 20 + second * worse.get(i, 0.1), "i": i}
                for i in range(200)
            ],
        )
        for second in (0, 1)
    ]
    moved = Pair.moved_most(SimpleNamespace(runs=runs), ("gap", None))
    assert [(round(gain, 9), record["i"]) for gain, record in moved] == [
        (0.25, 81),
        (0.2, 7),
        (0.15, 199),
    ]
