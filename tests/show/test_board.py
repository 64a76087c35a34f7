"""The leaderboard over runs: columns, intervals, ranks by hand, order; and its files, with hostile
names in every one."""

import csv
import io
import json
import re
from math import isnan, nan
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from lm_eval_bias.measure import Number
from lm_eval_bias.results import leaderboard
from lm_eval_bias.results.escape import FORMULAS, TEXT, csv_cell, markdown_cell, shortened, visible
from lm_eval_bias.results.leaderboard import board, letter
from lm_eval_bias.results.runs import find
from lm_eval_bias.show import leaderboard as boards, page
from lm_eval_bias.show.page import WRITERS
from tests.hostile import Page
from tests.mistakes import refused
from tests.scripted import edited, made_up


def of_runs(folder, metrics=None):
    found = find([Path(folder)])
    return board(found, found.answers, metrics)


def made(folder, models, metrics=None, **same):
    """A board over made-up runs: model -> (value, stderr) of `gap`, whose null value is 0, or all
    values."""
    for i, (name, values) in enumerate(models.items()):
        values = values if isinstance(values, dict) else {"gap": (*values, 0, None)}
        made_up(folder, values, name, minutes=i, **same)
    return of_runs(folder, metrics)


def columns(of):
    return {column.metric.name: column for section in of.sections for column in section.columns}


# ---- Columns and intervals


def test_the_interval_is_the_one_of_the_file(tmp_path):
    """2 ± 0.1 by its standard error; none, where the task says NaN."""
    column = columns(made(tmp_path / "one", {"a": (2.0, 0.1)}, ends={"gap": (1.0, 3.0)}))["gap"]
    assert column.entries["a"].number == Number(2.0, 0.1, 1.0, 3.0)
    column = columns(made(tmp_path / "none", {"a": (2.0, 0.1)}, ends={"gap": (nan, nan)}))["gap"]
    assert isnan(column.entries["a"].number.low)


def test_every_condition_of_a_model_is_a_row(tmp_path):
    """Of `a` 9 without template, 1 with its own, 5 with a system message too, 6 in another template
    of its own, 7 in another wording; of `b` 1 with its own."""
    system, (T, U, V) = "5e1f" * 16, (letter * 64 for letter in "tuv")
    for minutes, (name, gap, more) in enumerate(
        [
            ("a", 9.0, {}),
            ("a", 5.0, {"chat_template_sha": T, "system_instruction_sha": system}),
            ("a", 7.0, {"chat_template_sha": T, "metadata": {"wording": 1}}),
            ("a", 6.0, {"chat_template_sha": V}),
            ("a", 1.0, {"chat_template_sha": T}),
            ("b", 1.0, {"chat_template_sha": U}),
        ]
    ):
        made_up(tmp_path, {"gap": (gap, 0.1, 0, None)}, name, minutes=minutes, **more)
    of = of_runs(tmp_path)
    shown = {
        tuple(section.settings.values())[2:]: {
            model: entry.number.value for model, entry in section.columns[0].entries.items()
        }
        for section in of.sections
    }
    assert shown == {
        ("the model's",): {"a": 1.0, "b": 1.0},
        ("none",): {"a": 9.0},
        ("5e1f5e1f5e1f", "the model's"): {"a": 5.0},
        ("1", "the model's"): {"a": 7.0},
        ("v" * 12,): {"a": 6.0},
    }
    for write in WRITERS.values():
        for label in ("chat template", "none", "the model", "5e1f5e1f5e1f", "wording", "v" * 12):
            assert label in write(boards.page(of))
    assert of.notes == ["mine: no ranks without the samples of a, b (--log_samples)"]
    assert of.models == ["a", "b"]


def test_a_warning_stands_with_the_condition_that_has_it(tmp_path):
    for minutes, template in enumerate((None, "t" * 64)):
        more = {"metadata": {"unused_chat_template": template is None}}
        more |= {"minutes": minutes, "chat_template_sha": template}
        made_up(tmp_path, {"gap": (1.0, 0.1, 0, None)}, "a", **more)
    of = of_runs(tmp_path)
    (line,) = boards.page(of).remarks["Read these with care"]
    assert line.startswith("a, mine (chat template none): its tokenizer has a chat template, which")
    rows = list(csv.DictReader(io.StringIO(page.csv(boards.page(of).rows))))
    assert [bool(row["warnings"]) for row in rows] == ["none" in row["asked"] for row in rows]


def test_coverage_is_told(tmp_path):
    made_up(tmp_path, {"other": (1.0, 1.0)}, "a", task="theirs")
    of = made(tmp_path, {"a": (1.0, 1.0), "b": (1.0, 1.0)})
    assert of.tasks == ["mine", "theirs"]
    assert boards.page(of).remarks["Not asked"] == ["b was not asked theirs"]


def test_metrics_may_be_chosen_also_those_below_the_table(tmp_path):
    of = made(tmp_path, {"a": (1.0, 1.0)}, metrics=["mine/finer"], more={"finer": (3.0, None)})
    assert list(columns(of)) == ["finer"]


def test_a_name_that_does_not_fit(tmp_path):
    made_up(tmp_path, {"gap": (1.0, 1.0)}, "a")
    with refused("--metrics gup: no run has that number; did you mean gap[?]$"):
        of_runs(tmp_path, ["gup"])


# ---- Hostile names


HOSTILE = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "{{ 7*7 }}{% raw %}",
    '=HYPERLINK("http://evil.example","x")',
    "@SUM(A1)",
    "\t=1+1",
    "＝1+1",
    "\x1b[2J\x1b]0;owned\x07gone",
    "a\u202egnp.exe",
    "zero\u200bwidth",
    "two\nlines",
    "a|b|c",
    "`code`",
    "[x](javascript:alert(1))",
    "https://evil.example",
    "www.evil.example",
    "# head",
    "*b* _i_ ~~s~~ $x$",
    "half \ud800 of one",
    "ﷺ" * 30,
    "x" * 5000,
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Runs whose model, task, metric, version, option and error are all hostile."""
    folder = tmp_path_factory.mktemp("hostile")
    for i, name in enumerate(HOSTILE):
        values = {name: (1.0 + i, 0.5, 0, None), "gap": (-2.0, nan, 0, None)}
        model, more = name.replace("/", "∕"), {"version": name, "metadata": {name: name}}
        path = made_up(folder, values, model, task=name, minutes=i, **more)
        with edited(path) as content:
            content["configs"][name]["error"] = name
    return of_runs(folder)


def unseen(text):
    return [c for c in text if c != "\n" and visible(c) != c]


def test_nothing_hostile_moves_a_terminal(hostile):
    text = page.text(boards.page(hostile), 120)
    assert not unseen(text)
    assert max(map(len, text.splitlines())) <= 4 + TEXT  # a word of a warning


def test_markdown_has_the_markup_that_we_wrote_alone(hostile):
    written = page.markdown(boards.page(hostile))
    assert not unseen(written)
    for line in written.splitlines():
        bare = re.sub(r"\\[^\w\s]", "", line)
        if line.startswith("|"):
            plain = re.sub(r"\[-?[\d.,∞–]+, -?[\d.,∞–]+\]|<br>", "", bare)
            assert not re.search(r"[<>`*\[\]!]", plain), line
        assert "<script" not in bare and "javascript:alert" not in re.sub(r"\(.*\)", "", bare)
        assert "://" not in bare and "www." not in bare


def test_the_page_shows_hostile_names_as_text(hostile):
    written = page.html(boards.page(hostile))
    parsed = Page(written)
    assert not {"script", "img", "a"} & set(parsed.tags) and parsed.tags.count("style") == 1
    assert not parsed.handlers and not parsed.links and not unseen(written)
    for model in hostile.models:
        assert " ".join(model.split()) in parsed.text
    assert (
        "default-src 'none'; style-src 'sha256-" in parsed.policy and "unsafe" not in parsed.policy
    )


@given(st.text())
def test_no_text_starts_a_formula_or_steers(text):
    cell, name = str(csv_cell(text)), markdown_cell(text)
    assert cell == "%" or not cell.lstrip().startswith(FORMULAS)
    assert not unseen(cell) and "\n" not in cell
    assert not unseen(shortened(text)) and len(shortened(text)) <= 100
    assert not re.search(r"\||(?<!\\)[`*\[\]<>]", name.replace("\\\\", ""))


def test_what_is_not_seen_stands_as_its_code():
    shown = "a\\x1b[2J\\u202e\\n\\ud800\\U000e0041é 漢"
    assert visible("a\x1b[2J\u202e\n\ud800\U000e0041é 漢") == shown


def test_letters_of_ties():
    assert [letter(k) for k in (0, 25, 26, 53)] == ["a", "z", "a1", "b2"]


def test_models_that_cannot_be_told_take_no_rank_from_the_others(tmp_path, monkeypatch):
    """The attention checks move `b` by 1 point of 100, `c` has nine clusters, and `e` gives no
    answer to 51 of 100 questions."""
    for i, model in enumerate("eabcd"):
        moved = 1.0 if model == "b" else 20.0
        values = {"gap": (float(i), 0.1, 0, None), "responds": (moved, 0.1, None, None)}
        values["invalid"] = (51.0 * (model == "e"), None)
        made_up(tmp_path, values, model, minutes=i)
    runs = find([tmp_path]).runs
    clusters = {"a": 24, "b": 24, "c": 9, "d": 24, "e": 24}
    of = {
        model: SimpleNamespace(number=lambda key, n=n: Number(0, 1, -2, 2, n))
        for model, n in clusters.items()
    }
    monkeypatch.setattr(leaderboard, "pair_p", lambda *_: 0.001)
    column = leaderboard._column(runs[0].metric("gap"), runs, of)
    ranks = {model: entry.rank for model, entry in column.entries.items()}
    assert ranks == {"a": (1, 1), "b": None, "c": None, "d": (2, 2), "e": None}


def test_a_json_line(tmp_path):
    """Without samples, so without a rank."""
    of = made(tmp_path, {"b": (-9.0, 1.0), "a": (1.0, 1.0)}, units=37)
    assert of.models == ["a", "b"]
    first = json.loads(page.jsonl(boards.page(of)).splitlines()[0])
    assert [first.pop(end) for end in ("low", "high")] == pytest.approx([-0.96, 2.96], abs=1e-3)
    assert first == {
        "model": "a",
        "task": "mine",
        "metric": "gap",
        "unit": "points",
        "better": "near",
        "null_value": 0.0,
        "asked": "version 1, documents 100, chat template none",
        "value": 1.0,
        "stderr": 1.0,
        "clusters": None,
        "n": 37,
        "verdict": None,
        "rank_low": None,
        "rank_high": None,
        "of": None,
        "ties": None,
        "range": None,
        "warnings": "",
    }
