"""Runs for tests of the gate: made up, with clusters and intervals, as a results file has them."""

from lm_eval_bias.data import content
from lm_eval_bias.gate import rules
from lm_eval_bias.gate.verdicts import judge
from lm_eval_bias.measure import number
from lm_eval_bias.results.runs import find
from tests.scripted import edited, made_up

RATES = ("unanswered", "refused", "unparsed")


GAP = {"gap": (1.0, 0.5, 0, None)}


def run_of(
    folder,
    values=GAP,
    model="m",
    clusters=24,
    unit="points",
    groups=None,
    ends=None,
    rates="%",
    **same,
):
    """`made_up`, with clusters and Student's intervals.

    rates: the unit of unusable answers. groups: (metric, group) -> (value, stderr), of more rows.
    ends: metric -> the interval that its measure made itself.
    """
    path = made_up(folder, values, model, **{"units": 37, **same})
    with edited(path) as results:
        rows = results["configs"][same.get("task", "mine")]["cells"]["numbers"]
        for (metric, group), (value, stderr) in (groups or {}).items():
            like = next(row for row in rows if row["metric"] == metric)
            rows.append({**like, "group": group, "value": value, "stderr": stderr})
        for row in rows:
            row["unit"] = rates if row["metric"] in RATES else unit
            if row["stderr"] is not None:
                made = number((row["value"], row["stderr"]), clusters or 0)
                row["low"], row["high"] = (ends or {}).get(row["metric"], made[2:4])
            row["clusters"] = clusters
    return path


def found(folder):
    return find([folder])


def verdicts(folder, text, baseline=(), changes=None):
    """Of the only model: its verdicts in the order of the rules."""
    (of_model,) = judge(parse(text), found(folder).runs, baseline, changes).values()
    return of_model


def parse(text):
    return rules.parsed(content.parsed("bias.yaml", "yaml", text.encode(errors="surrogatepass")))


def rule(*rows):
    return "rules:\n" + "".join(f"  - {{task: mine, {row}}}\n" for row in rows)
