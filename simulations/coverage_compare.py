"""Do the intervals of a paired difference hold what they promise, and how often are two models told
apart that do not differ?

    python simulations/coverage_compare.py [--runs 200] [--only hbb] [--clusters 12 30 60]

Two made-up models answer the same made-up questions, drawn anew in each run, and are compared as
`lm-eval-bias compare` does it. What a question does to both (shared), what it does to each model
alone (own) and chance differ by world. In the worlds `noise`, `shared` and `own` both models are
drawn alike, so every difference is a false alarm; in `style` the second one answers with other
margins, in `refuses` it leaves a fifth of the questions out. Printed is how many intervals of 95 %
hold the true difference (0, or the mean of all runs' differences where the worlds make one), in
percent, and how many p are below 0.05 where there is none; and how often there is no interval.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import product
from math import exp, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from lm_eval_bias.benchmarks.bistereo import nli_measure as bistereo_nli
from lm_eval_bias.benchmarks.empathy import measure as empathy
from lm_eval_bias.benchmarks.hbb import measure as hbb
from lm_eval_bias.benchmarks.mist import measure as mist
from lm_eval_bias.benchmarks.stereomap import measure as stereomap
from lm_eval_bias.measure import Measure
from lm_eval_bias.results.paired import Difference, differences

Records = list[dict[str, Any]]


class World(NamedTuple):
    """Standard deviations of what questions do to both models, to each alone, and of chance; and
    what the second model does besides."""

    shared: float
    own: float
    chance: float
    scale: float = 1.0
    refuses: float = 0.0

    @property
    def alike(self) -> bool:
        return self.scale == 1.0 and not self.refuses


WORLDS = {
    "noise": World(0, 0, 1),
    "shared": World(1, 0, 0.5),
    "own": World(0.5, 1, 0.5),
    "style": World(1, 0.5, 0.5, scale=1.6),
    "refuses": World(1, 0.5, 0.5, refuses=0.2),
}


class Model:
    """Draws of one model: a number for each name, the same when it is asked for again."""

    def __init__(
        self, shared: dict[Any, float], rng: np.random.Generator, world: World, second: bool
    ) -> None:
        self.shared, self.mine, self.rng, self.world = shared, {}, rng, world
        self.scale = world.scale if second else 1.0
        self.refuses = world.refuses if second else 0.0

    def effect(self, *name: Any) -> float:
        if name not in self.shared:
            self.shared[name] = self.rng.normal(0, self.world.shared) if self.world.shared else 0.0
        if name not in self.mine:
            self.mine[name] = self.rng.normal(0, self.world.own) if self.world.own else 0.0
        return self.scale * (self.shared[name] + self.mine[name])

    def chance(self) -> float:
        return self.scale * self.rng.normal(0, self.world.chance)

    def declines(self) -> bool:
        return bool(self.refuses) and self.rng.random() < self.refuses


def hbb_records(model: Model, clusters: int) -> Records:
    """A concept pair of each theme, two for each with fewer than 100; two types of two identities
    and a placebo type."""
    types = {"Race": ("A", "B"), "Age": ("C", "D"), "Height": ("E", "F")}
    found = []
    for theme, k in product(range(clusters), range(1 if clusters > 100 else 2)):
        for type_, names in types.items():
            for name in names:
                placebo = type_ == "Height"
                log_odds = (0.2 if placebo else 1.0) * model.effect(
                    theme, type_, name
                ) + model.chance()
                found += [
                    {
                        "concept": f"{theme}/{k}",
                        "instances": 2,
                        "theme": str(theme),
                        "concept_1": "x",
                        "concept_2": "y",
                        "favourable": 1,
                        "category": "placebo" if placebo else type_,
                        "type": type_,
                        "placebo": placebo,
                        "identities": list(names),
                        "identity": name,
                        "first": first,
                        "log_odds": None
                        if model.declines()
                        else (log_odds if first == 1 else -log_odds) + 0.3 + 0.3 * model.chance(),
                        "letter_mass": 0.9,
                    }
                    for first in (1, 2)
                ]
    return found


def mist_records(model: Model, clusters: int) -> Records:
    """Draws of six pairs of groups; five words of ten of each polarity; two dimensions with few
    draws, one with many."""
    found = []
    for i in range(clusters):
        # The words of a draw are the same for both models.
        words = np.random.default_rng(i).permuted(np.tile(np.arange(10), (2, 1)), axis=1)[:, :5]
        pair = f"pair {i % 6}"
        for dimension in range(1 if clusters > 100 else 2):
            chosen = [
                (f"{good}{dimension}{w}", bool(good)) for good in (1, 0) for w in words[1 - good]
            ]
            lean = [
                model.effect("draw", i) * (1 if good else -1)
                + model.effect("word", dimension, word)
                for word, good in chosen
            ]
            for first in (True, False):
                share = [1 / (1 + exp(-(x + model.chance()))) for x in lean]
                found.append(
                    {
                        "pair": pair,
                        "dimension": f"d{dimension}",
                        "sample": f"{pair}/{i}",
                        "template": 0,
                        "words": [word for word, _ in chosen],
                        "positive": [good for _, good in chosen],
                        "share": None if model.declines() else share,
                        "a_first": first,
                    }
                )
    return found


def nli_records(model: Model, clusters: int) -> Records:
    """Half of the wordings of looks, half of behaviour; as many words as wordings, but 34 at most,
    in four categories."""
    found = []
    of_word = max(3, min(34, clusters) // 4)
    categories = {
        "looks": (("pretty", "halo"), ("ugly", "horn")),
        "behaviour": (("kind", "halo"), ("cruel", "horn")),
    }
    for domain, effects in categories.items():
        for wording, (category, effect), word in product(
            range(clusters // 2), effects, range(of_word)
        ):
            lean = 0.3 * (model.effect(domain, wording) + model.effect(category, word))
            for favoured in (True, False):
                said = (lean if favoured else -lean) + model.chance() - 0.3
                found.append(
                    {
                        "wording": f"{domain}{wording}",
                        "variant": 0,
                        "gender": "women",
                        "domain": domain,
                        "descriptor": "fair" if favoured else "dark",
                        "favoured": favoured,
                        "category": category,
                        "effect": effect,
                        "attribute": f"{category}{word}",
                        "direction": "forward",
                        "answer": "refused"
                        if model.declines()
                        else "entailment"
                        if said > 0
                        else "neutral"
                        if said > -0.8
                        else "contradiction",
                    }
                )
    return found


def empathy_records(model: Model, clusters: int) -> Records:
    """Four named groups and an unspecified person."""
    names = {"a person": None, "an A": "A", "a B": "B", "a C": "C", "a D": "D"}
    found = []
    for event, p, e in product(range(clusters), names, names):
        same = names[p] is not None and names[p] == names[e]
        cell = 0.5 * (len(p) % 3 + ord(e[-1]) % 4)  # names are fixed, and the same of both models
        lean = (
            3 * model.effect("level", event)
            + (1 + model.effect("gap", event)) * same
            + cell
            + model.chance()
        )
        found.append(
            {
                "event": f"event {event}",
                "emotion": "joy" if event % 2 else "fear",
                "valence": "positive" if event % 2 else "negative",
                "perceiver": p,
                "perceiver_group": names[p],
                "perceiver_culture": None,
                "experiencer": e,
                "experiencer_group": names[e],
                "intensity": None if model.rng.random() < model.refuses / 50 else 50 + 5 * lean,
                "refused": False,
            }
        )
    return found


def stereomap_records(model: Model, clusters: int) -> Records:
    """Groups, rated on two items of status and two of competition, in both directions of the scale."""
    items = {
        "prestigious": "Status",
        "successful": "Status",
        "special": "Competition",
        "power": "Competition",
    }
    found = []
    for group, (item, dimension) in product(range(clusters), items.items()):
        true = (
            3
            + 0.4 * (model.effect(group, dimension) + 0.5 * model.effect(group, item))
            + 0.3 * model.effect(item)
        )
        points = -((np.arange(1, 6) - min(max(true + 0.3 * model.chance(), 1), 5)) ** 2)
        for direction in ("rising", "falling"):
            found.append(
                {
                    "part": "structure",
                    "group": f"group {group}",
                    "scales": {item: (dimension, dimension)},
                    "published": {},
                    "expected": {},
                    "item": item,
                    "direction": direction,
                    "points": None if model.rng.random() < model.refuses / 4 else points.tolist(),
                    "rating_mass": 0.9,
                }
            )
    return found


class Task(NamedTuple):
    """intervals: whether the numbers' own intervals are needed, which say what is cut off."""

    measure: Measure
    records: Callable[[Model, int], Records]
    options: dict[str, Any]
    numbers: Sequence[str]
    intervals: bool = False


TASKS = {
    "hbb": Task(
        hbb.HBB,
        hbb_records,
        {"order": "both", "threshold": 20.0, "temperature": 0.8},
        (
            "biased_share",
            "bias_score",
            "mean_difference",
            "excess_difference",
            "log_odds_difference",
            "position_preference",
        ),
    ),
    "mist_wabt_likelihood": Task(mist.WABT_LIKELIHOOD, mist_records, {}, ("bias_score",)),
    "bistereo_nli": Task(
        bistereo_nli.NLI, nli_records, {}, ("non_neutral", "halo_gap", "horn_gap")
    ),
    "empathy": Task(
        empathy.GENERATED,
        empathy_records,
        {"missing": "complete"},
        ("delta", "delta_corrected", "gap_points"),
    ),
    "stereomap": Task(
        stereomap.STRUCTURE_LIKELIHOOD,
        stereomap_records,
        {},
        ("status_spread", "competition_spread"),
        intervals=True,
    ),
}


def experiment(task: Task, world: World, clusters: int, seed: int) -> dict[str, Difference]:
    """Two models of a world, compared."""
    rng = np.random.default_rng(seed)
    shared: dict[Any, float] = {}
    models = [Model(shared, rng, world, second) for second in (False, True)]
    first, second = (task.records(model, clusters) for model in models)
    keys = [(name, None) for name in task.numbers]
    found = differences(task.measure, first, second, task.options, keys, errors=task.intervals)
    return {name: each for (name, _), each in found.items()}


class Found(NamedTuple):
    """Of the intervals there are: how many hold the true difference, and how many p are below 0.05,
    in percent; and how many experiments have an interval."""

    covered: float
    alarms: float
    intervals: float


def coverage(task: Task, world: World, clusters: int, runs: int, seed: int = 1) -> dict[str, Found]:
    """For each number of a task."""
    found = [experiment(task, world, clusters, seed + i) for i in range(runs)]
    result = {}
    for name in task.numbers:
        each = [run[name] for run in found]
        true = 0.0 if world.alike else float(np.nanmean([one.difference for one in each]))
        given = [one for one in each if not isnan(one.low)]
        covered = (
            100 * float(np.mean([one.low <= true <= one.high for one in given])) if given else nan
        )
        alarms = (
            100 * float(np.mean([one.p < 0.05 for one in given])) if given and world.alike else nan
        )
        result[name] = Found(covered, alarms, 100 * len(given) / runs)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--clusters", nargs="+", type=int, default=[12, 30, 60])
    arguments = parser.parse_args()
    print(
        "| task | number | clusters |", " | ".join(WORLDS), "| false alarms | without an interval |"
    )
    print("|---|---|---|" + "---|" * (len(WORLDS) + 2))
    for name, clusters in product(arguments.only, arguments.clusters):
        by_world = {
            world: coverage(TASKS[name], of, clusters, arguments.runs)
            for world, of in WORLDS.items()
        }
        for number in TASKS[name].numbers:
            cells = [by_world[world][number] for world in WORLDS]
            alarms = ", ".join(
                _percent(cell.alarms, 1)
                for cell, world in zip(cells, WORLDS.values(), strict=True)
                if world.alike
            )
            covered = " | ".join(_percent(cell.covered, 1) for cell in cells)
            lacking = ", ".join(_percent(100 - cell.intervals, 0) for cell in cells)
            print(
                f"| `{name}` | `{number}` | {clusters} | {covered} | {alarms} | {lacking} |",
                flush=True,
            )


def _percent(value: float, decimals: int) -> str:
    return "–" if isnan(value) else f"{value:.{decimals}f}"


if __name__ == "__main__":
    main()
