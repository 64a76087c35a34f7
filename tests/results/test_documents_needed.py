"""The documents that an interval needs: hand calculations, and the models that would fool a plan
made from n."""

from math import inf, isnan, nan, sqrt

import numpy as np
import pytest
from scipy.stats import t

from lm_eval_bias.measure import Number
from lm_eval_bias.results.sample_size import (
    Share,
    Window,
    growth,
    plan,
    predicted,
    share,
    width_of,
    windows,
)


def alike(documents, clusters):
    """Every so many documents bring a cluster: 100 documents have 20 of them, 400 have 80."""
    return np.array([[n * clusters // documents for n in range(20 * documents + 1)]])


def fixed(documents, clusters):
    """All clusters are there from the beginning."""
    return np.full((1, documents + 1), clusters)


def test_growth_counts_distinct_clusters():
    assert growth([[["a"], ["a", "b"], [], ["c"]], [["x"]] * 4]).tolist() == [
        [0, 1, 2, 2, 3],
        [0, 1, 1, 1, 1],
    ]


TENS = range(50, 2001, 10)


def half(factor=1.0):
    """The fewest documents that halve the width of 100 with 20 clusters, 5 of them a cluster: its
    variance falls with clusters, and Student's quantile too. factor: of the pilot's width."""
    quantile = {n: t.ppf(0.975, n // 5 - 1) for n in TENS}
    return next(n for n in quantile if sqrt(100 / n) * quantile[n] * factor <= quantile[100] / 2)


def test_half_the_width_takes_almost_four_times_the_clusters():
    found = plan(Window(100, [20], 8.0), 4.0, alike(100, 20), ends=TENS)
    assert found.documents == half() < 400 and not found.share.matters
    # 90 % of the chi-square with 19 degrees of freedom lies from 10.12 to 30.14 (tables), so the
    # variance may be 19 / 30.14 to 19 / 10.12.
    assert found.least == half(sqrt(19 / 30.14))
    assert found.most == half(sqrt(19 / 10.12))


def a_and_b(n):
    """V(N) = 1 + 100 / N of one clustering of 50, which all documents share."""
    return Window(n, [50], sqrt(1 + 100 / n))


def test_what_clusters_add_is_found_on_halves_and_quarters():
    """At 100 documents V is 1 + 1: half of it stays, however many documents are asked."""
    parts = [a_and_b(50)] * 2 + [a_and_b(25)] * 4
    found = share(a_and_b(100), parts)
    assert (
        found.known
        and found.value == pytest.approx(0.5)
        and 0.3 < found.low < 0.5 < found.high < 0.7
    )
    made = plan(a_and_b(100), sqrt(1.25) + 1e-9, fixed(10_000, 50), parts)
    assert made.documents == 400  # 1 + 100 / 400
    assert made.at_full[1] == pytest.approx(sqrt(1.01))


def test_below_the_floor_no_number_of_documents_helps():
    made = plan(a_and_b(100), 0.9, fixed(10_000, 50), [a_and_b(50)] * 2 + [a_and_b(25)] * 4)
    assert made.documents is None and made.most is None and made.at_full[0] < 1 < made.at_full[2]
    # the root of the number of documents would have promised 247 of them: 100 (sqrt(2) / 0.9)^2
    assert a_and_b(10_000).width > 0.9


def test_the_slower_of_two_clusterings_decides():
    """Templates come with documents, the 14 words were all used in the pilot."""
    grown = np.array([[n // 2 for n in range(2001)], [14] * 2001])
    pilot = Window(200, [100, 14], 4.0)
    assert predicted(pilot, 1.0, [2000], grown[:, [2000]])[0] == 4.0
    assert predicted(pilot, 0.0, [2000], grown[:, [2000]])[0] == pytest.approx(4 / sqrt(10))
    # In windows both show: a half of the documents has half of the templates and all words.
    halves = [Window(100, [50, 14], 4 * sqrt(2))] * 2 + [Window(50, [25, 14], 8.0)] * 4
    assert share(pilot, halves).value == pytest.approx(0)


def test_a_few_windows_that_agree_by_chance_prove_nothing():
    halves = [Window(50, [15], 4 * sqrt(2)), Window(50, [15], 4 * sqrt(2))]
    assert share(Window(100, [20], 4.0), halves) == Share(1.0, 0.0, 1.0, False)
    unknown = plan(Window(100, [20], 4.0), 2.0, fixed(1000, 20), halves)
    assert unknown.documents is None  # the worst case
    assert unknown.least == pytest.approx(400 * 19 / 30.14, rel=0.02)  # the best


@pytest.mark.parametrize(
    "width, clusters, why",
    [
        (4.0, [9, 500], "9 clusters, and 10 are needed"),
        (4.0, [], "0 clusters"),
        (nan, [20], "no interval"),
        (inf, [20], "no end"),
        (0.0, [20], "no variance"),
    ],
)
def test_a_pilot_that_tells_nothing_plans_nothing(width, clusters, why):
    made = plan(Window(100_000, clusters, width), 2.0, alike(100, 20))
    assert why in made.cannot and made.documents is None and isnan(made.at_full[1])


def test_no_plan_asks_fewer_than_ten_clusters():
    assert plan(Window(100, [20], 1.0), 50.0, alike(100, 20)).documents == 50


def test_documents_end_where_nothing_is_cut_apart():
    made = plan(Window(100, [20], 8.0), 4.1, alike(100, 20), ends=range(116, 2001, 116))
    assert made.documents == 464 and pytest.approx(381, abs=1) == 100 * (8 / 4.1) ** 2


def test_windows_begin_with_a_cluster():
    labels = [i // 10 for i in range(95)]
    assert windows(labels)[:2] == [(0, 50), (50, 95)]
    assert windows(["one"] * 10) == []


def test_a_width_is_from_end_to_end():
    assert width_of(Number(1, 9, -1, 4)) == 5 and width_of(Number(1, 9, -1, inf)) == inf
    assert isnan(width_of(Number(1, 9)))
