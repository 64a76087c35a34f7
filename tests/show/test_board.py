"""The leaderboard over runs: columns, intervals, ranks by hand, order; and its files, with hostile
names in every one."""

import csv
import io
import json
import re
from math import isnan, nan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.measure import Number
from lm_eval_bias.results.escape import FORMULAS, TEXT, csv_cell, markdown_cell, shortened, visible
from lm_eval_bias.results.leaderboard import board, letter
from lm_eval_bias.results.runs import find
from lm_eval_bias.show import leaderboard as boards
from lm_eval_bias.show import page
from lm_eval_bias.show.page import WRITERS
from tests.hostile import Page
from tests.mistakes import refused
from tests.scripted import edited, made_up


def made(folder, models, metrics=None, **same):
    """A board over made-up runs: model -> (value, stderr) of `gap`, whose null value is 0, or all
    values."""
    for i, (name, values) in enumerate(models.items()):
        values = values if isinstance(values, dict) else {"gap": (*values, 0, None)}
        made_up(folder, name, values, minutes=i, **same)
    return board(find([Path(folder)]), metrics)


def columns(of):
    return {column.metric.name: column for section in of.sections for column in section.columns}


def ranks(column):
    return {model: entry.rank for model, entry in column.entries.items()}


# ---- Columns, intervals and ranks


@pytest.mark.parametrize("better, best", [("higher", (1, 1)), (None, None)])
def test_a_number_is_ranked_where_it_has_a_direction(tmp_path, better, best):
    values = {name: {"x": (x, 1.0, None, better)} for name, x in (("a", 10.0), ("b", 90.0))}
    assert ranks(columns(made(tmp_path, values))["x"])["b"] == best


def test_the_interval_is_the_one_of_the_file(tmp_path):
    """gap 2 ± 0.1 by its standard error would exclude 2.5; its interval does not."""
    of = made(tmp_path, {"a": (2.0, 0.1), "b": (2.5, 0.1)}, ends={"gap": (1.0, 3.0)})
    column = columns(of)["gap"]
    assert column.entries["a"].number == Number(2.0, 0.1, 1.0, 3.0)
    assert ranks(column) == {"a": (1, 2), "b": (1, 2)}


def test_where_the_file_has_no_interval_there_is_none_and_no_rank(tmp_path):
    """Few clusters, for which the task says NaN; a standard error of zero; a model alone."""
    none = {"gap": (nan, nan)}
    column = columns(made(tmp_path / "few", {"a": (2.0, 0.1), "b": (2.0, 0.1)}, ends=none))["gap"]
    assert isnan(column.entries["a"].number.low) and ranks(column) == {"a": None, "b": None}
    column = columns(made(tmp_path / "zero", {"a": (0.0, 0.0), "b": (9.0, 1.0), "c": (1.0, 1.0)}))
    assert ranks(column["gap"])["a"] is None and column["gap"].ranked == 2
    assert ranks(columns(made(tmp_path / "alone", {"a": (1.0, 1.0)}))["gap"]) == {"a": None}


def test_every_condition_of_a_model_is_a_row_and_ranks_are_within_one(tmp_path):
    """Of `a` 9 without template, 1 with its own, 5 with a system message too, 6 in another template
    of its own, 7 in another wording; of `b` 1 with its own. `a` without its template is far from
    `b` and from itself, which says nothing about the models: ranks 1 and 2 are open."""
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
        made_up(tmp_path, name, {"gap": (gap, 0.1, 0, None)}, minutes=minutes, **more)
    of = board(find([tmp_path]))
    shown = {
        tuple(section.settings.values())[2:]: {
            model: (entry.number.value, entry.rank)
            for model, entry in section.columns[0].entries.items()
        }
        for section in of.sections
    }
    assert shown == {
        ("the model's",): {"a": (1.0, (1, 2)), "b": (1.0, (1, 2))},
        ("none",): {"a": (9.0, None)},
        ("5e1f5e1f5e1f", "the model's"): {"a": (5.0, None)},
        ("1", "the model's"): {"a": (7.0, None)},
        ("v" * 12,): {"a": (6.0, None)},
    }
    for write in WRITERS.values():
        for label in ("chat template", "none", "the model", "5e1f5e1f5e1f", "wording", "v" * 12):
            assert label in write(boards.page(of))
    assert not of.notes and of.models == ["a", "b"]


def test_a_warning_stands_with_the_condition_that_has_it(tmp_path):
    for minutes, template in enumerate((None, "t" * 64)):
        more = {"metadata": {"unused_chat_template": template is None}}
        more |= {"minutes": minutes, "chat_template_sha": template}
        made_up(tmp_path, "a", {"gap": (1.0, 0.1, 0, None)}, **more)
    of = board(find([tmp_path]))
    (line,) = boards.page(of).remarks["Read these with care"]
    assert line.startswith("a, mine (chat template none): its tokenizer has a chat template, which")
    rows = list(csv.DictReader(io.StringIO(page.csv(boards.page(of).rows))))
    assert [bool(row["warnings"]) for row in rows] == ["none" in row["asked"] for row in rows]


def test_coverage_is_told(tmp_path):
    made_up(tmp_path, "a", {"other": (1.0, 1.0)}, task="theirs")
    of = made(tmp_path, {"a": (1.0, 1.0), "b": (1.0, 1.0)})
    assert of.tasks == ["mine", "theirs"]
    assert boards.page(of).remarks["Not asked"] == ["b was not asked theirs"]


def test_metrics_may_be_chosen_also_those_below_the_table(tmp_path):
    of = made(tmp_path, {"a": (1.0, 1.0)}, metrics=["mine/finer"], more={"finer": (3.0, None)})
    assert list(columns(of)) == ["finer"]


def test_a_name_that_does_not_fit(tmp_path):
    made_up(tmp_path, "a", {"gap": (1.0, 1.0)})
    with refused("--metrics gup: no run has that number; did you mean gap[?]$"):
        board(find([tmp_path]), ["gup"])


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
        path = made_up(folder, model, values, task=name, minutes=i, **more)
        with edited(path) as content:
            content["configs"][name]["error"] = name
    return board(find([folder]))


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
    assert not cell.lstrip().startswith(FORMULAS) and not unseen(cell) and "\n" not in cell
    assert not unseen(shortened(text)) and len(shortened(text)) <= 100
    assert not re.search(r"\||(?<!\\)[`*\[\]<>]", name.replace("\\\\", ""))


def test_what_is_not_seen_stands_as_its_code():
    shown = "a\\x1b[2J\\u202e\\n\\ud800\\U000e0041é 漢"
    assert visible("a\x1b[2J\u202e\n\ud800\U000e0041é 漢") == shown


def test_letters_of_ties():
    assert [letter(k) for k in (0, 25, 26, 53)] == ["a", "z", "a1", "b2"]


def test_a_json_line(tmp_path):
    """-9 and 1 with standard errors of 1, the null value 0: their distances from it are 9 and 1,
    z = 5.66, two ranks."""
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
        "rank_low": 1,
        "rank_high": 1,
        "of": 2,
        "paired": False,
        "ties": "a",
        "range": None,
        "warnings": "",
    }
