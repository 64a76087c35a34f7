"""What may lie below a folder of runs: each command on finished runs says what is wrong and what to
do, and none ends in a traceback."""

import json
import os
import random
import shutil
import subprocess
import sys

import pytest

from lm_eval_bias.cli import main
from tests.gate.judged import rule, run_of
from tests.scripted import ask, scripted

TASK = "bistereo_analogy"
RULES = f"rules:\n  - {{task: {TASK}, metric: directed_preferences, worse_than_baseline_by: 2}}\n"


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


def samples(folder):
    return next(folder.rglob("samples_*.jsonl"))


def results(folder):
    return next(folder.rglob("results_*.json"))


def commands(runs):
    """Every command on finished runs, and the exit statuses that its documentation has."""
    rules = runs.parent / "bias.yaml"
    rules.write_text(RULES)
    yield ["report", runs, "-o", runs.parent / "report", "--no_figures"], {0, 1}
    yield ["leaderboard", runs], {0, 1}
    yield ["compare", runs / "a", runs / "b", "--groups"], {0, 1, 2}
    yield ["compare", runs / "b", runs / "a", "--common"], {0, 1, 2}
    yield ["gate", runs / "a", "--rules", rules, "--baseline", runs / "b"], {0, 1, 2, 3}
    yield ["plan", "--pilot", runs / "a", "--width", "2"], {0, 1}
    yield ["export", runs, "--to", "hub", "--dataset_id", "org/bench", "--model", "org/a"], {0, 1}
    yield ["export", runs, "--to", "model-index", "--model", "org/a"], {0, 1}
    yield ["export", runs, "--to", "every-eval-ever"], {0, 1}


def every(runs, capsys):
    """Command -> exit status, all that it said; a traceback fails the test."""
    found = {}
    for arguments, statuses in commands(runs):
        status = main(list(map(str, arguments)))
        said = "".join(capsys.readouterr())
        said.encode()  # a half of a character, which no file and no terminal takes
        assert status in statuses and not {"\x1b", "\u202e", "\0"} & set(said), arguments
        found.setdefault(arguments[0], (status, said))
    return found


def of_records(path, change):
    """Change every record of a sample file."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for sample in lines:
        for record in (
            sample["records"] if isinstance(sample["records"], list) else [sample["records"]]
        ):
            change(record)
    path.write_text("".join(json.dumps(sample) + "\n" for sample in lines))


def test_answers_that_the_measure_cannot_count_are_told(runs, capsys):
    """Samples of another task pass for those of this one until they are counted."""

    def another(record):
        columns = list(record)
        record.clear()
        record.update(
            {key: "x" if key in ("noun", "contrast") else ["no", "number"] for key in columns}
        )

    of_records(samples(runs / "a"), another)
    said = every(runs, capsys)
    for name, status in {
        "report": 0,
        "leaderboard": 0,
        "compare": 2,
        "gate": 2,
        "plan": 0,
        "export": 0,
    }.items():
        assert said[name][0] == status, said[name]
    assert "ranks are unpaired" in said["leaderboard"][1]
    assert "Not compared" in said["compare"][1]


def test_records_that_name_no_clusters_are_told(runs, capsys):
    def nameless(record):
        record.update({key: {"a": 1} for key in record})

    of_records(samples(runs / "a"), nameless)
    said = every(runs, capsys)
    for name in ("compare", "leaderboard", "plan", "gate"):
        assert "the samples have no usable value in column" in said[name][1].replace(
            "\n", " "
        ).replace("    ", ""), said[name]


@pytest.mark.slow
def test_links_in_circles_and_to_nothing(runs, capsys):
    folder = results(runs / "a").parent
    (folder / "circle").symlink_to("circle")
    (folder / "up").symlink_to(runs)
    (folder / "results_2026-01-01T00-00-00.000000.json").symlink_to("nothing")
    (folder / "results_2026-01-02T00-00-00.000000.json").mkdir()
    os.mkfifo(folder / "results_2026-01-03T00-00-00.000000.json")  # to read it would wait for ever
    said = every(runs, capsys)
    told = "results_2026-01-01T00-00-00.000000.json: a link that leads to no file"
    assert told in said["report"][1] and "wrote" in said["report"][1]
    # it may be the run that was to be judged
    assert said["gate"][0] == 2 and told in said["gate"][1]


def test_a_folder_that_cannot_be_read_is_told(runs, capsys, monkeypatch):
    """Root reads everything, so the refusal is made here."""
    closed, scandir = str(runs / "a" / "closed"), os.scandir
    os.mkdir(closed)

    def refusing(path):
        if str(path) == closed:
            raise PermissionError(13, "Permission denied", closed)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    said = every(runs, capsys)
    assert f"{closed}: cannot be read: Permission denied" in said["plan"][1]
    assert said["gate"][0] == 2 and "cannot be read: Permission denied" in said["gate"][1]


@pytest.mark.slow
def test_bytes_that_are_no_text_are_told_as_a_change(runs, capsys):
    path = results(runs / "a")
    path.write_bytes(path.read_bytes().replace(b'"org/a"', b'"org/\xff"'))
    said = every(runs, capsys)
    assert "it was cut off while it was written, or changed" in said["plan"][1]


NAMES = [
    "org/a\nb/../c",
    "x" * 300,
    "CON",
    "con",
    "nul.txt",
    "Model",
    "model",
    "..",
    "=cmd",
    "<script>",
    "a\u202eb",
    "\x1b[31mred",
    "\ud800",
]


@pytest.mark.slow
def test_names_of_models_steer_no_terminal_and_meet_in_no_file(tmp_path, capsys):
    for i, name in enumerate(NAMES):
        run_of(tmp_path / "runs" / str(i), name, {"gap": (float(i), 1.0, 0, None)}, minutes=i)
    rules = tmp_path / "bias.yaml"
    rules.write_text(rule("metric: gap, below: 5"))
    for arguments in (
        ["report", tmp_path / "runs", "-o", tmp_path / "report", "--no_figures"],
        ["leaderboard", tmp_path / "runs"],
        ["compare", tmp_path / "runs", tmp_path / "runs" / "0"],
        ["compare", tmp_path / "runs", tmp_path / "runs" / "0", "--models", "none", "none"],
        ["gate", tmp_path / "runs", "--rules", rules],
        ["plan", "--pilot", tmp_path / "runs", "--width", "2"],
        ["export", tmp_path / "runs", "--to", "model-index"],
        ["export", tmp_path / "runs", "--to", "every-eval-ever"],
    ):
        main(list(map(str, arguments)))
        said = "".join(capsys.readouterr())
        said.encode()
        assert not {"\x1b", "\u202e"} & set(said), arguments
    pages = sorted(path.name for path in (tmp_path / "report").iterdir() if path.suffix == ".html")
    assert len({page.casefold() for page in pages}) == len(NAMES) + 1
    # Windows opens the console in place of a file that is called so, whatever its ending.
    assert not {page.partition(".")[0].casefold() for page in pages} & {"con", "nul"}


def test_a_console_that_knows_no_arrow_shows_its_code(runs):
    command = [
        sys.executable,
        "-m",
        "lm_eval_bias.cli",
        "compare",
        str(runs / "a"),
        str(runs / "b"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0 and "\\u2192" in done.stdout, done.stderr


# ---- Anything

ODD = [
    None,
    True,
    0,
    -1,
    1e308,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "..",
    "\0",
    "\x1b[2J",
    "\ud800",
    "1/0",
    [],
    {},
    [[]],
    [{}],
    [None],
    {"": ""},
    "a" * 500,
    "\n",
    {"a": [1]},
    3.5,
    "3",
]


def places(value, path=()):
    if path:
        yield path
    below = (
        value.items()
        if isinstance(value, dict)
        else list(enumerate(value))[:5]
        if isinstance(value, list)
        else ()
    )
    for key, each in below:
        yield from places(each, (*path, key))


def changed(value, chance):
    """A value in one place set, dropped or called otherwise, at any depth alike."""
    depths = {}
    for place in places(value):
        depths.setdefault(len(place), []).append(place)
    if not depths:
        return value
    *way, last = chance.choice(depths[chance.choice(sorted(depths))])
    at = value
    for key in way:
        at = at[key]
    how = chance.choice(("set", "set", "drop", "call"))
    if how == "set":
        at[last] = chance.choice(ODD)
    else:
        old = at.pop(last)
        if how == "call" and isinstance(at, dict):
            at[str(chance.choice(ODD))] = old
    return value


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_nothing_in_results_or_samples_ends_in_a_traceback(runs, capsys, seed):
    chance = random.Random(seed)
    path = results(runs / "a") if seed % 2 else samples(runs / "a")
    if path.suffix == ".json":
        content = json.loads(path.read_text())
        changed(content["configs"][TASK], chance)
        path.write_text(json.dumps(changed(content, chance)))
    else:
        lines = [
            json.dumps(changed(json.loads(line), random.Random(seed)))
            for line in path.read_text().splitlines()
        ]
        path.write_text("\n".join(lines) + "\n")
    every(runs, capsys)
