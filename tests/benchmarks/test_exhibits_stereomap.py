"""The tables and figures of StereoMap, of models whose perceptions are known, and what the paper
prints beside them."""

import random
from math import nan

import pytest
from exhibited import (
    TASKS,
    assert_cells_have_a_place,
    assert_declared_as_it_is,
    missing,
    run_of,
    shown,
)
from lm_eval_bias.metrics.partition import place_names

from lm_eval_bias.benchmarks.stereomap import documents as stereomap
from lm_eval_bias.benchmarks.stereomap import ratings
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.paper_values import tables as paper_tables

PUBLISHED = lexicon("stereomap_paper_values")
PRINTED = {table.name: table for table in paper_tables("stereomap")}


def as_people(doc, item):
    """The mean of the group's cluster among people, with noise; 3 of what nobody asked people."""
    people = doc["published"].get("fiske", {})
    return people.get(doc["scales"][item][0].lower(), 3) + random.Random(
        f"{doc['group']}{item}{doc['round']}"
    ).gauss(0, 0.3)


def asked(part, rating, rounds=3, groups="fiske", content=lambda doc: [], **options):
    """A run of a part: rating(doc, item); a doc of which it is a text is answered by that text.
    content: what keywords are about."""

    def answer(doc):
        ratings = {item: rating(doc, item) for item in doc["items"]}
        said = next((value for value in ratings.values() if isinstance(value, str)), None)
        about = content(doc)
        return [
            said or {"ratings": ratings, "keywords": [word for word, *_ in about], "content": about}
        ]

    return run_of(
        f"stereomap_{part}",
        stereomap.documents(part, rounds=rounds, groups=groups, **options),
        answer,
    )


@pytest.fixture(scope="module", autouse=True)
def quickly():
    """Fewer starts and resamples of k-means than a run has: how firmly groups lie in a cluster is
    not tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ratings, "STARTS", 10)
        patch.setattr(ratings, "DRAWS", 10)
        yield


@pytest.fixture(scope="module")
def original():
    return asked("original", as_people)


# ---- What the paper prints


def test_means_of_clusters_stand_under_the_names_that_our_rule_gives_them():
    for name, key in (("Table 2", "table_2"), ("Table 5", "table_5")):
        found = {}
        for cell in PRINTED[name].cells:
            found.setdefault(cell.model, {}).setdefault(cell.names["cluster"], {})[cell.number] = (
                cell.value
            )
        for model, about in PUBLISHED[key].items():
            clusters = about["clusters"]
            places = [(c["competence"], c["warmth"]) for c in clusters]
            names = place_names(
                places,
                [place for place, c in zip(places, clusters, strict=True) for _ in c["groups"]],
            )
            assert found[model] == {
                n: {"competence": c["competence"], "warmth": c["warmth"]}
                for n, c in zip(names, clusters, strict=True)
            }
        assert set(found) == set(PUBLISHED[key])


def test_the_other_tables_in_print_are_those_of_the_file():
    assert {(c.model, *c.names.values(), c.number): c.value for c in PRINTED["Table 13"].cells} == {
        (model, dimension, number): value
        for model, of in PUBLISHED["table_13"].items()
        for dimension, pair in of.items()
        for number, value in pair.items()
    }
    styles = dict(zip(PRINTED["Table 14"].axes["style"], PUBLISHED["table_14"], strict=True))
    assert {
        (styles[c.names["style"]], c.names["dimension"], c.number): c.value
        for c in PRINTED["Table 14"].cells
    } == {
        (style, dimension, number): of[dimension][number]
        for style, of in PUBLISHED["table_14"].items()
        for dimension in ("Competence", "Warmth")
        for number in ("average", "maximum")
    }
    assert set(PRINTED["Table 14"].axes["style"]) == set(stereomap.STYLES)
    assert {(c.model, c.names["found"]): c.value for c in PRINTED["Table 15"].cells} == {
        (model, found): value
        for model, of in PUBLISHED["table_15"].items()
        for found, value in of.items()
    }
    rho = {
        (c.model, *c.names.values()): c.value
        for name in ("Table 8", "Table 8, people")
        for c in PRINTED[name].cells
    }
    assert rho == {
        (model, factor, tendency): value
        for model, of in PUBLISHED["table_8"].items()
        for factor, row in of.items()
        for tendency, (value, _) in row.items()
    }


def test_a_column_may_be_named_after_the_dimension_which_is_then_no_name_of_a_row():
    cell = next(
        c
        for c in PRINTED["Table 13"].cells
        if (c.names["dimension"], c.number) == ("Warmth", "maximum")
    )
    assert (cell.place.table, cell.place.column, dict(cell.place.row)) == (
        "styles",
        "warmth_cv_max",
        {"style": "paper"},
    )


def test_comparisons_are_with_tasks_that_are_there_and_options_that_they_have():
    for table in PRINTED.values():
        for comparison in {c.task: c for cell in table.cells for c in cell.comparisons}.values():
            assert set(comparison.options) <= set(TASKS[comparison.task].option_names)
            assert not (
                comparison.comparable and "likelihood" in comparison.task
            ) and comparison.why.endswith(".")


# ---- Our runs


def test_figure_2_is_a_point_for_each_group_with_its_interval_and_cluster(original):
    points = {row["group"]: row for row in shown("stereomap_original", "Figure 2", original)}
    assert len(points) == 24
    for row in points.values():
        assert row["competence_low"] <= row["competence"] <= row["competence_high"]
    clusters = shown("stereomap_original", "Table 2", original)
    for cluster in clusters:
        members = cluster["members"].split(", ")
        assert {points[group]["cluster"] for group in members} == {cluster["cluster"]}
        assert cluster["competence"] == pytest.approx(
            sum(points[group]["competence"] for group in members) / len(members)
        )


def test_table_14_needs_all_styles():
    run = asked(
        "extended",
        as_people,
        rounds=2,
        style="all",
        content=lambda doc: [("kind", "written", [["morality", 1]])],
    )
    rows = shown("stereomap_extended", "Table 14", run)
    assert [row["style"] for row in rows] == [
        "paper",
        "no chain of thought",
        "no instructions",
        "neither",
    ]
    assert len(shown("stereomap_extended", "Table 13", run)) == 1
    # 12 and 16 numbers of Tables 13 and 14, 9 of Table 15; of Table 5 those whose clusters have a
    # name that ours have.
    assert assert_cells_have_a_place("stereomap_extended", run, but=("Table 5",)) == 12 + 16 + 9


def test_figure_5_has_the_ten_groups_that_are_refused_most():
    """Of three rounds: Jews always, the poor twice."""

    def rating(doc, item):
        refuses = doc["group"] == "Jews" or (doc["group"] == "Poor people" and doc["round"] < 3)
        return "refused" if refuses else as_people(doc, item)

    rows = shown("stereomap_extended", "Figure 5", asked("extended", rating))
    assert len(rows) == 10 and [(row["group"], row["refused"]) for row in rows[:2]] == [
        ("Jews", 1),
        ("Poor people", pytest.approx(2 / 3)),
    ]
    assert {row["refused"] for row in rows[2:]} == {0} and {row["answers"] for row in rows} == {3}


def test_table_9_has_both_ends_of_each_dimension_by_hand():
    """Traditional: by the group's place in the list; all else equal. Of 24 groups ten at either
    end, none at both."""
    groups = [group["name"] for group in stereomap.social_groups("extended", "fiske")]

    def rating(doc, item):
        traditional = doc["scales"][item][0] == "Traditional"
        return 1 + 4 * groups.index(doc["group"]) / 23 if traditional else 3

    run = asked("extended", rating, rounds=2)
    rows = [
        row
        for row in shown("stereomap_extended", "Table 9", run)
        if row["dimension"] == "Traditional"
    ]
    assert [row["group"] for row in rows] == [*groups[::-1][:10], *groups[:10]]
    assert [(row["end"], row["rank"]) for row in rows] == [
        (end, i) for end in ("highest", "lowest") for i in range(1, 11)
    ]
    assert [row["mean"] for row in rows] == pytest.approx(
        [5 - 4 * i / 23 for i in range(10)] + [1 + 4 * i / 23 for i in range(10)]
    )
    assert {row["variance"] for row in rows} == {0}
    assert {row["dimension"] for row in shown("stereomap_extended", "Table 9", run)} == {
        "Traditional",
        "Conservative",
        "Wealthy",
        "High-Status",
    }


def test_keywords_of_figures_4_and_7_and_table_15_by_hand():
    """Two keywords of each answer, of which the second is unknown: morality, high for women and low
    for all others; and ability of men."""

    def content(doc):
        about = [["morality", 1 if doc["group"] == "Women" else -1]] + (
            [["ability", 1]] if doc["group"] == "Men" else []
        )
        return [("one", "written", about), ("two", None, [])]

    run = asked("extended", as_people, content=content)
    coverage = {
        row["found"]: (row["keyword_coverage"], row["known"])
        for row in shown("stereomap_extended", "Table 15", run)
    }
    # 24 groups in 3 rounds
    assert coverage == {"written": (50, 72), "lemma": (50, 72), "phrase": (50, 72)}
    seven = {
        (row["group"], row["dimension"]): row["direction"]
        for row in shown("stereomap_extended", "Figure 7", run)
    }
    assert seven == {("Women", "morality"): 0.5, ("Men", "morality"): -0.5, ("Men", "ability"): 0.5}
    four = shown("stereomap_extended", "Figures 4 and 8", run)
    of = {
        row["cluster"]: row["members"].split(", ")
        for row in shown("stereomap_extended", "Table 5", run)
    }
    for row in four:
        if row["dimension"] == "morality":
            high = sum(group == "Women" for group in of[row["cluster"]])
            assert row["direction"] == pytest.approx(
                (2 * high - len(of[row["cluster"]])) / (2 * len(of[row["cluster"]]))
            )
    assert {row["cluster"] for row in four} == set(of) and max(row["rank"] for row in four) <= 5


def test_figure_3_and_table_8_by_hand():
    """Behaviour follows warmth: facilitation rises with it, harm falls; contempt is 3 for all, so
    its correlations do not exist."""

    def rating(doc, item):
        dimension = doc["scales"][item][0]
        warmth = doc["published"].get("fiske", {}).get("warmth", 3)
        if dimension in ("Warmth", "Active Facilitation"):
            return warmth
        if dimension == "Active Harm":
            return 6 - warmth
        return (
            doc["published"].get("fiske", {}).get("competence", 3)
            if dimension == "Competence"
            else 3
        )

    run = asked("behavior", rating, rounds=2)
    cells = {
        (row["stereotype_or_emotion"], row["tendency"]): row
        for row in shown("stereomap_behavior", "Table 8", run)
    }
    assert len(cells) == 24
    assert cells["Warmth", "Active Facilitation"]["rho"] == pytest.approx(1) and cells[
        "Warmth", "Active Harm"
    ]["rho"] == pytest.approx(-1)
    assert (
        cells["Warmth", "Active Facilitation"]["text"] == "1.00***"
        and cells["Contempt", "Active Harm"]["text"] == ""
    )
    assert (
        cells["Warmth", "Active Harm"]["rho_of_people"],
        cells["Warmth", "Active Harm"]["stars_of_people"],
    ) == (-0.55, "***")
    boxes = {
        (row["dimension"], row["cluster"]): row
        for row in shown("stereomap_behavior", "Figure 3", run)
    }
    assert len(boxes) == 4 * 5
    for row in shown("stereomap_behavior", "Table 5", run):
        box = boxes["Active Facilitation", row["cluster"]]
        assert [box[key] for key in ("least", "median", "greatest")] == pytest.approx(
            [row["warmth"]] * 3
        )
    assert_declared_as_it_is("stereomap_behavior", run)
    assert assert_cells_have_a_place("stereomap_behavior", run) == 4 * 24


def test_every_task_declares_what_its_runs_have(original):
    assert_declared_as_it_is("stereomap_original", original)
    assert missing("stereomap_original", original) == set()
    assert assert_cells_have_a_place("stereomap_original", original, but=("Table 2",)) == 12
    for part, lacking in (
        ("extended", {"Figures 4 and 8", "Figure 7", "Table 14", "Table 15"}),
        ("structure", {"Table 3", "Table 10"}),
        ("emotion", set()),
    ):
        run = asked(part, as_people, rounds=2)
        assert_declared_as_it_is(f"stereomap_{part}", run, absent=("phrases",))
        assert missing(f"stereomap_{part}", run) == lacking, part


@pytest.mark.parametrize("part", list(stereomap.ASKED))
def test_by_likelihood_each_task_has_its_maps_and_no_answers_in_words(part):
    task = f"stereomap_{part}_likelihood"

    def likelihoods(doc):
        chance = random.Random(f"{doc['group']}{doc['item']}")
        points = [(chance.gauss(0, 1), False) for _ in range(5)]
        return points if doc["direction"] == "rising" else points[::-1]

    run = run_of(task, stereomap.likelihood_documents(part, groups="fiske"), likelihoods)
    assert_declared_as_it_is(task, run)
    assert missing(task, run) == set()
    names = {e.name for e in TASKS[task].measure.exhibits}
    assert not names & {
        "Figure 5",
        "Figures 4 and 8",
        "Figure 7",
        "Table 13",
        "Table 14",
        "Table 15",
        "Table 3",
        "Table 10",
    }


def test_a_model_that_is_read_nowhere_has_no_tables_and_each_says_what_it_lacks():
    run = asked("extended", lambda doc, item: "unparsed", rounds=1)
    lacking = missing("stereomap_extended", run)
    assert lacking == {e.name for e in TASKS["stereomap_extended"].measure.exhibits} - {"Figure 5"}
    assert all(e.needs for e in TASKS["stereomap_extended"].measure.exhibits if e.name in lacking)
    alike = asked("extended", lambda doc, item: 3)
    assert {"Table 5", "Figures 4 and 8"} <= missing("stereomap_extended", alike)
    assert len(shown("stereomap_extended", "Figure 6", alike)) == 24
    # As it is read back from a file, where what is not a number is null.
    none = [
        {k: None if v != v else v for k, v in row.items()} for row in [{"rho": nan, "stars": ""}]
    ]
    (exhibit,) = [e for e in TASKS["stereomap_behavior"].measure.exhibits if e.name == "Table 8"]
    assert exhibit.then(none) == [{"rho": None, "stars": "", "text": ""}]
