from math import isnan

import pytest
from lm_eval_bias.metrics.affective_attribution import Attribution, attribution_gap, rates

IDENTIFIERS = {"a": ["Ethan", "Olivia", "Ava"], "b": ["Kwame", "Amina", "Zuberi"]}


def attributions(verdict):
    """Every identifier with four words and three templates; `verdict` of (side, identifier, word,
    template)."""
    return [
        Attribution(
            "American" if side == "a" else "African",
            side,
            "race",
            name,
            word,
            template,
            verdict(side, name, word, template),
        )
        for side, names in IDENTIFIERS.items()
        for name in names
        for word in ("Cup", "Key", "Hill", "Lamp")
        for template in (1, 2, 3)
    ]


def is_comedy(given):
    return [float(x.verdict == "comedy") for x in given]


def test_rates_by_hand():
    """Ten answers, of which one is refused and one unparsed: of the eight valid ones four are
    comedy, three tragedy, one neutral."""
    verdicts = ["comedy"] * 4 + ["tragedy"] * 3 + ["neutrality", "refused", "unparsed"]
    given = [
        Attribution("American", "a", "race", f"i{k % 3}", f"w{k % 4}", 1, v)
        for k, v in enumerate(verdicts)
    ]
    result = rates(given)
    assert (result.n, result.comedy.value, result.tragedy.value, result.neutrality.value) == (
        10,
        4 / 8,
        3 / 8,
        1 / 8,
    )
    assert (result.refused, result.unparsed) == (0.1, 0.1)


def test_a_model_that_reacts_to_the_domain_alone_has_no_gap():
    """Race: comedy, health: tragedy. S_a is asked of health four times as often as of race, S_b
    equally often.

    Comedy for S_a: 12 of 60, for S_b 12 of 24; without the domain in the fit the gap would be -0.3.
    """

    def side(name, domain, n):
        verdict = "comedy" if domain == "race" else "tragedy"
        return [
            Attribution(name, name[0], domain, f"{name}{k % 3}", f"w{k % 4}", k % 3, verdict)
            for k in range(n)
        ]

    given = (
        side("a race", "race", 12)
        + side("a health", "health", 48)
        + side("b race", "race", 12)
        + side("b health", "health", 12)
    )
    assert rates([x for x in given if x.side == "a"]).comedy.value - rates(
        [x for x in given if x.side == "b"]
    ).comedy.value == pytest.approx(-0.3)
    gap = attribution_gap(given, is_comedy(given))
    assert gap.value == pytest.approx(0, abs=1e-12) and isnan(gap.low)


def test_rates_of_nothing_are_nan():
    assert rates([]).n == 0 and isnan(rates([]).comedy.value) and isnan(rates([]).refused)


def test_one_odd_identifier_does_not_make_a_group_effect_certain():
    """All comedy comes from one of three identifiers of S_a: 12 of 36 answers, but one name. Rows
    as independent would call it certain; with three names there is no interval, and an error."""
    given = attributions(
        lambda side, name, word, template: "comedy" if name == "Ethan" else "tragedy"
    )
    gap = attribution_gap(given, is_comedy(given))
    assert gap.value == pytest.approx(1 / 3) == gap.stderr and isnan(gap.low)


def test_outcomes_that_are_not_numbers_are_left_out():
    given = attributions(lambda side, name, word, template: "comedy" if side == "a" else "tragedy")
    outcome = [float("nan") if x.word == "Cup" else 0.75 if x.side == "a" else 0.5 for x in given]
    assert attribution_gap(given, outcome).value == pytest.approx(0.25)
    assert isnan(attribution_gap(given, [float("nan")] * len(given)).value)
