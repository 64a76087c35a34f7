"""The groups, dimensions and published results of StereoMap, against the paper's text and the
authors' list where these are at hand."""

import re

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
def paper(paper_text):
    """The lines that are not empty."""
    return [line.strip() for line in paper_text("stereomap").split("\n") if line.strip()]


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


def test_texts_are_those_of_the_authors_list(prompts):
    """But for endings that it drops, proper names that it writes small, and two groups that it
    joins. Those of Table 2 have a capital, within a sentence too: "Educated people"."""
    theirs = prompts["stereomap"]
    differing = [
        ours["text"]
        for ours, text in zip(APPENDIX_B, theirs["extended"]["groups"], strict=True)
        if ours["text"] != text
    ]
    assert differing == ["Catholics", "Mexicans", "artists", "Republicans", "Democrats"]
    assert {row["text"] for row in TABLE_2} <= set(theirs["original"]["groups"])


# ---- Dimensions


def test_dimensions_are_those_of_table_4(paper):
    """Printed in two columns, a label or two ratings a line."""
    words = ""
    for left, right in (("Warmth", "Competence"), ("Emotion", "Behavior")):
        titles = left, right
        for (a, (a1, a2)), (b, (b1, b2)) in zip(
            DIMENSIONS[left].items(), DIMENSIONS[right].items(), strict=True
        ):
            words += titles[0] + a + a1 + titles[1] + b + b1 + a2 + b2
            titles = "", ""
    printed = between(paper, "Dimension Prompts Dimension Prompts", "Table 4:")
    # "Active Harm", but "ActiveFacilitation"
    assert "".join(printed).replace(" ", "") == words.replace(" ", "")


def test_items_are_those_of_table_6(paper):
    original = {name: next(iter(facets.values())) for name, facets in RATED["original"].items()}
    printed = [re.findall("’([^’]+)’", line) for line in paper if line.startswith("attribute=")]
    assert [list(original[name]) for name in ("Competence", "Warmth")] == printed
    assert [len(items) for items in original.values()] == [8, 7, 3, 3]


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


# ---- Table 8


@pytest.mark.parametrize("left, right", [("cuddy", "davinci"), ("gpt-3.5", "bard")])
def test_correlations_are_those_of_table_8(paper, left, right):
    """Two models beside each other."""
    labels = " ".join(as_printed("table_8", left, behavior) for behavior in BEHAVIORS)
    rows = [f"{labels} {labels}"]
    for perception in PUBLISHED["table_8"][left]:
        cells = [as_printed("table_8", left, perception)]
        for model in (left, right):
            for behavior, (rho, stars) in PUBLISHED["table_8"][model][perception].items():
                cells.append(as_printed("table_8", model, f"{perception} with {behavior}"))
                if cells[-1] == f"{perception} with {behavior}":
                    cells[-1] = f"{rho:g}{stars}"
        rows.append(" ".join(cells))
    assert len(rows) == 7 and {*map(alike, rows)} <= {*map(alike, paper)}


# ---- The small tables


def with_brackets(label, cells):
    return " ".join([label, *(f"{first} ({second})" for first, second in cells)])


def test_the_rows_of_tables_13_to_15_are_the_papers(paper):
    rows = [
        with_brackets(
            f"{name} CV Avg (Max)", [PUBLISHED["table_13"][m][name].values() for m in MODELS]
        )
        for name in ("Competence", "Warmth")
    ]
    styles = ["Prompt (paper)", "- w/o CoT", "- w/o Instructions", "- w/o CoT+Instructions"]
    (cells,) = PUBLISHED["tables"]["Table 14"]["values"].values()
    for style, variation in zip(styles, cells.values(), strict=True):
        rows.append(with_brackets(style, variation.values()))
    steps = {"written": "Initial ", "lemma": "+Lemmentization ", "phrase": "+"}
    for step, name in steps.items():
        coverage = [f"{PUBLISHED['table_15'][model][step]}%" for model in MODELS]
        rows.append(" ".join([f"{name}Coverage (%)", *coverage]))
    printed = "\n".join(["", *map(alike, paper)])
    assert [row for row in map(alike, rows) if f"\n{row}" not in printed] == []
