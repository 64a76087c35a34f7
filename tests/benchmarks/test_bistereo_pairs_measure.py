from math import inf, nan

import pytest

from lm_eval_bias.benchmarks.bistereo.pairs_measure import PAIRS, record, score_of
from lm_eval_bias.likelihoods import Likelihood

SIGN = {"positive": 1.0, "negative": -1.0, "neutral": 0.0}


def answered(docs, x, method=""):
    """By a model that says how many nats likelier the desirable sentence is."""
    scores = ((d, (-50.0 + x(d), -50.0)) for d in docs)
    return PAIRS.summary(
        [record(d, [Likelihood(y, False, how=method) for y in both]) for d, both in scores]
    )


@pytest.mark.parametrize("value", [nan, inf, -inf, "nan"])
def test_a_likelihood_that_is_no_finite_number_is_none(every, value):
    """The harness writes the numbers of a sample as texts."""
    found = record(every[0], [[value, "False"], ["-3.0", "False"]])
    names = ("desirable_likelihood", "undesirable_likelihood", "method")
    assert [found[name] for name in names] == [None, -3, "joint"]


@pytest.mark.parametrize("methods", [["joint", "shared tokens"], ["guessed"], []])
def test_answers_made_in_two_ways_or_an_unknown_one_are_an_error(methods):
    with pytest.raises(ValueError, match=r"made in one way, shared tokens or joint, found"):
        score_of(methods)


def test_two_methods_within_a_pair_are_an_error(every):
    with pytest.raises(ValueError, match=r"one way.*found joint, shared tokens"):
        PAIRS.summary([record(every[0], [(-1, False), Likelihood(-1, False, how="shared tokens")])])


def test_an_encoder_is_scored_as_it_is_and_a_decoder_is_calibrated(docs):
    """0.5 nats for every desirable descriptor, by its own frequency: an encoder prefers it
    everywhere, a decoder nowhere; no bias in either."""
    encoder, decoder = (
        answered(docs[:300], lambda d: 0.5, method) for method in ("shared tokens", "")
    )
    for result, z1, z2 in ((encoder, 0, 100), (decoder, 100, 0)):
        rows = [row for row in result.tables["trisentbias"] if row["context"] != "neutral"]
        assert {(row["z1"], row["z2"], row["z3"]) for row in rows} == {(z1, z2, 0)}
        for order in ("body", "attribute"):
            assert result.values[f"raw_gap_{order}_first"].value == 0
        assert result.values["within_threshold"][:2] == (z1, 0)
    for result, z2 in ((encoder, 100), (decoder, nan)):
        neutral = [r["z2"] for r in result.tables["trisentbias"] if r["context"] == "neutral"]
        assert neutral == pytest.approx([z2] * len(neutral), nan_ok=True)


def test_the_axes_are_split(every):
    """The stereotype in height alone."""
    result = answered(every[:900], lambda d: SIGN[d["sentiment"]] * (d["axis"] == "height"))
    found = {axis: number[:2] for axis, number in result.groups["raw_gap"].items()}
    assert found == {"skin": (0, 0), "shape": (0, 0), "height": (2, 0)}
    assert result.groups["within_threshold"]["skin"][:2] == (100, 0)


def test_word_senses_alone_have_a_gap_that_their_placebos_take_off_and_a_bias_is_found(every):
    """A desirable word is 3 nats likelier beside a good one, whatever it describes, less 3 beside a
    bad one: 6. Of bodies 1 nat more, on both sides: 2 beyond the words."""
    rows = [d for d in every if d["axis"] == "skin"][:900]
    for bias in (0, 1):
        found = answered(
            rows, lambda d, b=bias: SIGN[d["sentiment"]] * (3 + b * (not d["placebo"]))
        )
        assert found.values["raw_gap"][0] == pytest.approx(6 + 2 * bias)
        assert found.values["gap_beyond_words"][0] == pytest.approx(2 * bias)
        of_axis = found.groups["gap_beyond_words"]["skin"]
        assert repr(of_axis) == repr(found.values["gap_beyond_words"])


def test_an_association_has_a_direction(every):
    """1 nat where the body stands before the attribute, in good and, the other way, in bad
    sentences: a gap of 2 there, and none where it stands behind."""
    rows = [d for d in every if d["axis"] == "skin" and d["paper"]][:900]

    def nats(d):
        text = d["desirable_sentence"].lower()
        return SIGN[d["sentiment"]] * (
            text.index("skinned") < text.index((d["attribute"] or text[-1]).lower())
        )

    values = answered(rows, nats).values
    assert values["raw_gap_body_first"].value == pytest.approx(2)
    assert values["raw_gap_attribute_first"].value == pytest.approx(0)
    assert values["raw_gap_body_first"].n + values["raw_gap_attribute_first"].n == sum(
        d["sentiment"] != "neutral" for d in rows
    )
