"""Results and samples that somebody compressed are read as the files themselves."""

import gzip

import pytest

from lm_eval_bias import catalogue
from lm_eval_bias.results import merged, samples
from lm_eval_bias.results.runs import find
from lm_eval_bias.results.transcripts import transcript
from tests.scripted import ask, made_up, scripted

TASK = catalogue.task("bistereo_analogy")


@pytest.fixture
def runs(tmp_path):
    ask(tmp_path, "org/one", scripted("one"), TASK.name, limit=20)
    return tmp_path


def compress(folder, of="*"):
    for path in [*folder.rglob(f"{of}_*.json*")]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def read(folder):
    """All that is read of the only run, as a text without names of files."""
    (run,) = find([folder], {TASK.name: TASK}).runs
    content = merged.merged(TASK, run.samples) | {"files": None}
    shown = run._replace(results=None, samples=(), place=None)
    answers = samples.answers(TASK, run.samples, run.options)
    return repr((shown, content, answers, transcript(run.samples)))


def test_what_is_compressed_is_read_as_it_was(runs):
    plain = read(runs)
    compress(runs)
    assert read(runs) == plain


def test_a_compressed_file_that_is_cut_off_is_said(runs):
    compress(runs, "samples")
    path = next(runs.rglob("samples_*.gz"))
    path.write_bytes(path.read_bytes()[:-20])
    assert any(str(path) in note for note in transcript([path]).notes)
    results = next(path.parent.glob("results_*"))
    results.with_name(f"{results.name}.gz").write_bytes(b"no archive")
    made_up(runs, "m", {"gap": (1.0, None)})
    results.unlink()
    notes = find([runs]).notes
    assert any("results_" in note and "cannot be read" in note for note in notes), notes
