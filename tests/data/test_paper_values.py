"""The results that four papers print, and what of ours each is compared with."""

import hashlib
import json
import re

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.data.paper_values import of_task, papers, tables_of
from lm_eval_bias.data.paper_values import tables as paper_tables

NAMES = ("mist", "hbb", "empathy", "bistereo")
TABLES = {(name, table.name): table for name in NAMES for table in paper_tables(name)}
CELLS = {  # models, rows of each, numbers of each row
    ("mist", "Table 4"): 8 * 3 * 5,
    ("mist", "Table 5"): 8 * 6,
    ("hbb", "Table 1"): 6 * 7,
    ("hbb", "Table 2"): 6 * 16 * 2,
    ("hbb", "Section 4.2.2"): 2,
    ("hbb", "Table 6"): 6 * 6,
    ("hbb", "Table 8"): 5 * 2,
    ("hbb", "Table 9"): 5 * 16 * 2 - 4,  # four counts are 0 and have no score
    ("empathy", "Table 2"): 4 * 21 * 3,
    ("empathy", "Section 4"): 4,
    ("empathy", "Table 6"): 4 * 21,
    **{("empathy", f"Table {n}"): 21 * 2 for n in (3, 7, 8, 9, 10, 11, 12, 13)},
    ("bistereo", "Section 4.1.2"): 6,
    ("bistereo", "Section 4.2.1"): 2,
    ("bistereo", "Table 2"): 4 * 2,
}
# Of all cells of a paper, each of which was compared with the paper's text, by row and column. The
# program that read the texts is commit 30eb41c's tests/data/test_paper_values.py: whoever changes a
# value compares it with the paper, and gives the new checksum.
COMPARED_WITH_PRINT = {
    "mist": "b22fea1346401725",
    "hbb": "8aa7d535738c830e",
    "empathy": "8f28da1c397f2a6c",
    "bistereo": "8baeac9e98f52d65",
}


@pytest.mark.parametrize("name", COMPARED_WITH_PRINT)
def test_every_number_is_the_one_that_was_compared_with_the_paper(name):
    cells = [
        [table.name, c.model, sorted(c.names.items()), c.number, c.value, c.bound, c.printed]
        for table in paper_tables(name)
        for c in table.cells
    ]
    checksum = hashlib.sha256(json.dumps(cells).encode()).hexdigest()
    assert checksum.startswith(COMPARED_WITH_PRINT[name])


def test_all_tables_are_read_with_all_their_cells():
    assert {key: len(table.cells) for key, table in TABLES.items()} == CELLS
    # whose numbers test_stereomap_data.py compares with its text
    assert papers() == sorted([*COMPARED_WITH_PRINT, "stereomap"])
    assert {table.paper for table in TABLES.values()} == {"MIST", "HBB", "empathy gap", "BIStereo"}


# ---- What of ours they are compared with


TASKS = {task.name: task for task in catalogue.tasks()}
COMPARED = [
    (table, cell, comparison)
    for table in TABLES.values()
    for cell in table.cells
    for comparison in cell.comparisons
]
HARNESS = {"bbq_ambig", "bbq_disambig", "crows_pairs_english"}


def test_tasks_are_ours_or_those_of_the_harness_that_we_ask_beside_them(root):
    asked = {comparison.task for _, _, comparison in COMPARED}
    assert asked - set(TASKS) == HARNESS
    group = (root / "tasks" / "hbb" / "hbb_contrast.yaml").read_text()
    assert all(f"- {name}\n" in group for name in HARNESS)


def test_every_task_of_the_four_benchmarks_that_asks_what_a_paper_prints_is_compared():
    """All tasks of these papers but those whose tables print nothing: the other axes of the pairs,
    and behaviour."""
    without = {
        "bistereo_pairs_shape",
        "bistereo_pairs_height",
        "bistereo_nli_men",
        "bistereo_nli_men_looks",
    }
    without |= {
        name for name in TASKS if name.startswith("bistereo_nli") and name.endswith("behaviour")
    }
    named = {table.paper for table in TABLES.values()}
    ours = {name for name, task in TASKS.items() if task.paper in named}
    # the tasks of one category, for which Tables 1 and 8 have no row of their own, have Tables 2
    # and 9
    assert ours - {comparison.task for _, _, comparison in COMPARED} == without


def test_each_comparison_has_a_sentence_that_says_why():
    for _, _, comparison in COMPARED:
        assert comparison.comparable in (True, False)
        assert re.fullmatch(r"[A-Z][^.]*(\.\d[^.]*)*\.", comparison.why), comparison.why


def test_options_are_those_of_the_task():
    for comparison in {c.task: c for _, _, c in COMPARED if c.options}.values():
        assert set(comparison.options) <= set(TASKS[comparison.task].option_names)


def test_a_comparable_task_asks_the_papers_items():
    """The authors' data, or the lexicons that MIST prints."""
    comparable = {comparison.task for _, _, comparison in COMPARED if comparison.comparable}
    assert all(name == "mist_wabt" or "_official" in name for name in comparable)
    assert not any("likelihood" in name for name in comparable)
    assert {
        "mist_wabt",
        "hbb_generate_official",
        "hbb_generate_official_race",
        "empathy_race_official",
        "empathy_religion_s1_official",
    } <= comparable
    assert len(comparable) == 1 + 6 + 21


def test_metrics_are_numbers_of_the_task_of_the_same_unit_and_cite_the_table():
    seen = set()
    for table, cell, comparison in COMPARED:
        if comparison.task in HARNESS:
            continue
        measure = TASKS[comparison.task].measure
        for name in cell.metrics:
            metric = measure.metric(name)
            assert metric.unit == cell.unit
            number = re.sub(r"\D", "", table.name) if table.name.startswith("Table") else None
            like = (
                {"8": "3", "10": "3", "12": "3", "9": "7", "11": "7", "13": "7"}
                if table.paper == "empathy gap"
                else {}
            )
            # FAR and UAR are cells of Table 5, says its caption
            cited = re.findall(r"\d+", metric.cell.replace("section 4.3", "Table 5"))
            assert like.get(number, number) in cited, (metric.name, metric.cell, table.name)
            assert cell.group is None or (
                metric.by in cell.names and cell.names[metric.by] == cell.group
            )
            seen.add((measure.summary, name))
    assert len(seen) > 30


def test_every_metric_that_cites_a_table_has_a_published_number():
    named = {table.paper for table in TABLES.values()}
    compared = {
        (TASKS[c.task].measure.summary, name)
        for _, cell, c in COMPARED
        if c.task in TASKS
        for name in cell.metrics
    }
    for task in TASKS.values():
        if task.paper in named and task.measure is not None:
            for metric in task.measure.metrics:
                assert metric.cell is None or (task.measure.summary, metric.name) in compared, (
                    task.name,
                    metric.name,
                )


def test_what_stands_beside_a_task():
    """Of the default setting of a category: one gap and its bounds for each of four models, and the
    tables of each; no other setting."""
    cells = [cell for _, _, cell, _ in of_task("empathy_religion_official")]
    assert {(c.names.get("setting"), c.names["category"]) for c in cells} == {("", "religion")}
    assert len(cells) == 4 * 3 + 4 * 1 + 4 * 2 + 4 * 2
    race = of_task("hbb_generate_official_race")
    assert {(table.name, c.names["category"]) for _, table, c, _ in race} == {("Table 2", "Race")}
    assert list(of_task("no_such_task")) == []


# ---- The reader


FILE = {
    "paper": "A paper",
    "models": {"M": "maker/M", "N": None},
    "axes": {"color": {"red": "Red", "blue": "Blue"}},
    "tasks": {
        "some": {"look_{color}": {"comparable": False, "why": "So.", "only": {"color": ["red"]}}}
    },
    "tables": {
        "Table 1": {
            "section": "3",
            "caption": "Looks.",
            "axes": ["color"],
            "row": {"light": "day"},
            "tasks": "some",
            "numbers": {
                "mean": {"unit": "score", "metric": "look", "group": "color"},
                "p": {"unit": "p", "table": "looks", "column": "p"},
                "stars": None,
            },
            "values": {"M": {"blue": [1, "<.05", "*"]}, "N": [[2, 0.5, ""], {"mean": 3}]},
            "printed": {"N": {"blue": {"mean": "3."}}},
        }
    },
}


def changed(**table):
    return {**FILE, "tables": {"Table 1": {**FILE["tables"]["Table 1"], **table}}}


def test_values_are_named_by_mappings_or_by_their_order():
    (table,) = tables_of(FILE)
    shown = [
        (c.model, c.names["color"], c.number, c.value, c.bound, c.printed) for c in table.cells
    ]
    assert shown == [
        ("M", "blue", "mean", 1.0, "", None),
        ("M", "blue", "p", 0.05, "<", "<.05"),
        ("N", "red", "mean", 2.0, "", None),
        ("N", "red", "p", 0.5, "", None),
        ("N", "blue", "mean", 3.0, "", "3."),
    ]
    assert table.models == {"M": "maker/M", "N": "N"}
    assert table.numbers == {"mean": "score", "p": "p"}
    first, second, third = table.cells[:3]
    assert (first.metrics, first.group, first.place) == (("look",), "blue", None)
    place = ("looks", "p", {"light": "day", "color": "blue"})
    assert (second.metrics, second.group, second.place) == ((), None, place)
    assert (first.comparisons, third.comparisons) == ((), (("look_red", False, "So.", {}),))


@pytest.mark.parametrize(
    "table, said",
    [
        (
            {"values": {"M": {"green": [1, 2, ""]}}},
            "A paper, Table 1: 'green' is none of red, blue",
        ),
        ({"values": {"M": {"red": [1, 2]}}}, "expected 3 values, for mean, p, stars, found 2"),
        ({"values": {"M": {"red": 1}}}, "expected 3 values, for mean, p, stars, found 1"),
        ({"values": {"M": {"red": {"mean": "1*"}}}}, "'1\\*' is neither a number nor a bound"),
        ({"values": {"M": {"red": {"mean": True}}}}, "True is no number"),
    ],
)
def test_a_file_that_does_not_explain_itself_is_an_error(table, said):
    with pytest.raises(ValueError, match=said):
        tables_of(changed(**table))
