from math import inf, isnan, log, nan

import numpy as np
import pytest
from lm_eval_bias.metrics.hidden_bias import distribution

from lm_eval_bias.benchmarks.hbb.measure import HBB, KEYS

AGE = ("Young", "Old")
TOY = {"Age 1": AGE, "Race 1": ("Asian", "Black", "White")}
EDIT = [2, 0]


def logit(p):
    return nan if isnan(p) else log(p / (1 - p)) if 0 < p < 1 else inf if p == 1 else -inf


def question(concept, type_, identity, first, log_odds, names=None, **changes):
    """A record; any two identities differ by `changed`."""
    names = list(names or TOY[type_])
    record = {
        **dict.fromkeys(KEYS, 0),
        "concept": concept,
        "theme": concept,
        "instances": 0 if type_.startswith("Placebo") else len(names) * (len(names) - 1) // 2,
        "category": type_.split()[0],
        "type": type_,
        "place": [*TOY, type_].index(type_),
        "placebo": type_.startswith("Placebo"),
        "identities": names,
        "identity": identity,
        "changed": [EDIT] * len(names),
        "first": first,
        "log_odds": None if isnan(log_odds) else log_odds,
        "letter_mass": 1.0,
    }
    return {**record, **changes}


def ask(concept, type_, identity, p_first, p_second=None, **changes):
    """A question in both orders. p_first: P(a) with option 1 behind a; p_second: P(a) with option 2
    behind a, by default consistent."""
    p_second = 1 - p_first if p_second is None else p_second
    return [
        question(concept, type_, identity, 1, logit(p_first), **changes),
        question(concept, type_, identity, 2, logit(p_second), **changes),
    ]


def two(concept, p_one, p_other, type_="Age 1"):
    """Both orders of the first two identities of a type."""
    one, other = TOY[type_][:2]
    return ask(concept, type_, one, p_one) + ask(concept, type_, other, p_other)


def summed(records, **options):
    """At temperature 1, where the probabilities are those of the answers as they stand."""
    defaults = {"order": "both", "threshold": 20.0, "temperature": 1.0}
    return HBB.summary(records, **{**defaults, **options})


def total(records):
    return summed(records).tables["categories"][0]


def lines(result, table):
    names = {"identity_pairs": ("identity_1", "identity_2"), "categories": ("category",)}
    names = names.get(table, (table[:-1],))
    return {tuple(row[name] for name in names): row for row in result.tables[table]}


def test_a_habit_for_a_letter_takes_nothing_from_a_true_difference():
    """P(A) of 0.65 and 0.35: log-odds of +-ln(0.65 / 0.35) = +-0.619. A habit h adds h for a,
    whichever option stands there: (0.619 + h + 0.619 - h) / 2 = 0.619."""
    true, habit = log(0.65 / 0.35), 4
    questions = [
        question(
            "c", "Age 1", identity, first, (sign * true if first == 1 else -sign * true) + habit
        )
        for identity, sign in (("Young", 1), ("Old", -1))
        for first in (1, 2)
    ]
    row = total(questions)
    assert row["mean_difference"] == pytest.approx(30) and row["biased_count"] == 1
    assert row["log_odds_difference"] == pytest.approx(2 * true)


@pytest.mark.parametrize(
    "young, old, difference, shift", [(1.0, 0.0, 100, nan), (1.0, 1.0, 0, 0), (1.0, 0.5, 50, nan)]
)
def test_infinite_log_odds_are_probabilities_of_0_and_1(young, old, difference, shift):
    """The same infinity twice is no shift; the mean of an infinite one is undefined."""
    row = total(two("c", young, old))
    assert row["mean_difference"] == difference
    assert row["log_odds_difference"] == pytest.approx(shift, nan_ok=True)


def test_certainty_of_the_same_letter_in_both_orders_hides_the_option():
    """P(a) = 1 in both orders: infinity less infinity. The instance has no S and is left out,
    though each question was answered."""
    result = summed(ask("c", "Age 1", "Young", 1.0, 1.0) + ask("c", "Age 1", "Old", 0.3))
    assert result.values["instances"].value == result.values["unanswered"].value == 0
    assert result.values["left_out"][0] == result.values["left_out"].n == 1


WORDS = {2: 0, 4: 30, 8: 5, 12: 40, 18: 10}
"""Words changed by each placebo, and characters."""
MATCHED = {"Age 1": AGE, **{f"Placebo {words}": ("one", "other") for words in WORDS}}
CHANGED = {"Age 1": (9, 10), **{f"Placebo {words}": (words, WORDS[words]) for words in WORDS}}


def shifted(size, of_age, changed=CHANGED, third=()):
    """Log-odds of each type's second identity 0, of its first size(concept, words, characters), or
    of_age(concept) for Age."""
    return [
        question(
            f"c{c}",
            type_,
            name,
            1,
            0 if i else of_age(c) if type_ == "Age 1" else size(c, *CHANGED[type_]),
            (*names, *third),
            changed=[(0, 0), *[changed[type_]] * 2],
        )
        for c in range(12)
        for type_, names in MATCHED.items()
        for i, name in enumerate((*names, *third))
    ]


def excess_of(questions):
    return summed(questions, order="paper").values["excess_log_odds"]


def test_the_excess_is_over_placebos_that_change_as_many_words_and_characters():
    """Placebos shift by 0.1 + 0.2 sqrt(W) + 0.01 C: 0.8 where nine words change and one descriptor
    is ten characters longer. Age shifts by 1.2: half as much again. The total knows nothing of the
    placebos."""
    questions = shifted(lambda c, w, length: 0.1 + 0.2 * w**0.5 + length / 100, lambda c: -1.2)
    result = summed(questions, order="paper")
    of_all = lines(result, "categories")
    assert of_all["all",]["instances"] == 12 and of_all["Placebo",]["instances"] == 60
    for row in (of_all["all",], of_all["Age",], lines(result, "identity_pairs")[AGE]):
        assert (row["excess_log_odds"], row["excess_ratio"]) == pytest.approx((0.4, 1.5))
    assert isnan(of_all["Placebo",]["excess_log_odds"])


@pytest.mark.parametrize("edit, excess", [((None, 3), 0.5), ((4, None), nan)])
def test_placebos_of_one_length_match_words_alone_and_of_one_number_of_words_nothing(edit, excess):
    changed = {
        name: of if name == "Age 1" else tuple(b or a for a, b in zip(of, edit, strict=True))
        for name, of in CHANGED.items()
    }
    questions = shifted(lambda c, words, _: 0.1 + 0.2 * words**0.5, lambda c: -1.2, changed)
    assert excess_of(questions).value == pytest.approx(excess, nan_ok=True)


LONGER = {2: 0, 4: 3, 8: 0, 12: 1, 18: 0}
"""Words changed by each placebo, and tokens by which a prompt is longer."""


@pytest.mark.parametrize(
    "longer, of_age, unknown, excess",
    [
        (LONGER, 8, None, 0.2),
        (LONGER, 0, None, 0.5),
        (dict.fromkeys(LONGER, 0), 8, None, nan),
        (dict.fromkeys(LONGER, 0), 0, None, 0.5),
        (dict.fromkeys(LONGER, 2), 1, None, 0.2),
        ({**LONGER, 8: 1}, 0, 7, 0.5),
    ],
)
def test_with_tokens_the_excess_is_over_placebos_of_which_one_is_longer_or_not_as_well(
    longer, of_age, unknown, excess
):
    """0.1 + 0.2 sqrt(9) = 0.7, and 0.3 more where one prompt is longer; Age shifts by 1.2. Without
    placebos of the same kind nothing is known. If one number of tokens is unknown, characters
    count in their place: 0.1 + 0.2 sqrt(W) again, since nothing is longer there."""
    tokens = {"Age 1": of_age, **{f"Placebo {words}": n for words, n in longer.items()}}
    step = 0 if unknown else 0.3
    size = lambda c, words, _: 0.1 + 0.2 * words**0.5 + step * (longer[words] > 0)  # noqa: E731
    questions = [
        {**q, "tokens": 200 + tokens[q["type"]] * (q["identity"] == q["identities"][0])}
        for q in shifted(size, lambda c: -1.2)
    ]
    if unknown:
        questions[unknown]["tokens"] = None
    assert excess_of(questions).value == pytest.approx(excess, nan_ok=True)


def test_the_excess_of_a_model_that_adds_up_words_is_0_however_many_change():
    """A shift of size sqrt(W), different in each concept pair: the difference to the placebos is 0,
    and so is its error, since each draw of concept pairs brings its own placebos."""
    excess = excess_of(shifted(lambda c, words, _: (1 + c) * words**0.5, lambda c: (1 + c) * 3))
    assert (excess.value, excess.stderr) == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize("third, own, placebos", [((), 0, 0), (("third",), 0.5, 0.2), ((), 0, 5)])
def test_descriptors_are_a_sample_too(third, own, placebos):
    """Placebos vary about their fit, and one pair of identities may as well. So the error is that
    of a prediction by weighted least squares, where k identities count as k - 1. What varies from
    theme to theme is part of the scatter. Two degrees of freedom count as one, whose t is
    12.7062."""
    noise = np.random.default_rng(1).random((12, 6)) * [own, *[placebos] * 5]
    sizes = noise + np.array([2, 0.5, 2, 0.3, 3, 1])
    places = [9, *WORDS]
    excess = excess_of(
        shifted(lambda c, w, _: sizes[c, places.index(w)], lambda c: sizes[c, 0], third=third)
    )
    k, shown = (3, [1, 1, 0]) if third else (2, [1])
    words = np.repeat(list(WORDS), len(shown))
    x = np.column_stack([words**0, words**0.5, np.repeat(list(WORDS.values()), len(shown))])
    weight, at = 2 / k / words, np.array([1, 3, 10])
    spread = np.linalg.inv(x.T * weight @ x)
    y = np.kron(sizes[:, 1:], shown)
    fit = y * weight @ x @ spread
    rest, beyond, df = y - fit @ x.T, sizes[:, 0] * np.mean(shown) - fit @ at, weight @ words - 3
    scatter = weight @ rest.mean(axis=0) ** 2 / df
    between = max(scatter - weight @ rest.var(axis=0, ddof=1) / 12 / df, 0)
    moved, of_themes = 9 / (k - 1) + at @ spread @ at, beyond.var(ddof=1) / 12
    error = max(of_themes + between * moved, scatter * moved) ** 0.5
    assert excess[:2] == pytest.approx((beyond.mean(), error), rel=1e-5)
    if not noise.any():
        assert excess.high - excess.value == pytest.approx(12.7062 * error, rel=1e-5)


def test_the_direction_is_left_to_rows_about_two_identities():
    """100 (0.9 - 0.5) of two of the three identities of Race 1; of all three it is about nobody."""
    questions = two("c", 0.9, 0.5, "Race 1") + ask("c", "Race 1", "White", 0.1)
    result = summed([{**q, "favourable": 1} for q in questions])
    pair = lines(result, "identity_pairs")["Asian", "Black"]
    assert pair["difference"] == pair["advantage"] == pytest.approx(40)
    assert not {"difference", "advantage"} & {*lines(result, "types")["Race 1",]}


def test_the_strongest_associations_name_first_who_gets_option_1():
    """Tables 3 and 7. S: c1 30 for Young, c2 40 for Old, c3 0."""
    questions = two("c1", 0.8, 0.5) + two("c2", 0.5, 0.9) + two("c3", 0.5, 0.5)
    table = summed(questions).tables["associations"]
    listed = [(r["category"], r["concept"], r["identity_1"], r["identity_2"]) for r in table]
    assert listed == [("Age", "c2", "Old", "Young"), ("Age", "c1", "Young", "Old")]
    assert [row["difference"] for row in table] == pytest.approx([40, 30])


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
    result = summed(questions)
    assert (result.values["instances"].value, result.values["left_out"].value) == (1, 3)
    assert result.values["unanswered"].value == pytest.approx(100 / 8)
    age = lines(result, "types")["Age 1",]
    assert age["instances"] == 0
    assert isnan(age["mean_difference"]) and isnan(age["biased_count"])


@pytest.mark.parametrize("records", [[], [question("c", "Age 1", "Young", 1, nan)]])
def test_no_answer_at_all_is_undefined_and_not_zero(records):
    values = summed(records).values
    assert values["unanswered"].value == pytest.approx(100 if records else nan, nan_ok=True)
    assert isnan(values["mean_difference"].value) and isnan(values["position_preference"].value)
