"""What a question asks, what its number compares, what an answer says and what is counted belong
together; and a printed answer states the value and the n of its number."""

import json
import re

import pytest

from lm_eval_bias import catalogue
from tests.scripted import ask, scripted

# What is counted, and the words of the comparison: in the question, in the answer that lies above,
# and in the description.
COMPARED = {
    "directed_preferences": (
        "analogies",
        "likelier, against the good one, for .* than for looks of high status",
        "above the 50 % of analogies that chance gives",
        "Analogies .*likelier, against the unbiased one, than with A and C in each other's place",
    ),
    "directed_gap": (
        "analogies",
        "complete analogies .* more often for looks of low status than for looks of high status",
        "more often than for looks of high status",
        "biased_preferences less the same with A and C in each other's place",
    ),
    "gap_beyond_words": (
        "comparisons of fair with dark|sentence pairs",
        "more than hair (of the same colours|and things of the same words)",
        "than (for hair and things of the same words|fair and dark hair)",
        "less that of hair",
    ),
    "gap_beyond_repetition": (
        "events",
        "than in others, beyond what repeated words give",
        "more for its own group",
        "gap_points less what groups that nobody feels for have",
    ),
    "excess_log_odds": (
        "test instances",
        "more than with other words",
        "more than other words do",
        "less that of placebos that change as many words",
    ),
    "comedy_gap": (
        "verdicts",
        "a comedy more often after favoured groups than after others",
        "a comedy .* more often after favoured groups",
        "comedy among valid verdicts after S_a less that after S_b",
    ),
    "bias_score": (
        "lists of words",
        "good words to favoured groups and bad words to the others",
        "favoured groups get better words",
        "positive words to S_a and negative ones to S_b",
    ),
}
METRICS = {
    (metric.name, metric.question): metric
    for task in catalogue.tasks()
    if task.measure
    for metric in task.measure.metrics
    if metric.question
}


@pytest.mark.parametrize("key", METRICS, ids=str)
def test_question_answer_and_definition_name_one_comparison(key):
    metric = METRICS[key]
    counted, question, above, description = COMPARED[metric.name]
    assert re.fullmatch(counted, metric.counted)
    assert re.search(question, metric.question)
    assert re.search(above, metric.above)
    assert re.search(description, metric.description)
    assert all(text.count("{size}") == 1 for text in (metric.above, metric.below))


def test_a_printed_answer_states_the_value_and_the_n_of_the_number(tmp_path, command):
    ask(tmp_path / "runs", "m", scripted("m", leaning=0.4), "bistereo_analogy")
    status, out, _ = command("report", tmp_path / "runs", "-o", tmp_path / "r", "--no_figures")
    assert status == 0
    printed = " ".join(out.split())  # wrapped where the terminal ends
    pattern = r"(\S+) points above the 50 %[^[]*\(between (\S+) and (\S+); (\d+) analogies\)"
    shown = re.search(pattern, printed).groups()
    (results,) = (tmp_path / "runs").rglob("results_*.json")
    rows = json.loads(results.read_text())["configs"]["bistereo_analogy"]["cells"]["numbers"]
    number = next(r for r in rows if (r["metric"], r["group"]) == ("directed_preferences", None))
    expected = [f"{number[key] - 50:.1f}" for key in ("value", "low", "high")]
    assert shown == (*expected, str(number["n"]))
    assert number["n"] == 181  # of 307, whose other words are loaded; test_measure.py counts again
    report = (tmp_path / "r").glob("*.html")
    page = next(path.read_text() for path in report if path.name not in ("index.html",))
    assert "181 analogies" in page
    tables = {path.name: path.read_text() for path in (tmp_path / "r" / "tables").iterdir()}
    latex = next(text for name, text in tables.items() if name.endswith("Table-2.tex"))
    (whole,) = (line for line in latex.splitlines() if "women and men" in line)
    assert re.findall(r"\(n = (\d+)\)", whole) == ["307", "307", "181", "0"]
