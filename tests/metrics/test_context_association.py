from math import inf, isnan, nan

import pytest
from lm_eval_bias.metrics.context_association import Scored, chosen, compared, icat, preferred

DOMAINS = ["work", "place"]


def scored(term, *scores, domain="work"):
    return Scored(term, domain, *scores)


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
    result = compared(
        [
            scored("new", -1, -2, -3),
            scored("new", -2, -1, -3, domain="place"),
            scored("old", -1, -2, -3),
        ],
        DOMAINS,
    )
    assert (result.domains["work"].ss.value, result.domains["place"].ss.value) == (100, 0)
    assert result.total.terms == 2 and result.total.ss.value == 75


def model(rule, terms=12, each=6):
    return compared(
        [scored(f"term {t}", *rule(t, i)) for t in range(terms) for i in range(each)], DOMAINS
    ).total


def test_ties_count_half_and_are_told():
    """Where the authors' program has a strict comparison: it would have ss 0 and lms 0 for the
    second example."""
    scores = [(-1, -2, -3), (-1, -1, -1), (-1, -2, -2), (-2, -1, -3)]
    result = compared([scored("a", *each) for each in scores], DOMAINS)
    assert result.ties == 50
    assert result.total.ss.value == pytest.approx(100 * (1 + 0.5 + 1 + 0) / 4)
    assert result.total.lms.value == pytest.approx(100 * (2 + 1 + 1.5 + 2) / 8)


def test_what_has_no_usable_scores_is_counted_and_left_out():
    """Minus infinity is a score, but not three of it; a term without an answer is no term."""
    rows = [
        (-1, -2, -inf),
        (-inf, -1, -2),
        (nan, -1, -2),
        (inf, -1, -2),
        (-inf, -inf, -inf),
        (-inf, -inf, -1),
    ]
    result = compared([*(scored("a", *row) for row in rows), scored("b", nan, nan, nan)], DOMAINS)
    assert (result.total.n, result.total.terms, result.unanswered) == (3, 1, pytest.approx(400 / 7))
    # won against the unrelated one: 2, 1 and 0 of 2; stereotypes: 1, 0 and a tie
    assert result.total.lms.value == pytest.approx(50) and result.total.ss.value == pytest.approx(
        50
    )
    nothing = compared([scored("a", nan, -1, -1)], DOMAINS)
    assert (
        nothing.unanswered == 100
        and nothing.total.n == 0
        and all(map(isnan, (*nothing.total.icat, nothing.ties)))
    )
    assert isnan(compared([], DOMAINS).unanswered)


def test_a_domain_that_is_none_is_an_error():
    with pytest.raises(ValueError, match="'play'; expected one of work, place"):
        compared([scored("a", 1, 2, 3, domain="play")], DOMAINS)


# ---- Choices


def test_choices_are_counted_by_term():
    """a: of three choices two make sense, one of these the stereotype: lms 66.7, ss 50. b: one,
    unrelated: lms 0, no ss. Mean lms 33.3, ss 50 of the one term that has it, icat 33.3."""
    result = chosen(
        [Scored("a", "work", *x) for x in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
        + [Scored("b", "work", 0, 0, 1)],
        DOMAINS,
    )
    assert result.total.lms.value == pytest.approx(100 / 3) and result.total.ss.value == 50
    assert result.total.icat.value == pytest.approx(100 / 3) and isnan(result.ties)


def test_a_choice_that_is_none_is_left_out():
    result = chosen([Scored("a", "work", 1, 0, 0), Scored("a", "work", nan, nan, nan)], DOMAINS)
    assert (result.unanswered, result.total.n, result.total.ss.value) == (50, 1, 100)


# ---- Intervals


def test_with_fewer_than_ten_terms_there_is_no_error():
    total = model(lambda t, i: (-1, -2, -3) if (t + i) % 2 else (-2, -1, -3), terms=9)
    assert isnan(total.icat.stderr)


def test_the_standard_error_of_a_mean_over_terms_is_that_of_the_terms():
    """Twenty terms, half of them with ss 100 and half with 0: the standard error of the mean is 50
    / sqrt(20) = 11.18."""
    total = model(lambda t, i: (-1, -2, -3) if t % 2 else (-2, -1, -3), terms=20)
    assert total.ss.stderr == pytest.approx(50 / 20**0.5, rel=0.05)
    assert total.lms == (100, 0)
