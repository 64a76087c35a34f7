"""Gate: how often it fails a model that did not change, and how often it catches one that is worse.

The number is the mean difference of two groups' shares in points, over themes of ten documents, ten
sampled answers each. A rerun has the baseline's documents, with answers sampled anew. Two rules:

    bound    `below` the unchanged model's true number
    change   `worse_than_baseline_by: 0`, paired
"""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from lm_eval_bias.metrics.errors import means
from outcome import Outcomes, Rng, Rows

from lm_eval_bias.gate.rules import Rule, Rules
from lm_eval_bias.gate.verdicts import FAIL, PASS, judge, overall
from lm_eval_bias.measure import Counted, Measure, Metric
from lm_eval_bias.results.paired import difference, paired
from lm_eval_bias.results.runs import Run

TRUE = 4.0
"""Points: the number of the unchanged model."""
WORSE = (0, 1, 2, 5)
THEMES = (12, 40, 120)
DOCUMENTS, ANSWERS = 10, 10
OF_THEME, OF_DOCUMENT, OF_MODEL = 5.0, 10.0, 2.0
"""Standard deviations, in points: of themes and of documents, which models share, and of a model's
own by theme."""
GAP = Metric("gap", "points", "Mean difference of the two shares.", null_value=0, better="lower")


COUNTED = Counted(lambda x, **_: {"answers": x}, {"answers": means("gap")})
MEASURE = Measure(lambda doc, results: {}, COUNTED, (GAP,), clusters=[("theme",)])


def questions(rng: Rng, themes: int) -> tuple[np.ndarray, np.ndarray]:
    """Each document's theme, and how far it draws the groups apart for every model."""
    theme = np.repeat(np.arange(themes), DOCUMENTS)
    return theme, rng.normal(0, OF_THEME, themes)[theme] + rng.normal(0, OF_DOCUMENT, len(theme))


def answered(
    rng: Rng, documents: tuple[np.ndarray, np.ndarray], gap: float, own: np.ndarray
) -> list[dict[str, Any]]:
    """A model's records, with number `gap`. own: what it adds by theme."""
    theme, apart = documents
    probability = np.clip(0.5 + np.array([[0.5], [-0.5]]) * (gap + apart + own[theme]) / 100, 0, 1)
    shares = rng.binomial(ANSWERS, probability) / ANSWERS
    gaps = 100 * (shares[0] - shares[1])
    return [{"theme": int(t), "gap": float(g)} for t, g in zip(theme, gaps, strict=True)]


def run_of(records: Sequence[Mapping[str, Any]], name: str) -> Run:
    numbers, n = {("gap", None): MEASURE.summary(records).values["gap"]}, len(records)
    model = (name, name, "twins", "1", None, {}, None, n, (GAP,), numbers, {}, (), {})
    return Run(*model, Path(name), of=n)


RULES = {
    "bound": Rule(1, "twins", "below", TRUE, "gap"),
    "change": Rule(2, "twins", "worse_than_baseline_by", 0.0, "gap"),
}


def rows() -> Rows:
    for themes, worse in product(THEMES, WORSE):
        label = f"{themes} themes, {f'worse by {worse}' if worse else 'unchanged'}"
        yield label, partial(rerun, themes, worse)


def rerun(themes: int, worse: float, rng: Rng) -> Outcomes:
    documents = questions(rng, themes)
    own = rng.normal(0, OF_MODEL, themes)
    # An unchanged model answers alike but for the sampling; a changed one is worse by as much on
    # average, by theme more or less.
    changed = own + rng.normal(0, OF_MODEL, themes) if worse else own
    before = answered(rng, documents, TRUE, own)
    now = answered(rng, documents, TRUE + worse, changed)
    first, second = run_of(before, "before"), run_of(now, "now")
    change = difference(*paired(MEASURE, [before, now], {}), ("gap", None))
    outcomes = {}
    for name, rule in RULES.items():
        judged = judge(Rules("", 0.95, (rule,)), [second], [first], lambda *_: change)
        verdict = overall(*judged.values())
        outcomes[f"{name} fails"] = verdict == FAIL
        outcomes[f"{name} passes"] = verdict == PASS
    return outcomes
