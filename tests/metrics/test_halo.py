from functools import partial
from math import isnan, sqrt

import pytest
from lm_eval_bias.metrics import halo as module
from lm_eval_bias.metrics.halo import LABELS, Pair

E, C, N = LABELS
GENDERS = ("women", "men")
DESCRIPTORS = ("fair", "dark")
EFFECTS = {
    "attractiveness": "halo",
    "unattractiveness": "horn",
    "good_behaviour": "halo",
    "bad_behaviour": "horn",
}
halo = partial(module.halo, descriptors=DESCRIPTORS, effects=EFFECTS, genders=GENDERS)


def pairs(labels, gender="women", descriptor="fair", category="attractiveness", wording=None):
    """A wording for each label, or one wording that asks several things."""
    return [
        Pair(wording or f"t{i}", gender, descriptor, category, label, question=i)
        for i, label in enumerate(labels)
    ]


def twins(fair, dark, gender="women", category="attractiveness"):
    return pairs(fair, gender, "fair", category) + pairs(dark, gender, "dark", category)


def test_hand_computed_cells_and_gaps():
    """Women, attractiveness: fair E E E N, dark E C N N. %E 75 and 25, gap 50; %C 0 and 25, gap 25;
    a mean of 37.5. Men, bad behaviour: fair E C, dark E E. Of %E dark has 100, fair 50: 50; of %C
    fair has 50, dark 0: 50; 50 in the mean."""
    result = halo(twins([E, E, E, N], [E, C, N, N]) + twins([E, C], [E, E], "men", "bad_behaviour"))
    cell = {(c.gender, c.descriptor, c.category): c for c in result.cells}
    assert cell["women", "fair", "attractiveness"].entailment.value == 75
    assert cell["women", "dark", "attractiveness"].contradiction.value == 25
    assert cell["women", "dark", "attractiveness"].neutral.value == 50
    assert [result.gap(effect).gap.value for effect in ("halo", "horn")] == [37.5, 50]
    assert (
        result.gap("halo", "women", "attractiveness").gap.value == 37.5
        and result.gap("halo").n == 4
    )
    assert result.gap("horn", "men", "bad_behaviour").gap.value == 50
    assert isnan(result.gap("halo", "men").gap.value)
    # 12 pairs: 3 + 1 + 1 + 2 = 7 E, 2 C, 3 N
    assert result.labels[E].value == pytest.approx(100 * 7 / 12)
    assert result.non_neutral.value == pytest.approx(100 * 9 / 12)


def test_the_twin_of_an_unanswered_pair_is_left_out_and_counted():
    """Looks: entailment for either skin tone. Behaviour: neutral. No gap anywhere; half of the cell
    fair x attractiveness is refused.

    Fair then has 2 E of 6, dark 4 of 8: shares that stand alone would have a gap of 33.3 - 50 =
    -16.7. Two of the 14 answered pairs, of 16 in all, have no twin.
    """
    sample = twins([E, E, None, None], [E] * 4) + twins([N] * 4, [N] * 4, category="good_behaviour")
    result = halo(sample)
    assert result.gap("halo").gap == (0, 0) and result.gap("halo").n == 6
    assert result.left_out == 100 * 2 / 16
    assert max(cell.unanswered for cell in result.cells) == 2


def test_genders_differ_in_what_both_are_asked_and_repeated_questions_are_averaged():
    """Fair women E and N, dark women C and N: 50 of %E and of %C, a gap of 50; men 100. What women
    alone are asked has a gap of -50, so all have (50 + 100 - 50) / 3."""
    asked = partial(pairs, wording="w")
    both = [x for label in (E, N) for x in asked([label])]
    both += [x for label in (C, N) for x in asked([label], descriptor="dark")]
    both += asked([E], "men") + asked([C], "men", "dark")
    result = halo(both + twins([N], [E], category="good_behaviour"))
    gaps = {who: result.gap("halo", who).gap.value for who in ("women - men", "men", "all")}
    assert gaps == {"women - men": -50, "men": 100, "all": pytest.approx(100 / 3)}
    assert result.gap("halo", category="good_behaviour").gap.value == -50


def test_empty_cells_are_undefined_and_not_zero():
    result = halo(pairs([E]))
    men = next(c for c in result.cells if c.gender == "men")
    assert men.n == 0 and isnan(men.entailment.value)
    nothing = halo([])
    assert (
        isnan(nothing.non_neutral.value)
        and isnan(nothing.left_out)
        and isnan(nothing.gap("halo", "women - men").gap.value)
    )


def crossed(label, wordings=20, attributes=10, category="attractiveness", domain=""):
    """Every wording with every attribute; label of (wording, attribute, descriptor)."""
    return [
        Pair(f"w{w}", "women", d, category, label(w, a, d), domain, f"a{a}")
        for w in range(wordings)
        for a in range(attributes)
        for d in DESCRIPTORS
    ]


def test_the_standard_error_respects_that_twins_of_a_wording_belong_together():
    """Half of 20 wordings have a gap of 50, whatever the attribute: sd 25 with ddof 0, so 25 /
    sqrt(19) as of 20 numbers."""
    result = halo(crossed(lambda w, a, d: E if w % 2 and d == "fair" else N))
    assert result.gap("halo").gap == (25, pytest.approx(25 / sqrt(19)))


def test_the_standard_error_respects_that_twins_of_an_attribute_belong_together():
    """Half of 10 attributes have a gap of 50, whatever the wording: 25 / sqrt(9). Wordings alone
    would have an error of 0."""
    result = halo(crossed(lambda w, a, d: E if a % 2 and d == "fair" else N))
    assert result.gap("halo").gap == (25, pytest.approx(25 / sqrt(9)))
    # 9 degrees of freedom, for the 20 wordings do not differ: 25 +- 2.262 * 8.33
    assert (result.gap("halo").low, result.gap("halo").high) == pytest.approx(
        (6.15, 43.85), abs=0.025
    )


def test_looks_and_behaviour_are_no_chance():
    """A gap of 50 in all of looks and of 0 in all of behaviour: 25, without chance."""
    looks = crossed(lambda w, a, d: E if d == "fair" else N, domain="looks")
    behaviour = crossed(lambda w, a, d: N, category="good_behaviour", domain="behaviour")
    assert halo(looks + behaviour).gap("halo").gap == (25, 0)


def test_a_label_that_is_none_is_refused():
    with pytest.raises(ValueError, match="maybe"):
        halo([Pair("t", "women", "fair", "attractiveness", "maybe")])


@pytest.mark.parametrize("field", ["gender", "descriptor", "category"])
def test_a_pair_of_none_of_the_given_kinds_is_refused(field):
    with pytest.raises(ValueError, match="another"):
        halo([pairs([E])[0]._replace(**{field: "another"})])


def test_a_descriptor_that_no_pair_has_leaves_the_gaps_undefined():
    result = module.halo(
        pairs([E, N]), descriptors=("fair", None), effects=EFFECTS, genders=("women",)
    )
    assert isnan(result.gap("halo").gap.value) and result.labels[E].value == 50
