"""Every command reads results and samples that somebody compressed as it reads the files
themselves."""

import gzip
import re
from pathlib import Path

import pytest

from lm_eval_bias.results import transcripts
from lm_eval_bias.results.runs import find
from tests.rule_model import RuleLM
from tests.scripted import ask, chance

ANALOGY, STRUCTURE = "bistereo_analogy", "stereomap_structure"


def told(name):
    def say(prompt):
        drawn = chance(name, prompt)
        return f"{round(100 * drawn)}. They have {'high' if drawn > 0.5 else 'low'} pay in society."

    return RuleLM(rule=lambda *texts: -3 + chance(name, *texts), say=say)


@pytest.fixture
def runs(tmp_path):
    folder = tmp_path / "runs"
    for name in ("org/one", "org/two"):
        ask(folder, name, told(name), ANALOGY, STRUCTURE, limit=200)
    return folder


def outputs(command, folder, out):
    """What each command prints and writes: name -> text, with the ending left out of names."""
    one, two = (str(path) for path in sorted(folder.iterdir()))
    samples = next(Path(one).glob(f"samples_{STRUCTURE}*"))
    analogy = next(Path(one).glob(f"samples_{ANALOGY}*"))
    out.mkdir()
    rules = out / "rules.yaml"
    saved = out / "saved.json.xz"
    commands = {
        "init": ["gate", one, "--init", "--rules", rules],
        "gate": ["gate", one, "--rules", rules, "--baseline", two, "--inconclusive", "warn"],
        "save": ["gate", one, "--save", saved],
        "saved": ["compare", saved, two],
        "report": ["report", folder, "--no_figures", "--output", out / "report"],
        "compare": ["compare", one, two, "--output", out / "compare.jsonl"],
        "leaderboard": ["leaderboard", folder, "--output", out / "board.jsonl"],
        "merge": ["merge", ANALOGY, analogy, "--output", out / "merged.json"],
        "reasons": ["reasons", samples, "--output", out / "reasons.json"],
        "plan": ["plan", "--pilot", one, "--tasks", ANALOGY, "--width", "5"],
        "export": ["export", one, "--to", "hub", "--dataset_id", "a/b"],
        "records": ["export", one, "--to", "every-eval-ever", "--samples", "--output", out / "eee"],
    }
    command("--version")  # drops what the runs have printed
    made = {name: "".join(map(str, command(*arguments))) for name, arguments in commands.items()}
    made |= {
        str(path.relative_to(out)): path.read_text(errors="replace")
        for path in sorted(out.rglob("*"))
        if path.suffix in (".json", ".jsonl", ".html", ".csv")
    }
    return {name: re.sub(r"\.gz|\d+\.\d+ s", "", text) for name, text in made.items()}


def test_all_commands_say_the_same(command, runs, tmp_path):
    plain = outputs(command, runs, tmp_path / "out")
    wrong = {name: text for name, text in plain.items() if text.startswith("2")}
    assert list(wrong.items()) == []  # the status of a mistake
    compress(runs)
    (tmp_path / "out").rename(tmp_path / "before")
    assert outputs(command, runs, tmp_path / "out") == plain


def compress(folder, of="*"):
    for path in [*folder.rglob(f"{of}_*.json*")]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def test_a_compressed_file_that_is_cut_off_is_said(runs):
    compress(runs, "samples")
    path = next(runs.rglob("samples_*.gz"))
    path.write_bytes(path.read_bytes()[:-20])
    assert any(str(path) in note for note in transcripts.transcript([path]).notes)
    results = next(path.parent.glob("results_*"))
    results.with_name(f"{results.name}.gz").write_bytes(b"no archive")
    results.unlink()
    notes = find([runs]).notes
    assert any("results_" in note and "cannot be read" in note for note in notes), notes
