"""Compare: do intervals of a paired difference hold what they promise?

In `noise`, `shared` and `own` two models are drawn alike, so every p below 0.05 is a false alarm;
in `style` the second has other margins, in `refuses` it leaves out a fifth of the questions, and
the true difference is the mean of all experiments.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import isnan, nan
from typing import Any, NamedTuple

import numpy as np
from outcome import Outcome, Outcomes, Rng, Rows, drawn
from worlds.hbb import asked

from lm_eval_bias.benchmarks.bistereo import nli_measure
from lm_eval_bias.benchmarks.empathy import measure as empathy
from lm_eval_bias.benchmarks.hbb import measure as hbb
from lm_eval_bias.measure import Measure
from lm_eval_bias.results.paired import difference, paired

Records = Iterator[dict[str, Any]]


class World(NamedTuple):
    """Standard deviations of what questions do to both models and to each, and of chance."""

    shared: float
    own: float
    chance: float
    scale: float = 1.0
    refuses: float = 0.0


WORLDS = {
    "noise": World(0, 0, 1),
    "shared": World(1, 0, 0.5),
    "own": World(0.5, 1, 0.5),
    "style": World(1, 0.5, 0.5, scale=1.6),
    "refuses": World(1, 0.5, 0.5, refuses=0.2),
}


class Model:
    def __init__(self, shared: Mapping[Any, float], rng: Rng, world: World) -> None:
        self.shared, self.rng, self.world = shared, rng, world
        self.own = drawn(rng, world.own)

    def effect(self, *name: Any) -> float:
        return self.world.scale * (self.shared[name] + self.own[name])

    def chance(self) -> float:
        return self.world.scale * self.rng.normal(0, self.world.chance)

    def declines(self, part: float = 1.0) -> bool:
        return self.rng.random() < self.world.refuses * part


def hbb_records(model: Model, clusters: int) -> Records:
    """Two concept pairs per theme; two types of two identities and two placebo types."""
    types = {"placebo 1": "EF", "Race": "AB", "Age": "CD", "placebo 2": "GH"}
    for record in asked(np.arange(2 * clusters) // 2, types, (1, 2)):
        if record["first"] == 1:
            place = [record[key] for key in ("theme", "type", "identity")]
            log_odds = (0.2 if record["placebo"] else 1.0) * model.effect(*place) + model.chance()
        sign = 1 if record["first"] == 1 else -1
        answer = sign * log_odds + 0.3 + 0.3 * model.chance()
        odds = None if model.declines() else answer
        yield {**record, "log_odds": odds, "letter_mass": 0.9}


def nli_records(model: Model, clusters: int) -> Records:
    """Wordings of looks and of behaviour; as many words, 34 at most, in four categories."""
    kinds = {"looks": ("pretty", "ugly"), "behaviour": ("kind", "cruel")}
    same = {"variant": 0, "gender": "women", "paper": True, "placebo": False, "words": "fair"}
    words = range(max(3, min(34, clusters) // 4))
    for domain, wording in product(kinds, range(clusters // 2)):
        for category, word in product(kinds[domain], words):
            lean = 0.3 * (model.effect(domain, wording) + model.effect(category, word))
            for descriptor, sign in (("fair", 1), ("dark", -1)):
                x = sign * lean + model.chance() - 0.3
                answer = "entailment" if x > 0 else "neutral" if x > -0.8 else "contradiction"
                yield same | {
                    "wording": f"{domain}{wording}",
                    "domain": domain,
                    "descriptor": descriptor,
                    "favoured": descriptor == "fair",
                    "category": category,
                    "effect": "halo" if category == kinds[domain][0] else "horn",
                    "attribute": f"{category}{word}",
                    "direction": "forward",
                    "answer": "refused" if model.declines() else answer,
                }


def empathy_records(model: Model, clusters: int) -> Records:
    names = {"a person": None, "an A": "A", "a B": "B", "a C": "C", "a D": "D"}
    pairs = [*product(names, names), *product(("an X", "a Y", "a Z"), repeat=2)]
    same = {"perceiver_culture": None, "placebos": 3, "refused": False}
    for event, (p, e) in product(range(clusters), pairs):
        lean = 3 * model.effect("level", event) + model.chance()
        lean += 0.5 * (len(p) % 3 + ord(e[-1]) % 4)  # the same of both models
        if names.get(p) is not None and p == e:
            lean += 1 + model.effect("gap", event)
        yield same | {
            "event": f"event {event}",
            "emotion": "joy" if event % 2 else "fear",
            "valence": "positive" if event % 2 else "negative",
            "perceiver": p,
            "perceiver_group": names.get(p, p),
            "experiencer": e,
            "experiencer_group": names.get(e, e),
            "placebo": p not in names,
            "intensity": None if model.declines(1 / 50) else 50 + 5 * lean,
        }


class Task(NamedTuple):
    measure: Measure
    records: Callable[[Model, int], Records]
    options: dict[str, Any]
    numbers: Sequence[str]


TASKS = {
    "hbb": Task(
        hbb.HBB,
        hbb_records,
        {"order": "both", "threshold": 20.0, "temperature": 0.8},
        (
            "biased_share",
            "bias_score",
            "mean_difference",
            "excess_log_odds",
            "log_odds_difference",
            "position_preference",
        ),
    ),
    "bistereo_nli": Task(nli_measure.NLI, nli_records, {}, ("non_neutral", "halo_gap", "horn_gap")),
    "empathy": Task(
        empathy.GENERATED,
        empathy_records,
        {"missing": "complete"},
        ("delta", "gap_points", "gap_beyond_repetition"),
    ),
}


def rows() -> Rows:
    for name, clusters, label in product(TASKS, (6, 8, 12, 24), WORLDS):
        drawn = partial(experiment, TASKS[name], WORLDS[label], clusters)
        yield f"{name}, {clusters} clusters, {label}", drawn


def experiment(task: Task, world: World, clusters: int, rng: Rng) -> Outcomes:
    shared = drawn(rng, world.shared)
    alike = world._replace(scale=1.0, refuses=0.0)
    models = [Model(shared, rng, of_model) for of_model in (alike, world)]
    first, second = (list(task.records(model, clusters)) for model in models)
    both = paired(task.measure, [first, second], task.options)
    outcomes: dict[str, Outcome | float] = {}
    for name in task.numbers:
        d = difference(*both, (name, None))
        outcomes[name] = Outcome(
            d.low, d.high, 0.0 if world == alike else nan, d.difference, d.stderr
        )
        if world == alike:
            outcomes[f"{name}, false alarms"] = nan if isnan(d.p) else d.p < 0.05
    return outcomes
