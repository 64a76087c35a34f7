"""The tables and figures of BIStereo, of models whose answers are known."""

from math import inf

import pytest
from exhibited import (
    TASKS,
    assert_cells_have_a_place,
    assert_declared_as_it_is,
    missing,
    run_of,
    shown,
)

from lm_eval_bias.benchmarks.bistereo import analogy_documents as bistereo_analogy
from lm_eval_bias.benchmarks.bistereo import nli_documents as bistereo_nli
from lm_eval_bias.benchmarks.bistereo import pairs_documents as bistereo_pairs

ENCODER, DECODER = "shared tokens", "joint"
NEITHER, DESIRABLE, UNDESIRABLE = (
    "neither (within the threshold)",
    "desirable preferred",
    "undesirable preferred",
)
CAPTIONS = {  # of the paper: axis, contexts, threshold
    "Figure 2": ("skin", {"positive", "negative"}, 0.02),
    "Figure 10": ("skin", {"neutral"}, 0.02),
    "Figure 11": ("skin", {"positive", "negative"}, 0.04),
    "Figure 12": ("skin", {"neutral"}, 0.04),
    "Figures 13 and 19": ("height", {"positive", "negative"}, 0.02),
    "Figures 14 and 20": ("height", {"neutral"}, 0.02),
    "Figure 15": ("shape", {"positive", "negative"}, 0.02),
    "Figure 16": ("shape", {"neutral"}, 0.02),
    "Figure 17": ("shape", {"positive", "negative"}, 0.04),
    "Figure 18": ("shape", {"neutral"}, 0.04),
    "Figure 21": ("height", {"positive", "negative"}, 0.04),
    "Figure 22": ("height", {"neutral"}, 0.04),
}


@pytest.fixture(scope="module")
def pairs():
    """All axes, so that each figure's selection is told from the others'."""
    return bistereo_pairs.documents()[:1500]


def preferring(docs, nats, method=ENCODER, **options):
    """By a model to which the desirable sentence is so many nats likelier."""
    return run_of(
        "bistereo_pairs",
        docs,
        lambda d: [(nats(d) - 50.0, 9, method), (-50.0, 9, method)],
        **options,
    )


def stereotype(doc):
    """One nat for the desirable in positive context, and against it in negative one; 0.05 nats in
    neutral context.

    The difference of the NPLL is tanh(x / 2): .46 of one nat, and .025 of 0.05, which is above the
    threshold 0.02 and below 0.04.
    """
    return {"positive": 1.0, "negative": -1.0, "neutral": 0.05}[doc["sentiment"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CAPTIONS))
def test_a_figure_shows_the_bars_of_its_caption_and_no_others(pairs, name):
    """The preferences of each axis, context and gender are moved by other amounts, and the bars are
    counted anew from the documents."""
    steps = {
        "skin": 0.0,
        "height": 0.06,
        "shape": 0.1,
        "women": 0.0,
        "men": 0.05,
        "positive": 0.03,
        "negative": -0.03,
        "neutral": 0.0,
    }

    def nats(doc):
        return (
            steps[doc["axis"]]
            + steps[doc["gender"]]
            + steps[doc["sentiment"]]
            - 0.05 * (len(doc["desirable_sentence"]) % 5)
        )

    axis, contexts, threshold = CAPTIONS[name]
    run = preferring(pairs, nats)
    found = shown("bistereo_pairs", name, run)
    assert {row["context"] for row in found} == contexts and len(found) == len(contexts) * 2 * 3
    for context in contexts:
        for gender in ("women", "men"):
            # For a difference d of the NPLL, tanh(x / 2) = d is x = log((1 + d) / (1 - d)); of 0.02
            # that is 0.0400, of 0.04 0.0800.
            limit = {0.02: 0.040005, 0.04: 0.080043}[threshold]
            mine = [
                nats(d)
                for d in pairs
                if (d["axis"], d["gender"], d["sentiment"]) == (axis, gender, context)
            ]
            expected = {
                NEITHER: sum(abs(x) <= limit for x in mine),
                DESIRABLE: sum(x > limit for x in mine),
                UNDESIRABLE: sum(x < -limit for x in mine),
            }
            bar = {
                row["preference"]: row
                for row in found
                if (row["context"], row["gender"]) == (context, gender)
            }
            assert {part: row["share"] for part, row in bar.items()} == pytest.approx(
                {part: 100 * count / len(mine) for part, count in expected.items()}
            )
            assert {row["n"] for row in bar.values()} == {len(mine)}


def test_the_star_stands_at_the_preference_that_is_the_stereotype(pairs):
    found = shown("bistereo_pairs", "Figure 2", preferring(pairs, stereotype))
    assert {(row["context"], row["preference"], row["share"]) for row in found if row["star"]} == {
        ("positive", DESIRABLE, 100),
        ("negative", UNDESIRABLE, 100),
    }
    reverse = shown("bistereo_pairs", "Figure 2", preferring(pairs, lambda doc: -stereotype(doc)))
    assert not any(row["star"] for row in reverse)
    neutral = [
        shown("bistereo_pairs", name, preferring(pairs, stereotype))
        for name in ("Figure 10", "Figure 12")
    ]
    assert [{row["preference"] for row in rows if row["share"] == 100} for rows in neutral] == [
        {DESIRABLE},
        {NEITHER},
    ]
    assert not any(row["star"] for rows in neutral for row in rows)


def test_of_a_calibrated_model_the_neutral_figures_are_missing_and_the_neutral_pairs_stand_alone(
    pairs,
):
    """1 - 0.05 nats is left in positive context."""
    run = preferring(pairs, stereotype, DECODER)
    assert missing("bistereo_pairs", run) == {
        name for name, (_, contexts, _) in CAPTIONS.items() if contexts == {"neutral"}
    }
    assert all(
        row["log_odds"] == pytest.approx(0.05)
        for row in shown("bistereo_pairs", "Neutral pairs", run)
    )
    assert {row["score"] for row in shown("bistereo_pairs", "Section 4.1.2", run)} == {
        "calibrated joint"
    }


def test_contrasts_by_hand(pairs):
    """Every pair prefers as the stereotype says: 100 - 0 points of both, on each axis and of each
    gender."""
    found = shown("bistereo_pairs", "Favouritism and discrimination", preferring(pairs, stereotype))
    assert {row["value"] for row in found} == {100} and {row["threshold"] for row in found} == {
        0.02
    }
    assert {row["axis"] for row in found} == {"all", "skin", "shape", "height"} and {
        row["contrast"] for row in found
    } == {"favouritism", "discrimination"}
    own = shown(
        "bistereo_pairs",
        "Favouritism and discrimination",
        preferring(pairs, stereotype, threshold=0.05),
    )
    assert {row["threshold"] for row in own} == {0.05}


def test_another_threshold_and_a_subset_leave_out_their_figures(pairs):
    run = preferring(pairs, stereotype, threshold=0.05)
    assert missing("bistereo_pairs", run) == {
        "Section 4.1.2",
        *(name for name, (_, _, d) in CAPTIONS.items() if d == 0.02),
    }
    skin = [doc for doc in pairs if doc["axis"] == "skin"]
    run = run_of(
        "bistereo_pairs_skin", skin, lambda d: [(stereotype(d), 9, ENCODER), (0.0, 9, ENCODER)]
    )
    assert missing("bistereo_pairs_skin", run) == {
        name for name, (axis, _, _) in CAPTIONS.items() if axis != "skin"
    }
    assert assert_cells_have_a_place("bistereo_pairs_skin", run) == 6


def test_pairs_are_declared_as_they_are(pairs):
    run = preferring(pairs, stereotype)
    assert_declared_as_it_is("bistereo_pairs", run)
    assert assert_cells_have_a_place("bistereo_pairs", run) == 6


# ---- NLI


@pytest.fixture(scope="module")
def nli():
    """The first ones of each gender and domain."""
    docs, taken = bistereo_nli.documents(), {}
    for doc in docs:
        taken.setdefault((doc["gender"], doc["domain"]), []).append(doc)
    return [doc for some in taken.values() for doc in some[:200]]


def labelled(docs, label):
    """By a model that writes its label."""
    return run_of("bistereo_nli_generate", docs, lambda doc: [label(doc)])


def halo(doc):
    """Fair skin goes with what is good and dark skin with what is bad, of looks; of behaviour
    nothing follows."""
    if doc["domain"] != "looks":
        return "neutral"
    return (
        "entailment"
        if (doc["descriptor"] == "fair") == (doc["effect"] == "halo")
        else "contradiction"
    )


def test_bars_of_figures_3_and_23_to_25_by_hand(nli):
    run = labelled(nli, halo)
    for name, gender in (("Figure 3", "women"), ("Figure 23", "men")):
        bars = {
            (row["label"], row["pair"]): row["share"]
            for row in shown("bistereo_nli_generate", name, run)
        }
        assert bars == {
            (label, f"{skin}, {category}"): 100.0
            * ((label == "Entailment") == ((skin == "fair") == (category == "attractiveness")))
            for label in ("Contradiction", "Entailment")
            for skin in ("fair", "dark")
            for category in ("attractiveness", "unattractiveness")
        }, gender
    for name in ("Figure 24", "Figure 25"):
        found = shown("bistereo_nli_generate", name, run)
        assert len(found) == 8 and {row["share"] for row in found} == {0}
        assert {row["pair"] for row in found} == {
            f"{s}, {c}" for s in ("fair", "dark") for c in ("good behaviour", "bad behaviour")
        }


def test_each_figure_has_the_gender_of_its_caption(nli):
    run = labelled(nli, lambda doc: "contradiction" if doc["gender"] == "women" else "entailment")
    for name, label in (
        ("Figure 3", "Contradiction"),
        ("Figure 24", "Contradiction"),
        ("Figure 23", "Entailment"),
        ("Figure 25", "Entailment"),
    ):
        assert {
            row["label"] for row in shown("bistereo_nli_generate", name, run) if row["share"]
        } == {label}


def test_bars_have_the_intervals_of_the_table_labels(nli):
    run = labelled(nli, lambda doc: ("entailment", "neutral", "neutral")[len(doc["premise"]) % 3])
    ends = {
        (row["descriptor"], row["category"]): (row["entailment_low"], row["entailment_high"])
        for row in run["labels"]
        if row["gender"] == "women"
    }
    for row in shown("bistereo_nli_generate", "Figure 3", run):
        if row["label"] == "Entailment":
            low, high = ends[row["descriptor"], row["category"]]
            assert 0 <= low < row["share"] < high <= 100
            assert (row["share_low"], row["share_high"]) == (low, high)


def test_halo_and_horn_gaps_by_hand(nli):
    """Of looks %E - %C is 100 of one and -100 of the other: a gap of 200; of behaviour 0; of both
    together 100, with as many of each."""
    gaps = {
        (row["effect"], row["gender"], row["category"]): row
        for row in shown("bistereo_nli_generate", "Halo and horn gaps", labelled(nli, halo))
    }
    assert (
        gaps["halo", "women", "attractiveness"]["gap"]
        == gaps["horn", "men", "unattractiveness"]["gap"]
        == 200
    )
    assert (
        gaps["halo", "men", "good_behaviour"]["gap"]
        == gaps["horn", "women", "bad_behaviour"]["gap"]
        == 0
    )
    assert gaps["halo", "women - men", "attractiveness"]["gap"] == 0
    assert gaps["halo", "women", "attractiveness"]["who"] == "women, attractiveness"
    assert [gaps[effect, "men", "all"]["who"] for effect in ("halo", "horn")] == [
        "men, all good attributes",
        "men, all bad attributes",
    ]


def test_nli_is_declared_as_it_is_and_a_subset_lacks_the_other_figures(nli):
    run = labelled(nli, halo)
    assert_declared_as_it_is("bistereo_nli_generate", run)
    assert assert_cells_have_a_place("bistereo_nli_generate", run) == 2
    men = [doc for doc in nli if (doc["gender"], doc["domain"]) == ("men", "behaviour")]
    run = run_of(
        "bistereo_nli_men_behaviour", men, lambda doc: [(-1.0, False), (-2.0, False), (-3.0, False)]
    )
    assert missing("bistereo_nli_men_behaviour", run) == {"Figure 3", "Figure 23", "Figure 24"}
    assert_declared_as_it_is("bistereo_nli_men_behaviour", run)
    needs = {e.name: e.needs for e in TASKS["bistereo_nli"].measure.exhibits}
    assert needs["Figure 24"] == "the task bistereo_nli, or bistereo_nli_women_behaviour"
    assert all(
        name in TASKS
        for said in needs.values()
        for name in said.replace(",", "").split()
        if name.startswith("bistereo")
    )


# ---- Analogies


@pytest.fixture(scope="module")
def analogies():
    docs = bistereo_analogy.documents()
    return docs[: [i for i, doc in enumerate(docs) if doc["context"] == "stereotype"][60]]


def test_table_2_by_hand(analogies):
    """Of women always the stereotype, of men never; and not answered for one woman."""
    own = [doc for doc in analogies if doc["context"] == "stereotype"]
    silent = next(doc for doc in own if doc["gender"] == "women")

    def likelihoods(doc):
        if doc is silent:
            return [(-inf, False, 1), (-inf, False, 1)]
        return [
            (-5.0, False, 1),
            (
                -5.0 + (1 if doc["gender"] == "women" else -1) * (doc["context"] == "stereotype"),
                False,
                2,
            ),
        ]

    run = run_of("bistereo_analogy", analogies, likelihoods)
    women, men = (
        sum(doc["gender"] == gender for doc in own) - (gender == "women")
        for gender in ("women", "men")
    )
    table = {row["gender"]: row for row in shown("bistereo_analogy", "Table 2", run)}
    assert {
        gender: (row["biased_preferences"], row["analogies"]) for gender, row in table.items()
    } == {
        "women and men": (pytest.approx(100 * women / (women + men)), women + men),
        "women": (100, women),
        "men": (0, men),
    }
    # Nothing but C itself moves this model, so both corrections agree; per token the longer biased
    # word wins: -5 or so over two.
    assert (table["women"]["calibrated_preferences"], table["men"]["directed_preferences"]) == (
        100,
        0,
    )
    assert {row["per_token_preferences"] for row in table.values()} == {100}
    assert [
        row["calibrated_preferences"]
        for row in shown("bistereo_analogy", "Content-free phrases", run)
    ] == pytest.approx([100 * women / (women + men)] * 3)
    by_axis = shown("bistereo_analogy", "Analogies by axis", run)
    assert {row["number"] for row in by_axis} == {"calibrated preferences", "directed preferences"}
    assert [row["value"] for row in by_axis if row["axis"] == "all"] == pytest.approx(
        [100 * women / (women + men)] * 2
    )
    assert_declared_as_it_is("bistereo_analogy", run)
    assert assert_cells_have_a_place("bistereo_analogy", run) == 8


def test_written_analogies_are_declared_as_they_are():
    """Always the biased word, behind whatever: 100 % biased, and 0 points beside what content-free
    phrases and swapped groups have."""
    docs = bistereo_analogy.listed()
    docs = docs[: [i for i, doc in enumerate(docs) if doc["context"] == "stereotype"][60]]
    run = run_of("bistereo_analogy_generate", docs, lambda doc: [doc["biased"]])
    rows = shown("bistereo_analogy_generate", "Table 2", run)
    assert {
        (row["biased_preferences"], row["calibrated_gap"], row["directed_gap"]) for row in rows
    } == {(100, 0, 0)}
    assert {
        row["value"] for row in shown("bistereo_analogy_generate", "Analogies by axis", run)
    } == {0}
    assert_declared_as_it_is("bistereo_analogy_generate", run)
    assert assert_cells_have_a_place("bistereo_analogy_generate", run) == 8
