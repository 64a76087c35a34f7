"""`lm-eval-bias report` where the extra `report` is not installed."""

from lm_eval_bias import cli
from lm_eval_bias.show import page_figures
from tests.scripted import made_up


def test_without_the_extra_one_line_says_what_to_install(tmp_path, monkeypatch, capsys):
    made_up(tmp_path / "runs", "m", {"gap": (1.0, 1.0)})
    monkeypatch.setattr(page_figures, "find_spec", lambda name: None)
    command = ["report", str(tmp_path / "runs"), "-o", str(tmp_path / "pages")]
    assert cli.main(command) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "lm-eval-bias: Figures are drawn by the extra `report`: pip install "
        "'lm-eval-bias[report]'. Or leave them out with --no_figures."
    )
    assert not (tmp_path / "pages").exists()
    assert cli.main([*command, "--no_figures"]) == 0
    assert (tmp_path / "pages" / "index.html").exists()
