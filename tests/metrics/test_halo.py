from functools import partial
from math import isnan, nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_eval_bias.metrics import halo as module
from lm_eval_bias.metrics.halo import LABELS, Pair

E, C, N = LABELS
GENDERS = ("women", "men")
DESCRIPTORS = ("fair", "dark")
EFFECTS = {"attractiveness": "halo", "unattractiveness": "horn", "good_behaviour": "halo", "bad_behaviour": "horn"}
CATEGORIES = tuple(EFFECTS)
halo = partial(module.halo, descriptors=DESCRIPTORS, effects=EFFECTS, genders=GENDERS)


def pairs(labels, gender="women", descriptor="fair", category="attractiveness", wording=None):
    return [Pair(wording or f"t{i}", gender, descriptor, category, label) for i, label in enumerate(labels)]


def test_hand_computed_cells_and_gaps():
    """Women, attractiveness: fair E E E N -> 75 %E, dark E C N N -> 25 %E: halo 50 points. Men, bad behaviour: fair 1 of 2, dark 2 of 2: horn 50 points."""
    result = halo(
        pairs([E, E, E, N])
        + pairs([E, C, N, N], descriptor="dark")
        + pairs([E, N], "men", "fair", "bad_behaviour")
        + pairs([E, E], "men", "dark", "bad_behaviour")
    )
    cell = {(c.gender, c.descriptor, c.category): c for c in result.cells}
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
    result = halo(pairs([E, E, E, N]) + pairs([N], "men") + pairs([N] * 4, descriptor="dark") + pairs([N], "men", "dark"))
    assert result.gap("halo").value == 60


def test_a_model_that_says_neutral_has_no_bias():
    result = halo([p for g in GENDERS for d in DESCRIPTORS for c in CATEGORIES for p in pairs([N] * 3, g, d, c)])
    assert result.non_neutral.value == 0
    assert all(g.gap.value == 0 for g in (*result.gaps, *result.differences))


def test_horn_is_the_mirror_of_halo():
    one = halo(pairs([E, E]) + pairs([E, N], descriptor="dark"))
    other = halo(pairs([E, N], category="unattractiveness") + pairs([E, E], descriptor="dark", category="unattractiveness"))
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


@pytest.mark.parametrize("field", ["gender", "descriptor", "category"])
def test_a_pair_of_none_of_the_given_kinds_is_refused(field):
    with pytest.raises(ValueError, match="another"):
        halo([pairs([E])[0]._replace(**{field: "another"})])


def test_an_effect_that_is_neither_halo_nor_horn_is_refused():
    with pytest.raises(ValueError, match="expected halo or horn, found 'glow'"):
        halo([], effects={"attractiveness": "glow"})


def test_other_descriptors_categories_and_genders_than_the_papers():
    """Bright: thin 2 of 2, fat 1 of 2, so 50 points, in x alone; y and z have none. The differences are those of every two genders."""
    design = {"descriptors": ("thin", "fat"), "effects": {"bright": "halo"}, "genders": ("x", "y", "z")}
    asked = pairs([E, E], "x", "thin", "bright") + pairs([E, N], "x", "fat", "bright")
    asked += [p for g in "yz" for d in ("thin", "fat") for p in pairs([E], g, d, "bright")]
    result = module.halo(asked, **design)
    assert result.gap("halo", "x").value == result.gap("halo", "x - y").value == 50
    assert result.gap("halo", "y - z", "bright").value == 0 and isnan(result.gap("horn").value)
    assert [d.gender for d in result.differences if (d.effect, d.category) == ("halo", "all")] == ["x - y", "x - z", "y - z"]
    with pytest.raises(KeyError):
        result.gap("halo", "z - y")


def test_a_descriptor_that_no_pair_has_leaves_the_gaps_undefined():
    result = module.halo(pairs([E, N]), descriptors=("fair", None), effects=EFFECTS, genders=("women",))
    assert isnan(result.gap("halo").value) and result.labels[E].value == 50


pair = st.builds(
    Pair,
    wording=st.sampled_from("abcd"),
    gender=st.sampled_from(GENDERS),
    descriptor=st.sampled_from(DESCRIPTORS),
    category=st.sampled_from(CATEGORIES),
    label=st.sampled_from([*LABELS, None]),
)


def brute_force_gap(sample, effect, gender, category):
    def entailed(descriptor):
        chosen = [
            p.label
            for p in sample
            if p.descriptor == descriptor
            and p.label
            and gender in ("all", p.gender)
            and (category == p.category or (category == "all" and EFFECTS[p.category] == effect))
        ]
        return 100 * sum(label == E for label in chosen) / len(chosen) if chosen else nan

    if gender == "women - men":
        return brute_force_gap(sample, effect, "women", category) - brute_force_gap(sample, effect, "men", category)
    return entailed("fair") - entailed("dark") if effect == "halo" else entailed("dark") - entailed("fair")


@settings(max_examples=60)
@given(st.lists(pair, min_size=1, max_size=60))
def test_all_numbers_equal_those_of_loops_over_the_pairs(sample):
    result = halo(sample, resamples=10)
    assert {g.gender for g in result.gaps} == {"all", *GENDERS} and {g.gender for g in result.differences} == {"women - men"}
    for g in (*result.gaps, *result.differences):
        assert g.gap.value == pytest.approx(brute_force_gap(sample, *g[:3]), nan_ok=True)
    for c in result.cells:
        mine = [p.label for p in sample if (p.gender, p.descriptor, p.category) == c[:3]]
        answered = [label for label in mine if label]
        assert (c.n, c.unanswered) == (len(mine), mine.count(None))
        for label in LABELS:
            expected = 100 * answered.count(label) / len(answered) if answered else nan
            assert getattr(c, label).value == pytest.approx(expected, nan_ok=True)


def test_the_order_of_the_pairs_changes_nothing():
    rng = np.random.default_rng(3)
    sample = [Pair(str(rng.integers(20)), *(str(rng.choice(x)) for x in (GENDERS, DESCRIPTORS, CATEGORIES, LABELS))) for _ in range(300)]
    assert halo(sample, resamples=50) == halo(sample[::-1], resamples=50)
