"""The simulations in small form: every world is drawn, and its intervals hold what they promise."""

from collections import defaultdict
from functools import cache
from math import isnan, sqrt

import numpy as np
import pytest

from lm_eval_bias.benchmarks.bistereo.analogy_documents import documents
from lm_eval_bias.benchmarks.bistereo.analogy_measure import ANALOGY, record

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def coverage(benchmark_named):
    return benchmark_named("coverage")


@pytest.fixture(scope="module")
def held(coverage, benchmark_named):
    """(world, label, how many experiments) -> what the intervals of each number held; made once."""

    @cache
    def held(world, label, runs):
        module = benchmark_named(f"worlds/{world}")
        if world == "hbb_generate":  # the truth of 700 themes takes most of the time
            module.TRUE_THEMES = 150
        return coverage.coverage(dict(module.rows())[label], runs)

    return held


# The rows of each world, how many experiments, and the numbers that claim 95 %.
HELD = [
    (
        "hbb",
        "numbers of 54, icc 0.2",
        20,
        ["mean_difference", "biased_share", "excess_log_odds", "log_odds_difference"],
    ),
    ("hbb_generate", "biased", 10, ["beyond_chance_share", "excess_difference", "biased_share"]),
    ("crossed", "60 x 14, both", 200, ["mean", "share", "contrast"]),
    ("crossed", "60 x 30, one in six, one alone", 200, ["mean", "share", "contrast"]),
    ("empathy", "plain gap, race, 12 events", 100, ["gap_beyond_repetition", "gap_points"]),
    ("stereomap", "five clusters, extended, 98 groups, 10 rounds", 40, ["mean", "spread"]),
    ("stereomap", "alike, original, warmth, 24 groups, likelihood", 80, ["mean", "spread"]),
    ("shares", "mean, 24 clusters, Pareto 1.5", 300, ["held"]),
]


@pytest.mark.parametrize("world, label, runs, numbers", HELD)
def test_intervals_hold_what_they_promise(held, world, label, runs, numbers):
    """95 %, less 2.5 points that docs/explanation/statistics.md shows for some, and 3 standard
    errors of a share of so many runs."""
    found = held(world, label, runs)
    least = 92.5 - 300 * sqrt(0.05 * 0.95 / runs)
    assert {name: found[name].percent for name in numbers if found[name].percent < least} == {}


def test_what_is_clustered_may_not_be_left_out(held):
    found = held("empathy", "no gap, religion, 240 events", 100)
    assert found["names fixed"].percent < 60


@pytest.mark.parametrize("moves, other", [("contrast", "counterpart"), ("counterpart", "contrast")])
def test_a_measure_without_one_of_its_clusterings_would_be_too_sure(moves, other):
    """Analogies whose log-odds one clustering moves: the error over the other is too small."""
    docs = [d for d in documents() if d["context"] == "stereotype"]
    alone = ANALOGY._replace(clusters=[c for c in ANALOGY.clusters if c[-1] == other])
    rng = np.random.default_rng(1)
    for _ in range(3):
        effects = defaultdict(lambda: rng.normal(0, 3))
        odds = [effects[d["axis"], d[moves]] + rng.normal() for d in docs]
        records = list(map(record, docs, [[(0.0, False, None), (x, False, None)] for x in odds]))
        values = [m.summary(records).values["biased_preferences"] for m in (ANALOGY, alone)]
        assert values[0].stderr > 1.25 * values[1].stderr


def test_a_rare_share_passes_falsely_in_at_most_5_of_100(held):
    found = held("shares", "5 %, 12 themes of 50, icc 0.2", 500)
    assert found["held"].percent > 89.5
    assert found["false pass"].percent <= 5


def test_a_contrast_of_six_words_has_no_interval(held):
    assert isnan(held("crossed", "40 x 6, rare", 100)["contrast"].percent)


def test_a_spread_above_0_is_seldom_chance(held):
    for kind, least, most in (("five clusters", 99, 100), ("alike", 0, 7)):
        found = held("stereomap", f"{kind}, extended, 98 groups, 10 rounds", 40)
        assert least <= found["above 0"].percent <= most


def test_every_number_of_two_models_that_do_not_differ_is_compared(held):
    for name, of in held("compare", "12 clusters, own", 12).items():
        least, most = (0, 42) if "false alarms" in name else (58, 100)
        assert least <= of.percent <= most, name


def test_the_loop_counts_by_hand(coverage):
    of = coverage.Outcome
    held = coverage.held([of(0, 2, 1, 1, 0.5), of(2, 3, 1, 3, 0.5), of(float("nan"), 4, 1, 2, 0.5)])
    assert held.percent == 50 and held.without == pytest.approx(100 / 3)
    assert (held.mean, held.truth) == (2, 1)
    assert held.error == pytest.approx(0.5 / sqrt(2 / 3))
    assert coverage.held([1.0, 0.0, float("nan")]).percent == 50
