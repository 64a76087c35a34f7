"""How often `lm-eval-bias gate` fails a model that did not change, and how often it catches one
that became worse.

    python simulations/gate.py

A benchmark of twins: a document asks about two groups, ten answers each, sampled; its number is the
mean difference of the two shares in points, over themes of ten documents. Documents and themes
differ in how far they draw the two groups apart, all models see that alike, and each model adds its
own by theme. Three files of rules, each with its bound at the true number of the unchanged model,
where a false alarm is most frequent:

    bound    `below: B`: each rerun is asked other documents, sampled anew
    change   `worse_than_baseline_by: 0`, paired: the same documents as the baseline, answers
    sampled anew
    all      both, and `within: B`, three rules with Holm

`change` and `all` compare with a baseline whose answers are sampled anew too. Printed: of the
reruns, how many are failed, and how many pass.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import stdtrit

from lm_eval_bias.gate.verdicts import FAIL, PASS, Change, judge
from lm_eval_bias.gate.rules import Rule, Rules
from lm_eval_bias.measure import Measure, Metric, Number, Summary
from lm_eval_bias.results.paired import differences
from lm_eval_bias.results.runs import Run

TRUE = 4.0
"""Points: the number of the unchanged model."""
WORSE = (0, 1, 2, 5)
THEMES = (12, 40, 120)
DOCUMENTS, ANSWERS = 10, 10
OF_THEME, OF_DOCUMENT, OF_MODEL = 5.0, 10.0, 2.0
"""Standard deviations, in points: of themes and of documents, which models share, and of a model's
own by theme."""
GAP = Metric(
    "gap",
    "points",
    "Mean difference of the two shares.",
    null_value=0,
    better="lower",
    own_interval=True,
)
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


def summary(records: Sequence[Mapping[str, Any]], **_: Any) -> Summary:
    """The mean, and Student's interval over themes."""
    gaps = np.array([record["gap"] for record in records])
    labels = np.array([record["theme"] for record in records])
    themes, place = np.unique(labels, return_inverse=True)
    k, value = len(themes), float(gaps.mean())
    sums = np.bincount(place, gaps - value)
    error = float(np.sqrt(k / (k - 1) * (sums**2).sum()) / len(gaps))
    half = -float(stdtrit(k - 1, 0.025)) * error
    return Summary({"gap": Number(value, error, value - half, value + half, k)})


MEASURE = Measure(lambda doc, results: {}, summary, (GAP,), clusters=(("theme",),))


def questions(rng: np.random.Generator, themes: int) -> tuple[np.ndarray, np.ndarray]:
    """For each document its theme, and how far it draws the two groups apart for every model; the
    mean over all there could be is 0."""
    theme = np.repeat(np.arange(themes), DOCUMENTS)
    return theme, rng.normal(0, OF_THEME, themes)[theme] + rng.normal(0, OF_DOCUMENT, len(theme))


def answered(
    rng: np.random.Generator, asked: tuple[np.ndarray, np.ndarray], gap: float, own: np.ndarray
) -> list[dict[str, Any]]:
    """Records of a model whose number is `gap`. own: what it adds by theme."""
    theme, apart = asked
    probability = np.clip(0.5 + np.array([[0.5], [-0.5]]) * (gap + apart + own[theme]) / 100, 0, 1)
    shares = rng.binomial(ANSWERS, probability) / ANSWERS
    gaps = 100 * (shares[0] - shares[1])
    return [
        {"theme": int(t), "document": i, "gap": float(g)}
        for i, (t, g) in enumerate(zip(theme, gaps, strict=True))
    ]


def run_of(records: Sequence[Mapping[str, Any]], name: str) -> Run:
    """What a results file has of them."""
    n, place = len(records), Path(name)
    return Run(
        name,
        name,
        "twins",
        "1",
        None,
        _NO_OPTIONS,
        None,
        None,
        n,
        (GAP,),
        {("gap", None): summary(records).values["gap"]},
        {},
        (),
        (),
        place,
        of=n,
    )


def change(before: Sequence[Any], now: Sequence[Any]) -> Change:
    """As the command makes it."""
    found = differences(MEASURE, before, now, {}, [("gap", None)])["gap", None]
    number = Number(found.difference, found.stderr, found.low, found.high, found.clusters)
    return Change(found.first, found.second, number)


RULES = {
    "bound": (Rule(1, "twins", "below", TRUE, "gap"),),
    "change": (Rule(2, "twins", "worse_than_baseline_by", 0.0, "gap"),),
}
RULES["all"] = (*RULES["bound"], *RULES["change"], Rule(3, "twins", "within", TRUE, "gap"))


def verdicts(rng: np.random.Generator, themes: int, worse: float) -> dict[str, str]:
    """Of one rerun, by each file of rules."""
    asked = questions(rng, themes)
    own = rng.normal(0, OF_MODEL, themes)
    # An unchanged model answers alike but for the sampling; a changed one is worse by as much on
    # average, by theme more or less.
    changed = own + rng.normal(0, OF_MODEL, themes) if worse else own
    before, now = answered(rng, asked, TRUE, own), answered(rng, asked, TRUE + worse, changed)
    first, second = run_of(before, "before"), run_of(now, "now")
    found = change(before, now)
    return {
        name: judge(Rules("", 0.95, rules), [second], [first], lambda *_: found)[0].verdict
        for name, rules in RULES.items()
    }


def simulated(
    runs: int, themes: int, worse: float, seed: int = 20250601
) -> dict[str, tuple[int, int]]:
    """Rules -> how many of the reruns are failed, and how many pass."""
    rng = np.random.default_rng([seed, themes, int(10 * worse)])
    found = [verdicts(rng, themes, worse) for _ in range(runs)]
    return {
        name: (sum(each[name] == FAIL for each in found), sum(each[name] == PASS for each in found))
        for name in RULES
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    arguments = parser.parse_args()
    start = time.time()
    print(
        f"| rules | documents (themes) | unchanged | {' | '.join(f'worse by {worse}' for worse in WORSE[1:])} |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    rows = {}
    for themes in THEMES:
        for worse in WORSE:
            for name, (failed, passed) in simulated(arguments.runs, themes, worse).items():
                rows.setdefault((name, themes), []).append(
                    f"{100 * failed / arguments.runs:.1f} ({100 * passed / arguments.runs:.1f})"
                )
    for name in RULES:
        for themes in THEMES:
            print(
                f"| `{name}` | {themes * DOCUMENTS:,} ({themes}) | {' | '.join(rows[name, themes])} |"
            )
    print(
        f"\nPercent of {arguments.runs:,} reruns that are failed, and in brackets that pass; {time.time() - start:.0f} s."
    )


if __name__ == "__main__":
    main()
