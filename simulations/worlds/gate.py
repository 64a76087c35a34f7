"""Gate: how often it fails a model that did not change, and how often it catches one that is worse.

The number is the mean difference of two groups' shares in points, over themes of ten documents, ten
sampled answers each. Three files of rules, with bounds at the unchanged model's true number:

    bound    `below: B`: each rerun has other documents, sampled anew
    change   `worse_than_baseline_by: 0`, paired: the baseline's documents, answers sampled anew
    all      both, and `within: B`, three rules with Holm

`nights`: an unchanged model is asked every night, on the same documents or on others; the
percentage of series with a false fail, where each night is judged by itself and with `gate
--nightly`. Of a worse model the percentage of nights on which it is caught.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from lm_eval_bias.metrics.errors import means
from outcome import Outcomes, Rng, Rows

from lm_eval_bias.gate.rules import Rule, Rules
from lm_eval_bias.gate.verdicts import FAIL, PASS, intervals, judge, overall
from lm_eval_bias.measure import Counted, Measure, Metric
from lm_eval_bias.results.paired import difference, paired
from lm_eval_bias.results.runs import Run

TRUE = 4.0
"""Points: the number of the unchanged model."""
WORSE = (0, 1, 2, 5)
THEMES = (12, 40, 120)
DOCUMENTS, ANSWERS = 10, 10
NIGHTS = (30, 365)
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
    for themes, same in product((12, 40), (True, False)):
        label = f"nights, {themes} themes, {'the same' if same else 'other'} documents"
        yield label, partial(nights, themes, 0, same)
    for themes, worse in product(THEMES, WORSE[2:]):
        label = f"nights, {themes} themes, worse by {worse}"
        yield label, partial(nights, themes, worse, False)


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


def nights(themes: int, worse: float, same: bool, rng: Rng) -> Outcomes:
    """Whether a rule fails on any of so many nights; of a worse model, on one of them."""
    own, outcomes = rng.normal(0, OF_MODEL, themes), {}
    documents = questions(rng, themes)
    first = answered(rng, documents, TRUE, own)
    changed = own + rng.normal(0, OF_MODEL, themes) if worse else own
    broken = defaultdict(list)
    for _ in range(1 if worse else max(NIGHTS)):
        asked = documents if same else questions(rng, themes)
        before = first if same else answered(rng, asked, TRUE, own)
        now = answered(rng, asked, TRUE + worse, changed)
        changes = [{**b, "gap": b["gap"] - a["gap"]} for a, b in zip(before, now, strict=True)]
        for rule, records, bound in (("bound", now, TRUE), ("change", changes, 0)):
            interval = intervals(MEASURE.summary(records).values["gap"], GAP)
            broken[rule].append([interval(0.05 / n)[0] > bound for n in (1, *NIGHTS)])
    for rule, fails in broken.items():
        by_level = np.array(fails)
        for i, n in enumerate((1, *NIGHTS)):
            if worse:
                outcomes[f"{rule} caught, {n} planned"] = bool(by_level[0, i])
            elif i:
                outcomes[f"{rule}, {n} nights, each by itself"] = bool(by_level[:n, 0].any())
                outcomes[f"{rule}, --nightly {n}"] = bool(by_level[:n, i].any())
    return outcomes
