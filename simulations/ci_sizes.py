"""Sizes of tasks within a budget of tokens: the widest interval, in units of what matters, is made
as narrow as the budget allows.

    python simulations/ci_sizes.py RUNS... --model .model --tokens 190000

RUNS: finished runs of the tasks with --log_samples, of one model or several; of several the widest
interval counts. A task grows by whole units (`UNITS`). Its interval is that of the run's first
documents, or what `plan` predicts of more. Its tokens are those that hf-prefix computes: a prompt's
beginning that an earlier document had is free.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from math import inf, isnan
from pathlib import Path
from typing import Any, NamedTuple

from transformers import AutoTokenizer

from lm_eval_bias import catalogue
from lm_eval_bias.commands.plan import Pilot, pilot_of
from lm_eval_bias.measure import summarise
from lm_eval_bias.results import runs
from lm_eval_bias.results.sample_size import Window, predicted, share, width_of
from lm_eval_bias.results.table import columns
from lm_eval_bias.usage import read_options

UNITS = {
    "hbb_ci": (936, 0.1),
    "bistereo_nli_ci": (1040, 5.0),
    "bistereo_pairs_ci": (708, 0.5),
    "bistereo_analogy": (1535, 5.0),
    "mist_wabt_likelihood_ci": (180, 0.1),
    "mist_aat_likelihood_ci": (120, 5.0),
    "empathy_religion_likelihood_ci": (732, 2.0),
}
"""Documents of a unit, and what matters of the number that tests a question, in its own unit."""


class Size(NamedTuple):
    """documents, tokens. width: of the interval, in units of what matters; of all models the
    widest."""

    documents: int
    tokens: int
    width: float


def tokens(samples: Sequence[dict[str, Any]], tokenizer: Any, pairs: bool = False) -> list[int]:
    """How many tokens the first n documents compute, shape (documents + 1,)."""
    trie: dict[int, Any] = {}
    totals = [0]
    for sample in samples:
        new = 0
        for arguments in sample["arguments"].values():
            # Both arguments of a sentence pair are sentences, in either order.
            texts = [part for part in arguments.values() if isinstance(part, str)]
            text = "".join(texts[:1] if pairs else texts)
            node = trie
            for token in tokenizer(text, add_special_tokens=False)["input_ids"][:-1]:
                new += token not in node
                node = node.setdefault(token, {})
            if isinstance(arguments.get("arg_1"), dict):  # turns: an answer is written, then read
                turns = [turn["user"] for turn in arguments["arg_1"]["turns"][1:]]
                said = [part for part in sample["resps"][0][0] if isinstance(part, str)]
                new += sum(len(tokenizer(text)["input_ids"]) for text in (*turns, *said, *said))
        totals.append(totals[-1] + new)
    return totals


def sizes(task: str, pilots: Sequence[Pilot], tokenizer: Any) -> list[Size]:
    unit, matters = UNITS[task]
    run = pilots[0].run
    lines = sorted(
        (json.loads(line) for path in run.samples for line in path.open(encoding="utf-8")),
        key=lambda sample: sample["doc_id"],
    )
    cost = tokens(lines, tokenizer, "sentences" in pilots[0].task.config)
    (metric,) = (m for m in run.metrics if m.question)
    made = []
    for n in range(unit, len(pilots[0].labels) + 1, unit):
        width = max(width_at(pilot, metric.name, n) for pilot in pilots)
        spent = cost[n] if n < len(cost) else round(cost[-1] * n / len(lines))
        made.append(Size(n, spent, width / matters))
    return made


def width_at(pilot: Pilot, metric: str, n: int) -> float:
    """Of the interval with n documents: found in the pilot, or predicted from it."""
    if n > pilot.run.n:
        now = Window(pilot.run.n, pilot.clusters, width_of(pilot.run.numbers[metric, None]))
        part = share(now, pilot.windows.get(metric, ()))
        width = float(predicted(now, part.value, [n], pilot.grown[:, [n]])[0])
    else:
        records = [record for document in pilot.records[:n] for record in document]
        options = read_options(pilot.task.name, {}, pilot.task.options)
        width = width_of(summarise(pilot.measure, records, options).values[metric])
    return inf if isnan(width) else width


def solved(tasks: Mapping[str, Sequence[Size]], budget: int) -> dict[str, Size]:
    """The task with the widest interval grows, as long as the budget lasts and twice the documents
    would make it narrower by a tenth."""
    chosen = {task: sizes_of_task[0] for task, sizes_of_task in tasks.items()}
    ended: set[str] = set()
    while growing := chosen.keys() - ended:
        task = max(growing, key=lambda name: chosen[name].width)
        now = chosen[task]
        larger = [size for size in tasks[task] if size.documents > now.documents]
        twice = [size for size in larger if size.documents <= 2 * now.documents]
        spent = sum(size.tokens for size in chosen.values()) - now.tokens
        helps = now.width == inf or (twice and twice[-1].width < 0.9 * now.width)
        if larger and helps and spent + larger[0].tokens <= budget:
            chosen[task] = larger[0]
        else:
            ended.add(task)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--model", required=True, help="whose tokenizer counts")
    parser.add_argument("--tokens", nargs="+", type=int, required=True, help="budgets")
    arguments = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    known = {name: catalogue.task(name) for name in UNITS}
    pilots: dict[str, list[Pilot]] = {}
    for run in runs.find(arguments.runs, known).runs:
        if pilot := pilot_of(run, known):
            pilots.setdefault(run.task, []).append(pilot)
    tasks = {
        task: sizes(task, pilots_of_task, tokenizer) for task, pilots_of_task in pilots.items()
    }
    rows = [("task", *(f"{budget:,} tokens" for budget in arguments.tokens))]
    made = [solved(tasks, budget) for budget in arguments.tokens]
    for task in tasks:
        cells = [f"{s[task].documents:,}: {s[task].width:.2g} ({s[task].tokens:,})" for s in made]
        rows.append((task, *cells))
    print(columns(rows))


if __name__ == "__main__":
    main()
