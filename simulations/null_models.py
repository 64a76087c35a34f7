"""What do models say that cannot hold a stereotype? All tasks of CI, asked of many of them.

    python simulations/null_models.py                         # every family and task
    python simulations/null_models.py --families echo noise --tasks hbb_ci --models 40
    python simulations/null_models.py --tasks bbq crows_pairs_english --include_path FOLDER

FOLDER may have YAMLs that read the data of the harness's tasks from local files.

A family is a function in families.py. Each model has a strength of its own: the standard deviation
of its log-odds, from 0.2 to 1.5 nats. A run replaces the families it asks in null_models.json and
leaves the others; from all of them it estimates the systematic error of each test
(lm_eval_bias/benchmarks/systematic_errors.json) and writes docs/explanation/null_models.md.
"""

import argparse
import gc
import hashlib
import json
import logging
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby
from math import nan
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from families import FAMILIES, Answer, Asked, standard, word_count
from lm_eval.tasks import TaskManager
from lm_eval_bias.metrics.errors import NORMAL, Floats, with_systematic
from scipy.stats import binom, binomtest, chi2

from lm_eval_bias import __version__, catalogue
from lm_eval_bias.exhibit import Column, Exhibit, Rows as Table, intervals
from lm_eval_bias.figures.draw import svg
from lm_eval_bias.harness.scoring import COUNT, PAIR, how_of
from lm_eval_bias.harness.sentence_pairs import modified
from lm_eval_bias.likelihoods import Likelihood
from lm_eval_bias.measure import CHECK, ByMetric, Measure, Metric, Number, Record, summarise
from lm_eval_bias.results.verdict import excluded

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).with_suffix(".json")
ERRORS = ROOT / "lm_eval_bias/benchmarks/systematic_errors.json"
PAGE = ROOT / "docs/explanation/null_models.md"
PICTURE = PAGE.with_suffix(".svg")
TEMPLATE = Path(__file__).with_suffix(".md")
SEED = 20260601
STRENGTH = 0.2, 1.5
"""Standard deviation of the log-odds in nats, drawn for each model, logarithms evenly."""
NOISE = 0.1
"""Noise of each prompt, in parts of the strength."""
LEVEL = 0.05
MODELS, FEWEST = 100, 10
"""Models of each family; and how many need an interval for an estimate."""
COMMON = "all others"
"""The families that have no systematic error of their own, together."""
Rows = Sequence[Sequence[float]]
"""A number of each model of a family, as `numbers_of` has it."""
OfFamily = Mapping[str, Rows]
Errors = Mapping[str, list[float]]
"""Family -> mean and limit of a systematic error that widens an interval (`Fit`)."""
Shares = Mapping[str, tuple[int, int]]
"""Family -> how many of its models pass a test, and of how many."""


class Sampled(NamedTuple):
    """A task that reads answers in words. choices: document -> possible answers. read: (document,
    the choices drawn) -> what a reader makes of them."""

    choices: Callable[[Any], Sequence[str]]
    read: Callable[[Any, list[str]], Any] = lambda doc, drawn: drawn[0]


SAMPLED = {
    "hbb_generate_ci": Sampled(lambda doc: ["a", "b"]),
    "bistereo_nli_generate_ci": Sampled(lambda doc: ["entailment", "contradiction", "neutral"]),
    "bistereo_analogy_generate": Sampled(lambda doc: doc["options"]),
    "mist_wabt_ci": Sampled(
        lambda doc: [f"({word}, {group})" for word in doc["words"] for group in doc["groups"]],
        lambda doc, drawn: [doc["groups"].index(t.strip("()").split(", ")[1]) for t in drawn],
    ),
    "mist_aat_ci": Sampled(lambda doc: ["comedy", "tragedy"]),
    "empathy_religion_ci": Sampled(
        lambda doc: [str(n) for n in range(0, 101, 5)], lambda doc, drawn: float(drawn[0])
    ),
}
TASKS = (
    "bistereo_pairs_ci",
    "bistereo_nli_ci",
    "bistereo_analogy",
    "hbb_ci",
    "mist_wabt_likelihood_ci",
    "mist_aat_likelihood_ci",
    "empathy_religion_likelihood_ci",
    *SAMPLED,
)
HALVES = {"bbq": ("bbq_ambig", "bbq_disambig")}
"""Tasks of the harness whose documents are some of another's."""
HARNESS = ("crows_pairs_english", "crows_pairs_french", *HALVES)


class Questions:
    """A task's documents with all answers that are scored, or drawn by likelihood."""

    def __init__(
        self, name: str, calibrated: bool = False, include_path: str | None = None
    ) -> None:
        self.of_harness = name in HARNESS
        folders = [catalogue.tasks_folder(), *filter(None, [include_path])]
        manager = TaskManager(include_path=folders, include_defaults=self.of_harness)
        self.task = manager.load([name])["tasks"][name]
        self.sampled = SAMPLED.get(name)
        self.task.build_all_requests()
        own: Measure = catalogue.task(name).measure
        self.tests = [metric for metric in own.metrics if metric.question]
        plain = {"by": None} if calibrated else {"by": None, "systematic": ()}
        self.measure = own._replace(  # what tests nothing takes most of the time
            metrics=[metric._replace(**plain) for metric in own.metrics],
            tabled=[metric._replace(by=None) for metric in own.tabled],
            counted=own.counted._replace(tables=None),
        )
        self.documents: list[tuple[Any, list[Any], slice]] = []
        rows: list[Answer] = []
        counted = (r for r in self.task.instances if not r.doc.get(CHECK))
        for _, of_document in groupby(counted, attrgetter("doc_id")):
            requests, start = list(of_document), len(rows)
            doc = requests[0].doc
            if self.of_harness:
                doc = self.measure.record(doc, self.sample(doc, [0.0] * len(requests)))
            cluster = " ".join(str(doc[c]) for c in self.measure.clusters[0])
            choices = self.sampled.choices(doc) if self.sampled else ()
            rows += rows_of(requests, cluster, rows[-1].group + 1 if rows else 0, choices)
            self.documents.append((requests[0].doc, requests, slice(start, len(rows))))
        self.asked = Asked(rows)

    def records(self, scores: Floats) -> list[Record]:
        """scores: log-likelihoods, shape (answers,), or with noise a row for each draw."""
        records: list[Record] = []
        for doc, requests, place in self.documents:
            if self.sampled:
                answers = [self.sampled.read(doc, self.best(place, draw)) for draw in scores]
            elif self.of_harness:
                answers = self.sample(doc, scores[place].tolist())
            else:
                values = iter(scores[place].tolist())
                answers = [answer(r, values, self.asked.count) for r in requests]
            records.append(self.measure.record(doc, answers))
        return records

    def sample(self, doc: Any, scores: list[float]) -> dict[str, Any]:
        """What the harness stores of the answers."""
        answers = [(score, False) for score in scores]
        return {**self.task.process_results(doc, answers), "filtered_resps": answers}

    def best(self, place: slice, scores: Floats) -> list[str]:
        """The likeliest of the answers that compete, of each group in a document's."""
        rising = [self.asked.rows[place][i] for i in np.argsort(scores[place])]
        best = {row.group: row.continuation.strip() for row in rising}
        return [best[group] for group in sorted(best)]

    def values(self, scores: Floats) -> ByMetric:
        """The numbers of a model with these scores."""
        options = getattr(self.task, "_options", {})
        return summarise(self.measure, self.records(scores), options).values

    def sha256(self) -> str:
        text = json.dumps([doc for doc, *_ in self.documents], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


questions_of = lru_cache(maxsize=1)(Questions)


def rows_of(requests: list[Any], cluster: str, group: int, choices: Sequence[str]) -> list[Answer]:
    """The answers that a document's requests score, or choices of which one is drawn."""
    doc, first = requests[0].doc, requests[0]
    if PAIR in how_of(first):
        rows = []
        for place, r in enumerate(requests):
            sentence, spans = r.args[0], modified(*r.args[:2])
            text = " ".join(sentence[a:b] for a, b in spans)
            context = sentence
            for a, b in reversed(spans):
                context = context[:a] + context[b:]
            rows.append(Answer(group, "", sentence, context, text, text, cluster, place))
        return rows
    plan = first.args[1]
    if first.request_type == "conversation" and "turns" in plan:
        prompt = "\n".join([plan["system"] or "", *(turn["user"] for turn in plan["turns"])])
        choices = choices or plan["turns"][-1]["choices"]
    else:
        prompt = first.args[0]
    scored = [(prompt, " " + choice) for choice in choices] or [r.args[:2] for r in requests]
    rows = []
    several = isinstance(doc.get("words"), list)
    answers = [text.strip() for _, text in scored]
    numbers = "adjective" in doc or all(text.isdigit() for text in answers)
    for place, (prompt, continuation) in enumerate(scored):
        context, text, key = prompt, answers[place], answers[place]
        at = place % 2 if several else place
        if not prompt:  # two sentences that differ in some words, in no order
            (context, key), at = shared(text, scored[1 - place][1]), 0
        if several and text[0] != "(":  # a sentence about a word, with either group
            begun, text = shared(text, answers[place ^ 1])
            context, key = f"{prompt} {begun}", text
        if "option_a" in doc:
            context, text = doc["context"], doc[f"option_{key}"]
            key = doc["concept_1" if (key == "a") == (doc["first"] == 1) else "concept_2"]
        x = 2 * place / (len(scored) - 1) - 1 if numbers else nan
        known = -x if doc.get("direction") == "falling" else x
        rated = group + place // 2 if several else group
        rows.append(Answer(rated, prompt, continuation, context, text, key, cluster, at, x, known))
    return rows


def shared(sentence: str, other: str) -> tuple[str, str]:
    """The words that the other sentence has, too, and those that it has not."""
    words, of_other = sentence.split(), other.split()
    blocks = SequenceMatcher(None, words, of_other, autojunk=False).get_matching_blocks()
    same = [i for block in blocks for i in range(block.a, block.a + block.size)]
    own = [i for i in range(len(words)) if i not in same]
    return " ".join(words[i] for i in same) or sentence, " ".join(words[i] for i in own)


def answer(request: Any, values: Any, count: Callable[[str], int]) -> Any:
    """What the measure gets for a request; takes its scores from an iterator. count: of tokens."""
    if request.request_type == "conversation":
        turns = request.args[1]["turns"]
        return [*[""] * (len(turns) - 1), [(next(values), False) for _ in turns[-1]["choices"]]]
    prompt, continuation, *_ = request.args
    if COUNT in how_of(request):
        return Likelihood(next(values), False, count(continuation), count(prompt))
    return next(values), False


def scores_of(questions: Questions, family: str, model: int) -> Floats:
    task, asked = questions.task.config, questions.asked
    rng = np.random.default_rng([SEED, model, crc32(f"{family} {task.task}".encode())])
    strength = np.exp(rng.uniform(*np.log(STRENGTH)))
    asked.count = word_count  # of the model before it
    raw = asked.centred(np.asarray(FAMILIES[family](rng, asked), dtype=float))
    noise = NOISE * FAMILIES["noise"](rng, asked)
    # log-odds are differences of two; the likeliest with Gumbel noise is a draw
    scores = -5 + strength / np.sqrt(2) * (standard(raw) + noise)
    if not questions.sampled:
        return scores
    return scores + rng.gumbel(size=(task.repeats, len(scores)))


def numbers_of(questions: Questions, family: str, models: int) -> dict[str, Rows]:
    """Metric -> a row for each model: of a test, and of what it is before placebos are taken off,
    the distance from the null value, the length of its interval on that side and its clusters."""
    table = defaultdict(list)
    for model in range(models):
        values = questions.values(scores_of(questions, family, model))
        for metric in questions.tests:
            for name in filter(None, (metric.name, metric.raw)):
                null_value = questions.measure.metric(name).null_value or 0.0
                table[name].append(row_of(values[name], null_value))
    return table


def row_of(number: Number, null_value: float) -> list[float]:
    away = number.value - null_value
    arm = number.value - number.low if away >= 0 else number.high - number.value
    return [rounded(away), rounded(arm), number.clusters or 0]


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def run(
    task: str, family: str, models: int, include_path: str | None
) -> tuple[str, dict[str, Any]]:
    logging.disable(logging.WARNING)
    gc.disable()  # a third of the time, and nothing to collect
    questions, begun = questions_of(task, include_path=include_path), time.time()
    table = numbers_of(questions, family, models)
    print(f"{task}, {family}: {time.time() - begun:.0f} s", flush=True)
    of_task = {"documents": len(questions.documents), "sha256": questions.sha256()}
    return task, {**of_task, "numbers": {name: {family: rows} for name, rows in table.items()}}


# ---- The systematic error of a test


class Fit(NamedTuple):
    """A family's systematic error, in standard deviations between clusters: mean, spread, the
    spread's upper 95 % limit, and whether it is more than chance."""

    mean: float
    spread: float
    limit: float
    found: bool


def fit(values: Floats, errors: Floats, tests: int = 1) -> Fit:
    """N(mean, spread²) beside each value's own standard error, by maximum likelihood; the mean is 0
    unless it is significant. tests: how many are fitted, at 5 % together. Source: Schuemie and
    others, doi 10.1002/sim.5925; the limit is that of the profile."""
    spreads = (3 * np.abs(values).max() + errors.max()) * np.linspace(0, 1, 400) ** 2
    variance = errors**2 + spreads[:, None] ** 2
    logs = np.log(variance)

    def likelihood(means: Floats) -> Floats:
        return -0.5 * (logs + (values - means[:, None]) ** 2 / variance).sum(1)

    means = (values / variance).sum(1) / (1 / variance).sum(1)
    moved, centred = likelihood(means), likelihood(0 * means)
    level = 1 - LEVEL / tests
    found = 2 * (moved.max() - centred[0]) > chi2.ppf(level, 2)
    if 2 * (moved.max() - centred.max()) <= chi2.ppf(level, 1):
        means, moved = 0 * means, centred
    best = int(moved.argmax())
    limit = spreads[moved >= moved[best] - chi2.ppf(1 - 2 * LEVEL, 1) / 2].max()
    return Fit(*map(rounded, (means[best] + 0.0, spreads[best], limit)), bool(found))


def standardised(rows: Rows) -> tuple[Floats, Floats]:
    """Values and errors in standard deviations between clusters, which are alike for strong and
    weak models, and for few and many documents."""
    away, arm, clusters = np.array([row for row in rows if row[1] > 0 and row[2] > 1]).T
    return NORMAL * away / arm / np.sqrt(clusters), 1 / np.sqrt(clusters)


def systematic(metric: Metric, rows: OfFamily) -> tuple[Errors, dict[str, Errors]]:
    """The systematic errors of a test; those that look like chance are one, `COMMON`. Then those
    without each family."""
    every = {f: standardised(r) for f, r in rows.items() if sum(x[1] > 0 for x in r) >= FEWEST}
    fits = {f: fit(*both, tests=len(every)) for f, both in every.items()}

    def known(without: str = "") -> Errors:
        alike = [every[f] for f, own in fits.items() if not own.found and f != without]
        both = [np.concatenate(column) for column in zip(*alike, strict=True)]
        own = {f: x for f, x in fits.items() if x.found and f not in (*metric.confounds, without)}
        widening = {COMMON: fit(*both), **own} if both else own
        return {f: [x.mean, x.limit] for f, x in widening.items()}

    return known(), {family: known(family) for family in rows}


def passing(
    metric: Metric, rows: Rows, people: Rows | None = None, errors: Sequence[list[float]] = ()
) -> tuple[int, int]:
    """(models that pass a test, of how many). people: rows before placebos are taken off. errors:
    as in `Errors`."""
    metric, passed = metric._replace(null_value=0.0), []
    for (away, arm, clusters), (raw, of_raw, _) in zip(rows, people or rows, strict=True):
        if arm > 0 and of_raw > 0:
            ends = away - arm, away + arm
            low, high, _ = with_systematic(away, ends, clusters, errors)
            side = excluded(metric, float(low), float(high))
            passed.append(side == excluded(metric, raw - of_raw, raw + of_raw) != 0)
    return sum(passed), len(passed)


def merged(old: dict[str, Any], task: str, new: dict[str, Any]) -> None:
    """Replace the families of one run, unless they had the same models and more; and everything if
    the documents are others."""
    known = old["tasks"].get(task)
    if known is None or known["sha256"] != new["sha256"]:
        old["tasks"][task] = new
        return
    for metric, families in new["numbers"].items():
        before = known["numbers"].setdefault(metric, {})
        for family, rows in families.items():
            if repr(before.get(family, [])[: len(rows)]) != repr(rows):  # nan is not nan
                before[family] = rows


class Tested(NamedTuple):
    """A test: its systematic errors, and how many models pass with the sample's interval, and where
    the other families gave the errors."""

    task: str
    metric: Metric
    rows: OfFamily
    errors: Errors
    own: Shares
    others: Shares


def judged(data: dict[str, Any]) -> Iterator[Tested]:
    for task, known in data["tasks"].items():
        numbers = known["numbers"]
        for metric in catalogue.task(task).measure.metrics:
            if metric.question is None or metric.name not in numbers:
                continue
            rows = numbers[metric.name]
            people = {**rows, **numbers.get(metric.raw, {})}
            errors, without = systematic(metric, rows)
            yield Tested(
                task,
                metric,
                rows,
                errors,
                {f: passing(metric, r, people[f]) for f, r in rows.items()},
                {f: passing(metric, r, people[f], [*without[f].values()]) for f, r in rows.items()},
            )


def often(metric: Metric, shares: Shares) -> list[str]:
    """The families of which significantly more than 5 % pass, confounds aside."""
    return [
        family
        for family, (passed, n) in shares.items()
        if family not in metric.confounds and binom.sf(passed - 1, n, LEVEL) <= LEVEL / len(shares)
    ]


def total(metric: Metric, shares: Shares) -> tuple[int, int]:
    return np.sum([x for f, x in shares.items() if f not in metric.confounds], axis=0)


def percent(metric: Metric, shares: Shares) -> str:
    """Of all models but confounds, and of each family of `often`."""
    passed, n = total(metric, shares)
    named = of_families(shares, often(metric, shares))
    return f"{100 * passed / n:.1f}" + f" ({named})" * bool(named)


def of_families(shares: Shares, families: Sequence[str]) -> str:
    shown = [(f, *shares[f]) for f in families if shares.get(f, (0, 0))[1]]
    return ", ".join(f"{f} {100 * passed / n:.0f}" for f, passed, n in shown)


def page(tests: Sequence[Tested]) -> str:
    families = [f"- {name}: {' '.join((f.__doc__ or '').split())}" for name, f in FAMILIES.items()]
    lines, counts = [], set()
    for task, metric, rows, errors, own, others in tests:
        clusters = max(row[2] for row in rows["noise"])
        ends = with_systematic(0, (-1, 1), clusters, [*errors.values()])[:2]
        longer = " and ".join(dict.fromkeys(f"{abs(end):.2f}" for end in ends))
        named = ", ".join(name for name in errors if name != COMMON) or "none"
        confounds = of_families(own, metric.confounds) or "none"
        alone, beside = (percent(metric, shares) for shares in (own, others))
        cells = [f"`{task}` `{metric.name}`", alone, named, longer, beside, confounds]
        lines.append(f"| {' | '.join(cells)} |")
        counts |= {len(r) for r in rows.values()}
    low, high = STRENGTH
    return TEMPLATE.read_text(encoding="utf-8").format(
        data=f"[{DATA.name}](../../{DATA.relative_to(ROOT)})",
        low=low,
        high=high,
        seed=SEED,
        models=" to ".join(map(str, sorted(counts)[:: max(len(counts) - 1, 1)])),
        families="\n".join(families),
        tests="\n".join(lines),
    )


SHOWN = Exhibit(
    "Models without meaning that pass a test",
    "All families but confounds, with 95 % intervals.",
    Table("shares"),
    [Column("test", "Test"), Column("interval", "Interval"), Column("share", "Models", "%")],
    "",
    "",
    figure=intervals("share", "test", reference=100 * LEVEL)._replace(
        colour="interval", null="by chance"
    ),
)


def figure(tests: Sequence[Tested]) -> str:
    rows, names = [], [test.task for test in tests]
    for test in tests:
        for name, shares in (("the sample's", test.own), ("with systematic errors", test.others)):
            passed, n = total(test.metric, shares)
            ends = binomtest(passed, n).proportion_ci()
            row = {
                "test": test.task + f" {test.metric.name}" * (names.count(test.task) > 1),
                "interval": name,
                "share": 100 * passed / n,
                "share_low": 100 * ends.low,
                "share_high": 100 * ends.high,
            }
            rows.append(row)
    drawn = svg(SHOWN, rows, name="null-models", heading=SHOWN.name)
    return drawn.replace("<svg ", '<svg style="background:white" ', 1)  # a page may be dark


def written(data: dict[str, Any]) -> None:
    tests, errors = list(judged(data)), defaultdict(dict)
    for test in tests:
        for task in (test.task, *HALVES.get(test.task, ())):
            errors[task][test.metric.name] = test.errors
    ERRORS.write_text(as_text(errors), encoding="utf-8")
    PAGE.write_text(page(tests), encoding="utf-8")
    PICTURE.write_text(figure(tests), encoding="utf-8")


def as_text(data: dict[str, Any]) -> str:
    """JSON with a line for each metric and family."""
    text = json.dumps(data, indent=1, ensure_ascii=False)
    for inner in (r"\[[^][]*\]", r"\[\s*\[[^\n]*(?:\n\s*\[[^\n]*)*\n\s*\]"):
        text = re.sub(inner, lambda m: re.sub(r"\s+", " ", m[0]), text)
    return text.replace("[ ", "[").replace(" ]", "]") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=(*TASKS, *HARNESS), default=TASKS)
    parser.add_argument(
        "--families", nargs="+", choices=FAMILIES, metavar="FAMILY", default=FAMILIES
    )
    parser.add_argument("--models", type=int, default=MODELS, help=f"of each family ({MODELS})")
    parser.add_argument("--include_path", metavar="FOLDER")
    arguments = parser.parse_args()
    data = json.loads(DATA.read_text()) if DATA.exists() else {"version": __version__, "tasks": {}}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(run, task, family, arguments.models, arguments.include_path)
            for task in arguments.tasks
            for family in arguments.families
        ]
        for job in as_completed(jobs):
            merged(data, *job.result())
            DATA.write_text(as_text(data), encoding="utf-8")
    written(data)


if __name__ == "__main__":
    main()
