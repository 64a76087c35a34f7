"""`lm-eval-bias gate`: judge finished runs by rules, with an exit status for a pipeline."""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from math import isnan
from pathlib import Path

from lm_eval_bias import catalogue, writing
from lm_eval_bias.commands import finished, plan, tell
from lm_eval_bias.gate import page, rules, verdicts
from lm_eval_bias.gate.draft import draft
from lm_eval_bias.gate.junit import junit
from lm_eval_bias.gate.rules import PAIRED, Rules
from lm_eval_bias.gate.verdicts import Changes, Verdict
from lm_eval_bias.results.baseline import SUFFIX, packed
from lm_eval_bias.results.comparison import Pair, paired
from lm_eval_bias.results.escape import shortened
from lm_eval_bias.results.paired import Difference, Reader, difference
from lm_eval_bias.results.runs import Key, Run, Runs, find, listed
from lm_eval_bias.results.table import interval_text, number_text, with_unit
from lm_eval_bias.results.verdict import with_response
from lm_eval_bias.show.page import markdown, text
from lm_eval_bias.usage import UsageError

PASSED, VIOLATED, USAGE, UNDECIDED = 0, 1, 2, 3
"""Exit statuses."""
Pairs = dict[tuple[Path, str], Pair]
"""By the results and the task of the run that is judged."""


DESCRIPTION = """Judge finished runs by a file of rules. A rule passes if the whole interval
keeps it and fails if the whole interval breaks it (Holm over a model's rules). Otherwise it is
inconclusive, and the output says how many documents would decide.

Exit status: 0 all rules pass; 1 a rule fails, or its number is missing; 2 a mistake; 3 none fails,
some are inconclusive."""


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    finished.add_runs(parser)
    add(
        "--rules",
        metavar="FILE",
        type=Path,
        help="the rules, in YAML (docs/how-to/ci.md); with --init a new file",
    )
    add("--init", action="store_true", help="write rules that fail what gets significantly worse")
    add(
        "--baseline",
        metavar="DIR",
        type=Path,
        nargs="+",
        default=[],
        help="for worse_than_baseline rules: older runs or a file of --save",
    )
    add(
        "--save",
        metavar="FILE",
        type=Path,
        help=f"write these runs as a baseline ({SUFFIX}), without prompts and answers",
    )
    add(
        "--nightly",
        metavar="N",
        type=int,
        default=1,
        help="false fails in at most 5 of 100 series of N nights, not 5 of 100 runs",
    )
    add("--junit", metavar="FILE", type=Path, help="also write the verdicts as JUnit XML")
    add("--inconclusive", choices=("fail", "warn"), help="exit with 1 or 0 instead of 3")
    add("--verbose", action="store_true", help="also print values, settings, warnings and method")
    finished.add_include_path(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        return _run(arguments)
    except UsageError as error:
        tell(error)
        return USAGE


def status(verdict: str, inconclusive: str | None) -> int:
    if verdict == verdicts.INCONCLUSIVE:
        return {None: UNDECIDED, "fail": VIOLATED, "warn": PASSED}[inconclusive]
    return PASSED if verdict in (verdicts.KEPT, verdicts.PASS) else VIOLATED


def _run(arguments: argparse.Namespace) -> int:
    if arguments.save and not arguments.save.name.endswith(SUFFIX):
        raise UsageError(f"--save {arguments.save}: expected a name that ends in {SUFFIX}")
    if arguments.rules is None and not arguments.save:
        raise UsageError("give --rules FILE; --init writes one")
    if arguments.nightly < 1:
        raise UsageError(f"--nightly {arguments.nightly}: expected how many runs are planned")
    if arguments.init and arguments.rules and arguments.rules.exists():
        raise UsageError(f"--rules {arguments.rules} is there already; name a new file, or edit it")
    wanted = None
    if arguments.rules and not arguments.init:
        wanted = rules.read(arguments.rules)._replace(nights=arguments.nightly)
    writing.check("--junit", arguments.junit)
    known = catalogue.measured(arguments.include_path)
    paths = [*arguments.runs, *arguments.baseline]
    any_tasks = rules.any_tasks(wanted, known, paths) if wanted else {}
    known |= any_tasks
    finished_runs = _found(arguments.runs, known)
    before, code = _found(arguments.baseline, known), PASSED
    if wanted:
        for name, task in any_tasks.items():
            print(f"{name}: {task.about}", file=sys.stderr)
        code = _judge(arguments, wanted, finished_runs, before)
    elif arguments.rules:
        made = draft(finished_runs.runs, before.runs, changes(finished_runs.answers, {}))
        writing.whole(arguments.rules, made)
        print(f"{made}\nwrote {arguments.rules}")
    if arguments.save:  # last: whatever goes wrong, the verdicts are there
        content = packed(finished_runs.runs, known)
        writing.whole(arguments.save, content)
        print(f"wrote {arguments.save}, {len(content):,} bytes")
    return code


def _judge(arguments: argparse.Namespace, wanted: Rules, finished_runs: Runs, before: Runs) -> int:
    # an older checkpoint may have had the same name, and a gate judges the newest
    if finished_runs.short:
        lines = "\n".join(finished_runs.short)
        raise UsageError(
            f"the newest run is judged, or none; delete it, or the older one beside it:\n{lines}"
        )
    runs, baseline, known = finished_runs.runs, before.runs, finished_runs.known
    for run in runs:
        if run.others:
            lines = "\n".join(str(variant.results) for variant in run.variants)
            raise UsageError(
                f"{run.task} of {run.model} was asked in {len(run.variants)} conditions, and one "
                f"is judged; give its folder:\n{lines}"
            )
    rules.check(wanted, runs, known, baseline)
    if any(rule.condition in PAIRED for rule in wanted.rules):
        _check_baseline(runs, baseline)
    pairs: Pairs = {}
    judged = verdicts.judge(wanted, runs, baseline, changes(finished_runs.answers, pairs))
    for of_model in judged.values():
        _with_documents(of_model, known, pairs)
    all_verdicts = [verdict for of_model in judged.values() for verdict in of_model]
    code = status(verdicts.overall(all_verdicts), arguments.inconclusive)
    tasks = {verdict.task for verdict in all_verdicts}
    remarks = {
        "Settings of the runs": [
            f"{older}{run.model}, {run.task}: {_settings(run)}"
            for older, of_models in (("", runs), ("baseline ", baseline))
            for run in of_models
            if run.task in tasks
        ],
        "Read these with care": [
            f"{run.model}, {run.task}: {line}"
            for run in runs
            if run.task in tasks
            for line in with_response(run)
        ],
        "Notes": [*finished_runs.notes, *(f"baseline: {note}" for note in before.notes)],
    }
    if arguments.junit:
        writing.whole(arguments.junit, junit(judged, datetime.now(UTC)))
    shown = page.page(judged, wanted, remarks, code)
    print(text(shown if arguments.verbose else page.brief(shown, judged), finished.width()))
    print(shown.lead[0])  # a log ends with it
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with open(summary, "a", encoding="utf-8") as file:
                file.write(markdown(shown))
        except OSError as error:
            print(f"cannot write GITHUB_STEP_SUMMARY: {error.strerror or error}", file=sys.stderr)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        print(*page.annotation_lines(judged), sep="\n")
    return code


def _with_documents(
    of_model: Sequence[Verdict], known: Mapping[str, catalogue.Task], pairs: Pairs
) -> None:
    """Say what else moved with the failing changes of a model, which documents moved them most, and
    what would decide its inconclusive rules, in documents where that can be planned."""
    pilots, moved = {}, {}
    for verdict in of_model:
        task, metric, run = verdict.task, verdict.metric, verdict.run
        if run and metric and verdict.change and verdict.verdict == verdicts.FAIL:
            pair, key = pairs[run.results, task], (metric.name, verdict.rule.group)
            verdict.todo += "".join(f"\n{line}" for line in _beside(pair, key))
            if task not in moved:
                failed = [v for v in of_model if v.task == task and v.verdict == verdicts.FAIL]
                keys = {(v.metric.name, v.rule.group) for v in failed if v.metric and v.change}
                moved[task] = pair.moved_most(keys)
            for gain, record in moved[task].get(key, ()):
                texts = dict.fromkeys(x for x in record.values() if isinstance(x, str))
                verdict.todo += f"\n{gain:.2g} of it: {shortened(', '.join(texts))}"
        if isnan(verdict.width_factor) or not (metric and run) or verdict.rule.group:
            continue
        with suppress(UsageError):  # where nothing can be planned
            if task not in pilots:
                pilots[task] = plan.Pilot(run, known)
            if planned := plan.to_decide(pilots[task], metric, verdict.width_factor, known):
                verdict.todo += f": {planned}"


def _beside(pair: Pair, key: Key) -> Iterator[str]:
    """The number less that of placebos, which tells a bias from words."""
    name, group = key
    for metric in pair.two.metrics:
        if name in (metric.raw, metric.between_models) and metric.name != name:
            change = difference(*pair.runs, (metric.name, group))
            before, now = (number_text(value, metric.unit) for value in change[:2])
            yield (
                f"{metric.name}, less what placebos get: {before} before, {now} now, changed by "
                f"{with_unit(change.difference, metric.unit)} "
                f"{interval_text(change.number, metric.unit)}"
            ).rstrip()


def _settings(run: Run) -> str:
    template = ", with its chat template" if run.template else ""
    date = f", on {run.date:%Y-%m-%d at %H:%M}" if run.date else ""
    return listed(run.settings) + template + date


def _found(folders: Sequence[Path], known: Mapping[str, catalogue.Task]) -> Runs:
    """The runs below some folders. UsageError where one cannot be read: it may be the newest."""
    finished_runs = find(folders, known) if folders else Runs([], [])
    if finished_runs.unread:
        lines = "\n".join(finished_runs.unread)
        raise UsageError(
            "some runs cannot be judged, and older ones do not stand in for them; mend or delete "
            f"these:\n{lines}"
        )
    return finished_runs


def _check_baseline(runs: Sequence[Run], baseline: Sequence[Run]) -> None:
    if {run.results.resolve() for run in runs} & {run.results.resolve() for run in baseline}:
        raise UsageError(
            "--baseline holds the very runs that are judged; give the folder of the older ones"
        )
    models = {run.identity: run.model for run in baseline}
    missing = sorted({run.model for run in runs if run.identity not in models})
    if len(models) > 1 and missing:
        raise UsageError(
            f"--baseline has {len(models)} models ({', '.join(sorted(models.values()))}), but not "
            f"{', '.join(missing)}; give the folder of the one model to compare with"
        )


# ---- Changes against the baseline


def changes(read: Reader, pairs: Pairs) -> Changes:
    """Paired changes; the answers of two runs are read once for all rules, and kept in `pairs`."""

    def change(now: Run, before: Run, key: Key) -> Difference:
        which = now.results, now.task
        if which not in pairs:
            with finished.reader(read, 2) as answers:
                pairs[which] = paired(before, now, answers)
        if notes := pairs[which].notes:
            raise UsageError("; ".join(notes))
        return difference(*pairs[which].runs, key)

    return change
