"""One run of every default task: each number has the same interval in all places that show it."""

import csv
import json
from math import isnan, nan

import pytest
from lm_eval_bias.metrics.resampling import FEWEST_CLUSTERS

from lm_eval_bias import cli
from lm_eval_bias.commands import finished
from lm_eval_bias.commands.report import expected
from lm_eval_bias.exhibit import Numbers
from lm_eval_bias.export.numbers import chosen
from lm_eval_bias.gate.verdicts import estimate
from lm_eval_bias.results import runs
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.table import interval_text
from tests.scripted import ask, scripted

pytestmark = pytest.mark.slow
TASKS = expected()
ENDS = ("value", "low", "high")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every")
    ask(folder, "m", scripted("m", 0.4), *TASKS, limit=240)
    status = cli.main(["report", str(folder), "-o", str(folder / "report"), "--no_figures"])
    assert status == 0
    return folder


@pytest.fixture(scope="module")
def written(folder):
    """(task, metric, group) -> value and interval in the table `numbers` of the results file."""
    content = json.loads(next(folder.rglob("results_*.json")).read_text())
    return {
        (task.rpartition("::")[2], row["metric"], row["group"]): tuple(row[end] for end in ENDS)
        for task, config in content["configs"].items()
        for row in config.get("cells", {}).get("numbers", ())
    }


@pytest.fixture(scope="module")
def read(folder):
    return {run.task: run for run in runs.find([folder], finished.known_tasks([])).runs}


def rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same(found, number):
    """Whether numbers, texts of a CSV or nulls of JSON are those of the results file, where
    infinity and NaN are written as nothing."""
    plain = [nan if x in (None, "") else float(x) for x in found]
    return plain == pytest.approx([x if abs(x) < 1e300 else nan for x in number], nan_ok=True)


def test_every_task_has_numbers_with_intervals(read, written):
    assert set(read) == set(TASKS) == {task for task, *_ in written}
    for task, run in read.items():
        numbers = run.numbers.values()
        if any(number.clusters and number.clusters >= FEWEST_CLUSTERS for number in numbers):
            assert any(number.low < number.high for number in numbers), task
        for (metric, group), number in run.numbers.items():
            ends = [getattr(number, end) for end in ENDS]
            assert ends == pytest.approx(written[task, metric, group], nan_ok=True), (task, metric)


def test_the_page_and_its_csv(folder, read, written):
    page = (folder / "report" / "m.html").read_text(encoding="utf-8")
    overview = (folder / "report" / "index.html").read_text(encoding="utf-8")
    for task, run in read.items():
        for row in rows(folder / "report" / "tables" / f"m-{task}-numbers.csv"):
            key = (task, row["metric"], row["group"] or None)
            assert same([row[end] for end in ENDS], written[key]), key
        for metric, number in run.primaries:
            interval = interval_text(number, metric.unit)
            assert f"<small>{visible(interval)}</small>" in page or not interval
            assert f"<small>{interval}</small>" in overview or not interval


def test_exhibits_of_numbers(folder, read, written):
    shown = 0
    known = finished.known_tasks([])
    for task in read:
        for exhibit in known[task].measure.exhibits:
            source = exhibit.source
            names = {column.name for column in exhibit.columns}
            if not isinstance(source, Numbers) or exhibit.then or not names & set(exhibit.metrics):
                continue
            file = f"m-{task}-{exhibit.name.replace(' ', '-')}.csv"
            if not (folder / "report" / "tables" / file).exists():
                continue
            for row in rows(folder / "report" / "tables" / file):
                group = row.get(source.by) if source.by else None
                for name in names & set(exhibit.metrics):
                    key = (task, name, None if group == source.whole else group)
                    if row["source"] != "this run" or key not in written:
                        continue
                    ends = [row[name], row.get(f"{name}_low"), row.get(f"{name}_high")]
                    assert same(ends, written[key]), key
                    shown += 1
    assert shown > 50


def test_the_leaderboard(folder, written, tmp_path):
    file = tmp_path / "board.jsonl"
    assert cli.main(["leaderboard", str(folder), "--output", str(file)]) == 0
    (model,) = map(json.loads, file.read_text().splitlines())
    assert len(model["numbers"]) > len(TASKS)
    for number in model["numbers"]:
        key = (number["task"], number["metric"], None)
        assert same([number[end] for end in ENDS], written[key]), key


def test_the_gate(read):
    for task, run in read.items():
        for metric in run.metrics:
            for (name, group), number in run.numbers.items():
                if name == metric.name and number.low < number.high and number.clusters > 1:
                    ends = estimate(number, metric).interval(0.05)
                    assert ends == pytest.approx((number.low, number.high)), (task, name, group)


def test_export(read, written):
    results, _ = chosen(list(read.values()))
    assert len(results) > len(TASKS)
    for result in results:
        key = (result.run.task, result.metric.name, None)
        ends = [getattr(result.number, end) for end in ENDS]
        if any(map(isnan, ends)):
            continue
        assert ends == pytest.approx(written[key]), key
