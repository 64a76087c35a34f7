"""What `import lm_eval_bias` offers: six functions, on runs of scripted models that `evaluate`
makes."""

import doctest
import inspect
import json
import subprocess
import sys
from math import isnan, nan
from pathlib import Path

import pandas as pd
import pytest
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks._index import TaskIndex
from statsmodels.stats.multitest import multipletests
from transformers import AutoModelForCausalLM

import lm_eval_bias as leb
from lm_eval_bias.export.numbers import settings
from lm_eval_bias.harness import compat
from lm_eval_bias.results.leaderboard import conditions
from lm_eval_bias.results.runs import Runs
from lm_eval_bias.usage import UsageError
from tests.rule_model import ChatLM, manager
from tests.scripted import ask, lines_of, made_up, scripted

TASKS = ["bistereo_analogy", "hbb_ci"]
FUNCTIONS = (leb.read, Runs.numbers, Runs.records, leb.compare, leb.figure, leb.evaluate)


@pytest.fixture(scope="module", autouse=True)
def only_our_tasks():
    """The harness's own thousands of YAML files take ten seconds."""
    every = TaskIndex._iter_yaml_files
    ours = staticmethod(lambda root: [] if (root / "_index.py").exists() else every(root))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TaskIndex, "_iter_yaml_files", ours)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("python")
    for name, leaning in (("base", 0.0), ("tuned", 2.0)):
        leb.evaluate(scripted(name, leaning), TASKS, folder / "runs", name=name, limit=700)
    return folder


@pytest.fixture(scope="module")
def runs(place):
    return leb.read(place / "runs")


def written(folder, name):
    (path,) = Path(folder).rglob(name)
    return path


# ---- read, numbers, records


def test_numbers_are_those_of_the_results_files(place, runs):
    numbers, rows = runs.numbers(), []
    for name in ("base", "tuned"):
        results = json.loads(written(place / "runs" / name, "results_*.json").read_text())
        for task in TASKS:
            rows += results["configs"][task]["cells"]["numbers"]
    assert numbers["metric"].tolist() == [row["metric"] for row in rows]
    for key in ("value", "low", "high", "null_value"):
        expected = [nan if row[key] is None else row[key] for row in rows]
        assert numbers[key].tolist() == pytest.approx(expected, nan_ok=True)
    assert numbers["group"].isna().tolist() == [row["group"] is None for row in rows]


def test_the_model_that_leans_gets_a_yes_and_the_other_none(runs):
    tests = runs.numbers().query("metric == 'log_odds_beyond_words' and group.isna()")
    answers = dict(zip(tests["model"], tests["verdict"], strict=True))
    assert answers == {"base": "no difference", "tuned": "yes"}
    assert tests["answer"].str.startswith(("Yes:", "No difference")).all()
    assert tests["calibrated"].all() and not tests["question"].isna().any()


def test_types_are_the_same_for_every_run_and_for_none(runs, tmp_path):
    made_up(tmp_path, {"gap": (nan, None)}, "org/m")
    lacking = leb.read(tmp_path).numbers()
    assert lacking["value"].isna().all() and len(lacking) == 1
    for frame in (lacking, Runs([], []).numbers()):
        assert frame.dtypes.equals(runs.numbers().dtypes)


def test_a_record_is_an_answer_as_it_was_read(place, runs):
    records = runs.records("hbb_ci")
    assert len(records) == 2 * 700
    samples = lines_of(written(place / "runs" / "base", "samples_hbb_ci_*"))
    own = records[records["model"] == "base"].reset_index(drop=True)
    read = pd.DataFrame([sample["records"] for sample in samples])
    pd.testing.assert_frame_equal(own[read.columns], read, check_dtype=False)
    for sample, row in zip(samples, own.to_dict("records"), strict=True):
        assert row["document"] == sample["doc_id"]


def test_paths_are_one_several_or_named(place, runs):
    one, two = place / "runs" / "base", place / "runs" / "tuned"
    for given in ([one, str(two)], {"base": one, "tuned": two}):
        assert leb.read(given).numbers().equals(runs.numbers())
    assert repr(leb.read({"mine": one})) == "mine: bistereo_analogy\nmine: hbb_ci"
    assert not leb.read(written(one, "results_*.json")).unread


# ---- compare, figure


def test_a_comparison_is_that_of_the_command(place, runs, command):
    frame = leb.compare(runs, "base", "tuned")
    out = place / "compared.jsonl"
    assert (
        command("compare", *(place / "runs" / n for n in ("base", "tuned")), "--output", out)[0]
        == 0
    )
    rows = lines_of(out)
    assert len(frame) == len(rows)
    for row, own in zip(rows, frame.to_dict("records"), strict=True):
        assert (own["task"], own["metric"]) == (row["task"], row["metric"])
        expected = nan if row["difference"] is None else row["difference"]
        assert own["difference"] == pytest.approx(expected, nan_ok=True)
    raw = [row["p"] for row in rows if row["p"] is not None]
    assert list(frame["p"].dropna()) == pytest.approx(multipletests(raw, method="holm")[1])
    leaning = frame.query("metric == 'directed_log_odds'").iloc[0]
    assert leaning["p"] < 0.05 and leaning["verdict"] == "farther"
    assert frame.loc[frame["p"].isna(), "why"].notna().all()


def test_a_task_that_one_model_lacks_is_a_row_that_says_so(runs):
    last = leb.compare(runs._replace(runs=runs.runs[1:]), "base", "tuned").iloc[-1]
    assert last["task"] == "bistereo_analogy" and "only tuned" in last["why"]
    assert isnan(last["difference"])


def test_a_figure_shows_itself_and_is_saved(runs, tmp_path):
    figure = leb.figure(runs, "hbb_ci", "Figure 4")
    assert "base" in figure._repr_svg_() and "tuned" in figure._repr_svg_()
    starts = {"a.svg": b"<svg", "a.png": b"\x89PNG", "a.pdf": b"%PDF", "a-column.pdf": b"%PDF"}
    for name, start in starts.items():
        figure.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


# ---- evaluate


def test_a_run_of_python_is_that_of_the_harness(tmp_path):
    """The numbers of `simple_evaluate`, and the condition that was asked."""
    lm = scripted("x", 1.0)
    ask(tmp_path / "theirs", "x", lm, "bistereo_analogy", limit=200)
    ours = leb.evaluate(lm, "bistereo_analogy", tmp_path / "ours", name="x", limit=200, seed=7)
    theirs = leb.read(tmp_path / "theirs")
    assert ours.numbers().equals(theirs.numbers())
    config = ours.runs[0].recorded["config"]
    assert {config[f"{key}_seed"] for key in ("random", "numpy", "torch", "fewshot")} == {7}
    assert leb.read(tmp_path / "ours").numbers().equals(ours.numbers())


def test_the_condition_is_the_one_that_was_asked(tmp_path):
    lm = ChatLM(rule=lambda context, text: -float(len(text)))
    given = {"apply_chat_template": True, "system_instruction": "Be kind.", "limit": 4}
    chat, plain = (
        leb.evaluate(lm, ["bistereo_analogy"], tmp_path, name=name, **more).runs[0]
        for name, more in (("chat", given), ("plain", {"limit": 4}))
    )
    assert chat.condition["chat template"] == "the model's"
    assert len(chat.condition["system instruction"]) == 12
    assert plain.condition["chat template"] == plain.condition["system instruction"] == "none"


@pytest.mark.model
def test_a_loaded_model_is_asked_as_the_harness_asks_it(tiny, tmp_path):
    model = AutoModelForCausalLM.from_pretrained(tiny)
    first = leb.evaluate(model, ["bistereo_analogy"], tmp_path, limit=2).runs[0]
    assert (first.identity, first.condition["dtype"]) == (str(tiny), "float32")
    config = first.recorded["config"]
    assert config["model"] == "hf" and config["model_args"]["pretrained"] == str(tiny)
    lm = HFLM(pretrained=str(tiny), device="cpu")
    again = leb.evaluate(lm, ["bistereo_analogy"], tmp_path, limit=2)
    assert again.runs[0].identity == first.identity
    assert again.numbers()["value"].equals(leb.read(tmp_path).numbers()["value"])


def test_numbers_that_could_not_be_made_are_an_error_and_the_rest_is_saved(tmp_path, monkeypatch):
    from lm_eval_bias.harness import task

    def broken(*arguments):
        raise RuntimeError("no")

    monkeypatch.setattr(task, "summarise", broken)
    with pytest.raises(UsageError, match="no numbers for bistereo_analogy"):
        leb.evaluate(scripted("x"), ["bistereo_analogy"], tmp_path, name="x", limit=4)
    assert len(lines_of(written(tmp_path, "samples_*"))) == 4
    compat.failures.clear()


def test_what_a_tracker_saved_afterwards_has_an_unknown_condition(tmp_path):
    results = simple_evaluate(
        scripted("x"), tasks=["bistereo_analogy"], limit=4, task_manager=manager()
    )
    tracker = EvaluationTracker(output_path=str(tmp_path))
    tracker.save_results_aggregated(results=results, samples=results.pop("samples"))
    (run,) = (found := leb.read(tmp_path)).runs
    assert run.model == "RuleLM" and settings(run)["chat template"] == "unknown"
    assert run.condition["chat template"] == run.condition["system instruction"] == "unknown"
    says = "unknown whether a chat template was applied: its results do not say"
    assert says in run.warnings
    (shown,) = conditions(found)
    assert shown.settings["chat template"] == "unknown"


def test_a_loaded_model_is_not_called_by_the_name_that_the_harness_draws(tmp_path):
    """It draws after seeding with 0, so that every model gets the same."""
    config = {"model": "org/loaded", "model_args": None, "model_dtype": "torch.bfloat16"}
    made_up(tmp_path, {"gap": (2.0, 0.5)}, "qdpv68r5", config=config, model_source="CUSTOM")
    (run,) = leb.read(tmp_path).runs
    assert (run.model, run.condition["dtype"]) == ("org/loaded", "bfloat16")


# ---- Mistakes

MISTAKES = [
    (lambda runs: leb.read(5), "expected a folder, several"),
    (lambda runs: leb.read("nowhere"), "nowhere is not there; give"),
    (lambda runs: runs.records("hbb"), "no run has the task 'hbb'; did you mean hbb_ci?"),
    (lambda runs: runs.records(None), "expected one of"),
    (
        lambda runs: runs._replace(runs=[run._replace(samples=()) for run in runs.runs]).records(
            "hbb_ci"
        ),
        "hbb_ci has no file of samples; lm_eval --log_samples writes it",
    ),
    (lambda runs: leb.compare(runs, "base", "tund"), "did you mean tuned?"),
    (lambda runs: leb.compare(runs, "base", "base"), "compared with itself"),
    (lambda runs: leb.compare(runs, None, "base"), "no run is of that model"),
    (lambda runs: leb.figure(runs, "hbb_ci", "Figure 44"), "did you mean Figure 4?"),
    (lambda runs: leb.figure(runs, "hbb_ci", "Who gets the favourable option"), "one model"),
    (lambda runs: leb.figure(runs, "hbb_ci", "Figure 4").save("a.jpg"), "a file .svg, .png"),
    (lambda runs: leb.evaluate(5, TASKS), "expected a loaded transformers model"),
    (lambda runs: leb.evaluate(scripted("x"), TASKS), "add name="),
    (lambda runs: leb.evaluate(scripted("x"), ["hbx"], name="x"), "hbx; options are those"),
    (lambda runs: leb.evaluate(scripted("x"), TASKS, name="x", limt=3), "limt"),
    (lambda runs: leb.evaluate(scripted("x"), TASKS, name=5), "options are those"),
    (
        lambda runs: leb.evaluate(scripted("x"), TASKS, name="x", include_path="no"),
        "no folder|not a",
    ),
]


@pytest.mark.parametrize("mistake, expected", MISTAKES)
def test_a_mistake_is_told_in_one_sentence(runs, here, mistake, expected):
    with pytest.raises(UsageError, match=expected) as raised:
        mistake(runs)
    assert "\n" not in str(raised.value)


# ---- The module


def test_the_examples_of_the_reference_run(place, monkeypatch):
    monkeypatch.chdir(place)
    names = {"leb": leb, "model": scripted("tuned", 2.0)}
    for function in FUNCTIONS:
        examples = doctest.DocTestParser().get_examples(inspect.getdoc(function))
        assert examples, function
        for example in examples:
            exec(example.source, names)
    assert repr(names["runs"]) == "tuned: hbb_ci" and Path("figure.pdf").is_file()


def test_the_import_loads_nothing_and_names_what_there_is(root):
    code = (
        "import os, sys; before = {*sys.modules}; import lm_eval_bias as leb\n"
        "assert {*sys.modules} - before == {'lm_eval_bias'}, {*sys.modules} - before\n"
        "assert {*leb.__all__} <= {*dir(leb)} and not hasattr(leb, 'nothing')\n"
        "from lm_eval_bias import *; assert callable(evaluate)"
    )
    command = [sys.executable, "-S", "-c", code]
    paths = {"PYTHONPATH": ":".join([str(root), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, env=paths)
    assert done.returncode == 0, done.stderr
    assert leb.__all__ == ["__version__", "compare", "evaluate", "figure", "read"]
