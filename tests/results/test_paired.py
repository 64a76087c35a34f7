"""Two runs on the same questions: differences with the error of a jackknife over the clusters that
both share."""

import random
from math import isnan, nan, sqrt
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lm_eval_bias.measure import Counted, Measure, Metric
from lm_eval_bias.results.comparison import Pair
from lm_eval_bias.results.paired import difference, pair_p, paired
from tests.mistakes import refused


def less(first, second, key=("mean", None), measure=None):
    """A number of the second run less that of the first."""
    return difference(*paired(measure or TOY, [first, second], {}), key)


# ---- A made-up measure: a mean and an unsigned number


def values(x, total, factor=1.0, **_):
    n = total(1)
    mean = factor * total(x["x"]) / n
    return {"mean": (mean, n), "size": (total(abs(x["x"])) / n, n), "n": (n, n)}


SIGNED = Metric("mean", "points", "The mean.", null_value=0, primary=True, by="colour")
METRICS = (
    SIGNED,
    Metric("size", "points", "The mean size.", better="lower"),
    Metric("n", "count", "Records.", stderr=False),
)


def toy(*columns):
    clusters = tuple((column,) for column in columns)
    counted = Counted(lambda x, **_: {"all": x}, {"all": values})
    return Measure(lambda doc, results: {}, counted, METRICS, clusters=clusters)


TOY = toy("scene")
WHOLE = ("mean", None)


def made(scenes, of, colours=("red", "blue")):
    """of: (scene, colour) -> number."""
    return [{"scene": s, "colour": c, "x": float(of(s, c))} for s in range(scenes) for c in colours]


def noisy(scenes, *means, seed=1):
    """Runs whose records are the mean, give or take 1."""
    rng = random.Random(seed)
    return [made(scenes, lambda s, c, m=m: rng.gauss(m, 1)) for m in means]


def test_the_difference_of_means_has_the_error_of_the_scenes_own_differences():
    """Each scene has two records, so its difference is the mean of two: with Student's t over 12
    scenes; in whichever order the records stand."""
    rng = np.random.default_rng(1)
    common, own = 50 * rng.normal(size=12), rng.normal(size=(2, 12, 2))
    first, second = (
        made(12, lambda s, c, of=of: common[s] + of[s, int(c == "blue")]) for of in own
    )
    random.Random(2).shuffle(second)
    found = less(first, second)
    changes = (own[1] - own[0]).mean(axis=1)
    assert found[2:4] == pytest.approx((changes.mean(), changes.std(ddof=1) / sqrt(12)))
    assert found.low < found.difference < found.high
    assert found.clusters == 12
    assert found.stderr < np.std(common) / 10, "what both scenes share is no error"
    sums = 2 * common + own.sum(axis=0).mean(axis=1)
    assert found.total[:2] == pytest.approx((sums.mean(), sums.std(ddof=1) / sqrt(12)))
    assert found.total.low < found.total.value < found.total.high


def test_a_group_has_the_difference_of_its_records_alone():
    first, second = noisy(20, 0, 0)
    found = less(first, second, ("mean", "red"))
    own = [b["x"] - a["x"] for a, b in zip(first, second, strict=True) if a["colour"] == "red"]
    assert found.difference == pytest.approx(np.mean(own))
    assert found.stderr == pytest.approx(np.std(own, ddof=1) / sqrt(20))


def test_the_same_answers_differ_by_nothing():
    records = made(12, lambda s, c: s)
    again = [dict(r) for r in reversed(records)]
    for metric in METRICS:
        found = less(records, again, (metric.name, None))
        assert found[2:7] == (0, 0, 0, 0, 1) and found.why == "the answers are the same"


@pytest.mark.parametrize(
    "runs, number, why",
    [
        # every scene differs by exactly 3: no spread that could show an error
        ([made(12, lambda s, c: s), made(12, lambda s, c: s + 3)], "mean", "no test is possible"),
        (noisy(9, 0, 0), "mean", "9 clusters, of which 10 are needed"),
        (noisy(20, 0, 0), "n", "has no error"),
        (noisy(20, 0, 0), "size", ""),
    ],
)
def test_where_a_difference_has_no_test_it_says_why(runs, number, why):
    found = less(*runs, (number, None))
    assert why in found.why and isnan(found.p) == bool(why) and not isnan(found.difference)


def unseen(records, less):
    """Records whose number is less by so much if what was not shown has no probability."""
    return [{**r, "without_unseen": {**r, "x": r["x"] - less}} for r in records]


def test_a_difference_is_judged_where_hidden_answers_leave_least_of_it():
    """The second run is higher by 3 or so, or by 3 less 2; or by less than nothing."""
    first, second = noisy(20, 0, 3)

    def lowered(by):
        return less(first, [{**r, "x": r["x"] - by} for r in second])

    found, nothing = less(first, unseen(second, 2)), lowered(0)
    assert found.difference == nothing.difference
    expected = lowered(2).low, nothing.high, lowered(2).p
    assert (found.low, found.high, found.p) == pytest.approx(expected)
    # if the first hides answers, the second may be higher by more
    found = less(unseen(first, 2), second)
    assert (found.high, found.p) == pytest.approx((lowered(-2).high, nothing.p))
    found = less(first, unseen(second, 9))
    assert found.low < 0 < found.high and found.p == 1
    found = less(first, unseen(second, nan))
    assert "a server did not show" in found.why and isnan(found.p)


def test_an_interval_of_its_own_that_ends_with_the_scale_leaves_no_test():
    """As of correlations."""

    def widened(x, sample, by, numbers):
        of = numbers["mean"]
        return {"mean": of._replace(variance=nan * of.variance, ends=(of.value - 1, of.value + 1))}

    counted = TOY.counted._replace(widened={"all": widened})
    metrics = (SIGNED._replace(scale=(-9, 9)), *METRICS[1:])
    measure = TOY._replace(counted=counted, metrics=metrics)
    first, second = noisy(20, 0, 9)
    why = "the interval of the second is cut off at the end of the scale"
    assert less(first, second, measure=measure).why == why
    assert not less(first, noisy(20, 3, seed=2)[0], measure=measure).why


def test_runs_on_other_clusters_and_old_samples_are_refused():
    records, old = made(12, lambda s, c: s), [{"colour": "red", "x": 1.0}]
    for measure, first, second, message in (
        (TOY, records, made(13, lambda s, c: s), "different clusters"),
        (TOY, old, old, "have no usable value in column 'scene'. Were they edited"),
        (TOY._replace(clusters=()), records, records, "declares no clusters"),
    ):
        with refused(message):
            less(first, second, measure=measure)


def test_records_that_lack_what_a_newer_measure_counts_are_refused():
    counted = Counted(lambda x, **_: {"all": x.drop(columns="x")}, {"all": values})
    with refused(r"do not fit the measure \(KeyError: 'x'\)\. Were they edited, or is the task"):
        paired(TOY._replace(counted=counted), noisy(12, 0, 1), {})


def test_numbers_mirrored_at_no_bias_are_as_far_from_it():
    """-5 and 5, each give or take 1, differ and are as far from 0. 5 and 15 differ in both."""
    runs = noisy(20, -5, 5, 15)
    minus, plus, far = paired(TOY, runs, {})
    assert pair_p(minus, plus, WHOLE) < 1e-9 and pair_p(minus, plus, WHOLE, null_value=0) > 0.001
    for near in (minus, plus):
        assert pair_p(near, far, WHOLE, null_value=0) < 1e-9


def test_errors_clustered_in_two_ways_are_those_of_statsmodels():
    """A mean is a regression on a constant. Clusters of equal size; with the correction G / (G - 1)
    in each way."""
    api = pytest.importorskip("statsmodels.api")
    scene, word = np.indices((12, 11)).reshape(2, -1)
    rng = np.random.default_rng(5)
    x = rng.normal(size=12)[scene] + rng.normal(size=11)[word] + rng.normal(size=len(scene))
    first = pd.DataFrame({"scene": scene, "word": word, "colour": "red", "x": rng.normal(size=132)})
    runs = [first.to_dict("records"), first.assign(x=first["x"] + x).to_dict("records")]
    found = less(*runs, measure=toy("scene", "word"))
    groups = np.stack([scene, word], axis=1)
    fit = api.OLS(x, np.ones(len(x))).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert found.stderr == pytest.approx(float(fit.bse[0]), rel=0.05)


def test_the_answers_that_made_a_number_worse_are_found():
    """Of 200 one is better by 90 points, three are worse by 40, 50 and 30, and the others by 0.1:
    without the three the mean, above 0 in both runs, is less by 0.25, 0.2 and 0.15."""
    worse = {7: 40.0, 9: -90.0, 81: 50.0, 199: 30.0}
    runs = [
        SimpleNamespace(
            measure=TOY,
            options={},
            records=[
                {"scene": i % 13, "x": 20 + second * worse.get(i, 0.1), "i": i} for i in range(200)
            ],
        )
        for second in (0, 1)
    ]
    moved = Pair.moved_most(SimpleNamespace(runs=runs), [WHOLE])
    assert [(round(gain, 9), record["i"]) for gain, record in moved[WHOLE]] == [
        (0.25, 81),
        (0.2, 7),
        (0.15, 199),
    ]
