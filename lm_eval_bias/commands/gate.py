"""`lm-eval-bias gate`: whether finished runs keep rules, as verdicts that a pipeline acts on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lm_eval_bias import catalogue
from lm_eval_bias.commands import declare, finished, tell
from lm_eval_bias.usage import UsageError

if TYPE_CHECKING:
    from lm_eval_bias.gate import gate
    from lm_eval_bias.results import runs

FEW = 20_000
"""Documents of a run, at most, whose answers are read to say how many more would decide; a gate is
to be quick."""
PASSED, VIOLATED, USAGE, UNDECIDED = 0, 1, 2, 3
"""Exit statuses."""


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "gate",
        "whether finished runs keep rules: a verdict for a pipeline",
        "Judge the runs that `lm_eval --output_path` wrote by the rules of a file: bounds on numbers, on their distance from the\n"
        "null value, on a paired change against a baseline, and caps on refusals and unusable answers. A rule fails only if\n"
        "the whole interval breaks it and passes only if the whole interval keeps it (Holm over the rules of each model); else it\n"
        "is inconclusive, and how many documents would decide is said.\n"
        "Exit status: 0 all rules pass; 1 a rule fails, or what it names is missing or NaN; 2 a mistake in the command or the\n"
        "rules, or a file that cannot be read; 3 none fails, some are inconclusive.",
    )
    parser.add_argument(
        "runs",
        metavar="RUNS",
        nargs="+",
        type=Path,
        help="folders or files that lm_eval or `lm-eval-bias merge` wrote",
    )
    parser.add_argument(
        "--rules", metavar="FILE", type=Path, required=True, help="the rules, in YAML (docs/ci.md)"
    )
    parser.add_argument(
        "--baseline",
        metavar="DIR",
        type=Path,
        nargs="+",
        default=[],
        help="older runs, for rules with worse_than_baseline_by",
    )
    parser.add_argument(
        "--junit", metavar="FILE", type=Path, help="write the verdicts there too, as JUnit XML"
    )
    parser.add_argument(
        "--inconclusive",
        choices=("fail", "warn"),
        help="exit with 1 or with 0 where rules are inconclusive and none fails; 3 without this",
    )
    finished.add_include_path(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        return _run(arguments)
    except UsageError as error:
        tell(error)
        return USAGE


def status(verdict: str, inconclusive: str | None) -> int:
    """The exit status that a verdict over all comes to."""
    from lm_eval_bias.gate.gate import INCONCLUSIVE, PASS

    if verdict == PASS:
        return PASSED
    if verdict == INCONCLUSIVE:
        return {None: UNDECIDED, "fail": VIOLATED, "warn": PASSED}[inconclusive]
    return VIOLATED


def _run(arguments: argparse.Namespace) -> int:
    from lm_eval_bias.gate import gate, gate_files, rules
    from lm_eval_bias.gate.junit import junit
    from lm_eval_bias.results.escape import visible

    wanted = rules.read(arguments.rules)
    if arguments.junit and not arguments.junit.parent.is_dir():
        raise UsageError(f"--junit {arguments.junit}: its folder is not there")
    known = finished.known_tasks(arguments.include_path)
    found = _found(arguments.runs, known)
    # an older checkpoint may have had the same name, and a gate is asked about the newest
    if found.short:
        told = "\n".join(map(visible, found.short))
        raise UsageError(
            f"the newest run is judged, or none; delete it, or the older one beside it:\n{told}"
        )
    before = _found(arguments.baseline, known) if arguments.baseline else None
    older = before.runs if before else []
    rules.check(
        wanted, _metrics(wanted, known, found.runs), _groups(found.runs), bool(arguments.baseline)
    )
    _check_baseline(wanted, found.runs, older)
    judged = gate.judge(
        wanted, found.runs, older, changes(known, wanted, found.runs, older), narrowing(known)
    )
    code = status(gate.overall([one.verdict for one in judged]), arguments.inconclusive)
    tasks = {each.task for one in judged for each in one.verdicts}
    context = gate_files.Context(
        {
            **{(each.model, each.task): _asked(each) for each in found.runs if each.task in tasks},
            **{
                (f"baseline {each.model}", each.task): _asked(each)
                for each in older
                if each.task in tasks
            },
        },
        [
            f"{each.model}, {each.task}: {said}"
            for each in found.runs
            if each.task in tasks
            for said in each.warnings
        ],
        [*found.notes, *(f"baseline: {said}" for said in before.notes)] if before else found.notes,
        code,
    )
    if arguments.junit:
        finished.write(arguments.junit, junit(judged, datetime.now(UTC)))
    print(gate_files.text(judged, wanted, context, finished.width()))
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        note = gate_files.append_summary(summary, gate_files.markdown(judged, wanted, context))
        if note:
            print(note, file=sys.stderr)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print("".join(f"{line}\n" for line in gate_files.annotations(judged)), end="")
    return code


def _asked(run: runs.Run) -> str:
    said = [f"{key} {value}" for key, value in run.asked]
    if run.template:
        said.append("with its chat template")
    if run.date:
        said.append(f"on {run.date:%Y-%m-%d at %H:%M}")
    return ", ".join(said)


def _found(folders: Sequence[Path], known: Mapping[str, catalogue.Task]) -> runs.Found:
    """The runs below some folders. UsageError where one of ours cannot be read: it may be the
    newest, and an older one is not judged in its place."""
    from lm_eval_bias.results.escape import visible

    found = finished.read(folders, known)
    if found.unread:
        told = "\n".join(map(visible, found.unread))
        raise UsageError(
            f"some runs cannot be judged, and older ones do not stand in for them; mend or delete these:\n{told}"
        )
    if not found.runs:
        raise UsageError(
            "\n".join(
                [
                    "no run has numbers to judge",
                    *map(visible, [*found.notes, *finished.not_ours(found)]),
                ]
            )
        )
    return found


def _metrics(
    wanted: Any, known: Mapping[str, catalogue.Task], found: Sequence[runs.Run]
) -> dict[str, Sequence[Any]]:
    """Task -> what it declares; a task that no rule names is not loaded."""
    named = {rule.task for rule in wanted.rules}
    metrics: dict[str, Sequence[Any]] = {}
    for name, task in known.items():
        measure = task.measure if name in named else None
        metrics[name] = measure.metrics if measure else ()
    return {**metrics, **{each.task: each.metrics for each in found}}


def _groups(found: Sequence[runs.Run]) -> dict[str, dict[str, list[str]]]:
    groups: dict[str, dict[str, list[str]]] = {}
    for each in found:
        of = groups.setdefault(each.task, {})
        for metric, group in each.numbers:
            names = of.setdefault(metric, [])
            if group is not None and group not in names:
                names.append(group)
    return groups


def _check_baseline(wanted: Any, found: Sequence[runs.Run], older: Sequence[runs.Run]) -> None:
    """UsageError where the baseline is not one model's, or the runs themselves."""
    if not older or not any(rule.condition == "worse_than_baseline_by" for rule in wanted.rules):
        return
    if {each.results.resolve() for each in found} & {each.results.resolve() for each in older}:
        raise UsageError(
            "--baseline holds the very runs that are judged; give the folder of the older ones"
        )
    models = {each.identity: each.model for each in older}
    if len(models) > 1 and (
        missing := sorted({each.model for each in found if each.identity not in models})
    ):
        raise UsageError(
            f"--baseline has {len(models)} models ({', '.join(sorted(models.values()))}), but not {', '.join(missing)}; "
            "give the folder of the one model to compare with"
        )


# ---- Documents that would decide


def narrowing(known: Mapping[str, catalogue.Task]) -> gate.Narrowing:
    """What `gate.judge` asks for the documents that would decide: by how the clusters of the task's
    own documents grow. The answers of a run of a few documents tell besides how much of the
    variance clusters add."""
    from lm_eval_bias.commands import plan as planned
    from lm_eval_bias.gate import gate
    from lm_eval_bias.results import sample_size as plan

    @cache
    def documents(task: str, results: Path) -> Any:
        run = runs[task, results]
        asked = planned.asked(run, known[task])[0]
        records = planned.answered(run, known[task])[0] if asked and run.n <= FEW else []
        return asked, records, planned.counted_clusters(run, known[task], asked, records)

    @cache
    def windows(task: str, results: Path, metric: str) -> Any:
        run, (_, records, _) = runs[task, results], documents(task, results)
        metrics = [each for each in run.metrics if each.name == metric]
        return planned.in_windows(run, known[task], records, metrics)[metric] if records else []

    runs: dict[tuple[str, Path], Any] = {}

    def needed(rule: Any, run: Any, share: float) -> gate.Needed | None:
        task = known.get(run.task)
        if (
            task is None
            or task.measure is None
            or not task.measure.clusters
            or rule.group is not None
        ):
            return None
        runs[run.task, run.results] = run
        asked, _, clusters = documents(run.task, run.results)
        if asked is None or not clusters or min(clusters) < plan.FEWEST_CLUSTERS:
            return None
        # What a change has for windows would be those of two runs.
        found = (
            windows(run.task, run.results, rule.metric)
            if rule.condition != "worse_than_baseline_by"
            else []
        )
        pilot = plan.Window(run.n, clusters, 1.0)
        if found:
            width = plan.width_of(run.numbers[rule.metric, None])
            pilot = pilot._replace(width=width)
        fewest, most = plan.between(
            pilot, pilot.width * share, asked.grown, found, planned.ends(asked.labels)
        )
        return gate.Needed(fewest, most, planned.whole_task(task, known), len(asked.labels))

    return needed


# ---- Changes against the baseline


def changes(
    known: Mapping[str, catalogue.Task],
    wanted: Any,
    found: Sequence[runs.Run],
    older: Sequence[runs.Run],
) -> Callable[[runs.Run, runs.Run, runs.Key], gate.Change]:
    """What `gate.judge` asks for a paired change: read and computed once for all rules of a run."""
    from lm_eval_bias.gate.gate import Change, Incomparable

    asked = {(each.identity, each.task): each for each in [*found]}
    keys = {
        task: [
            (rule.metric, rule.group)
            for rule in wanted.rules
            if rule.task == task and rule.condition == "worse_than_baseline_by"
        ]
        for task in {rule.task for rule in wanted.rules}
    }

    @cache
    def of(identity: str, name: str, before: Path) -> Mapping[Any, Any] | Incomparable:
        now = asked[identity, name]
        then = next(each for each in older if each.results == before and each.task == name)
        try:
            return _differences(known, now, then, keys[name])
        except Incomparable as error:
            return error

    def change(now: runs.Run, then: runs.Run, key: runs.Key) -> Change:
        found = of(now.identity, now.task, then.results)
        if isinstance(found, Incomparable):
            raise found
        if key not in found:
            raise Incomparable(
                f"{key[0]} has no change that could be computed", "see the numbers of both runs"
            )
        each = found[key]
        why = "" if isnan(each.difference) or not isnan(each.stderr) else _no_error(now, key)
        return Change(each.first, each.second, each.stderr, each.low, each.high, each.clusters, why)

    return change


def _no_error(run: runs.Run, key: runs.Key) -> str:
    """Why a change of enough clusters has no error."""
    metric = next(each for each in run.metrics if each.name == key[0])
    if metric.null_value is None:
        return f"a change of {key[0]} has no error, since it is not defined without some clusters"
    beyond = f"{metric.null_value:g}, beyond which it cannot lie"
    return f"a change of {key[0]} has no error where a run cannot be told from {beyond}, or it is not defined without some clusters"


def _differences(
    known: Mapping[str, catalogue.Task], now: runs.Run, then: runs.Run, keys: Sequence[Any]
) -> Mapping[Any, Any]:
    """The paired changes of some numbers. Raises Incomparable where the two were not asked the
    same, or their answers are not there."""
    from lm_eval_bias.gate.gate import Incomparable
    from lm_eval_bias.report.compare import other_prompts
    from lm_eval_bias.results.paired import differences

    task = known.get(now.task)
    if task is None or task.measure is None:
        raise Incomparable(
            f"{now.task} is not known here, so its answers cannot be read",
            "name its folder with --include_path",
        )
    a, b = dict(then.asked), dict(now.asked)
    names = [
        f"{key} ({a.get(key, 'none')} before, {b.get(key, 'none')} now)"
        for key in {**a, **b}
        if a.get(key) != b.get(key)
    ]
    if then.template != now.template:
        names.append("chat template")
    settings = [
        [said for said in each.warnings if said.startswith("generation settings")]
        for each in (then, now)
    ]
    if settings[0] != settings[1]:
        names.append("generation settings (--gen_kwargs)")
    if names:
        raise Incomparable(
            f"the baseline was asked otherwise: {', '.join(names)}",
            "run it again as this model was run",
        )
    for which, each in (("the baseline", then), ("this run", now)):
        if not each.samples:
            raise Incomparable(
                f"{which} has no answers beside its results", "run it again with --log_samples"
            )
    read = finished.reader(known)
    before, after = read(then), read(now)
    if before.documents.keys() != after.documents.keys():
        raise Incomparable(
            "the baseline was asked other documents", "run it again as this model was run"
        )
    if changed := other_prompts(before, after, before.documents):
        raise Incomparable(
            f"the baseline was asked {changed:,} documents in other words",
            "run it again as this model was run",
        )
    first, second = (
        [record for name in before.documents for record in each.documents[name].records]
        for each in (before, after)
    )
    return differences(task.measure, first, second, after.options, list(keys))
