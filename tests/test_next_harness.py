"""The tasks on the harness's next version, 0.5.0.dev1: `make test-next` runs this there; with the
tested version it must pass as well.

The tasks below are run by both versions, through the command line of each, where both environments
have been made.
"""

import json
import logging
import math
import os
import pickle
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import lm_eval.api.task
import pytest
from lm_eval.evaluator import evaluate as ask
from lm_eval.utils import make_table

from lm_eval_bias import cli
from lm_eval_bias.catalogue import tasks_folder
from lm_eval_bias.harness import compat
from lm_eval_bias.results import samples
from tests.harness.test_task import halo_rule
from tests.rule_model import RuleLM, evaluate, load
from tests.started import run_lm_eval

# What each task is asked: whole documents of hbb in both orders, one list of mist_wabt, and so on.
# None has many choices, of which `hf` would read the prompt anew for each.
DOCUMENTS = {
    "bistereo_nli": 8,
    "bistereo_pairs": 12,
    "hbb": 4,
    "mist_wabt": 1,
    "mist_aat": 1,
    "mist_aat_likelihood": 1,
    "stereomap_structure_likelihood": 2,
}
COMMANDS = {
    "hf": ["--model", "hf", "--batch_size", "4"],
    "hf-prefix": [
        "--model",
        "hf-prefix",
        "--apply_chat_template",
        "--metadata",
        '{"order": "paper"}',
    ],
}
VERSIONS = {".venv": "0.4.13", ".venv-next": "0.5.0.dev1"}


@pytest.fixture(scope="module")
def results(root, tmp_path_factory):
    """What the command `lm_eval` of both environments wrote, two commands at a time: (environment,
    model) -> results."""
    for environment in VERSIONS:
        if not (root / environment / "tests").exists():
            pytest.skip(f"{environment} is not there; `make test-next` makes it")
    folder = tmp_path_factory.mktemp("both")
    documents = json.dumps({task: list(range(count)) for task, count in DOCUMENTS.items()})
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}

    def run(which):
        environment, model = which
        output = folder / f"{environment}-{model}"
        command = [root / environment / "bin" / "lm_eval", *COMMANDS[model]]
        command += ["--model_args", f"pretrained={root / '.model'}", "--device", "cpu"]
        command += ["--tasks", ",".join(DOCUMENTS), "--samples", documents]
        command += ["--gen_kwargs", "max_gen_toks=12", "--log_samples", "--output_path", output]
        done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=folder)
        assert done.returncode == 0, done.stderr[-3000:]
        assert "records" not in done.stdout
        assert all(task in done.stdout for task in DOCUMENTS), done.stdout
        return json.loads(next(output.rglob("results_*.json")).read_text())

    both = [(environment, model) for model in COMMANDS for environment in VERSIONS]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(both, pool.map(run, both), strict=True))


def leaves(tree, path=()):
    """(path, value) of everything in nested lists and dicts."""
    if isinstance(tree, (dict, list)):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(value, (*path, key))
    else:
        yield path, tree


def same(actual, expected, rounding):
    """NaN is equal to NaN."""
    actual, expected = dict(leaves(actual)), dict(leaves(expected))
    assert actual.keys() == expected.keys()
    for path, value in actual.items():
        other = expected[path]
        if isinstance(value, float):
            other = pytest.approx(other, abs=rounding, rel=0, nan_ok=True)
        assert value == other, path


@pytest.mark.model
@pytest.mark.parametrize("model", COMMANDS)
def test_both_versions_give_the_same_numbers(results, model):
    """All of the table, and all of the finer tables. What hf-prefix computes at a time follows from
    the time that it takes."""
    rounding = {"hf": 1e-6, "hf-prefix": 1e-3}[model]
    tested, coming = (results[environment, model] for environment in VERSIONS)
    assert (tested["lm_eval_version"], coming["lm_eval_version"]) == tuple(VERSIONS.values())
    for part in ("results", "higher_is_better", "versions", "n-samples"):
        same(coming[part], tested[part], rounding)
    assert set(coming["results"]) == set(DOCUMENTS)
    for task, count in DOCUMENTS.items():
        assert coming["n-samples"][task]["effective"] == count
        assert len(coming["configs"][task]["cells"]["numbers"]) > 5
        same(coming["configs"][task]["cells"], tested["configs"][task]["cells"], rounding)


@pytest.mark.parametrize("iterations", [0, 100_000])
def test_numbers_are_the_tasks_own_and_never_bootstrapped(iterations):
    """100 by the rule, without a standard error since no two templates differ; a bootstrap would
    take minutes, and fail."""
    task = "bistereo_nli_behaviour"
    results = evaluate(RuleLM(halo_rule), task, limit=400, bootstrap_iters=iterations)
    numbers = results["results"][task]
    names = ("halo_gap,none", "halo_gap_stderr,none", "horn_gap_men,none")
    assert [numbers[name] for name in names] == [100, 0, 100]
    assert numbers["unanswered_stderr,none"] == "N/A" and "acc,none" not in numbers
    config = results["configs"][task]
    assert config["cells"]["numbers"]
    assert {"metric": "non_neutral", "higher_is_better": False} in config["metric_list"]
    assert "process_results" not in config
    json.dumps(config)
    table = make_table(results)
    assert "halo_gap" in table and "records" not in table


@pytest.mark.parametrize("task", DOCUMENTS)
def test_predict_only_asks_and_does_not_score(task):
    lm = RuleLM(lambda *_: -1.0, lambda _: "A thing.")
    results = evaluate(lm, task, limit=2, predict_only=True, bootstrap_iters=100_000)
    (bypass,) = (v for key, v in results["results"][task].items() if key.startswith("bypass,"))
    assert bypass == 999 and "cells" not in results["configs"][task]
    assert len(results["samples"][task]) == 2 and all(s["resps"] for s in results["samples"][task])


def test_a_task_makes_the_requests_of_its_output_type_and_stays_what_it_is():
    tasks = load(*DOCUMENTS)["tasks"]
    for task in tasks.values():
        class_ = type(task)
        assert isinstance(task, compat.task_base()) and class_.__name__ in (
            "MeasureTask",
            "ConversationMeasureTask",
            "SentencePairTask",
        )
        assert compat.asking(class_, "multiple_choice") is class_ or not hasattr(
            task, "process_instances"
        )
    hbb = type(tasks["hbb"])
    assert hbb is type(tasks["bistereo_nli"])
    assert type(tasks["mist_aat"]) is type(tasks["mist_aat_likelihood"])
    assert type(hbb.__new__(hbb)) is hbb  # as copy and pickle make an object


def test_repeats_of_the_command_line_are_for_those_who_answer_in_words():
    loaded = load("hbb", "mist_aat")
    if not hasattr(loaded["tasks"]["hbb"], "process_instances"):
        pytest.skip("this version of lm_eval has no --repeats")
    for task in loaded["tasks"].values():
        task.set_repeats(2)
    lm = RuleLM(lambda *_: -1.0, lambda _: "comedy")
    results = ask(lm=lm, task_dict=loaded, limit=3, bootstrap_iters=100_000)
    assert [len(s["records"]) for s in results["samples"]["mist_aat"]] == [2, 2, 2]
    assert results["n-samples"]["mist_aat"]["effective"] == 3
    assert all(isinstance(s["records"], dict) for s in results["samples"]["hbb"])


def test_the_cache_of_the_harness_answers_the_second_time(tmp_path):
    requests = []
    lm = RuleLM(
        lambda *pair: requests.append(pair) or -float(len(pair[1])),
        lambda prompt: requests.append(prompt) or "It is comedy.",
    )
    cache = str(tmp_path / "cache")
    for task in ("hbb", "mist_aat"):
        first, second = (evaluate(lm, task, limit=2, use_cache=cache) for _ in range(2))
        assert str(first["results"]) == str(second["results"])
    assert len(requests) == 2 * 2 + 2 * 2


def test_a_record_in_the_samples_is_what_the_summary_reads():
    lm = RuleLM(lambda *_: -1.0, lambda _: "comedy")
    samples = evaluate(lm, "mist_aat", limit=2, log_samples=True)["samples"]["mist_aat"]
    for sample in samples:
        assert sample["records"]["verdict"] == "comedy"
        assert sample["records"]["word"] == sample["doc"]["word"]
    assert json.loads(json.dumps(samples))[0]["records"] == samples[0]["records"]


BROKEN = """
from lm_eval_bias.benchmarks.hbb.measure import HBB

def fail(records, **options):
    raise ArithmeticError("nothing adds up")

BROKEN = HBB._replace(summary=fail)
"""


YAML = """
include: {folder}/hbb/hbb.yaml
task: broken
measure: !function broken.BROKEN
"""


def test_an_error_in_the_numbers_costs_neither_samples_nor_other_tasks(tmp_path, capsys):
    """Through the command line. `merge` makes the numbers once the error is mended."""
    (tmp_path / "broken.yaml").write_text(YAML.format(folder=tasks_folder()))
    (tmp_path / "broken.py").write_text(BROKEN)
    command = ["--model", "dummy", "--include_path", tmp_path, "--tasks", "hbb,broken"]
    command += ["--limit", "156", "--log_samples", "--output_path", tmp_path / "out"]
    done = run_lm_eval(command)
    last = "lm-eval-bias: no numbers for broken; see the error above"
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == last
    assert "ArithmeticError: nothing adds up" in done.stderr
    assert "|broken|" in done.stdout and "|hbb   |" in done.stdout
    results = json.loads(next(tmp_path.rglob("results_*.json")).read_text())
    assert results["configs"]["broken"]["error"] == "ArithmeticError: nothing adds up"
    assert math.isnan(results["results"]["broken"]["mean_difference,none"])
    assert results["results"]["hbb"]["instances,none"] == 67
    assert "error" not in results["configs"]["hbb"]
    (samples,) = tmp_path.rglob("samples_broken_*.jsonl")
    assert len(samples.read_text().splitlines()) == 156
    mended = BROKEN.replace("raise", "return HBB.summary(records, **options)\n    raise")
    (tmp_path / "broken.py").write_text(mended)
    assert cli.main(["merge", "broken", str(samples), "--include_path", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "broken: 156 documents of 1 file\n" in printed
    assert re.search(r"^instances +67 +count", printed, re.M), printed


@pytest.mark.parametrize(
    "index", [None, "class TaskIndex:\n    def of(self): ...\n"], ids=["no index", "another index"]
)
def test_an_index_that_cannot_be_extended_is_reported(tmp_path, root, index):
    """A harness of the future, as far as it is imported here."""
    folder = tmp_path / "lm_eval" / "tasks"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "__init__.py").write_text("from . import _index\n" if index else "")
    if index:
        (folder / "_index.py").write_text(index)
    done = subprocess.run(
        [sys.executable, "-c", "import lm_eval_bias, lm_eval.tasks"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        f"lm-eval-bias: lm_eval {compat.version()} builds its task index in another way than "
        "0.4.13 and 0.5.0.dev1; the bias tasks are found only with --include_path "
        f"{tasks_folder()}"
    ]


def test_a_harness_without_the_class_of_tasks_is_reported(monkeypatch):
    monkeypatch.delattr(lm_eval.api.task, "ConfigurableTask")
    message = "has no ConfigurableTask; the tasks of lm-eval-bias run on 0.4.13 and 0.5.0.dev1"
    with pytest.raises(ImportError, match=re.escape(message)):
        compat.task_base()


def test_an_unshown_name_survives_a_journey_between_processes():
    name = pickle.loads(pickle.dumps(compat.Unshown("records")))
    assert name == "records" and f"{name},none" == "records_stderr,none"


def test_prompts_are_read_with_the_filters_of_the_harness(caplog):
    compat.environment.cache_clear()
    with caplog.at_level(logging.WARNING):
        template = compat.environment().from_string("{{'a-b' | regex_replace('-', '+')}}\n")
    assert template.render() == "a+b\n" and not caplog.records


def test_samples_of_a_task_in_a_group_find_their_results(tmp_path):
    """0.5 names the task of a group GROUP::TASK, in the results and in the names of files."""
    date, task = "2026-01-31T10-11-12.123456", "mist::mist_aat"
    results = {"configs": {task: {"metadata": {"samples": 1}}}, "versions": {task: 1.0}}
    (tmp_path / f"results_{date}.json").write_text(json.dumps(results))
    run = samples.run("mist_aat", tmp_path / f"samples_{task}_{date}.jsonl")
    assert (run.version, run.metadata) == (1.0, {"samples": 1})
