"""StereoSet: lms, ss, icat and log-odds, where target terms are the sample.

Each term has its own share of examples that prefer the stereotype, and of comparisons that the
unrelated sentence loses.
"""

from functools import partial

from lm_eval_bias.metrics.context_association import icat
from outcome import Outcomes, Rng, Rows, reported

from lm_eval_bias.benchmarks.stereoset.measure import SENTENCES

EXAMPLES = 26
RELATED = 0.85
SPREAD = 10.0  # of terms' beta distributions the parameters' sum: shares stray by 0.15 around 50 %


def rows() -> Rows:
    for terms in (80, 20):
        for ss in (50, 55, 60, 75):
            yield f"{terms} terms, ss {ss}", partial(experiment, terms, ss)


def experiment(terms: int, ss: float, rng: Rng) -> Outcomes:
    examples = []
    pro = rng.beta(SPREAD * ss / 100, SPREAD * (1 - ss / 100), terms)
    related = rng.beta(SPREAD * RELATED, SPREAD * (1 - RELATED), terms)
    for t in range(terms):
        n = max(1, rng.poisson(EXAMPLES))
        won = (rng.random((n, 2)) < related[t]).sum(axis=1)
        for prefers, comparisons in zip(rng.random(n) < pro[t], won, strict=True):
            # The two sentences that make sense stand at 1 and 2; the unrelated one below, between
            # or above them.
            likelihoods = [*((2.0, 1.0) if prefers else (1.0, 2.0)), (3.0, 1.5, 0.0)[comparisons]]
            place = {"target": f"{t:03}", "example": len(examples), "bias_type": "all", "longer": 0}
            examples.append({**place, "likelihoods": likelihoods, "lengths": [1, 1, 1]})
    values = SENTENCES.summary(examples, per="sentence").values
    true = {"lms": 100 * RELATED, "ss": ss, "icat": float(icat(100 * RELATED, ss))}
    true["stereotype_log_odds"] = ss / 50 - 1  # 1 where preferred, else -1
    return {name: reported(values[name], value) for name, value in true.items()}
