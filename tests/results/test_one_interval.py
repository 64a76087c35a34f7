"""A task of each kind of measure: a number has the same interval in all places that show it."""

import csv
import json
from math import inf, nan

import pytest

from lm_eval_bias import catalogue, cli
from lm_eval_bias.gate.verdicts import intervals
from lm_eval_bias.results import runs
from tests.scripted import ask, lines_of, scripted

pytestmark = pytest.mark.slow
# How many parts of its documents, which begin so far apart.
TASKS = {
    "bistereo_analogy": (12, 120),
    "bistereo_pairs": (12, 3600),
    "empathy_religion_likelihood": (12, 1220),
    "hbb": (24, 1040),
    "mist_aat_likelihood": (12, 120),
    "stereomap_structure_likelihood": (12, 64),
}
COMPARED = ("bistereo_analogy", "mist_aat_likelihood")
ENDS = ("value", "low", "high")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every")
    for name, tasks in (("m", TASKS), ("n", COMPARED)):
        places = {
            task: [i * step + j for i in range(parts) for j in range(36)]
            for task, (parts, step) in TASKS.items()
            if task in tasks
        }
        ask(folder / name, name, scripted(name, 0.4), *tasks, samples=places)
    return folder


def numbers_of(folder):
    """(task, metric, group) -> value and interval in the table `numbers` of the results file."""
    (path,) = folder.rglob("results_*.json")
    return {
        (task, row["metric"], row["group"]): tuple(row[end] for end in ENDS)
        for task, config in json.loads(path.read_text())["configs"].items()
        for row in config["cells"]["numbers"]
    }


@pytest.fixture(scope="module")
def written(folder):
    return numbers_of(folder / "m")


@pytest.fixture(scope="module")
def read(folder):
    return runs.find([folder / "m"], catalogue.by_name()).runs


def same(shown, number):
    """Whether numbers, texts of a CSV or nulls of JSON are those of the results file, where
    infinity and NaN are written as nothing."""
    plain = [nan if x in (None, "") else float(x) for x in shown]
    return plain == pytest.approx([x if abs(x) < 1e300 else nan for x in number], nan_ok=True)


def test_the_csv_of_the_report(folder, read, written, tmp_path):
    command = ["report", str(folder / "m"), "-o", str(tmp_path / "report"), "--no_figures"]
    assert cli.main(command) == 0
    for run in read:
        path = tmp_path / "report" / "tables" / f"m-{run.task}-numbers.csv"
        with path.open(newline="", encoding="utf-8-sig") as file:
            for row in csv.DictReader(file):
                key = (run.task, row["metric"], row["group"] or None)
                assert same([row[end] for end in ENDS], written[key]), key


def test_the_leaderboard_and_compare(folder, written, tmp_path):
    file = tmp_path / "board.jsonl"
    assert cli.main(["leaderboard", str(folder / "m"), "--output", str(file)]) == 0
    numbers = lines_of(file)
    assert len(numbers) > len(TASKS)
    for number in numbers:
        key = (number["task"], number["metric"], None)
        assert same([number[end] for end in ENDS], written[key]), key
    other = numbers_of(folder / "n")
    models = [str(folder / name) for name in "mn"]
    assert cli.main(["compare", *models, "--groups", "--output", str(file)]) == 0
    tested = [line for line in lines_of(file) if "refused" not in line]
    assert {line["task"] for line in tested} == set(COMPARED)
    for line in tested:
        key = (line["task"], line["metric"], line["group"])
        first, second = written[key][0], other[key][0]
        values = [line["first_value"], line["second_value"], line["difference"]]
        assert same(values, (first, second, second - first)), line


def test_the_gate(read):
    assert {run.task for run in read} == set(TASKS)
    for run in read:
        for (name, group), number in run.numbers.items():
            if -inf < number.low < number.high < inf:
                ends = intervals(number, run.metric(name))(0.05)
                assert ends == pytest.approx((number.low, number.high)), (run.task, name, group)
