"""What do models say that cannot hold a stereotype? All tasks of CI, asked of many of them.

    python simulations/null_models.py                         # every family and task
    python simulations/null_models.py --quick                 # QUICK, of the tasks by likelihood
    python simulations/null_models.py --families echo noise --tasks hbb_ci --models 40
    python simulations/null_models.py --rules docs/examples/ci/bias.yaml   # QUICK, judged by these

A family is a function in families.py. Each model has a strength of its own: the standard deviation
of its log-odds, from 0.2 to 1.5 nats. A run replaces the families it asks in
lm_eval_bias/benchmarks/null_models.json and leaves the others, then writes
docs/explanation/null_models.md.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from importlib.metadata import version
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from families import FAMILIES, Asked, Row, word_count
from lm_eval.tasks import TaskManager
from scipy.stats import binom

from lm_eval_bias import catalogue
from lm_eval_bias.gate.rules import read as read_rules
from lm_eval_bias.gate.verdicts import judge
from lm_eval_bias.harness.sentence_pairs import modified
from lm_eval_bias.measure import CHECK, Measure, Metric, Record, Summary, summarise
from lm_eval_bias.results.paired import Difference, differences
from lm_eval_bias.results.runs import Run
from lm_eval_bias.results.verdict import excluded

ROOT = Path(__file__).parents[1]
DATA = ROOT / "lm_eval_bias/benchmarks/null_models.json"
PAGE = ROOT / "docs/explanation/null_models.md"
TEMPLATE = Path(__file__).with_suffix(".md")
SEED = 20260601
STRENGTH = 0.2, 1.5
"""Standard deviation of the log-odds in nats, drawn for each model, logarithms evenly."""
NOISE = 0.1
"""Noise of each prompt, in parts of the strength."""
LEVEL, AT_MOST = 0.05, 7
MODELS = 40
QUICK = ("random_weights", "echo", "bag_of_words", "bag_of_words_pooled", "noise")
"""The families that any change of a task should be asked of, in a few minutes."""


class Sampled(NamedTuple):
    """A task that reads answers in words. documents: how many are asked. choices: document -> what
    the answer may be. read: (document, the choices drawn) -> what a reader makes of them."""

    documents: int
    choices: Callable[[Any], Sequence[str]]
    read: Callable[[Any, list[str]], Any] = lambda doc, drawn: drawn[0]


SAMPLED = {
    "bistereo_nli_generate": Sampled(2084, lambda doc: ["entailment", "contradiction", "neutral"]),
    "bistereo_analogy_generate": Sampled(3070, lambda doc: doc["options"]),
    "mist_wabt": Sampled(
        500,
        lambda doc: [f"({word}, {group})" for word in doc["words"] for group in doc["groups"]],
        lambda doc, drawn: [doc["groups"].index(t.strip("()").split(", ")[1]) for t in drawn],
    ),
    "mist_aat": Sampled(480, lambda doc: ["comedy", "tragedy"]),
    "empathy_religion": Sampled(
        1464, lambda doc: [str(n) for n in range(0, 101, 5)], lambda doc, drawn: float(drawn[0])
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
    "stereomap_extended_likelihood",
    *SAMPLED,
)


class Questions:
    """A task's documents with all answers that are scored, or drawn by their likelihood."""

    def __init__(self, name: str) -> None:
        manager = TaskManager(include_path=[catalogue.tasks_folder()], include_defaults=False)
        self.task = manager.load([name])["tasks"][name]
        self.sampled = SAMPLED.get(name)
        limit = self.sampled.documents if self.sampled else None
        self.task.build_all_requests(rank=0, world_size=1, limit=limit)
        self.measure: Measure = self.task.measure
        self.documents: list[tuple[Any, list[Any], slice]] = []
        rows: list[Row] = []
        of_document: dict[int, list[Any]] = {}
        for request in self.task.instances:
            if not request.doc.get(CHECK):
                of_document.setdefault(request.doc_id, []).append(request)
        for requests in of_document.values():
            start = len(rows)
            cluster = " ".join(str(requests[0].doc[c]) for c in self.measure.clusters[0])
            choices = self.sampled.choices(requests[0].doc) if self.sampled else ()
            rows += rows_of(requests, cluster, rows[-1].group + 1 if rows else 0, choices)
            self.documents.append((requests[0].doc, requests, slice(start, len(rows))))
        self.asked = Asked(rows)

    def records(self, scores: np.ndarray) -> list[Record]:
        """scores: log-likelihoods, shape (answers,), to which `drawn` added noise."""
        records: list[Record] = []
        for doc, requests, place in self.documents:
            if self.sampled:
                best: dict[int, tuple[float, str]] = {}
                for row, score in zip(self.asked.rows[place], scores[place], strict=True):
                    best[row.group] = max(best.get(row.group, (-np.inf, "")), (score, row.text))
                answers = [self.sampled.read(doc, [text for _, text in best.values()])]
            else:
                values = iter(scores[place].tolist())
                answers = [answer(r, values, self.asked.count) for r in requests]
            records.append(self.measure.record(doc, answers))
        return records

    def summary(self, records: list[Record]) -> Summary:
        if any(metric.question for metric in self.measure.metrics):
            return summarise(self.measure, records, self.task._options)
        return self.measure.summary(records, errors=False, **self.task._options)

    def sha256(self) -> str:
        text = json.dumps([doc for doc, *_ in self.documents], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


questions_of = lru_cache(maxsize=1)(Questions)


def rows_of(
    requests: list[Any], cluster: str, group: int, choices: Sequence[str] = ()
) -> list[Row]:
    """The answers that a document's requests score, or choices among which one is drawn."""
    doc, first = requests[0].doc, requests[0]
    if first.request_type == "pair_loglikelihood":
        rows = []
        for place, r in enumerate(requests):
            sentence, spans = r.args[0], modified(*r.args)
            text = " ".join(sentence[a:b] for a, b in spans)
            context = sentence
            for a, b in reversed(spans):
                context = context[:a] + context[b:]
            rows.append(Row(group, "", sentence, context, text, text, cluster, place))
        return rows
    if first.request_type == "conversation":
        plan = first.args[1]
        turns = [turn["user"] for turn in plan["turns"]]
        prompt = "\n".join([plan["system"] or "", *turns])
        scored = [(prompt, " " + choice) for choice in choices or plan["turns"][-1]["choices"]]
    elif choices:
        scored = [(first.args[0], " " + choice) for choice in choices]
    else:
        scored = [r.args for r in requests]
    rows = []
    several = isinstance(doc.get("words"), list)
    answers = [text.strip() for _, text in scored]
    numbers = all(text.isdigit() for text in answers)
    for place, (prompt, continuation) in enumerate(scored):
        context, text, key, x = prompt, continuation.strip(), continuation.strip(), None
        if "option_a" in doc:
            context, text = doc["context"], doc[f"option_{key}"]
            key = doc["concept_1" if (key == "a") == (doc["first"] == 1) else "concept_2"]
        if numbers:
            x = 2 * place / (len(scored) - 1) - 1
        sign = -1 if doc.get("direction") == "falling" else 1
        known = None if x is None else sign * x
        rated = group + place // 2 if several else group
        at = place % 2 if several else place
        rows.append(Row(rated, prompt, continuation, context, text, key, cluster, at, x, known))
    return rows


def answer(request: Any, values: Any, count: Callable[[str], int]) -> Any:
    """What the measure gets for a request; takes its scores from an iterator. count: of tokens."""
    if request.request_type == "conversation":
        turns = request.args[1]["turns"]
        return [*[""] * (len(turns) - 1), [(next(values), False) for _ in turns[-1]["choices"]]]
    if request.request_type == "pair_loglikelihood":
        return next(values), None, "joint"
    if request.request_type == "loglikelihood_and_tokens":
        prompt, continuation = request.args
        return next(values), False, count(continuation), count(prompt)
    return next(values), False


def scores_of(family: str, task: str, asked: Asked, model: int) -> np.ndarray:
    """The log-likelihoods of one model."""
    rng = np.random.default_rng([SEED, model, crc32(f"{family} {task}".encode())])
    strength = np.exp(rng.uniform(*np.log(STRENGTH)))
    asked.count = word_count  # of the model before it
    raw = asked.centred(np.asarray(FAMILIES[family](rng, asked), dtype=float))
    spread = raw.std()
    scaled = raw / spread if spread > 1e-9 else raw
    noise = NOISE * FAMILIES["noise"](rng, asked)
    # log-odds are differences of two; the likeliest with Gumbel noise is a draw
    scores = -5 + strength / np.sqrt(2) * (scaled + noise)
    return scores + rng.gumbel(size=len(scores)) * (task in SAMPLED)


def numbers_of(questions: Questions, family: str, models: int) -> dict[str, list[Any]]:
    """metric -> models with a value, mean, 2.5th and 97.5th percentile, percent that exclude the
    null value."""
    task, table = questions.task.config.task, {}
    summaries = [
        questions.summary(questions.records(scores_of(family, task, questions.asked, m)))
        for m in range(models)
    ]
    for metric in questions.measure.metrics:
        both = [(s.values[metric.name], s.values[metric.raw or metric.name]) for s in summaries]
        pairs = [pair for pair in both if not np.isnan(pair[0].value)]
        if pairs:
            values = np.array([number.value for number, _ in pairs])
            cells = (values.mean(), *np.percentile(values, [2.5, 97.5]))
            tests = [
                excluded(metric, n.low, n.high) == excluded(metric, raw.low, raw.high) != 0
                for n, raw in pairs
                if metric.null_value is not None and not np.isnan([n.low, n.high]).any()
            ]
            share = round(100 * float(np.mean(tests)), 1) if tests else None
            table[metric.name] = [len(values), *(float(f"{x:.4g}") for x in cells), share]
    return table


def failures(metric: Metric, rows: dict[str, list[Any]]) -> list[str]:
    """The families whose models pass a test too often. rows: family -> its numbers."""
    return [
        family
        for family, (n, *_, share) in rows.items()
        if family not in metric.confounds
        and (share or 0) > AT_MOST
        and (n >= 200 or binom.sf(round(n * share / 100) - 1, n, LEVEL) <= LEVEL)
    ]


def run(task: str, families: list[str], models: int) -> tuple[str, dict[str, Any]]:
    """One task's part of the data."""
    logging.disable(logging.WARNING)
    gc.disable()  # a third of the time, and nothing to collect
    questions = questions_of(task)
    result: dict[str, Any] = {}
    for family in families:
        begun = time.time()
        for metric, row in numbers_of(questions, family, models).items():
            result.setdefault(metric, {})[family] = row
        print(f"{task}, {family}: {time.time() - begun:.0f} s", flush=True)
    of_task = {"documents": len(questions.documents), "sha256": questions.sha256()}
    return task, {**of_task, "numbers": result}


def judged(path: Path, families: Sequence[str], models: int) -> None:
    """Print the verdicts of `gate` on models, each with the one before it as baseline."""
    wanted = read_rules(path)
    tasks = list(dict.fromkeys(rule.task for rule in wanted.rules if rule.metric))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for family in families:
            parts = list(pool.map(runs_of, tasks, repeat(family), repeat(models)))
            found: Counter[str] = Counter()
            for m in range(1, models):
                before, now = ([part[i][0] for part in parts] for i in (m - 1, m))
                changes = {part[m][0].task: part[m][1] for part in parts}
                (verdicts,) = judge(
                    wanted, now, before, lambda run, _, key, at=changes: at[run.task][key]
                ).values()
                found.update(v.verdict for v in verdicts if v.rule.metric)
            print(f"{family}, {models - 1} models: {dict(found)}", flush=True)


def runs_of(task: str, family: str, models: int) -> list[tuple[Run, dict[Any, Difference]]]:
    """The runs of models, and how each differs from the one before it."""
    logging.disable(logging.WARNING)
    questions = questions_of(task)
    measure, options = questions.measure, questions.task._options
    keys = [(metric.raw or metric.name, None) for metric in measure.metrics if metric.question]
    runs: list[tuple[Run, dict[Any, Difference]]] = []
    last: list[Record] = []
    for m in range(models):
        records = questions.records(scores_of(family, task, questions.asked, m))
        values, n = questions.summary(records).values, len(questions.documents)
        numbers = {(name, None): number for name, number in values.items()}
        model = (family, family, task, "1", None, {}, None, n, measure.metrics, numbers, {}, (), ())
        one = Run(*model, Path(family, task, str(m)), of=n, condition={})
        runs.append((one, differences(measure, last, records, options, keys) if last else {}))
        last = records
    return runs


def merged(old: dict[str, Any], task: str, new: dict[str, Any]) -> None:
    """Replace the families of one run, and everything if the documents are others."""
    known = old["tasks"].get(task)
    if known is None or known["sha256"] != new["sha256"]:
        old["tasks"][task] = new
        return
    asked = {family for by_family in new["numbers"].values() for family in by_family}
    numbers = {
        metric: {f: row for f, row in known["numbers"].get(metric, {}).items() if f not in asked}
        | new["numbers"].get(metric, {})
        for metric in dict.fromkeys([*known["numbers"], *new["numbers"]])
    }
    old["tasks"][task]["numbers"] = {metric: rows for metric, rows in numbers.items() if rows}


def tested(data: dict[str, Any]) -> Iterator[tuple[str, Metric, dict[str, Any]]]:
    """The numbers that test something: task, metric, family -> its numbers."""
    for task, known in data["tasks"].items():
        for metric in catalogue.task(task).measure.metrics:
            if metric.question is not None and metric.name in known["numbers"]:
                yield task, metric, known["numbers"][metric.name]


def page(data: dict[str, Any]) -> str:
    """docs/explanation/null_models.md."""
    families = [
        f"| {name} | {' '.join((f.__doc__ or '').split())} |" for name, f in FAMILIES.items()
    ]
    lines = []
    for task, metric, rows in tested(data):
        shares = {family: row[4] for family, row in rows.items() if row[4] is not None}
        failed = failures(metric, rows)
        often = [
            f"{f'**{f}**' if f in failed else f} {shares[f]:g}" + " †" * (f in metric.confounds)
            for f in FAMILIES
            if shares.get(f, 0) > 100 * LEVEL
        ]
        cells = [f"`{task}`", f"`{metric.name}`", metric.question, len(shares), ", ".join(often)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    low, high = STRENGTH
    sizes = {row[0] for *_, rows in tested(data) for row in rows.values()}
    return TEMPLATE.read_text(encoding="utf-8").format(
        data=f"[{DATA.name}](../../{DATA.relative_to(ROOT)})",
        low=low,
        high=high,
        seed=SEED,
        most=AT_MOST,
        models=" to ".join(map(str, sorted(sizes)[:: max(len(sizes) - 1, 1)])),
        families="\n".join(families),
        tests="\n".join(lines),
    )


def as_text(data: dict[str, Any]) -> str:
    """JSON with a line for each metric and family."""
    text = json.dumps(data, indent=1, ensure_ascii=False)
    flat = re.sub(r"\[[^][]*\]", lambda m: " ".join(m[0].split()), text)
    return flat.replace("[ ", "[").replace(" ]", "]") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=TASKS, metavar="TASK")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, metavar="FAMILY")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(QUICK)}; by likelihood")
    parser.add_argument("--models", type=int, default=MODELS, help=f"of each family ({MODELS})")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="judge them; write nothing")
    arguments = parser.parse_args()
    if arguments.rules:
        judged(arguments.rules, arguments.families or QUICK, arguments.models)
        return
    data = (
        json.loads(DATA.read_text())
        if DATA.exists()
        else {"version": version("lm-eval-bias"), "tasks": {}}
    )
    by_likelihood = [task for task in TASKS if task not in SAMPLED]
    tasks = arguments.tasks or (by_likelihood if arguments.quick else TASKS)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(run, task, [family], arguments.models)
            for task in tasks
            for family in arguments.families or (QUICK if arguments.quick else FAMILIES)
        ]
        for job in as_completed(jobs):
            merged(data, *job.result())
            DATA.write_text(as_text(data), encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")
    failed = [
        f"{task}, {metric.name}: {rows[family][4]:g} % of the {rows[family][0]} models of the "
        f"family {family} exclude {metric.null_value:g}"
        for task, metric, rows in tested(data)
        for family in failures(metric, rows)
    ]
    print("\n".join(failed) or "No family has a number that tests something.")


if __name__ == "__main__":
    main()
