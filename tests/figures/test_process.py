"""Whatever ends the process that draws, pages are written, and say what they lack."""

import subprocess
import sys
from unittest.mock import Mock

import pytest

pytest.importorskip("vl_convert")

from lm_eval_bias.commands.finished import UNDRAWN
from lm_eval_bias.figures import process
from lm_eval_bias.show.folder import Folder
from tests.hostile import run_of

SCORES = [{"pair": "a, b", "dimension": "c", "bias_score": 0.5}]
ENDED = "the process that draws figures ended"
LACKING = f"Figures are missing: {ENDED}. "


@pytest.fixture
def runs(tmp_path):
    """Of two models, each with a figure, and one that they share. No process draws yet."""
    process.drawing.end()
    for i, model in enumerate("ab"):
        tables = {"scores": SCORES}
        run_of(tmp_path / "runs", model, task="mist_wabt", tables=tables, minutes=i)
    return tmp_path / "runs"


def child(monkeypatch, tmp_path, program):
    (tmp_path / "child.py").write_text(program)
    monkeypatch.setattr(process, "CHILD", tmp_path / "child.py")


def html(folder):
    return {path.name: path.read_text() for path in folder.glob("*.html")}


@pytest.mark.parametrize(
    "program",
    [
        "import os; os.kill(os.getpid(), 5)",
        "raise MemoryError",
        "import time; time.sleep(600)",
        "import signal; print('no answer', flush=True); signal.pause()",
    ],
)
def test_pages_without_figures_say_so(program, runs, tmp_path, monkeypatch, command):
    """And none of the program that draws is left."""
    child(monkeypatch, tmp_path, program)
    if "sleep" in program:
        monkeypatch.setattr(process, "SECONDS", 0.2)
    status, out, error = command("report", runs, "-o", tmp_path / "out")
    assert status == UNDRAWN and "index.html" in out
    assert error.count(LACKING) == 1 == len(error.splitlines())
    pages = html(tmp_path / "out")
    assert pages["index.html"].count(LACKING) == 1
    for page in pages.values():
        assert page.count(f"could not be drawn: {ENDED}") == 1
    assert (tmp_path / "out" / "tables").is_dir() and not (tmp_path / "out" / "figures").exists()
    assert process.drawing.process is None


def test_figures_that_were_drawn_before_stay(runs, tmp_path, monkeypatch, command):
    """Five calls are one figure. The next command draws all of them."""
    child(
        monkeypatch, tmp_path, process.CHILD.read_text().replace("while True", "for _ in '12345'")
    )
    for status, figures in ((UNDRAWN, 1), (0, 3)):
        assert command("report", runs, "-o", tmp_path / "out")[0] == status
        files = [*(tmp_path / "out" / "figures").iterdir()]
        assert len(files) == 4 * figures
        pages = html(tmp_path / "out")
        assert sum(page.count('role="img"') for page in pages.values()) == figures
        assert (LACKING in pages["index.html"]) == (status == UNDRAWN)
        monkeypatch.undo()


def test_too_little_memory_for_anything_is_told(runs, monkeypatch, command):
    monkeypatch.setattr(Folder, "finish", Mock(side_effect=MemoryError))
    status, _, text = command("report", runs, "-o", runs.parent / "out", "--no_figures")
    assert status == 1 and "lm-eval-bias: out of memory" in text and text.count("\n") == 1
    assert not (runs.parent / "out").exists()


def test_a_limit_of_address_space_costs_figures_alone(runs, tmp_path):
    """As clusters set it."""
    program = f"{sys.executable} -m lm_eval_bias report {runs} -o {tmp_path / 'out'}"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v 4000000; {program}"], capture_output=True, text=True
    )
    assert done.returncode == UNDRAWN and done.stderr.startswith(LACKING)
    assert len(html(tmp_path / "out")) == 3
