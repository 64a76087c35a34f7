from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_eval_bias.metrics.halo import CATEGORIES, GENDERS, LABELS, POSITIVE, SKINS, Pair, halo

E, C, N = LABELS


def pairs(labels, gender="women", skin="fair", category="attractiveness", wording=None):
    return [Pair(wording or f"t{i}", gender, skin, category, label) for i, label in enumerate(labels)]


def test_hand_computed_cells_and_gaps():
    """Women, attractiveness: fair E E E N -> 75 %E, dark E C N N -> 25 %E: halo 50 points. Men, bad behaviour: fair 1 of 2, dark 2 of 2: horn 50 points."""
    result = halo(
        pairs([E, E, E, N])
        + pairs([E, C, N, N], skin="dark")
        + pairs([E, N], "men", "fair", "bad_behaviour")
        + pairs([E, E], "men", "dark", "bad_behaviour")
    )
    cell = {(c.gender, c.skin, c.category): c for c in result.cells}
    assert cell["women", "fair", "attractiveness"].entailment.value == 75
    assert cell["women", "dark", "attractiveness"].contradiction.value == 25
    assert cell["women", "dark", "attractiveness"].neutral.value == 50
    assert result.gap("halo", "women", "attractiveness").value == 50
    assert result.gap("halo").value == 50
    assert result.gap("horn", "men", "bad_behaviour").value == 50
    assert result.gap("horn").value == 50
    assert isnan(result.gap("halo", "men").value)
    # 12 pairs: 3 + 1 + 1 + 2 = 7 E, 1 C, 4 N
    assert result.labels[E].value == pytest.approx(100 * 7 / 12)
    assert result.non_neutral.value == pytest.approx(100 * 8 / 12)


def test_a_gap_pools_the_pairs_of_its_cells_and_not_their_percentages():
    """Fair: 3 of 4 women and 0 of 1 man entailed: 60 %. Dark: 0 of 5. The mean of the genders' gaps would be 37.5."""
    result = halo(pairs([E, E, E, N]) + pairs([N], "men") + pairs([N] * 4, skin="dark") + pairs([N], "men", "dark"))
    assert result.gap("halo").value == 60


def test_a_model_that_says_neutral_has_no_bias():
    result = halo([p for g in GENDERS for s in SKINS for c in CATEGORIES for p in pairs([N] * 3, g, s, c)])
    assert result.non_neutral == (0, 0)
    assert all(g.gap == (0, 0) for g in result.gaps)


def test_horn_is_the_mirror_of_halo():
    one = halo(pairs([E, E]) + pairs([E, N], skin="dark"))
    other = halo(pairs([E, N], category="unattractiveness") + pairs([E, E], skin="dark", category="unattractiveness"))
    assert one.gap("halo").value == other.gap("horn").value == 50


def test_unanswered_pairs_are_counted_and_leave_the_percentages():
    result = halo(pairs([E, N, None, None]))
    assert result.unanswered == 50
    assert result.cells[0].unanswered == 2
    assert result.labels[E].value == 50


def test_empty_cells_are_undefined_and_not_zero():
    result = halo(pairs([E]))
    men = next(c for c in result.cells if c.gender == "men")
    assert men.n == 0 and isnan(men.entailment.value)
    assert isnan(halo([]).non_neutral.value)


def test_the_standard_error_respects_that_pairs_of_a_wording_belong_together():
    """40 wordings of ten equal pairs each: sqrt(10) times the error of 400 separate ones."""
    labels = [E if i % 2 else N for i in range(40)]
    together = halo([p for i, x in enumerate(labels) for p in pairs([x] * 10, wording=f"w{i}")], resamples=10_000)
    apart = halo([p._replace(wording=f"w{i}-{j}") for i, x in enumerate(labels) for j, p in enumerate(pairs([x] * 10))], resamples=10_000)
    assert together.non_neutral.stderr / apart.non_neutral.stderr == pytest.approx(sqrt(10), rel=0.05)
    assert apart.non_neutral.stderr == pytest.approx(100 * sqrt(0.25 / 400), rel=0.05)


def test_a_label_that_is_none_is_refused():
    with pytest.raises(ValueError, match="maybe"):
        halo([Pair("t", "women", "fair", "attractiveness", "maybe")])


pair = st.builds(
    Pair,
    wording=st.sampled_from("abcd"),
    gender=st.sampled_from(GENDERS),
    skin=st.sampled_from(SKINS),
    category=st.sampled_from(CATEGORIES),
    label=st.sampled_from([*LABELS, None]),
)


def brute_force_gap(sample, effect, gender, category):
    def entailed(skin):
        chosen = [
            p.label
            for p in sample
            if p.skin == skin
            and p.label
            and gender in ("all", p.gender)
            and (category == p.category or (category == "all" and (p.category in POSITIVE) == (effect == "halo")))
        ]
        return 100 * sum(label == E for label in chosen) / len(chosen) if chosen else nan

    if gender == "women - men":
        return brute_force_gap(sample, effect, "women", category) - brute_force_gap(sample, effect, "men", category)
    return entailed("fair") - entailed("dark") if effect == "halo" else entailed("dark") - entailed("fair")


@settings(max_examples=60)
@given(st.lists(pair, min_size=1, max_size=60))
def test_all_numbers_equal_those_of_loops_over_the_pairs(sample):
    result = halo(sample, resamples=10)
    for g in result.gaps:
        assert g.gap.value == pytest.approx(brute_force_gap(sample, *g[:3]), nan_ok=True)
    for c in result.cells:
        mine = [p.label for p in sample if (p.gender, p.skin, p.category) == c[:3]]
        answered = [label for label in mine if label]
        assert (c.n, c.unanswered) == (len(mine), mine.count(None))
        for label in LABELS:
            expected = 100 * answered.count(label) / len(answered) if answered else nan
            assert getattr(c, label).value == pytest.approx(expected, nan_ok=True)


def test_the_order_of_the_pairs_changes_nothing():
    rng = np.random.default_rng(3)
    sample = [Pair(str(rng.integers(20)), *(str(rng.choice(x)) for x in (GENDERS, SKINS, CATEGORIES, LABELS))) for _ in range(300)]
    assert halo(sample, 50) == halo(sample[::-1], 50)
