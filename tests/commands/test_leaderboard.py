"""`lm-eval-bias leaderboard`, on runs that the harness wrote and on made-up ones."""

import json
import re
import subprocess
import sys

import pytest

from lm_eval_bias import cli
from lm_eval_bias.report.leaderboard_files import WRITERS
from tests.scripted import ask, made_up, scripted

LEANINGS = {"org/even": 0.0, "org/leaning": 0.15, "org/strong": 0.8}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three scripted models, all 1,535 documents each: chance, and two that lean toward the
    stereotype."""
    folder = tmp_path_factory.mktemp("runs")
    for name, leaning in LEANINGS.items():
        ask(folder, name, scripted(name, leaning), "bistereo_analogy")
    return folder


def run(capsys, *arguments):
    status = cli.main(["leaderboard", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_docs_show_what_a_run_of_three_scripted_models_prints(
    folder, root, capsys, monkeypatch
):
    """Where they differ, this prints what belongs there."""
    monkeypatch.setenv("COLUMNS", "120")
    status, out, err = run(capsys, folder, "--unpaired", "--sort", "calibrated_preferences")
    assert status == 0 and not err
    assert f"```text\n{out}```" in (root / "docs" / "leaderboard.md").read_text(), out


def test_models_that_lean_apart_are_told_apart(folder, capsys, tmp_path):
    file = tmp_path / "board.jsonl"
    assert run(capsys, folder, "--unpaired", "--sort", "directed_preferences", "--output", file)[
        :2
    ] == (0, f"wrote {file}: 3 models, 1 task\n")
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    numbers = {
        row["model"]: {n["metric"]: n for n in row["numbers"]}["calibrated_preferences"]
        for row in rows
    }
    assert numbers["org/strong"]["rank"] == [3, 3] and numbers["org/even"]["rank"][0] == 1
    for model, number in numbers.items():
        written = json.loads(
            next((folder / model.replace("/", "__")).glob("results_*.json")).read_text()
        )
        rows = written["configs"]["bistereo_analogy"]["cells"]["numbers"]
        row = next(row for row in rows if (row["metric"], row["group"]) == (number["metric"], None))
        assert {part: row[part] for part in ("value", "low", "high")}.items() <= number.items()


@pytest.mark.parametrize("ending", sorted(WRITERS))
def test_every_file_names_every_model(folder, capsys, tmp_path, ending):
    file = tmp_path / f"board{ending}"
    assert run(capsys, folder, "--unpaired", "--output", file)[0] == 0
    assert all(name in file.read_text(encoding="utf-8") for name in LEANINGS)


def test_the_command_imports_no_harness(folder):
    code = (
        "import sys; from lm_eval_bias.cli import main; main(['leaderboard', '--unpaired', "
        "sys.argv[1]])\n"
        "print({'torch', 'transformers', 'lm_eval', 'datasets'} & set(sys.modules), "
        "file=sys.stderr)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code, str(folder)], capture_output=True, text=True
        ).stderr.strip()
        == "set()"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["absent"],
            "absent is not there; give a folder or a file that `lm_eval --output_path` wrote",
        ),
        (["empty"], "no results below empty; run lm_eval with --output_path empty --log_samples"),
        (["runs", "--tasks", "mina"], "--tasks mina: no run has it; did you mean mine?"),
        (["runs", "--metrics", "gup"], "--metrics gup: no run has that number; did you mean gap?"),
        (["runs", "--sort", "gup"], "--sort gup: there is no such column; did you mean gap?"),
        (
            ["runs", "--output", "board.xlsx"],
            "--output board.xlsx: expected a file .html, .csv, .jsonl, .md in a folder that is "
            "there",
        ),
        (
            ["runs", "--output", "absent/board.csv"],
            "expected a file .html, .csv, .jsonl, .md in a folder that is there",
        ),
        (["runs", "--include_path", "absent"], "absent is not a folder"),
        (["theirs"], "hellaswag is a task of the harness, without a measure of bias"),
    ],
)
def test_mistakes_end_with_a_line_that_says_what_to_do(
    tmp_path, monkeypatch, capsys, arguments, told
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    made_up(tmp_path / "runs", "m", {"gap": (1.0, 1.0)})
    path = made_up(tmp_path / "theirs", "m", {"acc": (1.0, 1.0)}, task="hellaswag")
    content = json.loads(path.read_text())
    del content["configs"]["hellaswag"]["cells"]
    path.write_text(json.dumps(content))
    status, out, err = run(capsys, *arguments)
    assert status == 1 and not out and told in err.splitlines()[-1]


def test_a_table_is_as_wide_as_the_terminal(tmp_path, monkeypatch, capsys):
    values = {f"number_{i}": (float(i), 1.0, 0, None) for i in range(12)}
    for i, name in enumerate(("a", "b")):
        made_up(tmp_path, name, values, minutes=i)
    for columns in (60, 100, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        status, out, _ = run(capsys, tmp_path)
        assert status == 0 and max(map(len, out.splitlines())) <= columns
        assert all(re.search(rf"number_{i} \(points, best near 0\)", out) for i in range(12))


def test_rows_stand_below_their_titles(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "120")
    for i, (name, value) in enumerate((("a", 9.0), ("b", -1.0))):
        made_up(tmp_path, name, {"gap": (value, 1.0, 0, None), "n": (value, None)}, minutes=i)
    lines = run(capsys, tmp_path, "--sort", "gap")[1].splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("mine: "))
    assert lines[at : at + 4] == [
        "mine: version 1, documents 100",
        "model  gap (points, best near 0)  n (points)",
        f"b      {'-1.0 [-3.0, 1.0] 1 a':25}  {'-1.0':>10}",
        f"a      {' 9.0 [7.0, 11.0] 2 b':25}  {'9.0':>10}",
    ]


def test_notes_stand_below_and_beside_a_file_on_stderr(tmp_path, capsys):
    made_up(tmp_path, "m", {"gap": (1.0, 1.0)})
    made_up(tmp_path, "m", {"gap": (2.0, 1.0)}, minutes=1)
    assert "is not shown" in " ".join(run(capsys, tmp_path)[1].split())
    _, out, err = run(capsys, tmp_path, "--output", tmp_path / "board.md")
    assert (
        out.startswith("wrote ")
        and "is not shown" in err
        and "is not shown" in (tmp_path / "board.md").read_text()
    )


def test_the_file_that_it_wrote_is_no_run(tmp_path, capsys):
    made_up(tmp_path, "m", {"gap": (1.0, 1.0)})
    for ending in WRITERS:
        assert run(capsys, tmp_path, "--output", tmp_path / f"board{ending}")[0] == 0
    assert not run(capsys, tmp_path, "--output", tmp_path / "again.md")[2]


def test_a_benchmark_of_ones_own_needs_no_line_of_code(root, tmp_path, capsys):
    """That of docs/own_benchmark.md, asked of two scripted models; the command is told its folder,
    or reads the results alone."""
    document = (root / "docs" / "own_benchmark.md").read_text(encoding="utf-8")
    mine, runs = tmp_path / "mine", tmp_path / "runs"
    mine.mkdir()
    for name in ("pay_rise.yaml", "pay_rise.py"):
        (mine / name).write_text(
            re.search(rf"```\w+\n# mine/{name}\n(.*?)```", document, re.DOTALL)[1]
        )
    for name in ("one", "two"):
        ask(runs, name, scripted(name), "pay_rise", include=[mine])
    found = []
    for more in ([], ["--include_path", mine]):
        status, out, _ = run(capsys, runs, *more)
        assert status == 0 and re.search(
            r"^pay_rise: version 1, documents 12\nmodel +pay_gap \(points\)\none ", out, re.M
        )
        found.append(out)
    assert found[0] == found[1]
