"""What is written is whole, or what stood there before: a full disk or a kill at any write, for
every command that writes."""

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from lm_eval.api.registry import model_registry

from lm_eval_bias import cli, writing
from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.empathy.measure import record
from lm_eval_bias.data import small_model
from lm_eval_bias.show.folder import LIST, Folder
from lm_eval_bias.writing import BESIDE
from tests.commands.test_items_command import STEREOTYPES, Scripted
from tests.commands.test_reasons import SAID
from tests.cut_off import contents, cut_off
from tests.gate.judged import rule, run_of

COMMANDS = """\
leaderboard runs --output out.csv
compare runs --models org/a org/b --output out.html
gate runs --rules bias.yaml --junit out.xml
export runs --model org/a --to hub --dataset_id a/b --output .
export runs --to every-eval-ever --output .
merge empathy_religion samples.jsonl --output out.json
reasons said.jsonl --diversity --output out.json
report runs -o report --no_figures
items hbb --from s.csv --model scripted --out items.jsonl
model made"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """What the commands read, and earlier outputs."""
    folder = tmp_path_factory.mktemp("inputs")
    for i, name in enumerate(("org/a", "org/b")):
        run_of(folder / "runs", {"non_neutral": (9 + i, 1)}, name, task="bistereo_nli", minutes=i)
    sample = {"doc_hash": "0", "records": record(empathy.documents("religion")[0], [60.0])}
    for name, text in {
        "samples.jsonl": json.dumps(sample),
        "said.jsonl": "\n".join(map(json.dumps, SAID)),
        "bias.yaml": rule("metric: non_neutral, below: 99").replace("mine", "bistereo_nli"),
        "s.csv": STEREOTYPES,
        **dict.fromkeys(("out.csv", "out.html", "out.xml", "out.json"), "earlier"),
    }.items():
        (folder / name).write_text(text)
    report(folder / "report", "earlier")
    return folder


@pytest.mark.parametrize("line", COMMANDS.split("\n"))
def test_where_a_file_cannot_be_written_a_sentence_says_so_and_the_earlier_one_stands(
    line, inputs, monkeypatch
):
    """And nothing is left beside it."""
    monkeypatch.setattr(small_model, "find_spec", bool)
    monkeypatch.setattr(small_model, "_fetch", lambda: None)
    monkeypatch.setattr(small_model, "_convert", lambda _, to, __: (to / "w").write_text("w" * 54))
    monkeypatch.setitem(model_registry._objs, "scripted", Scripted)
    before = contents(inputs)
    status, printed = cut_off(partial(cli.main, line.split()), inputs, 0)
    assert status and re.search(
        r"^lm-eval-bias: cannot write .+: File too large$", printed, re.M
    ), printed
    assert "Traceback" not in printed and contents(inputs) == before


def report(folder, text):
    made = Folder(folder)
    for name in ("index.html", f"figures/{text}.svg"):
        made.write(name, text)
    made.finish()


def finished(folder):
    """What no killed process left."""
    return {name: text for name, text in contents(folder).items() if BESIDE not in name}


MINE = {"notes.txt": "mine", "figures/mine.png": "mine", "kept/too": "mine"}


@pytest.mark.parametrize("full", [False, True])
def test_a_report_that_was_cut_off_is_replaced_by_the_next(full, tmp_path):
    """Each file is the earlier or the new one, and on a full disk all of them are the earlier ones
    until the first is replaced. What a person put into the folder stays there, and nothing else."""
    path, seen = tmp_path / "out", set()
    for at in range(1, 24):
        report(path, "earlier")
        for name, text in MINE.items():
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_text(text)
        status, _ = cut_off(partial(report, path, "new"), tmp_path, at, full)
        files = finished(path)
        assert files.items() >= MINE.items()
        assert files["index.html"] in ("earlier", "new")
        seen.add(files["index.html"])
        report(path, "next")
        standing = finished(path)
        assert standing.pop(LIST)
        assert standing == {**MINE, "index.html": "next", "figures/next.svg": "next"}
    assert not status and seen == {"earlier", "new"}


def test_a_first_report_that_was_cut_off_is_replaced_by_the_next(tmp_path):
    for at in range(1, 30):
        status, _ = cut_off(partial(report, tmp_path / str(at), "new"), tmp_path, at)
        report(tmp_path / str(at), "next")
        assert {*finished(tmp_path / str(at)).values()} >= {"next"}
        if not status:
            break
    assert not status


def test_what_cannot_be_written_is_refused_before_anything_is_read(command, here):
    (here / "bias.yaml").touch()
    for line, message in (
        ("report absent -o bias.yaml", "bias.yaml is a file; name a folder"),
        ("model .", "you are in it"),
        ("merge absent absent --output no/where", "--output no/where: there is no folder no"),
        ("merge absent absent --output .", "--output . is a folder; name a file"),
        ("leaderboard absent --output a.xlsx", "a file .html, .csv, .jsonl, .md, .tex"),
        ("leaderboard absent --include_path absent", "absent is not a folder"),
    ):
        status, out, error = command(*line.split())
        assert status == 1 and not out and message in error.splitlines()[-1]


def test_a_link_and_permissions_stay_and_a_device_is_no_file(tmp_path):
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch(0o640)
    link.symlink_to(file)
    writing.whole(link, "\ud800é")
    assert link.is_symlink() and file.read_text() == r"\ud800é"
    assert file.stat().st_mode & 0o777 == 0o640
    read, write = os.pipe()
    writing.whole(Path(f"/dev/fd/{write}"), "through")
    assert os.read(read, 9) == b"through"


@pytest.mark.parametrize(
    "line",
    ["{} >&-", "{} | true", "PYTHONUNBUFFERED= {} >/dev/full", "PYTHONUNBUFFERED=1 {} >/dev/full"],
)
def test_standard_output_that_is_closed_or_full_ends_with_a_sentence(line):
    program = line.format(f"{sys.executable} -m lm_eval_bias tasks --path")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", program], stderr=subprocess.PIPE, text=True
    )
    # `| head` wants no sentence
    sentence = r"lm-eval-bias: cannot write to standard output: .+\n" if ">" in line else ""
    assert done.returncode == cli.UNPRINTED and re.fullmatch(sentence, done.stderr)
