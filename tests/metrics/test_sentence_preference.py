from math import exp, inf, isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval_bias.metrics.sentence_preference import (
    CONTEXTS,
    CONTRASTS,
    Pair,
    calibrated,
    preference,
    sentence_preference,
    sign_test,
)


def pair(
    x=0.0,
    context="positive",
    template="t0",
    attribute=None,
    gender="g",
    axis="skin",
    variant=0,
    undesirable=-50.0,
):
    """A pair whose desirable sentence is likelier by x nats; of None or an infinite x its
    likelihood is that."""
    desirable = x if x is None or not abs(x) < inf else undesirable + x
    return Pair(
        template, axis, gender, context, attribute, ("d", "u"), variant, desirable, undesirable
    )


def preferred(pairs, thresholds=(0.02,), calibrate=False, axes=("skin",), genders=("g",)):
    return sentence_preference(pairs, axes, genders, thresholds, calibrate)


def crossed(x, templates=6, attributes=5, contexts=CONTEXTS[:2], **more):
    """Every template with every attribute of each context, x(context, template, attribute)."""
    return [
        pair(x(c, t, a), c, f"t{t}", f"{c}{a}", **more)
        for c in contexts
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
    favouritism 50 - 0, discrimination 100 - 25, and the gap of the log-odds (0.5 + 0.5 + 0.01 -
    0.5) / 4 + 0.5."""
    positive = [pair(x, "positive", f"t{i}", "p") for i, x in enumerate((0.5, 0.5, 0.01, -0.5))]
    negative = [pair(-0.5, "negative", f"t{i}", "n") for i in range(4)]
    result = preferred(positive + negative)
    triads = {(t.gender, t.context): t for t in result.triads}
    assert [triads["all", "positive"][i].value for i in (6, 7, 8)] == [25, 50, 25]
    assert [triads["g", "negative"][i].value for i in (6, 7, 8)] == [0, 0, 100]
    assert (
        triads["all", "neutral"].n == 0
        and isnan(triads["all", "neutral"].z1.value)
        and triads["all", "neutral"].star is None
    )
    assert result.contrast("favouritism").estimate.value == 50
    assert result.contrast("discrimination").estimate.value == 75
    assert result.contrast("log_odds_gap").estimate.value == pytest.approx(0.51 / 4 + 0.5)
    assert result.within["all"].value == 100 / 8 == result.within["skin"].value


def test_axes_and_genders_are_kept_apart_and_pooled_over_pairs():
    """Women: 3 of 4 desirable; men 0 of 2. Pooled: 3 of 6."""
    rows = [
        pair(x, "positive", f"t{i}", f"p{i}", g)
        for g, xs in (("w", (1, 1, 1, -1)), ("m", (-1, -1)))
        for i, x in enumerate(xs)
    ]
    rows += [pair(1, "positive", "t0", "p0", "w", "height")]
    result = preferred(rows, axes=("skin", "height"), genders=("w", "m"))
    z2 = {(t.axis, t.gender): t.z2.value for t in result.triads if t.context == "positive"}
    assert (z2["skin", "w"], z2["skin", "m"], z2["skin", "all"], z2["height", "all"]) == (
        75,
        0,
        50,
        100,
    )
    assert isnan(z2["height", "m"])


def test_pairs_without_two_finite_likelihoods_are_counted_and_left_out():
    rows = [pair(x, "positive", f"t{i}", "p") for i, x in enumerate((1, -1, None, nan, inf, -inf))]
    result = preferred(rows)
    (triad,) = (t for t in result.triads if (t.gender, t.context) == ("all", "positive"))
    assert (triad.n, triad.unanswered, triad.z2.value) == (2, 4, 50)


def test_nothing_is_undefined_and_not_zero():
    result = preferred([])
    assert isnan(result.contrast("favouritism").estimate.value)
    assert isnan(result.within["skin"].value)
    assert isnan(preferred([pair(1)]).contrast("log_odds_gap").estimate.value)


@pytest.mark.parametrize("change", [{"axis": "hair"}, {"gender": "x"}, {"context": "mixed"}])
def test_a_pair_of_no_known_axis_gender_or_context_is_refused(change):
    with pytest.raises(ValueError, match="not an axis, gender and context"):
        preferred([pair()._replace(**change)])


# ---- Calibration


def test_calibration_takes_the_neutral_pair_of_the_same_template_variant_and_gender():
    rows = [
        pair(2.0, "neutral"),
        pair(2.5, "positive", attribute="p"),
        pair(1.0, "negative", attribute="n"),
        pair(9.0, "neutral", variant=1),
        pair(9.0, "positive", attribute="p", variant=1),
        pair(1.0, "positive", template="t1", attribute="p"),
    ]
    assert list(calibrated(rows)) == pytest.approx([nan, 0.5, -1.0, nan, 0.0, nan], nan_ok=True)


@given(st.lists(st.floats(-300, -1), min_size=4, max_size=4))
def test_what_the_descriptor_alone_adds_cancels_to_nothing(likelihoods):
    """Any model whose descriptor costs the same whatever stands around it: 0, and no noise of
    rounding, so within a threshold of 0 too."""
    of_d, of_u, sentence, infused = likelihoods
    rows = [
        Pair("t", "skin", "g", c, c, "du", 0, rest + of_d, rest + of_u)
        for c, rest in (("neutral", sentence), ("positive", sentence + infused))
    ]
    assert calibrated(rows)[1] == 0


def test_contrasts_compare_pairs_of_the_same_template_alone():
    """A template of which only the positive pair is answered says nothing of a difference: 1 - 1 in
    t0, and the 9 of t1 is left out."""
    rows = [
        pair(1.0, "positive", "t0", "p"),
        pair(1.0, "negative", "t0", "n"),
        pair(9.0, "positive", "t1", "p"),
        pair(None, "negative", "t1", "n"),
    ]
    result = preferred(rows)
    assert (
        result.contrast("log_odds_gap").estimate.value == 0
        and result.contrast("log_odds_gap").n == 2
    )
    assert result.left_out == 25


def test_a_place_counts_by_the_harmonic_mean_of_its_pairs():
    """t0 has 2 positive and 1 negative pair, (4 + 2) / 2 - 1 = 2, and counts 4 / 3; t1 one of
    either, 0 - 1, and counts 1: (8 / 3 - 1) / (7 / 3)."""
    rows = [
        pair(4.0, "positive", "t0", "p"),
        pair(2.0, "positive", "t0", "q"),
        pair(1.0, "negative", "t0", "n"),
    ]
    rows += [pair(0.0, "positive", "t1", "p"), pair(1.0, "negative", "t1", "n")]
    assert preferred(rows).contrast("log_odds_gap").estimate.value == pytest.approx(
        (8 / 3 - 1) / (7 / 3)
    )


# ---- Errors


def test_attributes_alone_vary():
    """2 of 5 positive attributes do: 40, and sqrt(0.24 * 5 / 4) * 100 / sqrt(5); interval of t with
    4 degrees of freedom, 2.776."""
    result = preferred(
        crossed(lambda c, t, a: 1.0 if c == "positive" and a < 2 else -1.0, templates=10)
    )
    found = result.contrast("favouritism")
    error = 100 * sqrt(0.24 * 5 / 4) / sqrt(5)
    assert found.estimate == (pytest.approx(40), pytest.approx(error))
    assert (found.low, found.high) == pytest.approx(
        (40 - 2.776 * error, 40 + 2.776 * error), abs=0.05
    )


def test_a_constant_preference_leaves_no_chance_however_many_pairs_are_answered():
    """x is 5 in the one axis and -5 in the other, in both contexts; of the pairs 30 % are
    unanswered, so that pairs count unequally."""
    rng = np.random.default_rng(3)
    rows = [
        r
        for axis, x in (("skin", 5.0), ("height", -5.0))
        for r in crossed(lambda c, t, a, x=x: x if rng.random() > 0.3 else None, axis=axis)
    ]
    result = preferred(rows, axes=("skin", "height"))
    for name in CONTRASTS:
        found = result.contrast(name)
        assert (*found.estimate, found.low, found.high) == pytest.approx((0, 0, 0, 0), abs=1e-9)


def test_contexts_are_no_chance_where_an_axis_has_one_template():
    """Nothing varies within a context: always the stereotype, or always one sentence."""
    for x, expected in (
        (lambda c, t, a: 1.0 if c == "positive" else -1.0, (100, 100, 2)),
        (lambda c, t, a: 5.0, (0, 0, 0)),
    ):
        result = preferred(
            [*crossed(x, templates=12), *crossed(x, templates=1, axis="height")],
            axes=("skin", "height"),
        )
        for name, value in zip(CONTRASTS, expected, strict=True):
            found = result.contrast(name)
            assert (found.low, found.high) == pytest.approx((value, value))


# ---- The star


def test_sign_test_by_hand():
    """Clusters a +2, b +1, c -1, d 0: 2 of 3 positive, P(2 or 3 of 3) = 4 / 8. Five of five: 1 /
    32."""
    assert sign_test([1, 1, 1, -1, 1, -1], list("aabcdd")) == pytest.approx(0.5)
    assert sign_test([1] * 5, list("abcde")) == pytest.approx(1 / 32)
    assert sign_test([0, 1, -1], list("abb")) == 1


def test_a_star_needs_templates_and_attributes():
    """All agree: p of 6 templates 1 / 64, of 5 attributes 1 / 32. If one attribute of five does
    not, 6 / 32 > 0.05, however many templates."""
    stars = {}
    for name, x in {
        "stereotype": lambda c, t, a: 1.0 if c == "positive" else -1.0,
        "opposite": lambda c, t, a: -1.0 if c == "positive" else 1.0,
        "one attribute less": lambda c, t, a: (
            (1.0 if c == "positive" else -1.0) * (-1 if a == 0 else 1)
        ),
    }.items():
        result = preferred(crossed(x))
        stars[name] = {
            t.context: (t.p_templates, t.p_attributes, t.star)
            for t in result.triads
            if t.gender == "all"
        }
    assert (
        stars["stereotype"]["positive"] == stars["stereotype"]["negative"] == (1 / 64, 1 / 32, True)
    )
    assert stars["opposite"]["positive"][2] is stars["opposite"]["negative"][2] is False
    assert stars["one attribute less"]["positive"] == (1 / 64, 6 / 32, False)
    assert stars["stereotype"]["neutral"][2] is None
