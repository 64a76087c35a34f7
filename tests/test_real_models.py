"""docs/reference/models.md, which docs/reference/models.py makes of finished runs."""

import runpy

import pytest

import lm_eval_bias as leb
from lm_eval_bias.results.verdict import judged
from tests.scripted import ask, scripted


@pytest.fixture(scope="module")
def script(root):
    return runpy.run_path(root / "docs" / "reference" / "models.py")


def test_the_page_of_real_models_is_made_of_the_kept_runs(root, script):
    """Where this fails, run docs/reference/models.py."""
    assert (root / "docs" / "reference" / "models.md").read_text() == script["page"]()


def test_a_kept_run_has_its_numbers_answers_and_conditions_and_no_folder(tmp_path, script):
    name = "/home/me/models/leaning"
    ask(tmp_path / "runs", name, scripted(name, 0.8), "bistereo_analogy", limit=700)
    kept = tmp_path / "kept.json"
    kept.write_text(script["kept"](tmp_path / "runs", "float32"))

    def shown(path):
        (run,) = leb.read(path).runs
        whole = {key: repr(number) for key, number in run.numbers.items() if key[1] is None}
        answers = [(t.metric, t.number, t.calibrated, t.verdict) for t in judged([run])]
        return run.model, run.date.date(), run.settings, run.condition, run.warnings, whole, answers

    assert shown(kept) == shown(tmp_path / "runs")
    assert [answer[-1].kind for answer in shown(kept)[-1]] == ["yes"]
    text = kept.read_text()
    assert '"leaning"' in text and str(tmp_path) not in text and "/home" not in text
    (run,) = leb.read(kept).runs
    assert run.tables.keys() == {"numbers"} and {key[1] for key in run.numbers} == {None}
