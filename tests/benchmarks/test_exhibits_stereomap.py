"""The tables and figures of StereoMap, of models whose perceptions are known, and what the paper
prints beside them."""

import numpy as np
import pytest
from exhibited import TASKS, assert_cells_have_a_place, missing, run_of, shown
from lm_eval_bias.metrics.partition import place_names
from rated import answered, as_people

from lm_eval_bias.benchmarks.stereomap import documents as stereomap
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.data.paper_values import of_task, tables as paper_tables

PUBLISHED = lexicon("stereomap_paper_values")
KEYWORDS = {"Figures 4 and 8", "Figure 7", "Keywords of clusters", "Keywords of groups"}
PRINTED = {table.name: table for table in paper_tables("stereomap")}


def asked(part, rating, rounds=3, content=lambda doc: [], **options):
    """A run of a part, of the 24 groups."""
    docs = stereomap.documents(part, rounds=rounds, groups="fiske", **options)
    return run_of(f"stereomap_{part}", docs, lambda doc: answered(doc, rating, content(doc)))


# ---- What the paper prints


@pytest.mark.parametrize("name, key", [("Table 2", "table_2"), ("Table 5", "table_5")])
def test_means_of_clusters_stand_under_the_names_that_our_rule_gives_them(name, key):
    printed = {(c.model, c.names["cluster"], c.number): c.value for c in PRINTED[name].cells}
    expected = {}
    for model, about in PUBLISHED[key].items():
        places = [(c["competence"], c["warmth"]) for c in about["clusters"]]
        sizes = [len(c["groups"]) for c in about["clusters"]]
        names = place_names(places, np.repeat(places, sizes, axis=0))
        for cluster, means in zip(names, places, strict=True):
            expected[model, cluster, "competence"], expected[model, cluster, "warmth"] = means
    assert printed == expected


@pytest.mark.parametrize("part", stereomap.ASKED)
def test_by_likelihood_there_are_no_exhibits_of_answers_in_words(part):
    in_words = KEYWORDS | {"Figure 5", "Table 3", "Table 13", "Table 15"}
    assert not in_words & {e.name for e in TASKS[f"stereomap_{part}_likelihood"].measure.exhibits}


def test_a_run_compares_with_a_model_of_the_paper_if_it_had_its_conditions():
    """davinci: divided prompts and temperature 0.5. gpt-3.5: whole ones, and no temperature sent.
    BARD: several drafts, of settings that nobody knows."""
    for task, table in (("behavior", "Table 8"), ("extended", "Table 13")):
        found = {
            cell.model: (of.comparable, dict(of.options))
            for _, printed, cell, of in of_task(f"stereomap_{task}")
            if printed.name == table
        }
        assert found == {
            "davinci": (True, {"rounds": 10, "temperature": 0.5, "prompts": "divided"}),
            "gpt-3.5": (True, {"rounds": 10, "temperature": 1, "prompts": "whole"}),
            "bard": (False, {}),
        }
    default = stereomap.ExtendedOptions.read({})
    (of_whole,) = {
        c.model
        for _, printed, c, of in of_task("stereomap_extended")
        if of.comparable and {**default, "temperature": 1} == {**default, **of.options}
    }
    assert of_whole == "gpt-3.5"


# ---- Our runs


def test_table_14_needs_all_styles():
    content = [("kind", "written", [["morality", 1]])]
    run = asked("extended", as_people, rounds=2, style="all", content=lambda doc: content)
    rows = shown("stereomap_extended", "Table 14", run)
    assert [row["style"] for row in rows] == list(stereomap.STYLES)
    assert len(shown("stereomap_extended", "Table 13", run)) == 1
    # 12 and 16 numbers of Tables 13 and 14, 6 of Table 15; of Table 5 those whose clusters have a
    # name that ours have.
    assert assert_cells_have_a_place("stereomap_extended", run, but=("Table 5",)) == 12 + 16 + 6


def test_figure_5_has_the_ten_groups_that_are_refused_most():
    """Of three rounds: Jews are declined always and the poor twice; of men the answers that are no
    answers in one round and lack the overall rating in another. The authors count these too."""

    def rating(doc, item):
        if doc["group"] == "Jews" or (doc["group"] == "Poor people" and doc["round"] < 3):
            return "refused"
        if doc["group"] == "Men" and doc["round"] < 3:
            return "unparsed" if doc["round"] < 2 else 3 if item != "Overall" else None
        return as_people(doc, item)

    rows = shown("stereomap_extended", "Figure 5", asked("extended", rating))
    rates = {row["group"]: (row["unrated"], row["refused"]) for row in rows}
    assert next(iter(rates)) == "Jews" and set(list(rates)[1:3]) == {"Men", "Poor people"}
    assert rates.pop("Jews") == (1, 1) and rates.pop("Men") == (pytest.approx(2 / 3), 0)
    assert rates.pop("Poor people") == pytest.approx((2 / 3, 2 / 3))
    assert list(rates.values()) == [(0, 0)] * 7


def test_a_rate_of_refusals_is_the_mean_over_prompts_as_the_authors_count_it():
    """Of one answer to each of three prompts, the rating of contempt is missing: 1/3."""
    run = asked("behavior", lambda doc, item: None if item == "Contempt" else 3, rounds=1)
    rows = shown("stereomap_behavior", "Figure 5", run)
    assert [(row["unrated"], row["refused"]) for row in rows] == [(pytest.approx(1 / 3), 0)] * 10


def test_table_9_has_both_ends_of_each_dimension_by_hand():
    """Traditional: by the group's place in the list; all else equal. Of 24 groups ten at either
    end, none at both."""
    groups = [group["name"] for group in stereomap.social_groups("extended", "fiske")]

    def rating(doc, item):
        traditional = doc["scales"][item][0] == "Traditional"
        return 1 + 4 * groups.index(doc["group"]) / 23 if traditional else 3

    table = shown("stereomap_extended", "Table 9", asked("extended", rating, rounds=2))
    dimensions = {row["dimension"] for row in table}
    assert dimensions == {"Traditional", "Conservative", "Wealthy", "High-Status"}
    rows = [row for row in table if row["dimension"] == "Traditional"]
    columns = ("end", "rank", "group", "variance")
    assert [tuple(row[c] for c in columns) for row in rows] == [
        (end, rank, group, 0)
        for end, order in (("highest", -1), ("lowest", 1))
        for rank, group in enumerate(groups[::order][:10], start=1)
    ]
    assert [row["mean"] for row in rows[:2]] == pytest.approx([5, 5 - 4 / 23])


def test_keywords_of_clusters_and_groups_by_hand():
    """Two keywords of each answer, of which the second is unknown: morality, high for women and low
    for all others; and ability of men."""

    def content(doc):
        about = [["morality", 1 if doc["group"] == "Women" else -1]]
        about += [["ability", 1]] * (doc["group"] == "Men")
        return [("one", "written", about), ("two", None, [])]

    run = asked("extended", as_people, content=content)
    of_groups = shown("stereomap_extended", "Keywords of groups", run)
    assert {(row["group"], row["dimension"]): row["direction"] for row in of_groups} == {
        ("Women", "morality"): 0.5,
        ("Men", "morality"): -0.5,
        ("Men", "ability"): 0.5,
    }
    of_clusters = shown("stereomap_extended", "Keywords of clusters", run)
    assert {row["rank"] for row in of_clusters} == {1, 2}


def test_words_of_figures_4_and_7_count_once_as_in_the_authors_program():
    """Men: kind twice (morality and sociability 1), lazy once (agency -1), tall once (no direction:
    1). Of four entries morality has 1, agency -1 and the body 1, a quarter each; were every mention
    counted, morality would have 2 of 6. A cluster has each word of its groups once."""
    of = {
        "kind": [["morality", 1], ["sociability", 1]],
        "lazy": [["assertiveness", -1]],
        "tall": [["body_property", 1]],
        "cruel": [["morality", -1]],
    }

    def said(doc):
        words = ["kind", *(["lazy", "tall"] if doc["round"] == 1 else [])]
        return words if doc["group"] == "Men" else ["cruel"] if doc["group"] != "Women" else []

    def answer(doc):
        (read,) = answered(doc, as_people)
        return [{**read, "words": [[word, of[word]] for word in said(doc)]}]

    docs = stereomap.documents("extended", rounds=2, groups="fiske")
    run = run_of("stereomap_extended_official", docs, answer)
    seven = shown("stereomap_extended_official", "Figure 7", run)
    assert {(row["group"], row["dimension"], row["direction"]) for row in seven} == {
        ("Men", "morality", 0.25),
        ("Men", "sociability", 0.25),
        ("Men", "assertiveness", -0.25),
        ("Men", "body_property", 0.25),
    }
    four = shown("stereomap_extended_official", "Figures 4 and 8", run)
    (mixed,) = (row["cluster"] for row in four if row["dimension"] == "body_property")
    # Fiske's cluster of men has cruel too, which is moral -1 where kind is 1; it ranks last.
    *others, last = ((r["dimension"], r["direction"]) for r in four if r["cluster"] == mixed)
    assert {*others} == {("sociability", 0.2), ("assertiveness", -0.2), ("body_property", 0.2)}
    assert last == ("morality", 0)
    of_others = {(r["dimension"], r["direction"]) for r in four if r["cluster"] != mixed}
    assert of_others == {("morality", -1)}


def test_figure_3_and_table_8_by_hand():
    """Active facilitation follows warmth; contempt is 3 for all, so its correlations do not
    exist."""

    def rating(doc, item):
        dimension = doc["scales"][item][0].replace("Active Facilitation", "Warmth").lower()
        return doc["published"]["fiske"].get(dimension, 3)

    run = asked("behavior", rating, rounds=2)
    table = shown("stereomap_behavior", "Table 8", run)
    texts = {(row["stereotype_or_emotion"], row["tendency"]): row["text"] for row in table}
    assert len(texts) == 24 and texts["Contempt", "Active Harm"] == ""
    assert texts["Warmth", "Active Facilitation"] == "1.00***"
    boxes = shown("stereomap_behavior", "Figure 3", run)
    medians = [row["median"] for row in boxes if row["dimension"] == "Active Facilitation"]
    clusters = shown("stereomap_behavior", "Table 5", run)
    assert len(boxes) == 4 * 5 and medians == pytest.approx([row["warmth"] for row in clusters])
    assert assert_cells_have_a_place("stereomap_behavior", run) == 4 * 24


def test_every_task_declares_what_its_runs_have():
    original = asked("original", as_people)
    assert missing("stereomap_original", original) == set()
    assert assert_cells_have_a_place("stereomap_original", original, but=("Table 2",)) == 12
    for part, lacking in (
        ("extended", KEYWORDS | {"Table 14", "Table 15"}),
        ("structure", {"Table 3", "Table 10"}),
        ("emotion", set()),
    ):
        assert missing(f"stereomap_{part}", asked(part, as_people, rounds=2)) == lacking, part


def test_a_model_that_is_read_nowhere_has_no_tables_and_each_says_what_it_lacks():
    run = asked("extended", lambda doc, item: "unparsed", rounds=1)
    lacking = missing("stereomap_extended", run)
    assert lacking == {e.name for e in TASKS["stereomap_extended"].measure.exhibits} - {"Figure 5"}
    assert all(e.needs for e in TASKS["stereomap_extended"].measure.exhibits if e.name in lacking)
    alike = asked("extended", lambda doc, item: 3)
    assert {"Table 5", "Keywords of clusters"} <= missing("stereomap_extended", alike)
    assert len(shown("stereomap_extended", "Figure 6", alike)) == 24
    # As it is read back from a file, where what is not a number is null.
    (exhibit,) = [e for e in TASKS["stereomap_behavior"].measure.exhibits if e.name == "Table 8"]
    assert exhibit.then([{"rho": None, "stars": ""}]) == [{"rho": None, "stars": "", "text": ""}]
