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
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from lm_eval.evaluator import evaluate as ask
from lm_eval.tasks import TaskManager
from lm_eval.utils import make_table

from lm_eval_bias.catalogue import tasks_folder
from lm_eval_bias.harness import compat
from lm_eval_bias.results import samples
from tests.harness.test_task import RuleLM, evaluate, halo_rule

# What each task is asked: whole documents of hbb in both orders, one list of mist_wabt, and so on.
DOCUMENTS = {
    "bistereo_nli": 8,
    "bistereo_pairs": 60,
    "hbb": 4,
    "mist_wabt": 1,
    "mist_aat": 2,
    "empathy_religion_likelihood": 1,
    "stereomap_structure_likelihood": 8,
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
        if not (root / environment / "installed").exists():
            pytest.skip(f"{environment} is not there; `make test-next` makes it")
    folder = tmp_path_factory.mktemp("both")
    asked = json.dumps({task: list(range(count)) for task, count in DOCUMENTS.items()})
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}

    def run(which):
        environment, model = which
        output = folder / f"{environment}-{model}"
        command = [
            root / environment / "bin" / "lm_eval",
            *COMMANDS[model],
            "--model_args",
            f"pretrained={root / '.model'}",
            "--device",
            "cpu",
        ]
        command += [
            "--tasks",
            ",".join(DOCUMENTS),
            "--samples",
            asked,
            "--gen_kwargs",
            "max_gen_toks=12",
        ]
        done = subprocess.run(
            [*command, "--log_samples", "--output_path", output],
            capture_output=True,
            text=True,
            env=settings,
            cwd=folder,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert "records" not in done.stdout and all(task in done.stdout for task in DOCUMENTS), (
            done.stdout
        )
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


def same(found, expected):
    """Equal to 1e-6, a number that does not exist equal to another."""
    found, expected = dict(leaves(found)), dict(leaves(expected))
    assert found.keys() == expected.keys()
    for path, value in found.items():
        assert value == (
            pytest.approx(expected[path], abs=1e-6, rel=0, nan_ok=True)
            if isinstance(value, float)
            else expected[path]
        ), path


@pytest.mark.model
@pytest.mark.parametrize("model", COMMANDS)
def test_both_versions_give_the_same_numbers(results, model):
    """All of the table, and all of the finer tables."""
    tested, coming = (results[environment, model] for environment in VERSIONS)
    assert (tested["lm_eval_version"], coming["lm_eval_version"]) == tuple(VERSIONS.values())
    for part in ("results", "higher_is_better", "versions", "n-samples"):
        same(coming[part], tested[part])
    assert set(coming["results"]) == set(DOCUMENTS)
    for task, count in DOCUMENTS.items():
        assert coming["n-samples"][task]["effective"] == count
        assert len(coming["configs"][task]["cells"]["numbers"]) > 5
        same(coming["configs"][task]["cells"], tested["configs"][task]["cells"])


@pytest.mark.parametrize("iterations", [0, 100_000])
def test_numbers_are_the_tasks_own_and_never_bootstrapped(iterations):
    """100 by the rule, without a standard error since no two templates differ; a bootstrap would
    take minutes, and fail."""
    results = evaluate(
        RuleLM(halo_rule), "bistereo_nli_behaviour", limit=400, bootstrap_iters=iterations
    )
    numbers = results["results"]["bistereo_nli_behaviour"]
    assert (
        numbers["halo_gap,none"],
        numbers["halo_gap_stderr,none"],
        numbers["horn_gap_men,none"],
    ) == (100, 0, 100)
    assert numbers["unanswered_stderr,none"] == "N/A" and "acc,none" not in numbers
    assert results["configs"]["bistereo_nli_behaviour"]["cells"]["numbers"]
    table = make_table(results)
    assert "halo_gap" in table and "records" not in table


def test_what_the_results_file_says_of_the_metrics():
    config = evaluate(RuleLM(halo_rule), "bistereo_nli", limit=8)["configs"]["bistereo_nli"]
    assert {"metric": "neutral", "higher_is_better": True} in config[
        "metric_list"
    ] and "process_results" not in config
    json.dumps(config)


@pytest.mark.parametrize("task", DOCUMENTS)
def test_predict_only_asks_and_does_not_score(task):
    lm = RuleLM(lambda *_: -1.0, lambda _: "A thing.")
    results = evaluate(lm, task, limit=2, predict_only=True, bootstrap_iters=100_000)
    (bypass,) = (
        value for key, value in results["results"][task].items() if key.startswith("bypass,")
    )
    assert bypass == 999 and "cells" not in results["configs"][task]
    assert len(results["samples"][task]) == 2 and all(s["resps"] for s in results["samples"][task])


def test_a_task_makes_the_requests_of_its_output_type_and_stays_what_it_is():
    loaded = TaskManager(include_path=tasks_folder(), include_defaults=False).load(list(DOCUMENTS))[
        "tasks"
    ]
    for task in loaded.values():
        class_ = type(task)
        assert isinstance(task, compat.task_base()) and class_.__name__ in (
            "MeasureTask",
            "ConversationMeasureTask",
            "SentencePairTask",
        )
        assert compat.asking(class_, "multiple_choice") is class_ or not hasattr(
            task, "process_instances"
        )
    assert type(loaded["hbb"]) is type(loaded["bistereo_nli"]) and type(loaded["mist_aat"]) is type(
        loaded["empathy_religion_likelihood"]
    )
    copied = type(loaded["hbb"]).__new__(type(loaded["hbb"]))  # as copy and pickle make an object
    assert type(copied) is type(loaded["hbb"])


def test_repeats_of_the_command_line_are_for_those_who_answer_in_words():
    loaded = TaskManager(include_path=tasks_folder(), include_defaults=False).load(
        ["hbb", "mist_aat"]
    )
    if not hasattr(loaded["tasks"]["hbb"], "process_instances"):
        pytest.skip("this version of lm_eval has no --repeats")
    for task in loaded["tasks"].values():
        task.set_repeats(2)
    results = ask(
        lm=RuleLM(lambda *_: -1.0, lambda _: "comedy"),
        task_dict=loaded,
        limit=3,
        bootstrap_iters=100_000,
    )
    assert [len(s["records"]) for s in results["samples"]["mist_aat"]] == [2, 2, 2] and results[
        "n-samples"
    ]["mist_aat"]["effective"] == 3
    assert all(isinstance(s["records"], dict) for s in results["samples"]["hbb"])


def test_the_cache_of_the_harness_answers_the_second_time(tmp_path):
    asked = []
    lm = RuleLM(
        lambda *pair: asked.append(pair) or -float(len(pair[1])),
        lambda prompt: asked.append(prompt) or "It is comedy.",
    )
    first, second = (
        [
            evaluate(lm, task, limit=2, use_cache=str(tmp_path / "cache"))
            for task in ("hbb", "mist_aat")
        ]
        for _ in range(2)
    )
    assert len(asked) == 2 * 2 + 2 * 2
    for one, other in zip(first, second, strict=True):
        assert str(other["results"]) == str(one["results"])


def test_a_record_in_the_samples_is_what_the_summary_reads():
    logged = evaluate(
        RuleLM(lambda *_: -1.0, lambda _: "comedy"), "mist_aat", limit=2, log_samples=True
    )["samples"]["mist_aat"]
    for sample in logged:
        assert (
            sample["records"]["verdict"] == "comedy"
            and sample["records"]["word"] == sample["doc"]["word"]
        )
    assert json.loads(json.dumps(logged))[0]["records"] == logged[0]["records"]


def test_an_unshown_name_survives_a_journey_between_processes():
    name = pickle.loads(pickle.dumps(compat.Unshown("records")))
    assert name == "records" and f"{name},none" == "records_stderr,none"


def test_an_error_in_the_numbers_leaves_samples_and_status_1(tmp_path):
    """Through the command line, where a task of one's own has a measure that fails."""
    (tmp_path / "broken.yaml").write_text(
        f"include: {tasks_folder()}/hbb/hbb.yaml\ntask: broken\nmeasure: !function broken.BROKEN\n"
    )
    (tmp_path / "broken.py").write_text(
        "from lm_eval_bias.benchmarks.hbb.measure import HBB\n\ndef fail(records, **options):\n    raise ArithmeticError('nothing adds up')\n\n"
        "BROKEN = HBB._replace(summary=fail)\n"
    )
    command = [
        sys.executable,
        "-m",
        "lm_eval",
        "--model",
        "dummy",
        "--model_args",
        "seed=1",
        "--include_path",
        str(tmp_path),
        "--tasks",
        "broken",
    ]
    done = subprocess.run(
        [*command, "--limit", "4", "--log_samples", "--output_path", str(tmp_path / "out")],
        capture_output=True,
        text=True,
    )
    assert (
        done.returncode == 1
        and done.stderr.splitlines()[-1]
        == "lm-eval-bias: no numbers for broken; see the error above"
    )
    results = json.loads(next(tmp_path.rglob("results_*.json")).read_text())
    assert results["configs"]["broken"][
        "error"
    ] == "ArithmeticError: nothing adds up" and math.isnan(
        results["results"]["broken"]["mean_difference,none"]
    )
    assert len(next(tmp_path.rglob("samples_broken_*.jsonl")).read_text().splitlines()) == 4


@pytest.mark.parametrize(
    "index", [None, "class TaskIndex:\n    def of(self): ...\n"], ids=["no index", "another index"]
)
def test_an_index_that_cannot_be_extended_is_told_of(tmp_path, root, index):
    """A harness of the future, as far as it is imported here."""
    (tmp_path / "lm_eval" / "tasks").mkdir(parents=True)
    (tmp_path / "lm_eval" / "__init__.py").write_text("")
    (tmp_path / "lm_eval" / "tasks" / "__init__.py").write_text(
        "" if index is None else "from . import _index\n"
    )
    if index is not None:
        (tmp_path / "lm_eval" / "tasks" / "_index.py").write_text(index)
    code = "import lm_eval_bias, lm_eval.tasks"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{root}"},
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line == (
        f"lm-eval-bias: lm_eval {compat.version()} builds its task index in another way than 0.4.13 and 0.5.0.dev1; "
        f"the bias tasks are found only with --include_path {tasks_folder()}"
    )


def test_a_harness_without_the_class_of_tasks_is_told_of(monkeypatch):
    import lm_eval.api.task

    monkeypatch.delattr(lm_eval.api.task, "ConfigurableTask")
    with pytest.raises(
        ImportError,
        match=r"has no ConfigurableTask; the tasks of lm-eval-bias run on 0\.4\.13 and 0\.5\.0\.dev1",
    ):
        compat.task_base()


def test_prompts_are_read_with_the_filters_of_the_harness(caplog):
    compat.environment.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert (
            compat.environment().from_string("{{'a-b' | regex_replace('-', '+')}}\n").render()
            == "a+b\n"
        )
    assert not caplog.records


def test_samples_of_a_task_in_a_group_find_what_its_results_say(tmp_path):
    """0.5 names the task of a group GROUP::TASK, in the results and in the names of files."""
    date = "2026-01-31T10-11-12.123456"
    said = {
        "configs": {"mist::mist_aat": {"metadata": {"samples": 1}}},
        "versions": {"mist::mist_aat": 1.0},
    }
    (tmp_path / f"results_{date}.json").write_text(json.dumps(said))
    run = samples.run("mist_aat", tmp_path / f"samples_mist::mist_aat_{date}.jsonl")
    assert (run.version, run.metadata) == (1.0, {"samples": 1})
