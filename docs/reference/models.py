"""Writes the tables of models.md from the runs that models/ keeps.

    python docs/reference/models.py
    python docs/reference/models.py NAME RUNS WEIGHTS

The second form first keeps a run as models/NAME.json; WEIGHTS says in words what was loaded. A test
fails where the page differs from what this would write.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import lm_eval_bias as leb
from lm_eval_bias.data.bounds import json_of
from lm_eval_bias.measure import RESPONDS, SEEN, THOUGHT, WORDINGS
from lm_eval_bias.results.escape import markdown_text
from lm_eval_bias.results.runs import last_date, listed
from lm_eval_bias.results.samples import of_tasks
from lm_eval_bias.results.verdict import judged
from lm_eval_bias.show.questions import rows, with_unit
from lm_eval_bias.show.report import commands

HERE = Path(__file__).parent
FIRST = "## Runs\n"
"""Where the tables begin."""


def kept(folder: str, weights: str) -> str:
    """A finished run as JSON: without samples, numbers of groups and the folders of files."""
    runs = leb.read(folder).runs
    (path,) = {run.results for run in runs}
    content = of_tasks(json_of(path), {run.task for run in runs})
    for config in content["configs"].values():
        config["cells"] = {
            name: [row for row in table if not row.get("group")]
            for name, table in config["cells"].items()
            if name in ("numbers", SEEN, THOUGHT, WORDINGS)
        }
    if command := content.get("command"):
        content["command"] = re.sub(r"([\"' =,])(/|[A-Z]:)[^\s,]*[/\\]", r"\1", command)
    content |= {"date": f"{last_date(runs)}T00", "weights": weights}
    text = json.dumps(content, indent=1) + "\n"
    return re.sub(r'(["=,])(/|[A-Z]:)[^",]*[/\\]', r"\1", text)


def page() -> str:
    start = (HERE / "models.md").read_text(encoding="utf-8").partition(FIRST)[0]
    lines = [start + FIRST, "run | weights | conditions | versions | date", "---|---|---|---|---"]
    block = []
    tests = []
    for path in sorted(HERE.glob("models/*.json")):
        runs, *_ = leb.read({path.stem: path})
        block.extend([f"# {path.stem}", *commands(runs)])
        tests.extend(judged(runs))
        weights, by = json_of(path)["weights"], runs[0].recorded
        versions = f"lm_eval {by['lm_eval_version']}, transformers {by['transformers_version']}"
        how = listed(runs[0].condition), versions, last_date(runs)
        lines.append(row(path.stem, weights, *how))
    questions, shared = rows(tests)
    times = Counter(line for question in questions for line in question.limits)
    often = [line for line, n in times.items() if n > 1]
    lines += ["", "```bash", *block, "```", "", *(f"- {line}" for line in (*shared, *often))]
    for question in questions:
        first = question.tests[0]
        lines += [
            "",
            f"## {first.run.task}",
            "",
            f"{first.metric.question}",
            "",
            f"run | {first.metric.name} | attention check | answer | asked",
            "---|---|---|---|---",
        ]
        for run, metric, number, _, verdict, _ in question.tests:
            checks = run.metric(RESPONDS.name) or RESPONDS
            moved = with_unit(run.number(checks.name), checks)
            value, asked = with_unit(number, metric), listed(run.settings)
            answer = re.sub(r" \(its answers move .*\)", "", verdict.sentence)  # `moved`
            lines.append(row(run.model, value, moved, answer, asked))
        own = [f"- {line}" for line in question.limits if line not in often]
        lines += ["", *own] if own else []
    return "\n".join([*lines, ""])


def row(*cells: str) -> str:
    return " | ".join(map(markdown_text, cells))


if __name__ == "__main__":
    if arguments := sys.argv[1:]:
        name, folder, weights = arguments
        (HERE / f"models/{name}.json").write_text(kept(folder, weights), encoding="utf-8")
    (HERE / "models.md").write_text(page(), encoding="utf-8")
