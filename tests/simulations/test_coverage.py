"""The simulations in small form: every world is drawn, and its intervals hold what they promise."""

from functools import cache
from math import isnan, sqrt

import pytest

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
    ("bistereo_nli", "6,025 documents, both", 50, ["reported"]),
    ("bistereo_pairs", "4,429 pairs, attributes alone", 20, ["favouritism", "log_odds_gap"]),
    ("bistereo_analogy", "307 analogies, both", 40, ["reported"]),
    ("mist", "WABT, 375 documents, both", 25, ["reported"]),
    ("mist", "AAT, 150 documents, both", 30, ["reported"]),
    ("stereoset", "80 terms, ss 60", 60, ["lms", "ss", "icat", "stereotype_log_odds"]),
    ("empathy", "plain gap, race, 12 events", 100, ["gap_beyond_repetition", "gap_points"]),
    ("stereomap", "five clusters, extended, 98 groups, 10 rounds", 40, ["mean", "spread"]),
    ("stereomap", "alike, original, warmth, 24 groups, likelihood", 80, ["mean", "spread"]),
    ("shares", "mean, 24 clusters, Pareto 1.5", 300, ["reported"]),
]


@pytest.mark.parametrize("world, label, runs, numbers", HELD)
def test_intervals_hold_what_they_promise(held, world, label, runs, numbers):
    """95 %, less 2.5 points that docs/explanation/statistics.md shows for some, and 3 standard
    errors of a share of so many runs."""
    found = held(world, label, runs)
    least = 92.5 - 300 * sqrt(0.05 * 0.95 / runs)
    assert {name: found[name].percent for name in numbers if found[name].percent < least} == {}


@pytest.mark.parametrize(
    "world, label, wrong, most",
    [
        ("empathy", "no gap, religion, 240 events", "names fixed", 60),
        ("shares", "mean, 24 clusters, Pareto 1.1", "Student", 90),
    ],
)
def test_what_is_clustered_may_not_be_left_out(held, world, label, wrong, most):
    assert held(world, label, 100)[wrong].percent < most


def test_a_rare_share_passes_falsely_in_at_most_5_of_100(held):
    """Student's in a sixth; of a contrast of six words there is no interval."""
    found = held("shares", "5 %, 12 themes of 50, icc 0.2", 500)
    assert found["held"].percent > 89.5
    assert found["false pass"].percent <= 5 < 10 < found["false pass, Student"].percent
    six = held("shares", "contrast of 6 words", 100)
    assert isnan(six["reported"].percent)


def test_a_star_needs_templates_and_attributes(held):
    """Models without any preference: from templates alone more get one than chance allows."""
    found = held("bistereo_pairs", "11,073 pairs, attributes alone", 20)
    assert found["star"].percent <= 7 and found["star of templates alone"].percent > 15


def test_a_spread_above_0_is_seldom_chance(held):
    for kind, least, most in (("five clusters", 99, 100), ("alike", 0, 7)):
        found = held("stereomap", f"{kind}, extended, 98 groups, 10 rounds", 40)
        assert least <= found["above 0"].percent <= most


def test_every_number_of_two_models_that_do_not_differ_is_compared(held):
    for task in ("hbb", "bistereo_nli", "empathy"):
        for name, of in held("compare", f"{task}, 12 clusters, own", 12).items():
            assert isnan(of.percent) or (
                of.percent <= 42 if "false alarms" in name else of.percent >= 58
            ), (task, name)


def test_the_loop_counts_by_hand(coverage):
    of = coverage.Outcome
    held = coverage.held([of(0, 2, 1, 1, 0.5), of(2, 3, 1, 3, 0.5), of(float("nan"), 4, 1, 2, 0.5)])
    assert held.percent == 50 and held.without == pytest.approx(100 / 3)
    assert (held.mean, held.truth) == (2, 1)
    assert held.error == pytest.approx(0.5 / sqrt(2 / 3))
    assert coverage.held([1.0, 0.0, float("nan")]).percent == 50
