"""The exhibits of every measure in the catalogue: what they declare is there, said in a sentence,
and printed by the papers they name.

What the rows of a run have is tested in tests/test_measure.py, which makes a summary of each
measure.
"""

import copy
import re

import pytest
from exhibit_slips import compared, keys, slips

from lm_eval_bias import catalogue
from lm_eval_bias.data import published
from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers, Rows, known, rows
from lm_eval_bias.measure import UNITS

MEASURES = {}
for task in catalogue.tasks():
    MEASURES.setdefault(id(task.measure), (task.name, task.measure))
EXHIBITS = [
    (name, measure, exhibit) for name, measure in MEASURES.values() for exhibit in measure.exhibits
]
every_exhibit = pytest.mark.parametrize(
    ("measure", "exhibit"), [pytest.param(m, e, id=f"{name}, {e.name}") for name, m, e in EXHIBITS]
)


@every_exhibit
def test_numbers_are_those_that_the_measure_declares(measure, exhibit):
    if not isinstance(exhibit.source, Numbers):
        return
    source, declared = exhibit.source, {m.name: m for m in measure.metrics}
    assert set(source.metrics) <= set(declared)
    assert len(set(source.metrics)) == len(source.metrics)
    if source.by is not None:
        assert any(declared[name].by for name in source.metrics)
    for column in exhibit.columns:
        if column.name in declared:
            metric = declared[column.name]
            assert column.name in source.metrics, "a metric that is shown must be taken"
            assert column.unit == metric.unit
            assert (column.stderr == f"{column.name}_stderr") == metric.stderr
            bounds = tuple(other.name for other in measure.metrics if other.bounds == column.name)
            assert column.interval == (bounds or None) and all(
                key.endswith(end) for key, end in zip(bounds, ("_low", "_high"), strict=False)
            )


@every_exhibit
def test_columns_have_titles_and_units_and_stand_once(measure, exhibit):
    names = [column.name for column in exhibit.columns]
    titles = [column.title for column in exhibit.columns]
    assert (
        names and len(set(names)) == len(names) and len(set(titles)) == len(titles) and all(titles)
    )
    assert all(column.unit in ("", *UNITS) for column in exhibit.columns)


@every_exhibit
def test_what_is_said_is_a_caption_of_one_line_and_a_sentence_on_either_side(measure, exhibit):
    assert (
        "\n" not in exhibit.caption
        and exhibit.caption == exhibit.caption.strip()
        and not exhibit.caption.endswith(".")
    )
    for said in (exhibit.how_to_read, exhibit.caveat):
        assert said == " ".join(said.split())
        assert re.findall(r"[.!?](?=\s|$)", said) == ["."] and said.endswith("."), said


@every_exhibit
def test_a_figure_has_what_its_kind_draws(measure, exhibit):
    figure = exhibit.figure
    if figure is None:
        return
    assert (figure.to is not None) == (figure.kind == "histogram") and (
        figure.five is not None
    ) == (figure.kind == "boxes")
    assert (figure.low is None) == (figure.high is None)
    if figure.domain is not None and figure.reference is not None:
        assert figure.domain[0] <= figure.reference <= figure.domain[1]
    assert set(figure.order) <= set(keys(exhibit._replace(figure=figure._replace(order={}))))


@pytest.mark.parametrize(
    ("name", "measure"), MEASURES.values(), ids=[name for name, _ in MEASURES.values()]
)
def test_no_exhibit_of_a_measure_stands_twice(name, measure):
    names = [exhibit.name for exhibit in measure.exhibits]
    assert len(set(names)) == len(names)


@every_exhibit
def test_an_exhibit_can_be_copied_as_the_harness_copies_what_a_task_is_made_of(measure, exhibit):
    assert copy.deepcopy(exhibit) == exhibit


@every_exhibit
def test_a_paper_prints_what_is_set_beside_it(measure, exhibit):
    if not exhibit.paper_values:
        return
    paper, *names = exhibit.paper_values
    assert paper in published.papers() and names
    assert set(names) <= {table.name for table in published.tables(paper)}
    asked = {id(of) for of, _ in compared(measure)}
    assert id(exhibit) in asked, "no task of the measure asks what these tables print"


# ---- The check itself, on a table with a slip in every place

TABLES = {"numbers": [], "colours": [{"colour": "red", "share": 40.0, "share_stderr": 2.0}]}
GOOD = Exhibit(
    "Table 1", "Shares", Rows("colours", {"colour": "red"}), [Column("share", "Share", "%", stderr="share_stderr")], "R.", "S.",
    figure=Figure("bars", x="colour", y="share"),
)  # fmt: skip


def test_an_exhibit_that_names_what_there_is_has_no_slip():
    assert slips(GOOD, TABLES) == []


@pytest.mark.parametrize(
    ("changes", "slip"),
    [
        ({"source": Rows("colors")}, "no table colors"),
        ({"source": Rows("colours", {"color": "red"})}, "no column color"),
        ({"source": Rows("colours", {"colour": "rde"})}, "no row, and nothing said"),
        ({"columns": [Column("shares", "Share", "%")]}, "no row has shares"),
        ({"columns": [Column("share", "Share", "%", stderr="share_se")]}, "no row has share_se"),
        (
            {"columns": [Column("share", "Share", "%", interval=("share_low", "share_high"))]},
            "no row has share_low",
        ),
        ({"figure": Figure("bars", x="color", y="share")}, "no row has color"),
        (
            {"figure": Figure("bars", x="colour", y="share", order={"hue": ["red"]})},
            "no row has hue",
        ),
        ({"source": Numbers(["share"])}, "no row, and nothing said"),
    ],
)
def test_a_slip_is_found(changes, slip):
    found = slips(GOOD._replace(**changes), TABLES)
    assert found and slip in found[0]


def test_an_exhibit_that_says_what_it_needs_may_have_no_rows():
    assert (
        slips(GOOD._replace(source=Rows("colours", {"colour": "blue"}), needs="a blue one"), TABLES)
        == []
    )


def test_a_key_that_an_older_run_did_not_have_is_none():
    (row,) = rows(
        GOOD._replace(
            columns=[Column("share", "Share", "%", interval=("share_low", "share_high"))]
        ),
        TABLES,
    )
    assert (row["share"], row["share_low"], row["share_high"]) == (40.0, None, None)


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
