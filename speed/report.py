"""Measure a report: seconds, peak memory and size of its pages.

A scripted model runs each default task once at full size. The other models are copies with changed
numbers. Making them takes a quarter of an hour and some gigabytes; --runs keeps them.

    python speed/report.py --runs /tmp/made_up --models 5
    python speed/report.py --runs /tmp/made_up_small --models 2 --limit 200 --tasks hbb mist_wabt
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

from timing import memory_watched

KEYWORDS = "friendly honest skilled confident wealthy lazy cold strong religious poor modern unfair"


def chance(*texts: str) -> float:
    """A number from 0 to 1, fixed by the texts."""
    return zlib.crc32("\n".join(texts).encode()) / 2**32


def scripted_answer(prompt: str) -> str:
    """An answer in the form that the prompt demands."""
    if "(X, S) pairs" in prompt:
        words = re.search(r"The words are (.+?)\. Do not", prompt, re.S)[1].split(", ")
        one, other = re.search(
            r"(?:a word|one of|between) (.+?) or (.+?)(?:,| to each| and write)", prompt
        ).groups()
        return "\n".join(
            f"({word}, {one if chance(prompt, word) < 0.6 else other})" for word in words
        )
    if "“comedy”" in prompt:
        return "comedy" if chance(prompt) < 0.7 else "tragedy"
    if "Emotion intensity" in prompt:
        return str(30 + int(60 * chance(prompt)))
    if "5-point scale" in prompt:
        items = re.findall(r"^- ?(.+?):", prompt, re.M)
        rated = "\n".join(f"- {item}: {1 + int(5 * chance(prompt, item))}" for item in items)
        keywords = random.Random(chance(prompt)).sample(KEYWORDS.split(), 5)
        return (
            f"Keywords: {', '.join(keywords)}\nReasons: people say so.\n{rated}\n"
            f"Overall rating: {1 + int(5 * chance(prompt, 'overall'))}\n"
            "Three reasons: history, media, law."
        )
    if "Natural Language Inference" in prompt:
        labels = ("Neutral", "Entailment", "Contradiction")
        return labels[int(3 * chance(prompt) ** 2)]
    if words := re.search(r"one of these two words, and write nothing else: (.+), (.+)\.", prompt):
        return words[1 + (chance(prompt) < 0.5)]
    if "\nb) " in prompt:
        return "a" if chance(prompt) < 0.6 else "b"
    return "A thing that stands on a table, and that somebody made long ago."


def make_one(task: str, folder: Path, limit: int | None) -> None:
    from lm_eval import simple_evaluate
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    from lm_eval_bias.catalogue import tasks_folder

    class Scripted(LM):
        def loglikelihood(self, requests: Any, **_: Any) -> list[tuple[float, bool]]:
            return [(-20 * chance(*request.args), False) for request in requests]

        def loglikelihood_rolling(self, requests: Any, **_: Any) -> list[float]:
            raise NotImplementedError

        def generate_until(self, requests: Any, **_: Any) -> list[str]:
            return [scripted_answer(request.args[0]) for request in requests]

    manager = TaskManager(include_path=[tasks_folder()], include_defaults=False)
    options = {"task_manager": manager, "bootstrap_iters": 0, "limit": limit}
    results = simple_evaluate(model=Scripted(), tasks=[task], log_samples=True, **options)
    samples = results.pop("samples")
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.log_experiment_args(
        "made up", f"pretrained={folder.name}", "", "", False
    )
    tracker.save_results_aggregated(results=results, samples=samples)
    for name, rows in samples.items():
        tracker.save_results_samples(task_name=name, samples=rows)


def copy(original: Path, folder: Path, number: int) -> None:
    """Make another model's run, with changed numbers."""
    for path in sorted(original.rglob("*.json*")):
        to = folder / path.relative_to(original)
        to.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            os.link(path, to)  # a report reads it again for each model
            continue
        content = json.loads(path.read_text())
        content["model_name"] = folder.name
        content["config"]["model_args"] = f"pretrained={folder.name}"
        tables = (config.get("cells") or {} for config in content["configs"].values())
        for row in (row for cells in tables for table in cells.values() for row in table):
            place = str(number), path.name, str(sorted(row))
            for key, value in row.items():
                if isinstance(value, float) and math.isfinite(value) and "stderr" not in key:
                    row[key] = value * (1 + 0.2 * (chance(*place, key) - 0.5))
        to.write_text(json.dumps(content))


def measure(runs: Path, output: Path) -> dict[str, float]:
    """Measure one report: seconds, MiB and page sizes."""
    begun = time.time()
    sizes: list[int] = []
    process = subprocess.Popen(
        [sys.executable, "-m", "lm_eval_bias.cli", "report", str(runs), "-o", str(output)]
    )
    with memory_watched(process.pid, sizes.append):
        if process.wait():
            sys.exit("the report ended with an error")
    pages = [path.stat().st_size for path in output.glob("*.html")]
    return {
        "seconds": time.time() - begun,
        "MiB": max(sizes) / 2**20,
        "pages": len(pages),
        "largest page MB": max(pages) / 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=Path, required=True, help="where the made-up runs are kept")
    parser.add_argument("--models", type=int, default=5)
    parser.add_argument("--tasks", nargs="+", help="in place of the tasks of implicit_bias")
    parser.add_argument("--limit", type=int, help="documents of each task, in place of all")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    first = arguments.runs / "model-1"
    if arguments.one:
        return make_one(arguments.one, first, arguments.limit)
    from lm_eval_bias import catalogue

    tasks = (
        arguments.tasks
        or catalogue.read(Path(catalogue.tasks_folder(), "implicit_bias.yaml"))["task"]
    )
    for task in tasks:
        if not any(first.rglob(f"samples_{task}_*")):
            begun = time.time()
            command = [sys.executable, *sys.argv, "--one", task]
            subprocess.run(command, check=True, capture_output=True)
            print(f"made {task}: {time.time() - begun:.0f} s", flush=True)
    for number in range(2, arguments.models + 1):
        folder = arguments.runs / f"model-{number}"
        if not folder.exists():
            copy(first, folder, number)
    size = sum(path.stat().st_size for path in arguments.runs.rglob("*.json*"))
    print(
        f"{arguments.models} models, {len(tasks)} tasks, {size / 1e9:.1f} GB of results and samples"
    )
    output = arguments.runs.with_name(f"{arguments.runs.name}_report")
    print(
        ", ".join(f"{name} {value:,.2f}" for name, value in measure(arguments.runs, output).items())
    )


if __name__ == "__main__":
    main()
