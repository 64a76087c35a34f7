"""How often `lm-eval-bias gate` fails a model that did not change, and how often it catches one
that became worse.

    python simulations/gate.py

A document asks about two groups, ten sampled answers each; the number is the mean difference of the
two shares in points, over themes of ten documents. Documents and themes draw the two groups apart,
for all models alike, and each model adds its own by theme. Three files of rules, each with its
bound at the true number of the unchanged model, where a false alarm is most frequent:

    bound    `below: B`: each rerun has other documents, sampled anew
    change   `worse_than_baseline_by: 0`, paired: the baseline's documents, answers sampled anew
    all      both, and `within: B`, three rules with Holm
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lm_eval_bias.metrics.crossed import Clustering, crossed_mean

from lm_eval_bias.gate.rules import Rule, Rules
from lm_eval_bias.gate.verdicts import FAIL, PASS, Change, judge
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


def summary(records: Sequence[Mapping[str, Any]], **_: Any) -> Summary:
    """The mean, and Student's interval over themes."""
    themes, nothing = [record["theme"] for record in records], [0] * len(records)
    mean = crossed_mean([r["gap"] for r in records], nothing, Clustering(themes, nothing))
    number = Number(mean.value, mean.stderr, mean.low, mean.high, len(set(themes)))
    return Summary({"gap": number})


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
    return [{"theme": int(t), "gap": float(g)} for t, g in zip(theme, gaps, strict=True)]


def run_of(records: Sequence[Mapping[str, Any]], name: str) -> Run:
    """What a results file has of them."""
    n, place = len(records), Path(name)
    return Run(
        name,
        name,
        "twins",
        "1",
        None,
        {},
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
    runs = parser.parse_args().runs
    print(f"Percent of {runs:,} reruns that fail, and in brackets that pass\n")
    worse = " | ".join(f"worse by {points}" for points in WORSE[1:])
    print(f"| rules | documents (themes) | unchanged | {worse} |")
    print("| --- | --- | --- | --- | --- | --- |")
    for themes in THEMES:
        counts = [simulated(runs, themes, points) for points in WORSE]
        for name in RULES:
            cells = [
                f"{100 * of[name][0] / runs:.1f} ({100 * of[name][1] / runs:.1f})" for of in counts
            ]
            print(f"| `{name}` | {themes * DOCUMENTS:,} ({themes}) | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
