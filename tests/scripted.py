"""Runs for tests: scripted models through the harness's own command of Python, with the files that
its tracker writes."""

import hashlib
import json
import math
from contextlib import contextmanager
from datetime import datetime, timedelta

from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker

from lm_eval_bias.benchmarks.bistereo.analogy_documents import documents
from tests.rule_model import RuleLM, manager


@contextmanager
def edited(path):
    """What a JSON file holds, written back."""
    text = path.read_text(encoding="utf-8", errors="surrogatepass")
    yield (content := json.loads(text))
    path.write_text(json.dumps(content))


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def samples_beside(results, samples=({},), task="mine"):
    """A file of samples with the name that belongs to a results file."""
    name = results.name.replace("results", f"samples_{task}") + "l"
    return write_lines(results.with_name(name), samples)


def chance(*texts):
    """A number from 0 to 1 that depends on the texts alone, and looks random."""
    return int.from_bytes(hashlib.sha256("\n".join(texts).encode()).digest()[:6], "big") / 2**48


DISADVANTAGED = {d["c"] for d in documents() if d["context"] == "stereotype"}


def scripted(name, leaning=0.0):
    """A model whose likelihoods are chance. In analogies A : B :: C : it gives a word other than B
    so much more, if C is a disadvantaged body."""

    def rule(context, continuation):
        b, _, c = context.strip().rsplit("\n", 1)[-1].rpartition("::")
        stereotype = (
            c.strip(": ") in DISADVANTAGED and continuation.strip() != b.rpartition(":")[2].strip()
        )
        return -3 + chance(name, context, continuation) + leaning * bool(stereotype)

    return RuleLM(
        rule=rule, say=lambda prompt: f"The answer is {40 + round(20 * chance(name, prompt))}."
    )


def ask(folder, name, lm, *tasks, metadata=None, samples=None, limit=None, include=(), **options):
    """As `lm_eval --model_args pretrained=NAME --tasks ... --output_path FOLDER --log_samples`;
    returns the results file."""
    tracker = EvaluationTracker(output_path=str(folder))
    results = simple_evaluate(
        model=lm,
        model_args=f"pretrained={name}",
        tasks=list(tasks),
        task_manager=manager(metadata, *include),
        bootstrap_iters=0,
        limit=limit,
        samples=samples,
        evaluation_tracker=tracker,
        log_samples=True,
        **options,
    )
    answers = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=answers)
    for task in results["configs"]:
        tracker.save_results_samples(task_name=task, samples=answers[task])
    return max(folder.rglob("results_*.json"), key=lambda path: path.name)


MORNING = datetime(2026, 1, 31, 10, 11, 12, 123456)


VALUES = {"gap": (2.0, 0.5, 0, None), "unanswered": (1.0, None, None, "lower")}


def made_up(
    folder,
    values=VALUES,
    model="m",
    task="mine",
    minutes=0,
    version=1.0,
    n=100,
    of=100,
    metadata=None,
    more=None,
    ends=None,
    clusters=None,
    units=None,
    **changes,
):
    """A results file of a task that no catalogue knows, in the form of the harness 0.4.13.

    values: metric -> (value, stderr) or (value, stderr, null_value, better, question). Those of
    `more` are not in the harness's table. ends: metric -> its interval, by default ± 1.96 standard
    errors. units: the n of all numbers, of n documents.
    """
    rows = []
    for name, (value, stderr, *rest) in {**values, **(more or {})}.items():
        null_value, better, question = (*rest, None, None, None)[:3]
        known = type(stderr) in (int, float) and 0 < stderr < 1e9
        half = 1.959964 * stderr if known else math.nan
        low, high = (ends or {}).get(name, (value - half, value + half) if known else (None, None))
        rows.append(
            {
                "metric": name,
                "group": None,
                "value": value,
                "stderr": stderr,
                "low": low,
                "high": high,
                "clusters": clusters,
                "n": units,
                "unit": "points",
                "better": better,
                "null_value": null_value,
                "question": question,
                "cell": None,
            }
        )
    content = {
        "results": {
            task: {"alias": task, **{f"{name},none": value[0] for name, value in values.items()}}
        },
        "configs": {
            task: {
                "task": task,
                "repeats": 1,
                "metadata": {"version": version, **(metadata or {})},
                "cells": {"numbers": rows},
            }
        },
        "versions": {task: version},
        "n-samples": {task: {"original": of, "effective": n}},
        "config": {
            "model": "hf",
            "model_args": {"pretrained": model},
            "limit": None,
            "gen_kwargs": {},
        },
        "model_name": model,
        "chat_template_sha": None,
        "system_instruction_sha": None,
        **changes,
    }
    date = (MORNING + timedelta(minutes=minutes)).isoformat().replace(":", "-")
    path = folder / f"results_{date}.json"
    while path.exists():
        path = path.with_name(path.name.replace(".json", "0.json"))
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(content, indent=2, ensure_ascii=False, default=str),
        encoding="utf-8",
        errors="surrogatepass",
    )
    return path
