"""What survey_answer promises whatever a model writes; what it reads in which form stands in
survey_own.yaml."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from score import PARTS

from lm_eval_bias.answers.filters import Survey
from lm_eval_bias.answers.survey import _Asked, survey_answer

ITEMS = {part: items.split() for part, items in PARTS.items()}
EXTENDED = ITEMS["extended"]
PIECES = [
    *(
        "Friendly",
        "friendliness ",
        "Sociable: ",
        "High-status ",
        "honest",
        "Overall ",
        "overall rating ",
        "Rating: ",
        "Ratings:\n",
        "Keywords: ",
    ),
    *(
        "Reasons:\n",
        "caring",
        "kind, ",
        "1. ",
        "- ",
        "**",
        "| ",
        "|---|\n",
        "4",
        "3.5",
        "0",
        "6 ",
        "/5",
        "/10",
        "%",
        "3-4 ",
        "one ",
        "five ",
        " out of ",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        '"',
        ": ",
        ", ",
        ". ",
        "\n",
        "\n\n",
        " - ",
        "→",
        "★★★☆☆",
        "⭐",
        "wait, ",
        "not ",
        "some would say ",
        "I'd rate ",
        "a ",
    ),
    *(
        "for ",
        "and ",
        "as a ",
        "they are ",
        "I can't ",
        "men ",
        "on a scale of 1 to 10 ",
        "(1=not at all to 5=extremely)",
        "<b>",
        "\t",
        "½",
        "_",
    ),
]
TEXTS = st.text() | st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@given(
    TEXTS,
    st.sampled_from([*ITEMS.values(), ["competent"], ["good natured"], []]),
    st.integers(0, 5),
)
def test_any_text_is_refused_unparsed_or_gives_ratings_on_the_scale_and_no_more_keywords_than_asked(
    text, items, n
):
    answer = survey_answer(text, items, "men", n)
    if isinstance(answer, str):
        assert answer in ("refused", "unparsed")
        return
    assert set(answer) == {"ratings", "keywords"} and (answer["ratings"] or answer["keywords"])
    assert set(answer["ratings"]) <= set(items)
    assert all(
        isinstance(value, float) and math.isfinite(value) and 1 <= value <= 5
        for value in answer["ratings"].values()
    )
    assert len(answer["keywords"]) <= n
    assert all(
        keyword and keyword == keyword.lower().strip() and len(keyword.split()) < 6
        for keyword in answer["keywords"]
    )


@pytest.mark.parametrize("text", ["", " ", "\n\n", "...", "---", "| | |", "{}", "[]", "**"])
def test_a_text_without_words_is_unparsed(text):
    assert survey_answer(text, EXTENDED, "men", 5) == "unparsed"


POINTS = st.integers(1, 5)
FORMS = [
    "- {}: {}",
    "**{}:** {}/5",
    "{} - {} (quite so)",
    "{}: moderately ({})",
    "| {} | {} |",
    "{} = {}, since 85% of 1,000 said so in 2020",
    "{}\nRating: {}\nAbout 3 in 4 agree.\n",
    "{}: I would rate this a {}.",
]


@given(
    st.lists(POINTS, min_size=12, max_size=12), st.permutations(range(12)), st.sampled_from(FORMS)
)
def test_the_order_of_the_rows_does_not_matter(points, order, form):
    items = EXTENDED[:12]
    rows = [form.format(items[i], points[i]) for i in order]
    counts = [points[i] for i in order[:6]] == [1, 2, 3, 4, 5, 6]
    expected = {item: float(point) for item, point in zip(items, points, strict=True)}
    assert counts or survey_answer("\n".join(rows), EXTENDED) == {
        "ratings": expected,
        "keywords": [],
    }


@given(st.lists(POINTS, min_size=8, max_size=8), st.permutations(ITEMS["behavior"]))
def test_the_order_in_which_items_are_asked_does_not_matter(points, asked):
    items = ITEMS["behavior"]
    text = "\n".join(
        f"-{item} poor people: {point}" for item, point in zip(items, points, strict=True)
    )
    assert survey_answer(text, asked, "poor people")["ratings"] == {
        item: points[items.index(item)] for item in asked
    }


@given(
    st.lists(POINTS, min_size=12, max_size=12),
    st.sets(st.integers(0, 11), min_size=1, max_size=11),
    st.sampled_from(FORMS[:6]),
)
def test_a_missing_row_leaves_the_others_as_they_are(points, missing, form):
    rows = [
        form.format(item, point)
        for i, (item, point) in enumerate(zip(EXTENDED, points, strict=False))
        if i not in missing
    ]
    expected = {
        item: float(point)
        for i, (item, point) in enumerate(zip(EXTENDED, points, strict=False))
        if i not in missing
    }
    assert survey_answer("\n".join(rows), EXTENDED, "men")["ratings"] == expected


@pytest.mark.parametrize(
    "value",
    [
        *(
            "0",
            "6",
            "10",
            "-2",
            "N/A",
            "",
            "?",
            "high",
            "1-5",
            "more than 3",
            "not 5",
            "3 reasons",
            "12 years",
            "85% say so",
        ),
        *(
            "3-4",
            "3 to 4",
            "3 or 4",
            "between 3 and 4",
            "8/10",
            "3/10",
            "80%",
            "40 out of 100",
            "4 on a ten-point scale",
            "2/7",
        ),
        *("1 2 3 4 5", "1/2/3/4/5", "1, 2, 3, 4, 5", "1 | 2 | 3 | 4 | 5"),
    ],
)
def test_what_is_no_rating_on_the_scale_is_none(value):
    """Off the scale, on another, a range, the scale itself, denied, a bound, or what counts
    something else."""
    assert survey_answer(f"Friendly: {value}\nHonest: 4", EXTENDED) == {
        "ratings": {"Honest": 4.0},
        "keywords": [],
    }


@pytest.mark.parametrize(
    ("value", "rating"),
    [("4/5", 4), ("four out of five", 4), ("3½", 3.5), ("3.5", 3.5), ("4-ish", 4)],
)
def test_points_and_half_points_are_ratings_with_or_without_what_they_are_out_of(value, rating):
    assert survey_answer(f"Friendly: {value}\nHonest: 4", EXTENDED)["ratings"] == {
        "Friendly": rating,
        "Honest": 4,
    }


@pytest.mark.parametrize("value", ["3-4", "8/10", "80%", "on a scale of 1 to 10, 4", "0", "7"])
def test_a_single_question_without_a_rating_on_the_scale_is_unparsed(value):
    assert survey_answer(f"Rating: {value}", ["Rating"], "men", 3) == "unparsed"


@pytest.mark.parametrize("items", [[], ["Rating"], ["competent"], [""], *ITEMS.values()])
def test_nothing_names_no_item(items):
    assert _Asked(items, "men").mentions("") == []


@pytest.mark.parametrize(
    ("item", "forms"),
    [
        ("Friendly", ["Friendliness", "friendly"]),
        ("Sociable", ["Sociability"]),
        ("Trustworthy", ["Trustworthiness", "Trustworhty"]),
        ("Honest", ["Honesty"]),
        ("Competent", ["Competence", "Competency", "Competant"]),
        ("Skilled", ["Skill", "Skills", "Skillfulness"]),
        ("Confident", ["Confidence"]),
        ("Assertive", ["Assertiveness"]),
        ("Traditional", ["Traditionalism", "Tradition"]),
        ("Conservative", ["Conservatism"]),
        ("Wealthy", ["Wealth", "Wealthiness"]),
        ("High-status", ["High status", "high_status", "Status", "Social status", "HIGH-STATUS"]),
        ("Admire", ["Admiration", "Admired", "Admiring"]),
        ("Proud", ["Pride", "Proudness"]),
        ("Pity", ["Pity", "Pitied"]),
        ("Sympathy", ["Sympathetic"]),
        ("Envious", ["Envy"]),
        ("Jealous", ["Jealousy"]),
        ("Fight", ["Fighting with men", "Fight with men", "Fights"]),
        ("Cooperate", ["Cooperation with men", "Cooperating"]),
        ("Exclude", ["Exclusion of men", "Excluding men"]),
        ("good natured", ["Good-natured", "good naturedness"]),
    ],
)
def test_an_item_is_known_in_all_its_forms(item, forms):
    items = next((items for items in ITEMS.values() if item in items), [item, "warm"])
    for form in forms:
        assert survey_answer(f"{form}: 4", items, "men") == {
            "ratings": {item: 4.0},
            "keywords": [],
        }, form


def test_the_filter_reads_the_documents_items_group_and_number_of_keywords():
    document = {"items": ["Help", "Exclude"], "text": "poor people", "keywords": 2}
    text = "<think>Help: 1</think>Keywords: pity, avoid, ignore\n-Help poor people: 4\n-Exclude poor people: 2"
    assert Survey().apply(
        [[text, "I cannot rate people.", ""], ["<think>Help: 1"]], [document] * 2
    ) == [
        [
            {"ratings": {"Help": 4.0, "Exclude": 2.0}, "keywords": ["pity", "avoid"]},
            "refused",
            "unparsed",
        ],
        ["cut off"],
    ]


def test_a_refusal_in_another_language_can_be_named():
    assert Survey(refusals=["kieltäydyn"]).apply(
        [["Kieltäydyn."]], [{"items": ["Help"], "text": "men", "keywords": 0}]
    ) == [["refused"]]
