from math import isnan, nan, sqrt

import pytest
from lm_eval_bias.metrics.halo import LABELS

from lm_eval_bias.benchmarks.bistereo.nli_measure import NLI

E, C, N = LABELS
EFFECTS = {
    "attractiveness": "halo",
    "unattractiveness": "horn",
    "good_behaviour": "halo",
    "bad_behaviour": "horn",
}


def pair(label, gender="women", descriptor="fair", category="attractiveness", **changes):
    """A record. None: refused."""
    return {
        "wording": "w",
        "variant": 0,
        "domain": "looks",
        "attribute": "a",
        "direction": "",
        "paper": True,
        "placebo": False,
        "words": "fair",
        "gender": gender,
        "descriptor": descriptor,
        "favoured": descriptor == "fair",
        "category": category,
        "effect": EFFECTS[category],
        "answer": label or "refused",
        **changes,
    }


def pairs(labels, *args):
    """A wording for each label."""
    return [pair(label, *args, wording=f"t{i}") for i, label in enumerate(labels)]


def twins(fair, dark, gender="women", category="attractiveness"):
    return pairs(fair, gender, "fair", category) + pairs(dark, gender, "dark", category)


def gaps(records):
    rows = NLI.summary(records).tables["gaps"]
    return {(row["effect"], row["gender"], row["category"]): row for row in rows}


def cells(records):
    rows = NLI.summary(records).tables["labels"]
    return {(row["gender"], row["descriptor"], row["category"]): row for row in rows}


def test_hand_computed_cells_and_gaps():
    """Women, attractiveness: fair E E E N, dark E C N N. %E 75 and 25, gap 50; %C 0 and 25, gap 25;
    a mean of 37.5. Men, bad behaviour: fair E C, dark E E. Of %E dark has 100, fair 50: 50; of %C
    fair has 50, dark 0: 50; 50 in the mean."""
    records = twins([E, E, E, N], [E, C, N, N]) + twins([E, C], [E, E], "men", "bad_behaviour")
    cell, gap, result = cells(records), gaps(records), NLI.summary(records)
    assert cell["women", "fair", "attractiveness"][E] == 75
    dark = cell["women", "dark", "attractiveness"]
    assert (dark[C], dark[N], dark["n"]) == (25, 50, 4)
    assert [result.values[f"{e}_gap"].value for e in ("halo", "horn")] == [37.5, 50]
    assert gap["halo", "women", "attractiveness"]["gap"] == 37.5
    assert gap["halo", "all", "all"]["n"] == 4
    assert gap["horn", "men", "bad_behaviour"]["gap"] == 50
    assert isnan(result.groups["halo_gap"]["men"].value)
    # 12 pairs: 3 + 1 + 1 + 2 = 7 E, 2 C, 3 N
    assert result.values[E].value == pytest.approx(100 * 7 / 12)
    assert result.values["non_neutral"].value == pytest.approx(100 * 9 / 12)


def test_the_twin_of_an_unanswered_pair_is_left_out_and_counted():
    """Looks: entailment for either skin tone. Behaviour: neutral. No gap anywhere; half of the cell
    fair x attractiveness is refused.

    Fair then has 2 E of 6, dark 4 of 8: shares that stand alone would have a gap of 33.3 - 50 =
    -16.7. Two of the 14 answered pairs, of 16 in all, have no twin.
    """
    records = twins([E, E, None, None], [E] * 4)
    records += twins([N] * 4, [N] * 4, category="good_behaviour")
    values = NLI.summary(records).values
    assert (values["halo_gap"].value, values["halo_gap"].n) == (0, 6)
    assert values["left_out"].value == 100 * 2 / 16
    assert max(row["unanswered"] for row in cells(records).values()) == 2


def test_repeated_questions_are_averaged():
    """Fair women E and N, dark women C and N: 50 of %E and of %C, a gap of 50; men 100. What women
    alone are asked has a gap of -50, so all have (50 + 100 - 50) / 3."""
    records = [pair(E), pair(N), pair(C, "women", "dark"), pair(N, "women", "dark")]
    records += [pair(E, "men"), pair(C, "men", "dark")]
    records += twins([N], [E], category="good_behaviour")
    found = gaps(records)
    of = {who: found["halo", who, "all"]["gap"] for who in ("women", "men", "all")}
    assert of == {"women": 0, "men": 100, "all": pytest.approx(100 / 3)}
    assert found["halo", "all", "good_behaviour"]["gap"] == -50


@pytest.mark.parametrize("labels, share", [([E, N], 50), ([None], nan)])
def test_what_nobody_was_asked_is_undefined_and_not_zero(labels, share):
    values = NLI.summary(pairs(labels)).values
    assert isnan(values["halo_gap"].value) and isnan(values["gap_beyond_words"].value)
    assert values[E].value == pytest.approx(share, nan_ok=True)


@pytest.mark.parametrize(
    "moves, clusters, t", [(lambda w, a: w, 20, 2.093), (lambda w, a: a, 10, 2.262)]
)
def test_the_error_respects_that_twins_of_a_wording_and_of_an_attribute_belong_together(
    moves, clusters, t
):
    """Half of 20 wordings have a gap of 50, whatever the attribute, or half of 10 attributes,
    whatever the wording: sd 25 with ddof 0, so 25 / sqrt(19) as of 20 numbers, or 25 / 3. The
    degrees of freedom are 19 or 9, for the others do not differ."""
    records = [
        pair(
            E if moves(w, a) % 2 and d == "fair" else N,
            descriptor=d,
            wording=f"w{w}",
            attribute=f"a{a}",
        )
        for w in range(20)
        for a in range(10)
        for d in ("fair", "dark")
    ]
    gap = NLI.summary(records).values["halo_gap"]
    error = 25 / sqrt(clusters - 1)
    assert gap[:2] == (25, pytest.approx(error, rel=0.02))
    assert (gap.low, gap.high) == pytest.approx((25 - t * error, 25 + t * error), rel=0.05)
