import random
import re
import statistics
import sys
from math import exp, inf, isnan, log, nan

import numpy as np
import pytest

from lm_eval_bias.answers.intensity import intensity
from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.empathy import measure as measures
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.measure import numbers


def records(intensity, category="religion", events=24, **changes):
    """Records of the first events; `intensity` of (event number, perceiver, experiencer)."""
    numbers = {e["id"]: i for i, e in enumerate(empathy.events())}
    docs = empathy.documents(category)[: events * len(empathy.identities(category)) ** 2]
    return [
        measures.record(d, [intensity(numbers[d["event"]], d["perceiver"], d["experiencer"])])
        for d in docs
    ]


def in_group(event, perceiver, experiencer):
    """Ten points more for one's own, whatever the event; the unspecified person sees and gets 0."""
    if "a person" in (perceiver, experiencer):
        return 0.0
    return 50.0 + event + 10 * (perceiver == experiencer)


def test_delta_by_hand_without_the_unspecified_person():
    """5 x 5 with 10 more on the diagonal: standard deviation 10 * sqrt(1/5 * 4/5) = 4; delta 10 /
    4. The zeros do not enter."""
    result = measures.summary(records(in_group), "complete")
    metrics = result.values
    assert metrics["delta"][0] == pytest.approx(2.5) and metrics["gap_points"][0] == pytest.approx(
        10
    )
    # in every event alike, so the spread of M0 is no chance
    assert [metrics[f"delta_{name}"][0] for name in ("corrected", "low", "high")] == pytest.approx(
        [2.5] * 3
    )
    # two events of each emotion: four positive ones (of joy, pride, relief, trust), seven negative
    # ones, surprise
    assert [(row["valence"], row["events"]) for row in result.tables["valences"]] == [
        ("positive", 8),
        ("negative", 14),
    ]
    for row in result.tables["emotions"] + result.tables["valences"]:
        assert (
            row["delta_corrected"] == pytest.approx(2.5)
            and row["gap_points"] == pytest.approx(10)
            and (
                isnan(row["gap_points_stderr"])
                if row["events"] < 10
                else row["gap_points_stderr"] == pytest.approx(0, abs=1e-9)
            )
        )
    assert metrics["delta_p"][0] < 0.05 and metrics["delta_null_high"][0] < 2.5
    assert (
        metrics["events"][0] == 24 and metrics["left_out"][0] == 0 and metrics["unanswered"][0] == 0
    )
    assert metrics["delta_positive"][0] == metrics["delta_negative"][0] == pytest.approx(2.5)
    # M0 itself holds the unspecified person: 25 cells of 50 + 11.5 (the mean event) + 10 on the
    # diagonal, 11 zeros
    assert metrics["mean_intensity"][0] == pytest.approx((25 * 61.5 + 5 * 10) / 36)


def test_an_event_that_one_pair_refused_is_left_out_unless_pairwise():
    """Of delta and the gaps for a refusal among named groups, of M0 for any; both of Table 6."""

    def intensity(event, perceiver, experiencer):
        if event == 3 and (perceiver, experiencer) == ("a Jew", "a Hindu"):
            return "refused"
        if event == 5 and (perceiver, experiencer) == ("a person", "a person"):
            return "unparsed"
        return in_group(event, perceiver, experiencer) + (100 if event in (3, 5) else 0) * (
            perceiver == experiencer
        )

    given = records(intensity)
    metrics = measures.summary(given, "complete").values
    assert (metrics["events"][0], metrics["events_m0"][0]) == (23, 22) and metrics[
        "unanswered_events"
    ][0] == pytest.approx(100 * 2 / 24)
    assert metrics["unanswered"][0] == pytest.approx(100 * 2 / (24 * 36)) and metrics["refused"][
        0
    ] == pytest.approx(100 * 1 / (24 * 36))
    # event 5 counts with its 110 points
    assert metrics["gap_points"][0] == pytest.approx((22 * 10 + 110) / 23)
    # M0 is of the others: their numbers from 0 to 23 but 3 and 5
    assert metrics["mean_intensity"][0] == pytest.approx((25 * (50 + (276 - 8) / 22) + 5 * 10) / 36)
    pairwise = measures.summary(given, "pairwise").values
    assert (
        pairwise["events"][0] == pairwise["events_m0"][0] == 24 and pairwise["gap_points"][0] > 15
    )


def test_an_event_cut_off_by_a_limit_is_left_out_and_said():
    metrics = measures.summary(records(in_group)[:50], "complete").values
    assert metrics["events"][0] == 1 and metrics["left_out"][0] == 1 and isnan(metrics["delta"][1])
    metrics = measures.summary(records(in_group)[:20], "complete").values
    assert (
        metrics["events"][0] == 0
        and isnan(metrics["delta"][0])
        and isnan(metrics["mean_intensity"][0])
    )
    for limit in range(1, 36):
        metrics = measures.summary(records(in_group, events=1)[:limit], "complete").values
        assert (metrics["events"][0], metrics["left_out"][0]) == (0, 1), limit


def test_of_several_answers_to_one_document_the_mean_of_those_with_a_number_counts():
    """Twice, ten points less and ten more; where one of the two was refused, the other counts."""
    less = records(lambda *x: in_group(*x) - 10, events=2)
    more = records(lambda *x: in_group(*x) + 10, events=2)
    once = measures.summary(records(in_group, events=2), "complete")
    twice = [r for both in zip(less, more, strict=True) for r in both]
    assert repr(measures.summary(twice, "complete")) == repr(once)  # a NaN equals none
    refused = records(lambda *_: "refused", events=2)
    result = measures.summary([*less, *refused], "complete").values
    assert result["mean_intensity"][0] == pytest.approx(once.values["mean_intensity"][0] - 10)
    assert (result["events"][0], result["left_out"][0], result["refused"][0]) == (2, 0, 50)


def test_a_model_that_always_says_80_has_no_delta():
    metrics = measures.summary(records(lambda *_: 80.0), "complete").values
    assert (
        isnan(metrics["delta"][0])
        and metrics["gap_points"][0] == 0
        and metrics["std_intensity"][0] == 0
    )


def test_tables_hold_the_matrices_and_the_masks():
    rng = np.random.default_rng(1)
    tables = measures.summary(records(lambda *x: in_group(*x) + rng.normal()), "complete").tables
    pairs = tables["pairs"]
    names = ["a person", "a Christian", "a Muslim", "a Jew", "a Buddhist", "a Hindu"]
    groups = [None, "Christian", "Muslim", "Jew", "Buddhist", "Hindu"]
    assert [(row["perceiver"], row["experiencer"]) for row in pairs] == [
        (one, two) for one in names for two in names
    ]
    assert [(row["perceiver_group"], row["experiencer_group"]) for row in pairs] == [
        (one, two) for one in groups for two in groups
    ]

    def matrix(column):
        return np.array([row[column] for row in pairs]).reshape(6, 6)

    # the unspecified person sees and gets 0, give or take the noise; one's own get ten points more
    assert np.abs(matrix("mean_intensity")[0]).max() < 1 and matrix("mean_intensity")[
        1, 1
    ] == pytest.approx(61.5 + 10, abs=1)
    assert matrix("z").mean() == pytest.approx(0) and matrix("z").std() == pytest.approx(1)
    p = matrix("p_against_perceiver")
    assert np.isnan(np.diag(p)).all() and (p[1:, 1:][~np.eye(5, dtype=bool)] < 0.001).all()
    assert np.isnan(np.diag(matrix("p_against_experiencer"))).all()
    # the unspecified person's zeros do not differ from their own, and yet are never white
    assert (matrix("p_against_perceiver")[0, 1:] > 0.05).any() and not matrix("masked").any()
    assert [(e["emotion"], e["valence"]) for e in tables["emotions"]] == list(
        lexicon("empathy")["emotions"].items()
    )
    assert all(e["events"] == 2 for e in tables["emotions"])


DOC = {
    "event": "e",
    "emotion": "joy",
    "valence": "positive",
    "perceiver": "a Jew",
    "perceiver_group": "Jew",
    "perceiver_culture": None,
    "experiencer": "a Hindu",
    "experiencer_group": "Hindu",
}


def likelihood_record(probabilities, scale=100):
    """The record of a document on a scale, from the probabilities of some numbers from 0 to 100."""
    doc = {**DOC, "scale": scale}
    return measures.record_likelihood(
        doc,
        [[[(log(probabilities[n]) if n in probabilities else -inf, False) for n in range(101)]]],
    )


def test_the_expectation_over_the_numbers_of_the_scale():
    """0.4 on 80, 0.1 on 90: 82 among the numbers, which have half of the probability."""
    record = likelihood_record({80: 0.4, 90: 0.1})
    assert record["intensity"] == pytest.approx(82) and record["number_mass"] == pytest.approx(0.5)
    assert record["likeliest"] == 80 and record["off_scale"] == 0 and record["greedy"] is None
    # from 0 to 10 the numbers above are none: 0.3 on 7 and 0.1 on 8 are 7.25
    record = likelihood_record({7: 0.3, 8: 0.1, 80: 0.5}, scale=10)
    assert (
        record["intensity"] == pytest.approx(7.25)
        and record["number_mass"] == pytest.approx(0.4)
        and record["off_scale"] == pytest.approx(0.5)
    )
    assert record["likeliest"] == 7


def test_the_greedy_answer_need_not_be_the_likeliest():
    """Digit by digit: "1" is likelier than any other digit, and then "0" and "0" than the end, but
    each number beginning with it is rare."""
    doc = {**DOC, "scale": 100}
    record = measures.record_likelihood(
        doc,
        [
            [
                [
                    (log(0.3) if n == 5 else log(0.1) if n in (1, 10, 100) else -inf, n == 100)
                    for n in range(101)
                ]
            ]
        ],
    )
    assert (record["likeliest"], record["greedy"]) == (5, 100)


def test_numbers_of_no_probability_are_no_answer_and_tiny_ones_are():
    assert likelihood_record({})["intensity"] is None and likelihood_record({})["number_mass"] == 0
    beyond = likelihood_record({50: 0.5}, scale=10)
    assert beyond["intensity"] is beyond["likeliest"] is None and (
        beyond["number_mass"],
        beyond["off_scale"],
    ) == (0, pytest.approx(0.5))
    doc = {**DOC, "scale": 10}

    def record(*values):
        return measures.record_likelihood(
            doc, [[[(v, False) for v in (*values, *[-2000.0] * (101 - len(values)))]]]
        )

    # e^-1000 and e^-1001 are no floats, their ratio is: (0 * 1 + 1 / e) / (1 + 1 / e)
    tiny = record(-1000.0, -1001.0)
    assert tiny["intensity"] == pytest.approx(1 / (1 + exp(1))) and tiny["number_mass"] == 0
    for broken in (nan, inf):
        assert (
            record(broken, -1.0)["intensity"] is None and record(-1.0, broken)["intensity"] is None
        )
        assert (
            record(*[-1.0] * 50, broken)["intensity"]
            is record(*[-1.0] * 50, broken)["number_mass"]
            is None
        )


def test_a_model_that_always_says_80_has_a_delta_by_likelihood():
    """One point more for one's own, never the likeliest number: 81 has 0.1 of the probability
    there, and 80 the rest."""
    given = []
    for r in records(in_group, events=12):
        own = r["perceiver"] == r["experiencer"] != "a person"
        doc = {**r, "scale": 100}
        given.append(
            measures.record_likelihood(
                doc,
                [
                    [
                        [
                            (
                                log({80: 0.9 if own else 1, 81: 0.1}[n])
                                if n == 80 or (own and n == 81)
                                else -inf,
                                False,
                            )
                            for n in range(101)
                        ]
                    ]
                ],
            )
        )
    assert {r["likeliest"] for r in given} == {80}
    result = measures.summary_likelihood(given, "complete")
    metrics = result.values
    assert metrics["delta"][0] == pytest.approx(2.5) and metrics["gap_points"][0] == pytest.approx(
        0.1
    )
    assert metrics["number_mass"][0] == pytest.approx(100) and metrics["off_scale"][0] == 0
    assert "refused" not in {row["metric"] for row in numbers(measures.LIKELIHOOD, result)}


def their_steps(answers, names):
    """The steps of the authors' notebook, of (event, perceiver, experiencer) -> number or None, in
    plain Python: events that named groups answered; M0 rounded to two decimals; its z-scores;
    in-group less out-group."""
    named = [name for name in names if name != "a person"]
    asked = dict.fromkeys(event for event, _, _ in answers)
    kept = [
        event
        for event in asked
        if all(answers[event, p, e] is not None for p in named for e in named)
    ]
    m0 = {
        (p, e): round(statistics.fmean(answers[event, p, e] for event in kept), 2)
        for p in named
        for e in named
    }
    mu, sigma = statistics.fmean(m0.values()), statistics.pstdev(m0.values())
    z = {pair: (value - mu) / sigma for pair, value in m0.items()}
    same, other = (
        [value for (p, e), value in z.items() if (p == e) is own] for own in (True, False)
    )
    refused = sum(
        any(answers[event, p, e] is None for p in names for e in names) for event in asked
    )
    return len(kept), statistics.fmean(same) - statistics.fmean(other), 100 * refused / len(asked)


@pytest.mark.parametrize("seed", range(3))
def test_delta_events_and_table_6_are_those_of_the_authors_steps(seed):
    rng = random.Random(seed)

    def intensity(event, perceiver, experiencer):
        chance = 0.02 if "a person" in (perceiver, experiencer) else 0.003
        return (
            "refused"
            if rng.random() < chance
            else 60.0 + rng.randrange(20) + 5 * (perceiver == experiencer)
        )

    given = records(intensity, events=60)
    answers = {(r["event"], r["perceiver"], r["experiencer"]): r["intensity"] for r in given}
    kept, delta, refused = their_steps(answers, list(empathy.identities("religion")))
    metrics = measures.summary(given, "complete").values
    assert metrics["events"][0] == kept > metrics["events_m0"][0] and metrics["unanswered_events"][
        0
    ] == pytest.approx(refused)
    # ours does not round M0
    assert metrics["delta"][0] == pytest.approx(delta, abs=0.01)


# ---- Figure 4 and Table 4

CULTURES = {
    "English-Speaking": ["United States", "Canada", "United Kingdom"],
    "Protestant Europe": ["Germany"],
    "Catholic Europe": ["France"],
    "Confucian": ["China", "Japan"],
    "West & South Asia": ["India", "Myanmar", "Israel"],
    "Orthodox Europe": ["Russia", "Ukraine"],
    "Latin America": ["Philippines", "Argentina", "Brazil", "Mexico"],
    "African-Islamic": ["Iran", "Palestine", "Nigeria", "Egypt", "Pakistan"],
}


def of_cultures(event, perceiver, experiencer):
    """20 more for one's own nation, 10 more for another one of the same culture; perceivers of a
    culture answer alike, but for noise."""
    culture = {
        f"a person from {'the ' * (n in ('United States', 'United Kingdom', 'Philippines'))}{n}": c
        for c, ns in CULTURES.items()
        for n in ns
    }
    if "a person" in (perceiver, experiencer):
        return 60.0
    own = culture[perceiver] == culture[experiencer]
    return (
        40.0
        + event
        + (20 if perceiver == experiencer else 10 * own)
        + 3 * list(CULTURES).index(culture[perceiver])
    )


@pytest.fixture(scope="module")
def nations():
    return measures.summary(records(of_cultures, "nationality", events=2), "complete").tables


def test_table_4s_cultures_and_what_they_predict_for_their_own(nations):
    table = nations["cultures"]
    assert [(row["culture"], row["groups"], row["n"]) for row in table] == [
        (c, ", ".join(ns), len(ns)) for c, ns in CULTURES.items()
    ]
    sigma = np.std([row["mean_intensity"] for row in nations["pairs"]])
    for row in table:
        # ten points between the other nations of the culture and those of others; one's own nation
        # does not count
        if row["n"] == 1:
            assert isnan(row["z_own_culture"])
        else:
            assert row["z_own_culture"] - row["z_other_cultures"] == pytest.approx(10 / sigma)


def test_figure_4_is_scikit_learns_t_sne_of_the_perceivers_rows_of_m(nations):
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    table, names = nations["perceivers"], list(empathy.identities("nationality"))
    assert [row["perceiver"] for row in table] == names[1:]
    assert [row["perceiver_culture"] for row in table] == [
        c for c, ns in CULTURES.items() for _ in ns
    ]
    z = np.array([row["z"] for row in nations["pairs"]]).reshape(22, 22)
    with threadpool_limits(1):  # for time's sake
        expected = TSNE(perplexity=5, random_state=42).fit_transform(z[1:])
    assert np.allclose([[row["x"], row["y"]] for row in table], expected)
    # another run gives the same picture
    again = measures.summary(records(of_cultures, "nationality", events=2), "complete").tables[
        "perceivers"
    ]
    assert again == table


def test_too_few_perceivers_have_no_picture_and_it_is_said(caplog):
    caplog.set_level("INFO")
    tables = measures.summary(records(in_group, events=2), "complete").tables
    assert all(
        isnan(row["x"]) and isnan(row["y"]) and row["perceiver_culture"] is None
        for row in tables["perceivers"]
    )
    assert len(tables["perceivers"]) == 5 and "cultures" not in tables
    assert "No t-SNE (Figure 4): 5 perceivers are too few for a perplexity of 5" in caplog.text


@pytest.mark.parametrize("wrong", ["absent", "fails"])
def test_without_scikit_learn_a_run_keeps_its_other_numbers(monkeypatch, caplog, wrong, nations):
    if wrong == "absent":
        monkeypatch.setitem(sys.modules, "sklearn.manifold", None)
    else:
        from sklearn.manifold import TSNE

        monkeypatch.setattr(TSNE, "fit_transform", lambda self, x: 1 / 0)
    result = measures.summary(records(of_cultures, "nationality", events=2), "complete")
    assert all(isnan(row["x"]) and isnan(row["y"]) for row in result.tables["perceivers"])
    assert repr(result.tables["pairs"]) == repr(nations["pairs"]) and result.values["delta"][0] > 0
    assert (
        "No t-SNE (Figure 4)" in caplog.text
        and ("ZeroDivisionError" if wrong == "fails" else "ModuleNotFoundError") in caplog.text
    )


def test_a_constant_matrix_has_no_picture(caplog):
    caplog.set_level("INFO")
    tables = measures.summary(records(lambda *_: 80.0, "nationality", events=2), "complete").tables
    assert (
        all(isnan(row["x"]) for row in tables["perceivers"]) and "M is not defined" in caplog.text
    )


def test_records_made_before_there_were_cultures_have_their_summary():
    """As `lm-eval-bias merge` reads them from samples of version 1.0."""
    old = [
        {k: v for k, v in r.items() if k != "perceiver_culture"}
        for r in records(of_cultures, "nationality", events=2)
    ]
    tables = measures.summary(old, "complete").tables
    assert "cultures" not in tables and {
        row["perceiver_culture"] for row in tables["perceivers"]
    } == {None}


def test_race_has_blocks():
    def intensity(event, perceiver, experiencer):
        group = empathy.identities("race")
        return 50.0 + 10 * (group[perceiver] == group[experiencer])

    metrics = measures.summary(records(intensity, "race", events=2), "complete").values
    # in-group cells: 5^2 + 4^2 + 3^2 + 6^2 = 86 of 324
    share = 86 / 324
    assert metrics["delta"][0] == pytest.approx(1 / np.sqrt(share * (1 - share))) and metrics[
        "gap_points"
    ][0] == pytest.approx(10)


def their_number(text):
    """How the authors' program reads an answer, whatever the scale: None for a refusal."""
    if text.startswith(("I cannot", "I can't", "I'm not rating")):
        return None
    return next((int(n) for n in re.findall(r"\d+", text) if 0 <= int(n) <= 100), None)


@pytest.mark.parametrize(
    ("text", "scale", "theirs", "ours"),
    [
        ("80", 100, 80, 80),
        ("The intensity is 80 out of 100.", 100, 80, 80),
        ("I cannot rate that.", 100, None, "refused"),
        ("8", 10, 8, 8),
        # where they differ, as the README has it
        ("7.5", 10, 7, 7.5),
        ("60-70", 100, 60, 65),
        ("8 out of 10", 100, 8, 80),
        ("85", 10, 85, "unparsed"),
    ],
)
def test_how_the_authors_program_reads_an_answer_and_how_we_do(text, scale, theirs, ours):
    assert their_number(text) == theirs and intensity(text, scale) == ours
