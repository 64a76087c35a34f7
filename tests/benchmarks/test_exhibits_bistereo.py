"""The tables and figures of BIStereo, of models whose answers are known."""

from itertools import product

import pytest
from exhibited import missing, run_of, shown

from lm_eval_bias.benchmarks.bistereo import (
    nli_documents as bistereo_nli,
    pairs_documents as bistereo_pairs,
)
from lm_eval_bias.likelihoods import Likelihood

ENCODER, DECODER = "shared tokens", ""
NEITHER, DESIRABLE, UNDESIRABLE = (
    "neither (within the threshold)",
    "desirable preferred",
    "undesirable preferred",
)
# of the paper: axis, contexts, threshold
PRINTED = """
Figure 2; skin; positive negative; 0.02
Figure 10; skin; neutral; 0.02
Figure 11; skin; positive negative; 0.04
Figure 12; skin; neutral; 0.04
Figures 13 and 19; height; positive negative; 0.02
Figures 14 and 20; height; neutral; 0.02
Figure 15; shape; positive negative; 0.02
Figure 16; shape; neutral; 0.02
Figure 17; shape; positive negative; 0.04
Figure 18; shape; neutral; 0.04
Figure 21; height; positive negative; 0.04
Figure 22; height; neutral; 0.04
"""
CAPTIONS = {
    name: (axis, set(contexts.split()), float(threshold))
    for name, axis, contexts, threshold in (
        line.split("; ") for line in PRINTED.strip().splitlines()
    )
}


@pytest.fixture(scope="module")
def pairs(built):
    """All axes, so that each figure's selection is told from the others'."""
    return [doc for doc in built(bistereo_pairs.documents)[:800] if doc["paper"]]


def preferring(docs, nats, method=ENCODER):
    """By a model to which the desirable sentence is so many nats likelier."""
    return run_of(
        "bistereo_pairs",
        docs,
        lambda d: [Likelihood(x, False, how=method) for x in (nats(d) - 50.0, -50.0)],
    )


def stereotype(doc):
    """One nat for the desirable in positive context, and against it in negative one; 0.05 nats in
    neutral context.

    The difference of the NPLL is tanh(x / 2): .46 of one nat, and .025 of 0.05, which is above the
    threshold 0.02 and below 0.04.
    """
    return {"positive": 1.0, "negative": -1.0, "neutral": 0.05}[doc["sentiment"]]


@pytest.fixture(scope="module")
def uneven(pairs):
    """Nats, moved by another amount in each axis, context and gender; and the run."""
    steps = {"height": 0.06, "shape": 0.1, "men": 0.05, "positive": 0.03, "negative": -0.03}

    def nats(doc):
        of_place = sum(steps.get(doc[key], 0.0) for key in ("axis", "gender", "sentiment"))
        return of_place - 0.05 * (len(doc["desirable_sentence"]) % 5)

    return nats, preferring(pairs, nats)


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_figure_shows_the_bars_of_its_caption_and_no_others(pairs, uneven, name):
    """Bars are counted anew from the documents."""
    (nats, run), (axis, contexts, threshold) = uneven, CAPTIONS[name]
    # For a difference d of the NPLL, tanh(x / 2) = d is x = log((1 + d) / (1 - d)); of 0.02 that is
    # 0.0400, of 0.04 0.0800.
    limit = {0.02: 0.040005, 0.04: 0.080043}[threshold]
    expected = {}
    for context, gender in product(contexts, ("women", "men")):
        place = (axis, gender, context)
        x = [nats(d) for d in pairs if (d["axis"], d["gender"], d["sentiment"]) == place]
        parts = {
            NEITHER: [abs(v) <= limit for v in x],
            DESIRABLE: [v > limit for v in x],
            UNDESIRABLE: [v < -limit for v in x],
        }
        for part, of in parts.items():
            expected[context, gender, part] = (pytest.approx(100 * sum(of) / len(x)), len(x))
    rows = shown("bistereo_pairs", name, run)
    bars = {(r["context"], r["gender"], r["preference"]): (r["share"], r["n"]) for r in rows}
    assert bars == expected and len(rows) == len(expected)


def test_the_star_stands_at_the_preference_that_is_the_stereotype(pairs):
    run = preferring(pairs, stereotype)
    rows = shown("bistereo_pairs", "Figure 2", run)
    starred = {(row["context"], row["preference"], row["share"]) for row in rows if row["star"]}
    assert starred == {("positive", DESIRABLE, 100), ("negative", UNDESIRABLE, 100)}
    reverse = shown("bistereo_pairs", "Figure 2", preferring(pairs, lambda doc: -stereotype(doc)))
    assert not any(row["star"] for row in reverse)
    for name, preference in (("Figure 10", DESIRABLE), ("Figure 12", NEITHER)):
        rows = shown("bistereo_pairs", name, run)
        assert {row["preference"] for row in rows if row["share"] == 100} == {preference}
        assert not any(row["star"] for row in rows)


def test_of_a_calibrated_model_the_neutral_figures_are_missing(pairs):
    run = preferring(pairs, stereotype, DECODER)
    neutral = {name for name, (_, contexts, _) in CAPTIONS.items() if contexts == {"neutral"}}
    assert missing("bistereo_pairs", run) == neutral
    rows = shown("bistereo_pairs", "Section 4.1.2", run)
    assert {row["score"] for row in rows} == {"calibrated joint"}


# ---- NLI


@pytest.fixture(scope="module")
def nli(built):
    """The first ones of each gender and domain."""
    taken = {}
    for doc in built(bistereo_nli.documents):
        if doc["paper"]:
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
    goes = (doc["descriptor"] == "fair") == (doc["effect"] == "halo")
    return "entailment" if goes else "contradiction"


def test_bars_of_figures_3_and_23_to_25_by_hand(nli):
    run = labelled(nli, halo)
    for name in ("Figure 3", "Figure 23"):
        rows = shown("bistereo_nli_generate", name, run)
        entailed = {"fair, attractiveness", "dark, unattractiveness"}
        assert len(rows) == 8
        for row in rows:
            goes = (row["label"] == "Entailment") == (row["pair"] in entailed)
            assert row["share"] == 100 * goes
    for name in ("Figure 24", "Figure 25"):
        rows = shown("bistereo_nli_generate", name, run)
        assert [row["share"] for row in rows] == [0] * 8
        assert {row["pair"] for row in rows} == {
            f"{s}, {c}" for s in ("fair", "dark") for c in ("good behaviour", "bad behaviour")
        }


def test_each_figure_has_the_gender_of_its_caption(nli):
    run = labelled(nli, lambda doc: "contradiction" if doc["gender"] == "women" else "entailment")
    for label, names in (("Contradiction", ("3", "24")), ("Entailment", ("23", "25"))):
        for name in names:
            rows = shown("bistereo_nli_generate", f"Figure {name}", run)
            assert {row["label"] for row in rows if row["share"]} == {label}
