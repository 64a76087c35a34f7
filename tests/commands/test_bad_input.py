"""What may lie below a folder of runs: each command on finished runs says what is wrong and what to
do, and none ends in a traceback."""

import io
import os
import random
import shutil

import pytest

from lm_eval_bias import cli
from lm_eval_bias.data.bounds import LINE
from tests.gate.judged import run_of
from tests.hostile import changed
from tests.scripted import ask, edited, lines_of, scripted, write_lines

TASK = "bistereo_analogy"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder for each of two scripted models, with samples."""
    folder = tmp_path_factory.mktemp("finished")
    for name in ("org/a", "org/b"):
        ask(folder / name[-1], name, scripted(name), TASK, limit=40)
    return folder


@pytest.fixture
def runs(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "runs")
    return tmp_path / "runs"


@pytest.fixture
def every(runs, command):
    """Command -> exit status, all that it printed; a traceback fails the test."""
    number = f"task: {TASK}, metric: directed_preferences, worse_than_baseline_by: 2"
    (runs.parent / "bias.yaml").write_text(f"rules:\n  - {{{number}}}\n")
    gate = ["--rules", runs.parent / "bias.yaml", "--baseline", runs / "b"]
    arguments = {
        "report": ([runs, "-o", runs.parent / "report", "--no_figures"], {0, 1}),
        "leaderboard": ([runs], {0, 1}),
        "compare": ([runs / "a", runs / "b", "--groups"], {0, 1, 2}),
        "gate": ([runs / "a", *gate], {0, 1, 2, 3}),
        "plan": (["--pilot", runs / "a", "--width", "2"], {0, 1}),
        "export": ([runs, "--to", "every-eval-ever"], {0, 1}),
    }

    def run(*names):
        printed = {}
        for name in names or arguments:
            given, statuses = arguments[name]
            status, out, err = command(name, *given)
            assert status in statuses and harmless(out + err), name
            printed[name] = status, " ".join((out + err).split())
        return printed

    return run


def harmless(text):
    text.encode()  # a half of a character, which no file and no terminal takes
    return not {"\x1b", "\u202e", "\0"} & set(text)


def samples(folder):
    return next(folder.rglob("samples_*.jsonl"))


def results(folder):
    return next(folder.rglob("results_*.json"))


def of_records(path, change):
    """Change every record of a sample file."""
    lines = lines_of(path)
    for sample in lines:
        records = sample["records"]
        for record in records if isinstance(records, list) else [records]:
            change(record)
    write_lines(path, lines)


def test_answers_that_the_measure_cannot_count_are_told(runs, every):
    """Samples of another task pass for those of this one until they are counted."""

    def another(record):
        for key in record:
            record[key] = "x" if key in ("noun", "contrast") else ["no", "number"]

    of_records(samples(runs / "a"), another)
    printed = every()
    statuses = {"report": 0, "leaderboard": 0, "compare": 2, "gate": 1, "plan": 0, "export": 0}
    assert {name: status for name, (status, _) in printed.items()} == statuses
    assert ": no ranks" in printed["leaderboard"][1]
    assert "Not compared" in printed["compare"][1]


def test_records_that_name_no_clusters_are_told(runs, every):
    of_records(samples(runs / "a"), lambda record: record.update({key: {"a": 1} for key in record}))
    for name, (_, text) in every("compare", "leaderboard", "plan", "gate").items():
        assert "the samples have no usable value in column" in text, name


def test_links_in_circles_and_to_nothing(runs, every):
    folder = results(runs / "a").parent
    (folder / "circle").symlink_to("circle")
    (folder / "up").symlink_to(runs)
    (folder / "results_2026-01-01T00-00-00.000000.json").symlink_to("nothing")
    (folder / "results_2026-01-02T00-00-00.000000.json").mkdir()
    os.mkfifo(folder / "results_2026-01-03T00-00-00.000000.json")  # to read it would wait for ever
    printed = every("report", "gate")
    message = "results_2026-01-01T00-00-00.000000.json: cannot be read: No such file or directory"
    assert message in printed["report"][1] and "wrote" in printed["report"][1]
    # it may be the run that was to be judged
    assert printed["gate"][0] == 2 and message in printed["gate"][1]


def test_a_folder_that_cannot_be_read_is_told(runs, every, monkeypatch):
    """Root reads everything, so the refusal is made here."""
    closed, scandir = str(runs / "a" / "closed"), os.scandir
    os.mkdir(closed)

    def refusing(path):
        if str(path) == closed:
            raise PermissionError(13, "Permission denied", closed)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    printed = every("plan", "gate")
    assert f"{closed}: cannot be read: Permission denied" in printed["plan"][1]
    assert printed["gate"][0] == 2 and "cannot be read: Permission denied" in printed["gate"][1]


NAMES = [
    *("org/a\nb/../c", "x" * 300, "CON", "con", "nul.txt", "Model", "model", "..", "=cmd"),
    *("<script>", "a\u202eb", "\x1b[31mred", "\ud800", "org/m", "org-m", "index", "模型", "型模"),
]


def test_names_of_models_steer_no_terminal_and_meet_in_no_file(tmp_path, command):
    for i, name in enumerate(NAMES):
        gap = {"gap": (float(i), 1.0, 0, None)}
        run_of(tmp_path / "runs" / str(i), gap, name, minutes=i)
    _, out, err = command("report", tmp_path / "runs", "-o", tmp_path / "report", "--no_figures")
    assert harmless(out + err)
    pages = [path.name.casefold() for path in (tmp_path / "report").glob("*.html")]
    assert len(set(pages)) == len(NAMES) + 1
    # Windows opens the console in place of a file that is called so, whatever its ending.
    assert not {page.partition(".")[0] for page in pages} & {"con", "nul"}


def test_a_console_that_knows_no_dash_shows_its_code(runs, monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown := io.BytesIO(), "ascii"))
    assert cli.main(["leaderboard", str(runs)]) == 0 and b"\\u2013" in shown.getvalue()


@pytest.mark.parametrize(
    "content, cause",
    [
        (b"", "no sample in it; give the files that --log_samples wrote"),
        (b'{"records": {}, "doc_hash": []}', "line 1: not a sample of bistereo_analogy;"),
        (b'{"a": "\xff"}', "line 1: not a sample of bistereo_analogy (not UTF-8"),
        (b"\0" * (LINE + 1), "line 1 has more than 32 MB"),
        (None, "it is a pipe or a device; give a file"),
    ],
)
def test_what_is_no_sample_is_told_in_one_line(runs, every, command, content, cause):
    path = samples(runs / "a")
    path.unlink()
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)
    status, _, error = command("merge", TASK, path)
    assert status == 1 and cause in error and error.count("\n") == 1
    every("report", "compare")


def test_half_of_a_character_is_replaced(runs, every):
    path = samples(runs / "a")
    path.write_text(path.read_text().replace('": "', '": "\\ud83d'))
    assert [status for status, _ in every("report", "leaderboard", "plan").values()] == [0] * 3


def test_aliases_are_refused_in_every_yaml_with_the_line(runs, command, tmp_path):
    bomb = "# mine\na: &a [x]\nb: [*a]\n"
    (tmp_path / "own.yaml").write_text(bomb)
    for arguments in (
        ("check", tmp_path / "own.yaml", "--for", TASK),
        ("gate", runs, "--rules", tmp_path / "own.yaml"),
        ("tasks", "--include_path", tmp_path),
    ):
        status, _, error = command(*arguments)
        assert status and "line 2" in error and "anchors (&name) and aliases" in error, error


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_nothing_in_results_or_samples_ends_in_a_traceback(runs, every, seed):
    chance = random.Random(seed)
    if seed % 2:
        with edited(results(runs / "a")) as content:
            changed(content["configs"][TASK], chance)
            changed(content, chance)
    else:
        path = samples(runs / "a")
        write_lines(path, [changed(line, random.Random(seed)) for line in lines_of(path)])
    every()
