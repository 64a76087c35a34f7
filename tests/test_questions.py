"""A printed answer states the value and the n of its number."""

import json
import re
from math import exp

import pytest

from lm_eval_bias import catalogue
from tests.scripted import ask, scripted

METRICS = {
    (metric.name, metric.question): task.measure.metric(metric.raw or metric.name)
    for task in catalogue.tasks()
    if task.measure
    for metric in task.measure.metrics
    if metric.question
}
"""Each question, with the metric whose half-sentences answer it."""


@pytest.mark.parametrize("question, metric", [(q, m) for (_, q), m in METRICS.items()])
def test_an_answer_has_a_place_for_the_size_and_a_name_for_what_is_counted(question, metric):
    assert question.endswith("?") and "{" not in question
    assert metric.counted and metric.null_value is not None
    assert [text.count("{size}") for text in (metric.above, metric.below)] == [1, 1]


def test_a_printed_answer_states_the_value_and_the_n_of_the_number(tmp_path, command):
    results = ask(tmp_path / "runs", "m", scripted("m", leaning=0.4), "bistereo_analogy", limit=700)
    status, out, _ = command("report", tmp_path / "runs", "-o", tmp_path / "r", "--no_figures")
    assert status == 0
    printed = " ".join(out.split())  # wrapped where the terminal ends
    pattern = (
        r"higher by a factor of (\S+) for looks[^[]*\(between (\S+) and (\S+); (\d+) analogies\)"
    )
    shown = re.search(pattern, printed).groups()
    rows = json.loads(results.read_text())["configs"]["bistereo_analogy"]["cells"]["numbers"]
    number = next(r for r in rows if (r["metric"], r["group"]) == ("directed_log_odds", None))
    expected = [exp(number[key]) for key in ("value", "low", "high")]
    assert [*map(float, shown[:3])] == pytest.approx(expected, rel=0.01)
    assert shown[3] == str(number["n"])
    (page,) = (p.read_text() for p in (tmp_path / "r").glob("*.html") if p.name != "index.html")
    assert f"{shown[3]} analogies" in page
    (latex,) = (tmp_path / "r" / "tables").glob("*Table-2.tex")
    rows = [line for line in latex.read_text().splitlines() if "women and men" in line]
    assert shown[3] in {cell.strip() for row in rows for cell in re.split(r"[&\\]", row)}
