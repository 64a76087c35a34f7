"""The exhibits of every measure in the catalogue: what they declare is there, said in a sentence,
and printed by the papers they name.

What the rows of a run have is tested in tests/test_measure.py, which makes a summary of each
measure.
"""

import copy
import re
from math import inf, nan

import pytest
from exhibit_slips import TASKS, compared, keys
from test_measure import EVERY, asked

from lm_eval_bias.data import paper_values
from lm_eval_bias.exhibit import Column, Exhibit, Numbers, known, rows
from lm_eval_bias.measure import tables

MEASURES = {}
for task in TASKS:
    MEASURES.setdefault(id(task.measure), (task.name, task.measure))
EXHIBITS = [
    (f"{task}, {exhibit.name}", measure, exhibit)
    for task, measure in MEASURES.values()
    for exhibit in measure.exhibits
]


def problems(measure, e):
    """What is wrong with the declaration of an exhibit."""
    names, titles = ([column[i] for column in e.columns] for i in (0, 1))
    if not names or len({*names}) < len(names) or len({*titles}) < len(titles) or not all(titles):
        yield "columns lack a title or stand twice"
    if e.caption != " ".join(e.caption.split()) or e.caption.endswith("."):
        yield "the caption is no line without a full stop"
    for sentence in (e.how_to_read, e.caveat):
        if sentence != " ".join(sentence.split()) or not sentence.endswith("."):
            yield f"no sentence: {sentence}"
        if len(re.findall(r"[.!?](?=\s|$)", sentence)) != 1:
            yield f"several sentences: {sentence}"
    if e.needs.endswith("."):
        yield "needs is part of a sentence"
    if copy.deepcopy(e) != e:  # the harness copies what a task is made of
        yield "cannot be copied"


def number_problems(measure, e):
    declared = {metric.name: metric for metric in measure.metrics}
    if not isinstance(e.source, Numbers):
        return
    if len({*e.metrics}) < len(e.metrics):
        yield "takes a metric twice"
    if e.source.by and not any(declared[name].by for name in e.metrics):
        yield "is split by what splits no metric"
    for column in e.columns:
        if column.name in declared and column.name not in e.metrics:
            yield f"shows {column.name}, which it does not take"
        if column.name in declared and column.unit != declared[column.name].unit:
            yield f"{column.name} has another unit than its metric"


def figure_problems(measure, e):
    figure = e.figure
    if figure is None:
        return
    if (figure.to is not None) != (figure.kind == "histogram"):
        yield "`to` is for histograms"
    if (figure.five is not None) != (figure.kind == "boxes"):
        yield "`five` is for boxes"
    if (figure.low is None) != (figure.high is None):
        yield "an interval lacks an end"
    least, most = figure.domain or (-inf, inf)
    if figure.reference is not None and not least <= figure.reference <= most:
        yield "the reference lies outside the scale"
    if not set(figure.order) <= set(keys(e._replace(figure=figure._replace(order={})))):
        yield "orders what it does not draw"


def paper_problems(measure, e):
    if e.paper_values:
        paper, *names = e.paper_values
        if not set(names) <= {table.name for table in paper_values.tables(paper)}:
            yield "no such table in print"
        if id(e) not in {id(of) for of, _ in compared(measure)}:
            yield "no task of the measure asks what these tables print"


@pytest.mark.parametrize("check", [problems, number_problems, figure_problems, paper_problems])
def test_every_exhibit_is_declared_soundly(check):
    assert [(name, problem) for name, measure, e in EXHIBITS for problem in check(measure, e)] == []


def test_no_exhibit_of_a_measure_stands_twice():
    for name, measure in MEASURES.values():
        names = [exhibit.name for exhibit in measure.exhibits]
        assert len(set(names)) == len(names), name


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), "40", True, [40]])
def test_what_is_no_finite_number_is_not_known(value):
    assert known(value) is None
    assert known(40) == 40 and known(-0.5) == -0.5 and known(0) == 0


def test_the_whole_and_a_group_of_its_name_are_two():
    """A person may call a group "all", and a figure refuses two rows in one place."""
    exhibit = Exhibit(
        "Gap",
        "Gap",
        Numbers(("gap",), by="job", whole="all"),
        (Column("job", "Job"), Column("gap", "Gap", "points")),
        "r",
        "s",
    )
    numbers = [
        {"metric": "gap", "group": group, "value": value, "stderr": None}
        for group, value in ((None, 3.0), ("all", 1.0))
    ]
    assert [(row["job"], row["gap"]) for row in rows(exhibit, {"numbers": numbers})] == [
        ("all together", 3.0),
        ("all", 1.0),
    ]
    assert [row["job"] for row in rows(exhibit, {"numbers": numbers[:1]})] == ["all"]


@pytest.mark.parametrize("name", ["mist.AAT", "hbb.HBB", "bistereo.NLI"])
@pytest.mark.parametrize("wrong", [None, "text", nan, inf, True])
def test_a_cell_that_is_no_number_breaks_nothing(name, wrong):
    """A results file may have been written by anything."""
    spoilt = {
        table: [{key: wrong for key in row} for row in of]
        for table, of in tables(EVERY[name], asked(name)[2]).items()
        if table != "numbers"
    }
    for exhibit in EVERY[name].exhibits:
        rows(exhibit, spoilt)
        rows(exhibit, {table: [{} for _ in of] for table, of in spoilt.items()})
        assert rows(exhibit, {}) == []
