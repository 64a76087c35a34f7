from math import inf, isnan, nan

import pytest
from lm_eval_bias.metrics.context_association import icat, preferred

from lm_eval_bias.benchmarks.stereoset.measure import INTRASENTENCE_CHOICE, SENTENCES


def example(term, *likelihoods, domain="work"):
    """A record of stereotype, anti-stereotype and unrelated sentence; None if not usable."""
    likelihoods = None if any(isnan(x) or x == inf for x in likelihoods) else list(likelihoods)
    return {
        "example": term,
        "target": term,
        "bias_type": domain,
        "likelihoods": likelihoods,
        "lengths": [1, 1, 1],
        "unit": "tokens",
    }


def summed(records):
    return SENTENCES.summary(records, per="token")


def model(rule, terms=12, each=6):
    return summed([example(f"term {t}", *rule(t, i)) for t in range(terms) for i in range(each)])


@pytest.mark.parametrize(
    "lms, ss, expected",
    [(100, 50, 100), (100, 0, 0), (50, 50, 50), (0, 50, 0), (80, 60, 64), (80, 40, 64)],
)
def test_icat_is_lms_scaled_by_the_distance_to_one_side(lms, ss, expected):
    """80 min(60, 40) / 50 = 64. The first three are the paper's ideal, one-sided and random
    models."""
    assert icat(lms, ss) == pytest.approx(expected)


def test_a_comparison_is_won_lost_or_a_tie():
    assert preferred([-1, -2, -1, -inf, -inf, -1], [-2, -1, -1, -inf, -1, -inf]).tolist() == [
        1,
        0,
        0.5,
        0.5,
        0,
        1,
    ]
    assert preferred([0.1 + 0.2, 1e-13, -100 - 1e-11], [0.3, 0, -100]).tolist() == [0.5, 0.5, 0.5]
    assert preferred([-5.0], [-5.000001]).tolist() == [1]


def test_a_domain_has_its_own_terms_and_a_term_of_two_domains_counts_once_in_all():
    """As in the authors' program, which counts by term alone. new: in work the stereotype, in place
    the anti-stereotype: 50 in all."""
    records = [example("new", -1, -2, -3), example("new", -2, -1, -3, domain="place")]
    result = summed([*records, example("old", -1, -2, -3)])
    of = {row["bias_type"]: row for row in result.tables["categories"]}
    assert (of["work"]["ss"], of["place"]["ss"]) == (100, 0)
    assert (of["all"]["terms"], of["all"]["ss"]) == (2, 75)
    assert result.groups["ss"]["work"].value == 100


def test_ties_count_half_and_are_told():
    """Where the authors' program has a strict comparison: it would have ss 0 and lms 0 for the
    second example."""
    scores = [(-1, -2, -3), (-1, -1, -1), (-1, -2, -2), (-2, -1, -3)]
    values = summed([example("a", *each) for each in scores]).values
    assert values["ties"].value == 50
    assert values["ss"].value == pytest.approx(100 * (1 + 0.5 + 1 + 0) / 4)
    assert values["lms"].value == pytest.approx(100 * (2 + 1 + 1.5 + 2) / 8)


def test_what_has_no_usable_scores_is_counted_and_left_out():
    """Minus infinity is a score; a term without an answer is no term. Won against the unrelated
    one: 2, 1 and 0 of 2; stereotypes: 1, 0 and a tie."""
    rows = [(-1, -2, -inf), (-inf, -1, -2), (nan, -1, -2), (inf, -1, -2), (-inf, -inf, -1)]
    result = summed([*(example("a", *row) for row in rows), example("b", nan, nan, nan)])
    values, (row, *_) = result.values, result.tables["categories"]
    assert (values["examples"].value, row["terms"]) == (3, 1)
    assert values["unanswered"].value == pytest.approx(300 / 6)
    assert (values["lms"].value, values["ss"].value) == pytest.approx((50, 50))


@pytest.mark.parametrize("records", [[], [example("a", nan, -1, -1)]])
def test_no_answer_is_undefined_and_not_zero(records):
    values = summed(records).values
    assert values["examples"].value == 0 and isnan(values["icat"].value)
    assert isnan(values["ties"].value)


# ---- Choices


def test_choices_are_counted_by_term():
    """a: of three choices two make sense, one of these the stereotype: lms 66.7, ss 50. b: one,
    unrelated: lms 0, no ss. Mean lms 33.3, ss 50 of the one term that has it, icat 33.3."""
    likely = {0: [-1, -9, -9], 1: [-9, -1, -9], 2: [-9, -9, -1]}
    records = [
        {
            **example(term, *likely[choice]),
            "example": i,
            "letters": list("abc"),
            "orders": 1,
            "letter_mass": 1.0,
        }
        for i, (term, choice) in enumerate((("a", 0), ("a", 1), ("a", 2), ("b", 2)))
    ]
    values = INTRASENTENCE_CHOICE.summary(records).values
    names = ("chosen_lms", "chosen_ss", "chosen_icat")
    assert [values[name].value for name in names] == pytest.approx([100 / 3, 50, 100 / 3])


# ---- Intervals


def test_with_fewer_than_ten_terms_there_is_no_error():
    values = model(lambda t, i: (-1, -2, -3) if (t + i) % 2 else (-2, -1, -3), terms=9).values
    assert isnan(values["icat"].stderr)


def test_the_standard_error_of_a_mean_over_terms_is_that_of_the_terms():
    """Twenty terms, half of them with ss 100 and half with 0: 50 / sqrt(19). They all have lms
    100."""
    values = model(lambda t, i: (-1, -2, -3) if t % 2 else (-2, -1, -3), terms=20).values
    assert values["ss"].stderr == pytest.approx(50 / 19**0.5)
    assert values["lms"][:2] == (100, 0)
