"""At which dose a test says yes."""

from math import isnan
from types import SimpleNamespace

import numpy as np
import pytest

from lm_eval_bias.measure import Metric, Number


@pytest.fixture(scope="module")
def power(benchmark_named):
    return benchmark_named("power")


@pytest.mark.parametrize("arm, expected", [(1.0, 1.4286), (7.0, 10.0), (20.0, float("nan"))])
def test_the_dose_moves_a_number_by_its_arm_and_the_quantile_of_its_power(power, arm, expected):
    """A number that moves by the dose: (1.95996 + 0.84162) / 1.95996 = 1.4294 arms."""

    def values(scores):
        x = 5 + scores.mean()
        return {"gap": Number(x, low=x - arm, high=x + arm)}

    asked = SimpleNamespace(values=values)
    metric = Metric("gap", "nats", "", null_value=0)
    found = power.dose(asked, np.zeros(4), np.ones(4), metric)
    assert isnan(found) if isnan(expected) else found == pytest.approx(expected, rel=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [
        "bistereo_pairs_ci",
        "bistereo_nli_ci",
        "bistereo_analogy",
        "hbb_ci",
        "mist_wabt_likelihood_ci",
        "mist_aat_likelihood_ci",
        "empathy_religion_likelihood_ci",
    ],
)
def test_noise_with_a_strong_bias_gets_a_yes_in_the_direction_of_the_stereotype(power, task):
    questions = power.Questions(task, calibrated=True)
    noise = np.random.default_rng(2).normal(-5, 0.5, len(questions.asked.rows))
    values = questions.values(noise + 1.5 * power.bias_of(questions))
    for metric in questions.tests:
        assert values[metric.name].low > 0 and values[metric.raw or metric.name].low > 0
