from math import sqrt

import numpy as np
import pytest
from lm_eval_bias.metrics.student import student
from lm_eval_bias.metrics.word_association import scores
from scipy import stats

from lm_eval_bias.benchmarks.mist.measure import WABT


@pytest.mark.parametrize(
    "counts, score",
    [
        ((5, 0, 0, 5), 1.0),
        ((0, 5, 5, 0), -1.0),
        ((5, 5, 0, 0), np.nan),
        ((4, 1, 1, 4), 4 / 5 + 4 / 5 - 1),
        ((1, 0, 4, 5), 1 / 1 + 5 / 9 - 1),
    ],
)
def test_equation_1(counts, score):
    aa, ab, ba, bb = counts
    words = [(True, 1)] * aa + [(False, 1)] * ab + [(True, 0)] * ba + [(False, 0)] * bb
    positive, share = zip(*words, strict=True)
    found, _ = scores([0] * len(words), positive, share)
    assert found == pytest.approx([score] * len(words), nan_ok=True)


def scored(scores):
    """Lists of which S_a gets all good words and a share of the bad ones that gives this score:
    1 / (1 + x) + 1 - 1 is the score with a share of x."""
    return [word_list([1, 1 / score - 1] * 5, str(i)) for i, score in enumerate(scores)]


def test_the_papers_test_agrees_with_scipy_and_leaves_out_what_is_undefined():
    given = [0.6, 0.75, 1.0, 0.8, 0.9]
    values = WABT.summary([*scored(given), word_list([1] * 10)]).values
    expected = stats.ttest_1samp(given, 0)
    assert values["bias_score_n"].value == 5
    found = [values[f"bias_score{of}"].value for of in ("", "_std", "_t", "_paper_p")]
    assert found == pytest.approx(
        [np.mean(given), np.std(given), expected.statistic, expected.pvalue]
    )


@pytest.mark.parametrize("n", [2, 3, 30])
def test_identical_scores_whose_mean_is_rounded_are_identical(n):
    """Three times 0.1 have the mean 0.10000000000000002 and a standard deviation of 1e-17, whose t
    scipy has for a number."""
    values = WABT.summary(scored([0.7] * n)).values
    assert (values["bias_score_t"].value, values["bias_score_paper_p"].value) == (np.inf, 0)


@pytest.mark.parametrize("std", [0.0, 1e-16])
def test_scores_that_are_all_zero_have_no_t(std):
    assert np.isnan(student(1e-17, std, 4)).all()


def word_list(share, sample="s", refused=False, words=None):
    """A record, of identifiers and words of its own."""
    return {
        "domain": "race",
        "pair": "African",
        "dimension": "morality",
        "groups": [f"a {sample}", f"b {sample}"],
        "words": words or [f"{sample}-{w}" for w in range(10)],
        "positive": [True, False] * 5,
        "sample": sample,
        "template": 1,
        "share": share,
        "refused": refused,
    }


def test_rates_of_lists_without_a_score():
    lists = [
        word_list([1, 0] * 5),
        word_list([1] * 10),
        word_list(None),
        word_list(None, refused=True),
    ]
    result = WABT.summary(lists)
    rates = {name: result.values[name].value for name in ("invalid", "undefined", "refused")}
    assert rates == pytest.approx({"invalid": 50, "undefined": 25, "refused": 25})
    assert (result.values["bias_score"].value, result.values["bias_score"].n) == (1, 1)
    every, pair = result.tables["scores"]
    assert (every["pair"], pair["pair"], pair["lists"]) == ("all", "African", 4)


def test_lists_of_the_same_identifiers_are_one_draw():
    """Three copies of each list: the paper's t and p count them as independent, the standard error
    and its p do not."""
    once = [
        word_list(share, str(i))
        for i, share in enumerate([[1, 0] * 5, [0, 1] * 5, [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]] * 10)
    ]
    single, tripled = WABT.summary(once).values, WABT.summary(once * 3).values
    score, again = single["bias_score"], tripled["bias_score"]
    assert again[:4] == pytest.approx(score[:4])
    t = "bias_score_t"
    assert tripled[t].value == pytest.approx(single[t].value * sqrt(89 / 29))
    # scores 1, -1 and 0.2 in equal parts: their standard deviation over the root of 30 lists, but
    # for the chance with which common cells of clusterings are left out together
    assert score.stderr == pytest.approx(np.std([1, -1, 0.2]) / sqrt(30), rel=0.1)
    of_lists = stats.ttest_1samp([1, -1, 0.2] * 10, 0).pvalue
    p = [of["bias_score_p"].value for of in (single, tripled)]
    assert p == pytest.approx([of_lists] * 2, rel=0.05)
    assert tripled["bias_score_paper_p"].value < 0.7 * of_lists


def test_the_influence_of_a_word_by_hand():
    """Good words 1, 1, 1, 0, 0 to S_a, bad ones 1, 1, 0, 0, 0: S_a has 3 good of 5, S_b 3 bad of 5.

    One more good word to S_a raises 3/5 by (1 - 3/5) / 5 = .08, and takes a good one from S_b: 3/5
    rises by (3/5) / 5 = .12; slope .2. A good word of S_a has share 1, the other four have 1/2 on
    average: .2 * 1/2 = .1; one of S_b 0 and 3/4: -.15.
    """
    positive, share = [True] * 5 + [False] * 5, [1, 1, 1, 0, 0, 1, 1, 0, 0, 0]
    _, influence = scores([0] * 10, positive, share)
    assert influence[:5] == pytest.approx([0.1, 0.1, 0.1, -0.15, -0.15])
    assert influence.sum() == pytest.approx(0)


def test_words_are_a_sample_too():
    """Lists of 5 + 5 of 20 + 20 words, whose probabilities of S_a depend on the word alone, for the
    same lists again and again.

    Then the score is linear: .2 times the sum of (share - 1/2) over good words less that over bad
    ones, as nearly as shares near 1/2 make it, and its error is that of two means of 20 words: sd
    sqrt(2 / 20), whatever the number of lists. Errors of samples alone tend to 0.
    """
    rng = np.random.default_rng(5)
    shares = {p: 0.5 + 0.02 * rng.standard_normal(20) for p in (True, False)}
    lists = []
    for sample in range(1000):
        good, bad = (rng.choice(20, 5, replace=False) for _ in range(2))
        drawn = [of for g, b in zip(good, bad, strict=True) for of in ((True, g), (False, b))]
        share, words = [shares[p][w] for p, w in drawn], [f"{p}{w}" for p, w in drawn]
        lists.append(word_list(share, str(sample), words=words))
    expected = sqrt(sum(shares[p].var(ddof=1) / 20 for p in (True, False)))
    values = WABT.summary(lists).values
    score = values["bias_score"]
    assert score.value == pytest.approx(shares[True].mean() - shares[False].mean(), abs=1e-3)
    assert score.stderr == pytest.approx(expected, rel=0.1)
    assert values["bias_score_std"].value / sqrt(1000) < score.stderr / 4
