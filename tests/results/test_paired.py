"""Two runs on the same questions: differences with the error of a jackknife over the clusters that
both share."""

import random
from math import isnan, nan, sqrt

import numpy as np
import pytest
from lm_eval_bias.metrics.crossed import Clustering, crossed_variance
from lm_eval_bias.metrics.jackknife import groups_of, jackknife_variance, sign_flip_p, spread_groups
from scipy import stats

from lm_eval_bias.measure import Measure, Metric, Number, Summary
from lm_eval_bias.results.paired import JackknifePlan, Replicates, differences, pair_p, variance
from lm_eval_bias.usage import UsageError

# ---- The jackknife


def test_what_strata_differ_in_is_no_chance():
    """Two strata of 3 and 4 clusters of unlike size: what `crossed_variance` has of the deviations
    from the stratum's mean."""
    rng = np.random.default_rng(5)
    strata, sizes = np.array([0, 0, 0, 1, 1, 1, 1]), np.array([2, 3, 4, 2, 5, 3, 1])
    cluster = np.repeat(np.arange(7), sizes)
    y = rng.normal(size=len(cluster)) + 100 * strata[cluster]
    mean = y.mean()
    changes = [y[cluster != c].mean() - mean for c in range(7)]
    residuals = y - np.array([y[strata[cluster] == s].mean() for s in (0, 1)])[strata[cluster]]
    expected, df = crossed_variance(residuals / len(y), Clustering(cluster, strata[cluster]))
    # There the mean of the clusters' sums is taken off too; within a stratum these sum to 0, so
    # that it is nothing.
    found = jackknife_variance(changes, sizes / sizes.sum(), strata)
    assert found.value == pytest.approx(expected, rel=1e-9) and found.df == pytest.approx(df)


def flipped(sums, sizes):
    """The p of clusters with these sums and sizes."""
    total, n = sum(sums), sum(sizes)
    without = [(total - x) / (n - size) for x, size in zip(sums, sizes, strict=True)]
    return sign_flip_p(total / n, np.array(without) - total / n, np.array(sizes) / n)


def test_signs_are_flipped_by_hand_and_as_scipy_does():
    """Of 1, 2, 3, 4, 5 no signs but all plus and all minus add up to 15 or -15: 2 of 32."""
    assert flipped([1, 2, 3, 4, 5], [1] * 5) == 2 / 32
    for n, within in ((7, 1e-12), (14, 0.02)):
        rng = np.random.default_rng(n)
        sizes = rng.integers(1, 9, n)
        sums = rng.normal(0.8, 1, n) * sizes
        expected = stats.permutation_test(
            (sums,), np.sum, permutation_type="samples", n_resamples=2**14
        )
        assert flipped(sums, sizes) == pytest.approx(expected.pvalue, abs=within)


def test_groups_are_the_same_whoever_asks_and_of_one_stratum():
    clusters = {(s, i): s for s in "ab" for i in range(50)}
    found = groups_of(clusters, most=10)
    backwards = groups_of(dict(reversed(clusters.items())), most=10)
    assert (
        found.of == backwards.of
        and found.strata.tolist() == backwards.strata.tolist() == [0] * 5 + [1] * 5
    )
    assert [list(found.of.values()).count(g) for g in range(10)] == [10] * 10
    for cluster, group in found.of.items():
        assert len({other[0] for other, of in found.of.items() if of == group}) == 1, cluster
    assert len(set(groups_of(clusters, most=1000).of.values())) == 100
    assert set(groups_of({1: "a", 2: "a", 3: "b"}).strata) == {0}, "a stratum of one cluster"


def test_cells_are_spread_over_strata():
    """Twelve cells of each of two strata in six groups: two of each in every group."""
    cells = {(s, i): s for s in "ab" for i in range(12)}
    found = spread_groups(cells, most=6)
    for group in range(6):
        assert sorted(cell[0] for cell, of in found.of.items() if of == group) == [
            "a",
            "a",
            "b",
            "b",
        ]


# ---- A made-up measure: means, a median, an unsigned number and one that is cut off


def mean_of(records, factor=1.0):
    return Number(factor * float(np.mean([r["x"] for r in records])), 1.0)


def summary(records, factor=1.0, **_):
    values, mean = np.array([r["x"] for r in records]), mean_of(records, factor)
    cut = max(0.0, mean_of(records).value)
    colours = {r["colour"] for r in records}
    of = {colour: [r for r in records if r["colour"] == colour] for colour in colours}
    return Summary(
        values={
            "mean": mean,
            "median": Number(float(np.median(values)), 1.0),
            "size": Number(float(abs(values).mean()), 1.0),
            "cut": Number(cut, nan, max(0.0, cut - 1), cut + 1),
            "n": Number(float(len(records))),
        },
        groups={"mean": {colour: mean_of(of_colour) for colour, of_colour in of.items()}},
    )


SIGNED = Metric("mean", "points", "The mean.", null_value=0, primary=True, by="colour")
TOY = Measure(
    record=lambda doc, results: {},
    summary=summary,
    metrics=[
        SIGNED,
        Metric("median", "points", "The median."),
        Metric("size", "points", "The mean size.", better="lower"),
        Metric("cut", "points", "", scale=(0, 99), stderr=False, own_interval=True),
        Metric("n", "count", "Records.", stderr=False),
    ],
    clusters=(("scene",),),
)
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
    found = differences(TOY, first, second, {"factor": 1.0}, [WHOLE])[WHOLE]
    changes = (own[1] - own[0]).mean(axis=1)
    test = stats.ttest_1samp(changes, 0)
    stderr, ends = changes.std(ddof=1) / sqrt(12), test.confidence_interval(0.95)
    assert found[2:7] == pytest.approx((changes.mean(), stderr, *ends, test.pvalue))
    assert found.clusters == 12
    assert found.stderr < np.std(common) / 10, "what both scenes share is no error"


def test_a_group_has_the_difference_of_its_records_alone():
    first, second = noisy(20, 0, 0)
    found = differences(TOY, first, second, {}, [("mean", "red")])["mean", "red"]
    own = [b["x"] - a["x"] for a, b in zip(first, second, strict=True) if a["colour"] == "red"]
    assert found.difference == pytest.approx(np.mean(own))
    assert found.stderr == pytest.approx(np.std(own, ddof=1) / sqrt(20))


def test_the_same_answers_differ_by_nothing():
    records = made(12, lambda s, c: s)
    found = differences(TOY, records, [dict(r) for r in reversed(records)], {})
    assert {d[2:7] for d in found.values()} == {(0, 0, 0, 0, 1)}
    assert {d.why for d in found.values()} == {"the answers are the same"}


@pytest.mark.parametrize(
    "runs, number, why",
    [
        # every scene differs by exactly 3: no spread that could show an error
        ([made(12, lambda s, c: s), made(12, lambda s, c: s + 3)], "mean", "no test is possible"),
        (noisy(5, 0, 0), "mean", "5 clusters, of which 6 are needed"),
        (noisy(9, 0, 0), "cut", "9 clusters, of which 10 are needed"),
        # without scene 0 the mean of the first stays 0, as if it had no answer there
        (
            [made(7, lambda s, c: (s + 1) // 2 * (-1) ** s), *noisy(7, 9)],
            "mean",
            "is the same, or und",
        ),
        (noisy(20, 0, 0), "n", "no standard error from clusters"),
        (noisy(20, 0, 0), "cut", "cut off at 0, the end of the scale"),
        (noisy(20, 0, 0), "median", ""),
        (noisy(20, 9, 9), "cut", ""),  # an interval that does not reach the end
    ],
)
def test_where_a_difference_has_no_test_it_says_why(runs, number, why):
    found = differences(TOY, *runs, {}, [(number, None)])[number, None]
    assert why in found.why and isnan(found.p) == bool(why) and not isnan(found.difference)


def unseen(records, less):
    """Records whose number is less by so much if what was not shown has no probability."""
    return [{**r, "without_unseen": {**r, "x": r["x"] - less}} for r in records]


def test_a_difference_is_judged_where_hidden_answers_leave_least_of_it():
    """The second run is higher by 3 or so, or by 3 less 2; or by less than nothing."""
    first, second = noisy(20, 0, 3)
    by = [b["x"] - a["x"] for a, b in zip(first, second, strict=True)]
    changes = np.array(by).reshape(20, 2).mean(axis=1)

    def ends(less):
        return stats.ttest_1samp(changes - less, 0)

    (found,) = differences(TOY, first, unseen(second, 2), {}, [WHOLE]).values()
    low, high = ends(2).confidence_interval()[0], ends(0).confidence_interval()[1]
    assert found.difference == pytest.approx(changes.mean())
    assert (found.low, found.high, found.p) == pytest.approx((low, high, ends(2).pvalue))
    # if the first hides answers, the second may be higher by more
    (found,) = differences(TOY, unseen(first, 2), second, {}, [WHOLE]).values()
    assert found.high == pytest.approx(ends(-2).confidence_interval()[1])
    assert found.p == pytest.approx(ends(0).pvalue)
    (found,) = differences(TOY, first, unseen(second, 9), {}, [WHOLE]).values()
    assert found.low < 0 < found.high and found.p == 1
    (found,) = differences(TOY, first, unseen(second, nan), {}, [WHOLE]).values()
    assert "a server did not show" in found.why and isnan(found.p)


def test_runs_on_other_clusters_and_old_samples_are_refused():
    records, old = made(12, lambda s, c: s), [{"colour": "red", "x": 1.0}]
    for measure, first, second, message in (
        (TOY, records, made(13, lambda s, c: s), "different clusters"),
        (TOY, old, old, "have no usable value in column 'scene'. Were they edited"),
        (TOY._replace(clusters=()), records, records, "declares no clusters"),
    ):
        with pytest.raises(UsageError, match=message):
            differences(measure, first, second, {})


def test_numbers_mirrored_at_no_bias_are_as_far_from_it():
    """-5 and 5, each give or take 1, differ and are as far from 0. 5 and 15 differ in both."""
    runs = noisy(20, -5, 5, 15)
    plan = JackknifePlan(TOY, runs)
    minus, plus, far = (Replicates(plan, records, {}) for records in runs)
    assert pair_p(minus, plus, WHOLE) < 1e-9 and pair_p(minus, plus, WHOLE, null_value=0) > 0.001
    for near in (minus, plus):
        assert pair_p(near, far, WHOLE, null_value=0) < 1e-9


def test_a_bar_is_told_of_every_summary_as_a_share_of_all():
    run, parts = noisy(20, 0)[0], []
    plan = JackknifePlan(TOY, [run])
    plan.step = parts.append
    run = Replicates(plan, run, {})
    assert not parts and len(run.without[0]) == len(parts) == 20
    assert sum(parts) == pytest.approx(1)


def test_crossed_clusters_have_the_error_of_both():
    """x = scene + word, each of variance 1: the variance of the mean is about 1/12 + 1/15, and no
    less than that of either."""
    crossed = TOY._replace(clusters=(("scene",), ("word",)))
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scene, word = rng.normal(size=12), rng.normal(size=15)
        records = [
            {"scene": s, "word": w, "colour": "red", "x": scene[s] + word[w]}
            for s in range(12)
            for w in range(15)
        ]
        run = Replicates(JackknifePlan(crossed, [records]), records, {})
        found.append(variance(run.changes(WHOLE), run, WHOLE).value)
        one = Replicates(JackknifePlan(TOY, [records]), records, {})
        assert found[-1] >= variance(one.changes(WHOLE), one, WHOLE).value - 1e-12
    assert np.mean(found) == pytest.approx(1 / 12 + 1 / 15, rel=0.2)


def test_parts_of_a_record_are_left_out_with_their_values():
    """Of lists of words the mean of all: without a word it is that of the others."""

    def of_words(records, **_):
        values = [x for r in records for x in r["share"]]
        assert all(len(r["share"]) == len(r["words"]) for r in records)
        return Summary({"mean": Number(sum(values) / len(values), 1.0)})

    rng = random.Random(8)
    records = [
        {
            "list": i,
            "words": rng.sample("abcdefghijkl", 4),
            "share": [rng.random() for _ in range(4)],
        }
        for i in range(30)
    ]
    measure = Measure(
        lambda doc, results: {}, of_words, [SIGNED._replace(by=None)], clusters=(("words",),)
    )
    plan = JackknifePlan(measure, [records])
    run = Replicates(plan, records, {})
    for word, group in plan.parts[0].of.items():
        others = [
            x for r in records for w, x in zip(r["words"], r["share"], strict=True) if (w,) != word
        ]
        assert run.without[0][group].values["mean"][0] == pytest.approx(np.mean(others))


# ---- Models that would fool it


def made_hbb(benchmark_named, seed=1):
    module = benchmark_named("worlds/compare")
    task = module.TASKS["hbb"]
    model = module.Model({}, np.random.default_rng(seed), module.WORLDS["style"], False)
    return task, list(task.records(model, 24))


def compared(task, first, second):
    return {
        name: d
        for (name, _), d in differences(
            task.measure, first, second, task.options, [(n, None) for n in task.numbers]
        ).items()
    }


def test_a_liking_for_a_letter_is_a_difference_of_position_alone(benchmark_named):
    """2 nats more for the letter a, whatever it stands for: in both orders the log-odds of the
    options stay the same."""
    task, first = made_hbb(benchmark_named)
    found = compared(task, first, [{**r, "log_odds": r["log_odds"] + 2} for r in first])
    assert found["position_preference"].p < 1e-6
    for name in set(task.numbers) - {"position_preference"}:
        assert found[name].difference == pytest.approx(0, abs=1e-9) and isnan(found[name].p), name


@pytest.mark.parametrize("seed", range(2))
def test_the_few_instances_that_are_left_of_refusals_are_no_certainty(benchmark_named, seed):
    """An instance needs four answers. Where half are refused by chance a sixteenth are left, of 192
    a dozen: all of them biased by chance, or in fewer than ten themes, for which the measure itself
    gives no error."""
    task, first = made_hbb(benchmark_named)
    rng = random.Random(seed)
    second = [{**r, "log_odds": None if rng.random() < 0.5 else r["log_odds"]} for r in first]
    found = compared(task, first, second)
    own = task.measure.summary(second, **task.options).values
    for name in task.numbers:
        assert isnan(own[name][1]) == isnan(found[name].p) or own[name][1] == 0, name
    assert not found["biased_share"].p < 0.001
