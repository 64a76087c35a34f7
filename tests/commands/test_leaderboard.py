"""`lm-eval-bias leaderboard`, on runs that the harness wrote and on made-up ones."""

import pytest

from lm_eval_bias.show.page import WRITERS
from tests.scripted import ask, made_up, scripted

LEANINGS = {"org/even": 0.0, "org/leaning": 0.15, "org/strong": 0.8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three scripted models, all 2,213 documents each: chance, and two that lean toward the
    stereotype."""
    folder = tmp_path_factory.mktemp("runs")
    for name, leaning in LEANINGS.items():
        ask(folder, name, scripted(name, leaning), "bistereo_analogy")
    return folder


@pytest.mark.slow
def test_the_docs_show_what_a_run_of_three_scripted_models_prints(
    folder, root, command, monkeypatch
):
    """Where they differ, this prints what belongs there."""
    monkeypatch.setenv("COLUMNS", "120")
    status, out, err = command("leaderboard", folder, "--metrics", "log_odds_beyond_words")
    assert status == 0 and not err
    table = out[: out.index("\nEach number has")]  # the legend stands below
    assert f"```text\n{table}```" in (root / "docs" / "how-to" / "leaderboard.md").read_text(), out


def test_notes_stand_below_and_beside_a_file_on_stderr_and_a_file_is_no_run(tmp_path, command):
    made_up(tmp_path, {"gap": (1.0, 1.0)}, "model")
    made_up(tmp_path, {"gap": (2.0, 1.0)}, "model", minutes=1)
    assert "is ignored" in " ".join(command("leaderboard", tmp_path)[1].split())
    for ending in WRITERS:
        file = tmp_path / f"board{ending}"
        status, out, err = command("leaderboard", tmp_path, "--output", file)
        assert status == 0 and out.startswith("wrote ") and err.count("\n") == 1
        assert "is ignored" in err and "model" in file.read_text()
    assert "is ignored" in (tmp_path / "board.md").read_text()
