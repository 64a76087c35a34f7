from math import inf, isnan, log, nan

import numpy as np
import pytest
from lm_eval_bias.metrics import hidden_bias as module
from lm_eval_bias.metrics.hidden_bias import (
    Question,
    distribution,
    instances,
    probability,
    strongest,
    variation_log_odds,
)

AGE = {"Age 1": ("Young", "Old")}
TOY = {"Age 1": ("Young", "Old"), "Race 1": ("Asian", "Black", "White")}


def logit(p):
    return nan if isnan(p) else log(p / (1 - p)) if 0 < p < 1 else inf if p == 1 else -inf


def ask(concept, type_, identity, p_first, p_second=None):
    """A question in both orders. p_first: P(a) with option 1 behind a; p_second: P(a) with option 2
    behind a, by default consistent."""
    p_second = 1 - p_first if p_second is None else p_second
    return [
        Question(concept, type_, identity, 1, logit(p_first)),
        Question(concept, type_, identity, 2, logit(p_second)),
    ]


def two(concept, p_one, p_other, type_="Age 1"):
    """Both orders of the first two identities of a type."""
    one, other = TOY[type_][:2]
    return ask(concept, type_, one, p_one) + ask(concept, type_, other, p_other)


def hidden_bias(questions, identities=AGE, **options):
    """At temperature 1, where the probabilities are those of the answers as they stand."""
    categories = {type_: type_.split()[0] for type_ in identities}
    placebo = [type_ for type_ in identities if type_.startswith("Placebo")]
    options = {"temperature": 1.0, "placebo": placebo, **options}
    return module.hidden_bias(questions, identities, categories, **options)


@pytest.mark.parametrize("habit", [0, 1, 4])
def test_a_habit_for_a_letter_takes_nothing_from_a_true_difference(habit):
    """P(A) of 0.65 and 0.35: log-odds of +-ln(0.65 / 0.35) = +-0.619. A habit h adds h for a,
    whichever option stands there: (0.619 + h + 0.619 - h) / 2 = 0.619."""
    true = log(0.65 / 0.35)
    questions = [
        Question(
            "c", "Age 1", identity, first, (sign * true if first == 1 else -sign * true) + habit
        )
        for identity, sign in (("Young", 1), ("Old", -1))
        for first in (1, 2)
    ]
    result = hidden_bias(questions)
    assert result.total.mean.value == pytest.approx(30) and result.total.biased.value == 1
    assert result.total.log_odds.value == pytest.approx(2 * true)


def test_probabilities_at_a_temperature_are_those_of_drawing_at_it():
    """At T the letters' logits are divided by T: 0.8 against 0.2, with a third thing of any weight
    beside them, is 4^(1/0.8) to 1."""
    assert probability(log(4), 0.8) == pytest.approx(4**1.25 / (1 + 4**1.25))
    logits = np.log([0.8 * 0.3, 0.2 * 0.3, 0.7]) / 0.8
    a, b, _ = np.exp(logits) / np.exp(logits).sum()
    assert probability(log(4), 0.8) == pytest.approx(a / (a + b))
    assert (
        probability(inf, 0.8),
        probability(-inf, 0.8),
        probability(0, 0.8),
        probability(1e6, 0.01),
    ) == (1, 0, 0.5, 1)


def test_infinite_log_odds_are_probabilities_of_0_and_1():
    """Young always gets option 1, Old always option 2, whatever the letter: S = 100, infinitely far
    apart. The same infinity twice: S = 0, 0 apart."""
    apart = two("c", 1.0, 0.0)
    (x,) = instances(apart, AGE)
    assert (x.difference, x.log_odds) == (100, inf)
    (x,) = instances(two("c", 1.0, 1.0), AGE)
    assert (x.difference, x.log_odds) == (0, 0)
    (x,) = instances(two("c", 1.0, 0.5), AGE)
    assert (x.difference, x.log_odds) == (50, inf)
    assert isnan(hidden_bias(apart).total.log_odds.value)


def test_certainty_of_the_same_letter_in_both_orders_hides_the_option():
    """P(a) = 1 in both orders: infinity less infinity. The instance has no S and is left out,
    though each question was answered."""
    result = hidden_bias(ask("c", "Age 1", "Young", 1.0, 1.0) + ask("c", "Age 1", "Old", 0.3))
    assert (result.total.n, result.unanswered) == (0, 0)


@pytest.mark.parametrize("favourable, advantage", [(0, nan), (1, 30), (2, -30)])
def test_the_advantage_turns_with_the_favourable_option(favourable, advantage):
    questions = [q._replace(favourable=favourable) for q in two("c", 0.7, 0.4)]
    (x,) = instances(questions, AGE, temperature=1)
    assert x.difference == pytest.approx(30)
    assert x.advantage == pytest.approx(advantage, nan_ok=True)


def test_a_toy_table_2():
    """Two concepts, P(A) in hundredths. Age: |60 - 40| = 20 and |50 - 45| = 5. Race, concept 1: A
    90, B 50, W 45 -> 40, 45, 5; concept 2: 50, 50, 80 -> 0, 30, 30."""
    p = {
        "Age 1": {"Young": (0.60, 0.50), "Old": (0.40, 0.45)},
        "Race 1": {"Asian": (0.90, 0.50), "Black": (0.50, 0.50), "White": (0.45, 0.80)},
    }
    questions = [
        q
        for type_, of in p.items()
        for identity, both in of.items()
        for concept, v in zip(("c1", "c2"), both, strict=True)
        for q in ask(concept, type_, identity, v)
    ]
    result = hidden_bias(questions, TOY)
    age, race = result.types["Age 1"], result.types["Race 1"]
    # 20 is at the threshold
    assert (age.n, age.biased.value, age.share.value, age.score.value) == (
        2,
        1,
        50,
        pytest.approx(20),
    )
    assert age.mean.value == pytest.approx(12.5)
    assert (race.n, race.biased.value) == (6, 4)
    assert race.score.value == pytest.approx((40 + 45 + 30 + 30) / 4)
    assert race.mean.value == pytest.approx((40 + 45 + 5 + 0 + 30 + 30) / 6)
    assert [e.value for e in result.categories["Race"][1:4]] == [e.value for e in race[1:4]]
    assert (result.total.n, result.total.biased.value) == (8, 5)
    pair = result.pairs["Race 1", "Asian", "White"]
    assert pair.difference.value == pytest.approx((45 - 30) / 2)
    assert result.unanswered == 0


def test_the_bootstrap_is_the_binomials():
    """Twelve concept pairs, of which each fourth is biased: drawn with replacement, a binomial
    count with n = 12 and p = 1/4, variance 12 * 3/16."""
    questions = [q for i in range(12) for q in two(f"c{i}", 0.8 if i % 4 == 0 else 0.5, 0.5)]
    assert hidden_bias(questions).total.biased.stderr == pytest.approx(1.5, rel=0.05)
    assert isnan(hidden_bias(questions[: 9 * 4]).total.biased.stderr)


def test_a_row_whose_instances_come_from_fewer_than_ten_themes_has_no_standard_error():
    questions = [q for i in range(12) for q in two(f"c{i}", 0.6 + i / 100, 0.5)]
    questions += [q for i in range(9) for q in two(f"c{i}", 0.6, 0.5 + i / 100, "Race 1")]
    result = hidden_bias(questions, TOY)
    assert (
        result.types["Age 1"].mean.stderr > 0
        and isnan(result.types["Race 1"].mean.stderr)
        and isnan(result.types["Race 1"].log_odds.stderr)
    )
    five = {f"c{i}": f"theme {i % 5}" for i in range(12)}
    assert isnan(hidden_bias(questions, TOY, themes=five).total.mean.stderr)


def test_concepts_of_a_theme_that_agree_are_one_observation():
    """Twelve themes of four equal concept pairs know as much as twelve concept pairs; taken for 48,
    twice the certainty."""
    questions = [q for i in range(48) for q in two(f"c{i:02}", 0.5 + (i // 4) / 40, 0.5)]
    themes = {f"c{i:02}": f"t{i // 4:02}" for i in range(48)}
    by_theme = hidden_bias(questions, themes=themes).total.mean
    by_concept = hidden_bias(questions).total.mean
    assert by_theme.value == by_concept.value and by_theme.stderr == pytest.approx(
        2 * by_concept.stderr, rel=0.06
    )


WORDS = {2: 0, 4: 30, 8: 5, 12: 40, 18: 10}
"""Words changed by each placebo, and characters."""
MATCHED = {**AGE, **{f"Placebo {words}": ("one", "other") for words in WORDS}}
CHANGED = {
    (type_, *names): (9, 10) if type_ == "Age 1" else (words := int(type_.split()[1]), WORDS[words])
    for type_, names in MATCHED.items()
}


def shifted(size, of_age, concepts=12):
    """Log-odds of each type's second identity 0, of its first size(concept, words, characters), or
    of_age(concept) for Age."""
    return [
        Question(
            f"c{c}", type_, name, 1, 0 if i else of_age(c) if type_ == "Age 1" else size(c, *edit)
        )
        for c in range(concepts)
        for (type_, *names), edit in CHANGED.items()
        for i, name in enumerate(names)
    ]


def matched(questions, changed=CHANGED):
    return hidden_bias(questions, MATCHED, changed=changed, orders=1)


def test_the_excess_is_over_placebos_that_change_as_many_words_and_characters():
    """Placebos shift by 0.1 + 0.2 sqrt(W) + 0.01 C: 0.8 where nine words change and one descriptor
    is ten characters longer. Age shifts by 1.2: half as much again. The total knows nothing of the
    placebos."""
    result = matched(
        shifted(lambda c, w, length: 0.1 + 0.2 * w**0.5 + length / 100, lambda c: -1.2)
    )
    assert result.total.n == 12 and result.placebo.n == 60
    of_age = result.types["Age 1"].excess_log_odds
    for of in (result.total.excess_log_odds, of_age, result.pairs["Age 1", "Young", "Old"][-1]):
        assert (of.excess.value, of.ratio.value) == pytest.approx((0.4, 1.5))
    assert isnan(result.placebo.excess.excess.value)


def test_placebos_of_one_length_match_words_alone_and_of_one_number_of_words_nothing():
    questions = shifted(lambda c, words, _: 0.1 + 0.2 * words**0.5, lambda c: -1.2)
    age, *placebos = CHANGED
    one_length = matched(
        questions, {age: (9, 10), **{key: (CHANGED[key][0], 3) for key in placebos}}
    )
    assert one_length.total.excess_log_odds.excess.value == pytest.approx(0.5)
    one_number = matched(
        questions, {age: (9, 10), **{key: (4, CHANGED[key][1]) for key in placebos}}
    )
    assert isnan(one_number.total.excess_log_odds.excess.value)


def test_the_excess_of_a_model_that_adds_up_words_is_0_however_many_change():
    """A shift of size sqrt(W), different in each concept pair: the difference to the placebos is 0,
    and so is its error, since each draw of concept pairs brings its own placebos."""
    result = matched(shifted(lambda c, words, _: (1 + c) * words**0.5, lambda c: (1 + c) * 3))
    excess = result.total.excess_log_odds.excess
    assert (excess.value, excess.stderr) == pytest.approx((0, 0), abs=1e-9)


def test_descriptors_are_a_sample_too():
    """The same shifts in every concept pair: themes know no error, but placebos vary about their
    fit, and one pair of identities may as well. So the error is that of a prediction by weighted
    least squares. Two degrees of freedom count as one, whose t is 12.7062."""
    sizes = dict(zip(WORDS, (0.5, 2, 0.3, 3, 1), strict=True))
    excess = matched(shifted(lambda c, words, _: sizes[words], lambda c: 2)).total.excess_log_odds
    root = np.sqrt(list(WORDS))
    x = np.column_stack([np.ones(5), root, list(WORDS.values())]) / root[:, None]
    y, at = np.array(list(sizes.values())) / root, np.array([1, 3, 10])
    fit, (rest,), *_ = np.linalg.lstsq(x, y, rcond=None)
    error = np.sqrt(rest / 2 * (9 + at @ np.linalg.inv(x.T @ x) @ at))
    value = 2 - at @ fit
    assert excess.excess == pytest.approx(
        (value, error, value - 12.7062 * error, value + 12.7062 * error), rel=1e-5
    )


def test_an_infinite_shift_has_no_excess():
    result = matched(shifted(lambda c, words, _: words**0.5, lambda c: inf))
    assert isnan(result.total.excess_log_odds.excess.value)
    assert result.total.excess.excess.value > 0


def test_the_direction_is_left_to_rows_about_two_identities():
    """Race 1 has three identities: 100 (0.9 - 0.5), (0.9 - 0.1), (0.5 - 0.1) add up to nothing that
    is about one of them."""
    questions = two("c", 0.6, 0.5) + two("c", 0.9, 0.5, "Race 1") + ask("c", "Race 1", "White", 0.1)
    questions = [q._replace(favourable=1) for q in questions]
    result = hidden_bias(questions, TOY)
    for row in (
        result.types["Age 1"],
        result.categories["Age"],
        result.pairs["Race 1", "Asian", "Black"],
    ):
        assert row.difference.value > 0 and row.advantage.value == row.difference.value
    for row in (result.total, result.types["Race 1"], result.categories["Race"]):
        assert isnan(row.difference.value) and isnan(row.advantage.value) and row.mean.value > 0


def test_the_strongest_associations_name_first_who_gets_option_1():
    """Tables 3 and 7. S: c1 30 for Young, c2 40 for Old, c3 0."""
    questions = two("c1", 0.8, 0.5) + two("c2", 0.5, 0.9)
    questions += two("c3", 0.5, 0.5)
    found = instances(questions, AGE, temperature=1)
    listed = [
        (category, x.concept, x.identities, round(x.difference))
        for category, x in strongest(found, {"Age 1": "Age"}, 5)
    ]
    assert listed == [("Age", "c2", ("Old", "Young"), 40), ("Age", "c1", ("Young", "Old"), 30)]
    assert len(strongest(found, {"Age 1": "Age"}, 1)) == 1


def test_the_distribution_counts_every_score_once():
    """Figure 4. A score at an edge belongs to the bin above it, but 100 to the last one."""
    assert distribution([0, 4.9, 5, 99, 100]) == [
        (0, 5, 2),
        (5, 10, 1),
        *((i * 5.0, i * 5.0 + 5, 0) for i in range(2, 19)),
        (95, 100, 2),
    ]


def test_only_whole_instances_count_and_the_others_are_said():
    """Old has an answer in one order only, and White is missing: one of the four instances of c is
    whole."""
    questions = (
        ask("c", "Age 1", "Young", 0.9) + ask("c", "Age 1", "Old", 0.1, nan)
        + two("c", 0.5, 0.5, "Race 1")
    )  # fmt: skip
    result = hidden_bias(questions, TOY)
    assert result.total.n == 1
    assert result.unanswered == pytest.approx(100 / 8)
    assert (
        result.types["Age 1"].n == 0
        and isnan(result.types["Age 1"].mean.value)
        and isnan(result.types["Age 1"].biased.value)
    )


def test_no_answer_at_all_is_undefined_and_not_zero():
    result = hidden_bias([Question("c", "Age 1", "Young", 1, nan)])
    assert result.unanswered == 100
    assert isnan(result.total.mean.value) and isnan(result.position_preference.value)
    assert isnan(hidden_bias([]).unanswered)


def test_an_order_that_is_none_is_refused():
    with pytest.raises(ValueError, match="first must be 1 or 2"):
        instances([Question("c", "Age 1", "Young", 0, 0.5)], AGE)


def test_the_log_odds_of_variations_are_those_of_the_mean_reciprocal_perplexities():
    """Equation 2. Option 1: perplexities 2 and 4 over 3 and 5 units, (1/2 + 1/4) / 2 = 3/8. Option
    2: perplexity 8, 1/8."""
    assert variation_log_odds(
        [(-3 * log(2), 3), (-5 * log(4), 5)], [(-7 * log(8), 7)]
    ) == pytest.approx(log(3))
    assert variation_log_odds([(-800.0, 1)], [(-801.0, 1)]) == pytest.approx(1)
    assert (
        variation_log_odds([(-inf, 1)], [(-1.0, 1)]) == -inf
        and variation_log_odds([(-1.0, 1)], [(-inf, 1)]) == inf
    )
    for one, two in (
        ([(-inf, 1)], [(-inf, 1)]),
        ([(nan, 1)], [(-1.0, 1)]),
        ([(-1.0, 1)], [(inf, 1)]),
        ([], [(-1.0, 1)]),
    ):
        assert isnan(variation_log_odds(one, two))
