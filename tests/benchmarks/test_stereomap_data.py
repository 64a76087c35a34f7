"""The groups, dimensions and published results of StereoMap, against the paper's text and the
authors' list where these are at hand."""

import json
import re
from itertools import chain

import pytest

from lm_eval_bias.data.lexicons import lexicon, table

MODELS = ("davinci", "gpt-3.5", "bard")
RATED = lexicon("stereomap")
# as Table 4 has them: an emotion and a tendency is what a facet is to warmth and competence
DIMENSIONS = {
    **{name: RATED["extended"][name] for name in ("Warmth", "Competence")},
    **{
        name: {of: next(iter(facets.values())) for of, facets in RATED[name.lower()].items()}
        for name in ("Emotion", "Behavior")
    },
}
PUBLISHED = lexicon("stereomap_paper_values")
BEHAVIORS = list(DIMENSIONS["Behavior"])


def groups(of):
    return [row for row in table("stereomap_groups") if row["list"] == of]


APPENDIX_B, TABLE_2 = groups("appendix B"), groups("Table 2")


@pytest.fixture(scope="module")
def paper(shared):
    """The lines that are not empty."""
    text = (shared / "papers" / "stereomap.txt").read_text(encoding="utf-8")
    return [line.strip() for line in text.split("\n") if line.strip()]


def between(paper, first, last):
    """The lines after the one that is `first`, up to the next that begins with `last`."""
    start = paper.index(first) + 1
    return paper[start : next(i for i in range(start, len(paper)) if paper[i].startswith(last))]


def alike(row):
    """A row of a table, its numbers in one way of writing: 4.0 and 4, .30 and 0.3, 4.8(0.18) and
    4.8 (0.18)."""
    row = re.sub(r"(?<![\w.])(\d*\.?\d+)(?![\w.]*\d)", lambda number: f"{float(number[1]):g}", row)
    return re.sub(r"\s*\(", " (", row)


def as_printed(table_name, column, name):
    printed = PUBLISHED["printed"].get(table_name, {})
    return {**printed.get("all", {}), **printed.get(column, {})}.get(name, name)


# ---- Groups


def test_98_groups_of_appendix_b_and_24_of_table_2_of_which_23_are_in_both():
    assert len(APPENDIX_B) == 98 and len(TABLE_2) == 24
    assert len(APPENDIX_B) + len(TABLE_2) == len(table("stereomap_groups"))
    keys = [{row["key"] for row in rows} for rows in (APPENDIX_B, TABLE_2)]
    assert [len(k) for k in keys] == [98, 24]
    assert keys[1] - keys[0] == {"Retarded people"}


def test_a_name_in_table_2_leads_to_the_row_of_the_same_key():
    assert all(row["key"] == row["name"] for row in APPENDIX_B) and all(
        row["table2"] == row["name"] for row in TABLE_2
    )
    of_table_2 = {row["key"]: row["name"] for row in TABLE_2}
    assert {row["key"]: row["table2"] for row in APPENDIX_B} == {
        row["key"]: of_table_2.get(row["key"], "none") for row in APPENDIX_B
    }


def test_a_text_is_the_name_but_for_capitals():
    for row in table("stereomap_groups"):
        assert row["text"].lower() == row["name"].lower()
    for column in ("name", "text"):
        assert (
            len({row[column] for row in APPENDIX_B}) == 98
            and len({row[column] for row in TABLE_2}) == 24
        )


def test_a_group_has_the_same_capitals_in_both_lists():
    """ "Elderly" is "elderly", as "Elderly people" is "elderly people"; "Black" and "Black people"
    keep theirs."""
    ours = {row["key"]: row["text"] for row in APPENDIX_B}
    for row in TABLE_2:
        if row["key"] in ours:
            assert row["text"].startswith(ours[row["key"]])


def test_names_are_those_of_appendix_b(paper):
    """Words broken at the end of a line are put together; "Lower-class" alone is broken at a hyphen
    of its own."""
    start = paper.index("order to make a parallel comparison.") + 1
    lines = paper[start : paper.index("C Related Work: Measuring Stereotypes")]
    joined = (
        re.sub(r"-\n", "", "\n".join(lines)).replace("\n", " ").replace("Lowerclass", "Lower-class")
    )
    names = ["MuslimArtists" if row["name"] == "Artists" else row["name"] for row in APPENDIX_B]
    assert joined == ", ".join(names)


def test_texts_are_those_of_the_authors_list(shared):
    """But for endings that it drops, proper names that it writes small, and two groups that it
    joins."""
    theirs = json.loads((shared / "official" / "prompts.json").read_text(encoding="utf-8"))[
        "stereomap"
    ]
    differing = [
        ours["text"]
        for ours, text in zip(APPENDIX_B, theirs["extended"]["groups"], strict=True)
        if ours["text"] != text
    ]
    assert differing == ["Catholics", "Mexicans", "artists", "Republicans", "Democrats"]
    assert {row["name"] for row in TABLE_2} <= set(theirs["original"]["groups"])


# ---- Dimensions


def test_dimensions_are_those_of_table_4(paper):
    """Printed in two columns, a label or two ratings a line."""
    lines = []
    for left, right in (("Warmth", "Competence"), ("Emotion", "Behavior")):
        for i, ((a, (a1, a2)), (b, (b1, b2))) in enumerate(
            zip(DIMENSIONS[left].items(), DIMENSIONS[right].items(), strict=True)
        ):
            lines += [
                *([left] if i == 0 else []),
                a,
                a1,
                *([right] if i == 0 else []),
                b,
                b1,
                f"{a2} {b2}",
            ]
    printed = between(paper, "Dimension Prompts Dimension Prompts", "Table 4:")

    def words(some):
        return "".join(some).replace(" ", "")  # "Active Harm", but "ActiveFacilitation"

    assert words(printed) == words(lines)


def test_ratings_of_table_4_are_asked_in_table_7(paper):
    lines = {
        re.sub(r"^- ?|( with)?( \{group\})?:$", "", line)
        for line in paper
        if re.fullmatch(r"- ?[\w-]+( with)?( \{group\})?:", line)
    }
    ratings = {
        rating for facets in DIMENSIONS.values() for pair in facets.values() for rating in pair
    }
    assert len(ratings) == 24
    assert {line.replace(" with", "") for line in lines} == ratings | {
        "Traditional",
        "Conservative",
        "Wealthy",
        "High-status",
    }


def test_items_are_those_of_table_6(paper):
    original = {name: next(iter(facets.values())) for name, facets in RATED["original"].items()}
    printed = [re.findall("’([^’]+)’", line) for line in paper if line.startswith("attribute=")]
    assert [list(original[name]) for name in ("Competence", "Warmth")] == printed
    assert [len(original[name]) for name in ("Competence", "Warmth", "Status", "Competition")] == [
        8,
        7,
        3,
        3,
    ]


# ---- Clusters: Tables 2 and 5


def column(table_name, model):
    """The cells of a column from top to bottom."""
    cells = []
    for cluster in PUBLISHED[table_name][model]["clusters"]:
        for i, name in enumerate(cluster["groups"]):
            means = (
                f" ({cluster['competence']}{cluster['sign']}{cluster['warmth']})" if i == 0 else ""
            )
            cells.append(as_printed(table_name, model, name) + means)
    return cells + [
        as_printed(table_name, model, name) + " -"
        for name in PUBLISHED[table_name][model]["unclustered"]
    ]


@pytest.mark.parametrize(
    "table_name, models, heading",
    [
        ("table_2", ("fiske", *MODELS), " ".join(["Group (C, W)"] * 4)),
        ("table_5", MODELS, " ".join(["Group (C, W)"] * 3)),
    ],
)
def test_clusters_are_those_of_the_paper_row_by_row(paper, table_name, models, heading):
    printed = between(paper, heading, "Table ")
    assert list(PUBLISHED[table_name]) == list(models)
    ours = [
        " ".join(cells)
        for cells in zip(*(column(table_name, model) for model in models), strict=True)
    ]
    assert [alike(row) for row in ours] == [alike(row) for row in printed]


def members(table_name, model):
    found = PUBLISHED[table_name][model]
    return [
        *chain.from_iterable(cluster["groups"] for cluster in found["clusters"]),
        *found["unclustered"],
    ]


def test_every_column_has_five_clusters_and_the_same_groups_once():
    for model in ("fiske", *MODELS):
        assert len(PUBLISHED["table_2"][model]["clusters"]) == 5
        assert sorted(members("table_2", model)) == sorted(row["name"] for row in TABLE_2)
    for model in MODELS:
        assert len(PUBLISHED["table_5"][model]["clusters"]) == 5
        assert sorted(members("table_5", model)) == sorted(members("table_5", "davinci"))
        assert len(set(members("table_5", model))) == len(members("table_5", model)) == 33
        assert set(members("table_5", model)) <= {row["name"] for row in APPENDIX_B}


def test_groups_of_table_2_are_in_the_order_of_its_first_column():
    assert members("table_2", "fiske") == [row["name"] for row in TABLE_2]


def test_signs_agree_with_the_means():
    for found in (*PUBLISHED["table_2"].values(), *PUBLISHED["table_5"].values()):
        for cluster in found["clusters"]:
            difference = cluster["competence"] - cluster["warmth"]
            assert cluster["sign"] == "=" or (cluster["sign"] == ">") == (difference > 0)


# ---- Table 8


@pytest.mark.parametrize(
    "left, right, heading",
    [("cuddy", "davinci", "Cuddy et al. (2007) DAVINCI"), ("gpt-3.5", "bard", "GPT-3.5 BARD")],
)
def test_correlations_are_those_of_table_8(paper, left, right, heading):
    # Both halves are followed by "Active ..." and "Stereotypes"; the emotions begin after Warmth.
    start = paper.index(heading)
    labels = " ".join(as_printed("table_8", left, behavior) for behavior in BEHAVIORS)
    assert paper[start + 1 : start + 4] == [
        "Behavioral tendency Behavioral tendency",
        f"{labels} {labels}",
        "Stereotypes",
    ]
    rows = []
    for perception in PUBLISHED["table_8"][left]:
        cells = [as_printed("table_8", left, perception)]
        for model in (left, right):
            for behavior, (rho, stars) in PUBLISHED["table_8"][model][perception].items():
                cells.append(as_printed("table_8", model, f"{perception} with {behavior}"))
                if cells[-1] == f"{perception} with {behavior}":
                    cells[-1] = f"{rho:g}{stars}"
        rows.append(" ".join(cells))
    printed = paper[start + 4 : start + 6] + paper[start + 7 : start + 11]
    assert [alike(row) for row in rows] == [alike(row) for row in printed]


def test_table_8_has_every_cell():
    assert list(PUBLISHED["table_8"]) == ["cuddy", *MODELS]
    for perceptions in PUBLISHED["table_8"].values():
        assert list(perceptions) == ["Competence", "Warmth", "Admire", "Contempt", "Envy", "Pity"]
        for cells in perceptions.values():
            assert list(cells) == BEHAVIORS
            assert all(
                -1 < rho < 1 and stars in ("", "*", "**", "***") for rho, stars in cells.values()
            )


def test_the_misprint_of_table_8_lacks_a_point_alone():
    rho, stars = PUBLISHED["table_8"]["bard"]["Warmth"]["Passive Harm"]
    assert as_printed("table_8", "bard", "Warmth with Passive Harm") == f"{rho:.2f}{stars}".replace(
        "0.", ""
    )


# ---- Table 9


@pytest.mark.parametrize("dimension", ["Traditional", "Conservative", "Wealthy", "High-status"])
def test_highest_and_lowest_groups_are_those_of_table_9(paper, dimension):
    printed = between(
        paper,
        f"Dimension {as_printed('table_9', 'all', dimension)}",
        "Dimension" if dimension != "High-status" else "Table 9",
    )
    assert printed[0] == "Model DAVINCI GPT-3.5 BARD"
    found = PUBLISHED["table_9"][dimension]
    sides = [(model, found[model][side]) for model in MODELS for side in ("highest", "lowest")]
    rows = [
        " ".join(
            f"{as_printed('table_9', model, side[i][0])} {side[i][1]}({side[i][2]})"
            for model, side in sides
        )
        for i in range(10)
    ]
    assert all(len(side) == 10 for _, side in sides)
    assert [alike(row) for row in rows] == [alike(row) for row in printed[1:]]


def test_groups_of_table_9_and_figure_5_are_groups_of_appendix_b():
    names = {row["name"] for row in APPENDIX_B}
    for found in PUBLISHED["table_9"].values():
        for sides in found.values():
            assert {group for side in sides.values() for group, _, _ in side} <= names
    assert {found["group"] for found in PUBLISHED["figure_5"].values()} <= names


def test_the_lists_of_table_9_are_sorted():
    for found in PUBLISHED["table_9"].values():
        for sides in found.values():
            highest, lowest = (
                [mean for _, mean, _ in sides[side]] for side in ("highest", "lowest")
            )
            assert highest == sorted(highest, reverse=True) and lowest == sorted(lowest)


# ---- The small tables


def with_brackets(label, cells):
    return " ".join([label, *(f"{first} ({second})" for first, second in cells)])


def test_human_evaluation_is_that_of_table_12(paper):
    found = PUBLISHED["table_12"]
    for criterion in ("Relevance", "Soundness", "Coherence"):
        row = with_brackets(
            f"{criterion} Mean (std)", [found[model][criterion].values() for model in MODELS]
        )
        assert alike(row) in map(alike, paper)


def test_prompt_sensitivity_is_that_of_table_13(paper):
    found = PUBLISHED["table_13"]
    for dimension in ("Competence", "Warmth"):
        row = with_brackets(
            f"{dimension} CV Avg (Max)", [found[model][dimension].values() for model in MODELS]
        )
        assert alike(row) in map(alike, paper)


def test_styles_are_those_of_table_14(paper):
    labels = ["Prompt (paper)", "- w/o CoT", "- w/o Instructions", "- w/o CoT+Instructions"]
    rows = []
    for label, style in zip(labels, PUBLISHED["table_14"].values(), strict=True):
        scores = with_brackets(label, [style["Competence"].values(), style["Warmth"].values()])
        rows.append(
            " ".join(
                [
                    scores,
                    *(
                        str(style[name])
                        for name in ("self_bleu", "entropy_2", "entropy_3", "refusals")
                    ),
                ]
            )
        )
    heading = (
        "Prompt Type Competence CV Avg (max) Warmth CV Avg (max) "
        "Self-BLEU (↓) Entropy-2(↑) Entropy-3(↑)"
    )
    assert [alike(row) for row in rows] == [
        alike(row) for row in between(paper, heading, "Table 14")
    ]
    assert list(PUBLISHED["table_14"]) == ["paper", *PUBLISHED["between_styles"]]


def test_the_unnamed_model_of_table_14_is_gpt():
    for dimension in ("Competence", "Warmth"):
        matching = [
            m
            for m in MODELS
            if PUBLISHED["table_13"][m][dimension] == PUBLISHED["table_14"]["paper"][dimension]
        ]
        assert matching == ["gpt-3.5"]


def test_variation_between_styles_is_that_of_appendix_l(paper):
    first, second, third = PUBLISHED["between_styles"].values()
    assert (
        f"and w/o CoT+instructions, giving CV avg of {first}, {second}, and {third} respectively"
        in " ".join(paper)
    )


def test_coverage_is_that_of_table_15(paper):
    found = PUBLISHED["table_15"]
    labels = {
        "written": "Initial Coverage (%)",
        "lemma": "+Lemmentization Coverage (%)",
        "phrase": "+Coverage (%)",
    }
    for step, label in labels.items():
        row = " ".join([label, *(f"{found[model][step]}%" for model in MODELS)])
        assert alike(row) in map(alike, paper)


def test_rates_of_refusal_are_those_of_figure_5(paper):
    bard, davinci = (PUBLISHED["figure_5"][model] for model in ("bard", "davinci"))
    caption = " ".join(
        between(paper, next(line for line in paper if "Figure 5:" in line), "E Refuse")
    )
    assert f"having {bard['group']} at approximately {bard['rate']}." in caption
    assert f"{davinci['group']} at {davinci['rate']}." in caption
