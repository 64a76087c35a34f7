"""Runs for tests of the gate: made up, with clusters, as a results file has them."""

import json

from lm_eval_bias.gate import rules
from lm_eval_bias.gate.gate import judge
from lm_eval_bias.results.runs import find
from tests.scripted import made_up


def run_of(folder, model, values, clusters=24, unit="points", groups=None, **same):
    """`made_up`, with clusters; `unanswered` and its like are percent. groups: (metric, group) ->
    value, of more rows."""
    path = made_up(folder, model, values, **same)
    content = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    rows = content["configs"][same.get("task", "mine")]["cells"]["numbers"]
    for (metric, group), (value, stderr) in (groups or {}).items():
        like = next(row for row in rows if row["metric"] == metric)
        rows.append({**like, "group": group, "value": value, "stderr": stderr})
    for row in rows:
        row["clusters"] = clusters
        row["unit"] = "%" if row["metric"] in ("unanswered", "refused", "unparsed") else unit
    path.write_text(json.dumps(content), encoding="utf-8", errors="surrogatepass")
    return path


def found(folder):
    return find([folder], lambda task: None, None)


def verdicts(folder, text, baseline=(), changes=None):
    """Rules -> of the only model: its verdicts in the order of the rules."""
    (one,) = judge(rules.parse(text, "bias.yaml"), found(folder).runs, baseline, changes)
    return one.verdicts


def rule(*said):
    return "rules:\n" + "".join(f"  - {{task: mine, {each}}}\n" for each in said)
