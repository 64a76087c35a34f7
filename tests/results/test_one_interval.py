"""A task of every measure: each number has the same interval in all places that show it."""

import csv
import json
import random
import re
from math import inf, isnan, nan

import pytest

from lm_eval_bias import cli
from lm_eval_bias.commands import finished
from lm_eval_bias.exhibit import Numbers
from lm_eval_bias.export.numbers import chosen
from lm_eval_bias.gate.verdicts import estimate
from lm_eval_bias.results import runs, sample_size
from lm_eval_bias.results.escape import visible
from lm_eval_bias.results.table import interval_text
from tests.scripted import ask, chance, scripted

pytestmark = pytest.mark.slow
# A task of every measure whose items are shipped: how many parts of its documents, which begin so
# far apart.
PARTS = """
bistereo_analogy_generate 12 240
bistereo_nli_generate 12 5000
empathy_religion_likelihood 12 1220
hbb_generate 24 520
hbb_sg 24 520
mist_aat_likelihood 12 120
mist_wabt_likelihood 12 720
stereomap_behavior 12 196
stereomap_behavior_likelihood 12 384
stereomap_emotion 12 98
stereomap_emotion_likelihood 12 256
stereomap_extended_likelihood 12 208
stereomap_original 12 1666
stereomap_original_likelihood 12 343
stereomap_structure 12 294
stereomap_structure_likelihood 12 64
bistereo_analogy 12 120
bistereo_nli 12 5000
bistereo_pairs 12 3600
empathy_religion 12 1220
hbb 24 1040
mist_aat 12 120
mist_wabt 12 360
stereomap_extended 12 80
"""
TASKS = {
    task: (int(parts), int(step))
    for task, parts, step in map(str.split, PARTS.strip().splitlines())
}
COMPARED = ("bistereo_analogy", "mist_aat", "mist_wabt")
ENDS = ("value", "low", "high")


KEYWORDS = "friendly honest skilled confident wealthy lazy cold strong religious poor modern unfair"


def scripted_answer(prompt: str) -> str:
    """An answer in the form that the prompt demands."""
    if "(X, S) pairs" in prompt:
        words = re.search(r"The words are (.+?)\. Do not", prompt, re.S)[1].split(", ")
        one, other = re.search(
            r"(?:a word|one of|between) (.+?) or (.+?)(?:,| to each| and write)", prompt
        ).groups()
        return "\n".join(
            f"({word}, {one if chance(prompt, word) < 0.6 else other})" for word in words
        )
    if "“comedy”" in prompt:
        return "comedy" if chance(prompt) < 0.7 else "tragedy"
    if "Emotion intensity" in prompt:
        return str(30 + int(60 * chance(prompt)))
    if "5-point scale" in prompt:
        items = re.findall(r"^- ?(.+?):", prompt, re.M)
        rated = "\n".join(f"- {item}: {1 + int(5 * chance(prompt, item))}" for item in items)
        keywords = random.Random(chance(prompt)).sample(KEYWORDS.split(), 5)
        return (
            f"Keywords: {', '.join(keywords)}\nReasons: people say so.\n{rated}\n"
            f"Overall rating: {1 + int(5 * chance(prompt, 'overall'))}\n"
            "Three reasons: history, media, law."
        )
    if "Natural Language Inference" in prompt:
        labels = ("Neutral", "Entailment", "Contradiction")
        return labels[int(3 * chance(prompt) ** 2)]
    if words := re.search(r"one of these two words, and write nothing else: (.+), (.+)\.", prompt):
        return words[1 + (chance(prompt) < 0.5)]
    if "\nb) " in prompt:
        return "a" if chance(prompt) < 0.6 else "b"
    return "A thing that stands on a table, and that somebody made long ago."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every")
    for name, tasks in (("m", TASKS), ("n", COMPARED)):
        model = scripted(name, 0.4)
        model.say = lambda prompt, name=name: scripted_answer(f"{prompt} {name}")
        places = {
            task: [i * step + j for i in range(parts) for j in range(36)]
            for task, (parts, step) in TASKS.items()
            if task in tasks
        }
        ask(folder / name, name, model, *tasks, samples=places)
    command = ["report", str(folder / "m"), "-o", str(folder / "report"), "--no_figures"]
    assert cli.main(command) == 0
    return folder


@pytest.fixture(scope="module")
def written(folder):
    """(task, metric, group) -> value and interval in the table `numbers` of the results file."""
    return numbers_of(folder / "m")


def numbers_of(folder):
    (path,) = folder.rglob("results_*.json")
    return {
        (task, row["metric"], row["group"]): tuple(row[end] for end in ENDS)
        for task, config in json.loads(path.read_text())["configs"].items()
        for row in config["cells"]["numbers"]
    }


@pytest.fixture(scope="module")
def read(folder):
    return {run.task: run for run in runs.find([folder / "m"], finished.known_tasks([])).runs}


def rows(path):
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def same(shown, number):
    """Whether numbers, texts of a CSV or nulls of JSON are those of the results file, where
    infinity and NaN are written as nothing."""
    plain = [nan if x in (None, "") else float(x) for x in shown]
    return plain == pytest.approx([x if abs(x) < 1e300 else nan for x in number], nan_ok=True)


def test_every_task_has_numbers_with_intervals(read, written):
    assert set(read) == set(TASKS) == {task for task, *_ in written}
    lacking = [
        task
        for task, run in read.items()
        if not any(number.low < number.high for number in run.numbers.values())
    ]
    assert not lacking
    for task, run in read.items():
        for key, number in run.numbers.items():
            ends = [getattr(number, end) for end in ENDS]
            assert ends == pytest.approx(written[task, *key], nan_ok=True), (task, key)


def test_the_page_and_its_csv(folder, read, written):
    pages = [(folder / "report" / f"{name}.html").read_text() for name in ("m", "index")]
    for task, run in read.items():
        for row in rows(folder / "report" / "tables" / f"m-{task}-numbers.csv"):
            key = (task, row["metric"], row["group"] or None)
            assert same([row[end] for end in ENDS], written[key]), key
        for metric, number in run.primaries:
            if interval := interval_text(number, metric.unit):
                assert all(f"<small>{visible(interval)}</small>" in page for page in pages)


def test_exhibits_of_numbers(folder, read, written):
    shown = 0
    known = finished.known_tasks([])
    for task in read:
        for exhibit in known[task].measure.exhibits:
            source = exhibit.source
            file = f"m-{task}-{exhibit.name.replace(' ', '-')}.csv"
            path = folder / "report" / "tables" / file
            if not isinstance(source, Numbers) or exhibit.then or not path.exists():
                continue
            for row in rows(path):
                group = row.get(source.by) if source.by else None
                for name in row.keys() & set(exhibit.metrics):
                    key = (task, name, None if group == source.whole else group)
                    if row["source"] == "this run" and key in written:
                        ends = [row[name], row.get(f"{name}_low"), row.get(f"{name}_high")]
                        assert same(ends, written[key]), key
                        shown += 1
    assert shown > 50


def test_the_leaderboard(folder, written, tmp_path):
    file = tmp_path / "board.jsonl"
    assert cli.main(["leaderboard", str(folder / "m"), "--output", str(file)]) == 0
    numbers = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(numbers) > len(TASKS)
    for number in numbers:
        key = (number["task"], number["metric"], None)
        assert same([number[end] for end in ENDS], written[key]), key


def test_compare(folder, written, tmp_path):
    """Its numbers are those of the runs."""
    sides = written, numbers_of(folder / "n")
    file = tmp_path / "compared.jsonl"
    models = [str(folder / name) for name in "mn"]
    assert cli.main(["compare", *models, "--groups", "--output", str(file)]) == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    tested = [line for line in lines if "refused" not in line]
    assert {line["task"] for line in tested} == set(COMPARED)
    for line in tested:
        first, second = (side[line["task"], line["metric"], line["group"]] for side in sides)
        values = [line["first_value"], line["second_value"], line["difference"]]
        assert same(values, (first[0], second[0], second[0] - first[0])), line


def test_the_gate(read):
    for task, run in read.items():
        for metric in run.metrics:
            for (name, group), number in run.numbers.items():
                if name == metric.name and -inf < number.low < number.high < inf:
                    ends = estimate(number, metric).interval(0.05)
                    assert ends == pytest.approx((number.low, number.high)), (task, name, group)


def test_export(read, written):
    results, _ = chosen(list(read.values()))
    assert len(results) > len(TASKS)
    for result in results:
        ends = [getattr(result.number, end) for end in ENDS]
        if not any(map(isnan, ends)):
            key = (result.run.task, result.metric.name, None)
            assert ends == pytest.approx(written[key]), key


def test_plan(folder, written, capsys, monkeypatch):
    """It shows the width of the interval that the pilot has now, to one decimal; what the pilot's
    windows tell of others is of no matter here, and takes half a minute."""
    monkeypatch.setattr(sample_size, "in_windows", lambda *_: {})
    assert cli.main(["plan", "--pilot", str(folder / "m"), "--width", "5"]) == 0
    shown, task = 0, None
    for line in capsys.readouterr().out.splitlines():
        if head := re.match(r"(\w+), m: ", line):
            task = head[1]
        if row := re.match(r"  (\w+)  +(?:%|points)  +([\d.]+)  +5(?:\.0)? ", line):
            _, low, high = written[task, row[1], None]
            width = pytest.approx(high - low, abs=0.0501)
            assert float(row[2]) == width, (task, row[1])
            shown += 1
    assert shown > len(TASKS)
