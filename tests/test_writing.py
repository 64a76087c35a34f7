"""What is written is whole, or what stood there before: a full disk or a kill at any write, for
every command that writes."""

import json
import os
import re
import shutil
import subprocess
import sys
from errno import EBUSY, ENOSPC
from functools import partial
from itertools import count

import pytest
from lm_eval.api.registry import model_registry

from lm_eval_bias import cli, writing
from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.empathy.measure import record
from lm_eval_bias.data import small_model
from lm_eval_bias.report.folder import LIST, Folder
from tests.commands.test_items_command import STEREOTYPES, Scripted
from tests.commands.test_reasons import SAID
from tests.cut_off import KILLED, contents, cut_off
from tests.gate.judged import rule, run_of

COMMANDS = [
    "leaderboard runs --output out.csv",
    "compare runs --models org/a org/b --output out.html",
    "gate runs --rules bias.yaml --junit out.xml",
    "export runs --model org/a --to hub --dataset_id a/b --output .",
    "export runs --model org/a --to model-index --card README.md",
    "export runs --to every-eval-ever --output .",
    "merge empathy_religion samples.jsonl --output out.json",
    "reasons said.jsonl --diversity --output out.json",
    "report runs -o report --no_figures",
    "items hbb --from s.csv --model scripted --out items.jsonl",
    "model made",
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """What the commands read, and earlier outputs."""
    folder = tmp_path_factory.mktemp("inputs")
    for i, name in enumerate(("org/a", "org/b")):
        values = {"non_neutral": (12.5 + i, 1.5), "halo_gap": (-6.0, 1.5)}
        run_of(folder / "runs", name, values, task="bistereo_nli", minutes=i)
    doc = next(iter(empathy.documents("religion")))
    sample = {"doc_hash": "0", "records": record(doc, [60.0])}
    (folder / "samples.jsonl").write_text(json.dumps(sample) + "\n")
    (folder / "said.jsonl").write_text("".join(json.dumps(s) + "\n" for s in SAID))
    (folder / "bias.yaml").write_text(
        rule("metric: halo_gap, below: 9").replace("mine", "bistereo_nli")
    )
    (folder / "s.csv").write_text(STEREOTYPES)
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# A model\n")
    for end in ("csv", "html", "xml", "json"):
        (folder / f"out.{end}").write_text("earlier")
    run_of(folder / "before", "org/c", {"halo_gap": (1.0, 1.0)}, task="bistereo_nli")
    assert (
        cli.main(["report", str(folder / "before"), "-o", str(folder / "report"), "--no_figures"])
        == 0
    )
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_at_a_full_disk_a_command_says_so_and_the_earlier_output_stands(
    line, inputs, tmp_path, monkeypatch
):
    """Nothing is left beside it, but that a journal may have grown."""

    def convert(_, folder):
        (folder / "model.safetensors").write_bytes(b"weights of a model")

    def kept():
        return {name: text for name, text in contents(folder).items() if "journal" not in name}

    monkeypatch.setattr(small_model, "find_spec", bool)
    monkeypatch.setattr(small_model, "_fetch", lambda: None)
    monkeypatch.setattr(small_model, "_convert", convert)
    if "scripted" not in model_registry:
        model_registry.register("scripted", target=Scripted)
    for at in count():
        folder = tmp_path / str(at)
        shutil.copytree(inputs, folder)
        monkeypatch.chdir(folder)
        status, error = cut_off(lambda: cli.main(line.split()), folder, at, ENOSPC)
        if "cannot write" not in error:
            break
        last = error.splitlines()[-1]
        assert status in (1, 2) and last.startswith("lm-eval-bias: cannot write "), error
        assert kept() == contents(inputs), at
    assert at > 2 and kept() != contents(inputs)


PAGES = ("index.html", "figures/a.svg", "tables/b.csv")
MINE = {"notes.txt": b"mine", "figures/mine.png": b"mine", "kept/empty": b""}


def report(path, text):
    with Folder(path) as folder:
        for name in PAGES:
            folder.write(name, text)


@pytest.mark.parametrize(("how", "ends"), [(KILLED, 19), (ENOSPC, 8), (EBUSY, 6)])
def test_at_any_moment_the_earlier_report_stands_or_the_new_one(how, ends, tmp_path):
    """Between two renames it stands beside its place, and the next report brings it back. What a
    person put into its folder stays there."""
    path, old = tmp_path / "out", tmp_path / ".out.lm-eval-bias-old"

    def standing(folder):
        """The text of its pages, which are all there."""
        files = contents(folder)
        (text,) = {files.pop(name).decode() for name in PAGES}
        del files[LIST]
        return text, files

    seen = set()
    for at in count(1):
        report(path, "earlier")
        for name, text in MINE.items():
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_bytes(text)
        status, error = cut_off(lambda: report(path, "new"), tmp_path, at, how)
        assert how == KILLED or not status or f"cannot write {path}" in error
        text, _ = standing(path if path.exists() else old)
        seen.add((path.exists(), text))
        assert how != ENOSPC or not status or (os.listdir(tmp_path), text) == (["out"], "earlier")
        Folder(path)
        assert standing(path) == (text, MINE)
        report(path, "next")
        assert standing(path) == ("next", MINE) and os.listdir(tmp_path) == ["out"]
        if not status:
            break
    assert at >= ends and (how != KILLED or len(seen) == 3)


def test_a_folder_that_cannot_be_replaced_is_refused_before_anything_is_read(
    command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for line in ("report absent -o .", f"report absent -o {tmp_path.parent}", "model ."):
        status, _, error = command(*line.split())
        assert status == 1 and "you are in it" in error and "name a folder in it" in error


def test_a_link_and_permissions_stay_and_a_device_is_no_file(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("earlier")
    file.chmod(0o640)
    link.symlink_to(file)
    writing.whole(link, "\ud800é")
    assert (
        link.is_symlink()
        and file.read_text() == r"\ud800é"
        and file.stat().st_mode & 0o777 == 0o640
    )
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writing.whole(pipe, "through")
    assert os.read(reader, 99) == b"through"
    os.close(reader)


def test_standard_output_that_is_closed_or_full_ends_with_a_sentence():
    read, pipe = os.pipe()
    os.close(read)
    program = [sys.executable, "-m", "lm_eval_bias.cli", "tasks", "--path"]
    with open("/dev/full", "w") as full:
        for given in (
            {"stdout": pipe},
            {"stdout": full, "env": {**os.environ, "PYTHONUNBUFFERED": ""}},
            {"stdout": full, "env": {**os.environ, "PYTHONUNBUFFERED": "1"}},
            {"preexec_fn": partial(os.close, 1)},
        ):
            done = subprocess.run(program, stderr=subprocess.PIPE, text=True, **given)
            assert done.returncode == cli.UNPRINTED
            assert re.fullmatch(
                r"lm-eval-bias: cannot write to standard output: .+\n", done.stderr
            ), done.stderr
    os.close(pipe)
