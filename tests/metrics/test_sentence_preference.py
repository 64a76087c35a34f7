from math import exp, inf, nan, sqrt

import pytest
from hypothesis import given, strategies as st
from lm_eval_bias.metrics.sentence_preference import CONTEXTS, log_odds, preference, sign_test

from lm_eval_bias.benchmarks.bistereo.pairs_measure import PAIRS


def pair(x, context, template, attribute):
    """A record whose desirable sentence is likelier by x nats; None for no usable likelihood."""
    return {
        "wording": template,
        "variant": 0,
        "axis": "skin",
        "paper": True,
        "placebo": False,
        "gender": "g",
        "words": "d",
        "desirable": "d",
        "undesirable": "u",
        "sentiment": context,
        "attribute": attribute,
        "desirable_likelihood": None if x is None else -50 + x,
        "undesirable_likelihood": -50.0,
        "body_first": True,
        "method": "shared tokens",
    }


def triads(records):
    rows = PAIRS.summary(records).tables["trisentbias"]
    return {
        (row["axis"], row["gender"], row["context"]): row
        for row in rows
        if row["threshold"] == 0.02
    }


def crossed(x, templates=6, attributes=5):
    """Every template with every attribute of each context, x(context, template, attribute)."""
    return [
        pair(x(c, t, a), c, f"t{t}", f"{c}{a}")
        for c in CONTEXTS[:2]
        for t in range(templates)
        for a in range(attributes)
    ]


# ---- NPLL


@given(st.floats(-30, 30), st.floats(-30, 0), st.sampled_from([0, 0.02, 0.5]))
def test_a_preference_is_a_difference_of_npll_beyond_a_threshold(x, pll_u, threshold):
    """NPLL(S_d) - NPLL(S_u), each e^PLL / (e^PLL(S_d) + e^PLL(S_u)), section 4.1.1."""
    d, u = exp(pll_u + x), exp(pll_u)
    npll = d / (d + u) - u / (d + u)
    if abs(abs(npll) - threshold) > 1e-9:
        assert preference(x, threshold) == (npll > threshold) - (npll < -threshold)


# ---- TriSentBias


def test_z1_z2_z3_by_hand():
    """Positive: 0.5, 0.5, 0.01 and -0.5 nats: z1 25, z2 50, z3 25. Negative: -0.5 each: z3 100. So
    the gap of the log-odds is (0.5 + 0.5 + 0.01 - 0.5) / 4 + 0.5."""
    records = [pair(x, "positive", f"t{i}", "p") for i, x in enumerate((0.5, 0.5, 0.01, -0.5))]
    records += [pair(-0.5, "negative", f"t{i}", "n") for i in range(4)]
    of, values = triads(records), PAIRS.summary(records).values
    positive, negative = of["skin", "all", "positive"], of["skin", "g", "negative"]
    assert [positive[z] for z in ("z1", "z2", "z3")] == [25, 50, 25]
    assert [negative[z] for z in ("z1", "z2", "z3")] == [0, 0, 100]
    assert values["raw_gap_body_first"].value == pytest.approx(0.51 / 4 + 0.5)
    assert values["within_threshold"].value == pytest.approx(100 / 8)


def test_pairs_without_two_finite_likelihoods_are_counted_and_left_out():
    records = [pair(x, "positive", f"t{i}", "p") for i, x in enumerate((1, -1, None, None))]
    row = triads(records)["skin", "all", "positive"]
    assert (row["n"], row["unanswered"], row["z2"]) == (2, 2, 50)
    x, _ = log_odds([[-1, nan], [inf, -1], [-1, -inf], [-1, -2]], [0] * 4, [0] * 4, calibrate=False)
    assert x == pytest.approx([nan, nan, nan, 1], nan_ok=True)


# ---- Calibration


def test_calibration_takes_the_neutral_pair_of_the_same_place():
    """Places 0, 1 and 2, of which the last has no neutral pair and stays as it is."""
    x = [2.0, 2.5, 1.0, 9.0, 9.0, 1.0]
    neutral = [True, False, False, True, False, False]
    likelihoods = [[-50 + of, -50] for of in x]
    raw, less = log_odds(likelihoods, [0, 0, 0, 1, 1, 2], neutral, calibrate=True)
    assert raw == pytest.approx(x)
    assert less == pytest.approx([nan, 0.5, -1.0, nan, 0.0, 1.0], nan_ok=True)


@given(st.lists(st.floats(-300, -1), min_size=4, max_size=4))
def test_what_the_descriptor_alone_adds_cancels_to_nothing(likelihoods):
    """Any model whose descriptor costs the same whatever stands around it: 0, and no noise of
    rounding, so within a threshold of 0 too."""
    of_d, of_u, sentence, infused = likelihoods
    both = [[rest + of_d, rest + of_u] for rest in (sentence, sentence + infused)]
    assert log_odds(both, [0, 0], [True, False], calibrate=True)[1][1] == 0


def test_contrasts_compare_pairs_of_the_same_template_alone():
    """A template of which only the positive pair is answered says nothing of a difference: 1 - 1 in
    t0, and the 9 of t1 is left out."""
    values = PAIRS.summary(
        [
            pair(1.0, "positive", "t0", "p"),
            pair(1.0, "negative", "t0", "n"),
            pair(9.0, "positive", "t1", "p"),
            pair(None, "negative", "t1", "n"),
        ]
    ).values
    gap = values["raw_gap_body_first"]
    assert (gap.value, gap.n) == (0, 2)
    assert values["left_out"].value == 25


# ---- Errors


def test_attributes_alone_vary():
    """4 of 10 positive attributes do, by 2 nats: 0.8, and sqrt(0.24 * 10 / 9) * 2 / sqrt(10).
    Without one, a tenth of the positive pairs is left out, but a twentieth of all, and the error is
    larger by 0.95 / 0.9. Interval of t with 9 degrees of freedom, 2.262; those of the others add
    some."""
    records = crossed(
        lambda c, t, a: 1.0 if c == "positive" and a < 4 else -1.0, templates=20, attributes=10
    )
    found = PAIRS.summary(records).values["raw_gap_body_first"]
    error = 2 * sqrt(0.24 / 9) * 0.95 / 0.9
    assert found[:2] == (pytest.approx(0.8), pytest.approx(error))
    half = 2.262 * error
    assert (found.low, found.high) == pytest.approx((0.8 - half, 0.8 + half), abs=0.0002)


# ---- The star


def test_sign_test_by_hand():
    """Clusters a +2, b +1, c -1, d 0: 2 of 3 positive, P(2 or 3 of 3) = 4 / 8. Five of five: 1 /
    32."""
    assert sign_test([1, 1, 1, -1, 1, -1], list("aabcdd")) == pytest.approx(0.5)
    assert sign_test([1] * 5, list("abcde")) == pytest.approx(1 / 32)
    assert sign_test([0, 1, -1], list("abb")) == 1


@pytest.mark.parametrize(
    "x, star",
    [
        (lambda c, a: 1.0 if c == "positive" else -1.0, True),
        (lambda c, a: -1.0 if c == "positive" else 1.0, False),
        (lambda c, a: (1.0 if c == "positive" else -1.0) * (-1 if a == 0 else 1), False),
    ],
)
def test_a_star_needs_templates_and_attributes(x, star):
    """All agree: p of 6 templates 1 / 64, of 5 attributes 1 / 32. If one attribute of five does
    not, 6 / 32 > 0.05, however many templates."""
    of = triads(crossed(lambda c, t, a: x(c, a)))
    assert of["skin", "all", "positive"]["star"] is star
    assert of["skin", "all", "negative"]["star"] is star
    assert ("skin", "all", "neutral") not in of  # not asked
    if star:
        row = of["skin", "all", "positive"]
        assert (row["p_templates"], row["p_attributes"]) == (1 / 64, 1 / 32)
