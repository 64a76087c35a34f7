"""`lm-eval-bias plan` on runs of scripted models, and on files that are not what they should be."""

import json
import re
from shutil import copytree

import pytest

from lm_eval_bias import cli
from lm_eval_bias.commands.plan import speed, widths
from lm_eval_bias.results.runs import find
from lm_eval_bias.usage import UsageError
from tests.scripted import ask, made_up, scripted

DOCUMENTS = 620


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pilot")
    ask(folder, "org/leaning", scripted("leaning", 0.4), "bistereo_analogy", limit=DOCUMENTS)
    return folder


def run(capsys, *arguments):
    status = cli.main(["plan", *map(str, arguments)])
    return status, capsys.readouterr().out


def row(said, name):
    return next(line for line in said.splitlines() if line.split()[:1] == [name])


def test_what_is_wide_enough_already_takes_fewer_documents_than_the_pilot(pilot, capsys):
    status, said = run(capsys, "--pilot", pilot, "--width", "40")
    assert status == 0 and "bistereo_analogy, org/leaning: 620 of 1,535 documents" in said
    now = float(row(said, "biased_preferences").split()[2])
    written = json.loads(next(pilot.rglob("results_*.json")).read_text())["configs"][
        "bistereo_analogy"
    ]["cells"]["numbers"]
    row_of = {n["metric"]: n for n in written if n["group"] is None}["biased_preferences"]
    assert now == pytest.approx(row_of["high"] - row_of["low"], rel=0.01)
    limit = int(re.search(r"lm_eval --tasks bistereo_analogy --limit (\d+)", said)[1])
    assert 0 < limit <= DOCUMENTS and limit % 5 == 0  # an analogy has five contexts


def test_what_the_task_has_not_is_said_with_the_width_of_all_documents(pilot, capsys):
    _, said = run(capsys, "--pilot", pilot, "--width", "biased_preferences=0.5")
    line = row(said, "biased_preferences")
    assert "too few" in line and "with all 1,535 the width is" in line
    assert (
        "It is not certain that all of these can be reached with the 1,535 documents of "
        "bistereo_analogy." in said
    )
    # no width was given for it
    assert "calibrated_preferences (%, now" in said.replace("\n  ", " ")


def test_a_width_for_one_task_goes_before_one_for_all(pilot, capsys):
    _, said = run(
        capsys,
        "--pilot",
        pilot,
        "--width",
        "40",
        "directed_preferences=35",
        "bistereo_analogy/directed_preferences=30",
    )
    assert [
        row(said, name).split()[3] for name in ("biased_preferences", "directed_preferences")
    ] == ["40", "30"]


def test_without_samples_the_share_is_not_known_and_the_pilot_is_told_what_to_add(
    pilot, tmp_path, capsys
):
    copytree(pilot, tmp_path / "pilot")
    for file in tmp_path.rglob("samples_*.jsonl"):
        file.unlink()
    _, said = run(capsys, "--pilot", tmp_path / "pilot", "--width", "10")
    assert "FLOOR is unknown: run the pilot again with --log_samples." in said and " to " in row(
        said, "biased_preferences"
    )


def test_samples_that_are_cut_off_are_left_aside_and_named(pilot, tmp_path, capsys):
    copytree(pilot, tmp_path / "pilot")
    file = next(tmp_path.rglob("samples_*.jsonl"))
    file.write_text(file.read_text()[:-300])
    status, said = run(capsys, "--pilot", tmp_path / "pilot", "--width", "10")
    assert (
        status == 0
        and "The samples are left aside: " in said
        and "line 620" in said.replace("\n  ", " ")
    )


def test_too_few_clusters_plan_nothing(tmp_path, capsys):
    """Two of 24 themes: 116 documents each, which are no evidence of 232."""
    ask(tmp_path, "m", scripted("m"), "hbb", limit=232)
    _, said = run(capsys, "--pilot", tmp_path, "--width", "2")
    said = " ".join(said.split())
    assert (
        "mean_difference" in said
        and "cannot be planned, since the pilot has 2 clusters, and 10 are needed" in said
    )
    # What has ten of them is said in place of a plan, and of one reason for all numbers there is no
    # table.
    assert (
        "A pilot of 1,160 documents has them: lm_eval --tasks hbb --limit 1160" in said
        and "FLOOR" not in said
    )


def test_a_width_for_numbers_in_several_units_is_refused(tmp_path, capsys):
    """0.05 of a score is another thing than 0.05 points."""
    made_up(tmp_path, "m", {"gap": (1.0, 0.5)}, task="one")
    path = made_up(tmp_path, "m", {"gap": (1.0, 0.5)}, task="two", minutes=1)
    path.write_text(path.read_text().replace('"points"', '"score"'))
    assert cli.main(["plan", "--pilot", str(tmp_path), "--width", "gap=2"]) != 0
    assert (
        "numbers in several units (one/gap in points, two/gap in score); name the task: "
        "TASK/gap=VALUE" in capsys.readouterr().err
    )
    assert cli.main(["plan", "--pilot", str(tmp_path), "--width", "gap=2", "two/gap=0.1"]) == 0


@pytest.mark.slow
def test_what_is_the_same_of_all_tasks_is_said_once(tmp_path, capsys):
    lm = scripted("leaning", 0.4)
    path = ask(
        tmp_path / "pilot",
        "org/leaning",
        lm,
        "bistereo_analogy",
        "stereomap_extended_likelihood",
        limit=DOCUMENTS,
    )
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"total_evaluation_time_seconds": "60"})
    )
    _, said = run(capsys, "--pilot", tmp_path / "pilot", "--width", "40")
    assert (
        " ".join(said.split()).count("a pilot of one task tells it") == 1
        and said.count("WIDTH      from the lower") == 1
    )
    assert max(map(len, said.splitlines())) <= 160


def test_a_task_that_is_not_known_here_and_a_hostile_name_are_told_and_shown_as_text(
    tmp_path, capsys
):
    made_up(tmp_path, "evil\x1b[2J", {"gap": (1.0, 0.5)}, task="no\x1b]0;such")
    status, said = run(capsys, "--pilot", tmp_path, "--width", "2")
    assert status == 0 and "\x1b" not in said and "It is not known here" in said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["0"], "--width 0: expected a number above 0"),
        (["nan"], "expected a number above 0"),
        (["gap=wide"], "--width gap=wide: expected"),
        (["2", "3"], "--width 3: another width of it was given before"),
    ],
)
def test_a_width_that_is_none_is_refused(given, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        widths(given)


def test_a_number_that_no_run_has_is_refused_with_the_nearest(pilot):
    with pytest.raises(UsageError, match="no such number; did you mean biased_preferences"):
        cli.parser().parse_args(
            ["plan", "--pilot", str(pilot), "--width", "biased_preference=2"]
        ).run(
            cli.parser().parse_args(
                ["plan", "--pilot", str(pilot), "--width", "biased_preference=2"]
            )
        )


def read(folder):
    return find([folder]).runs


def test_speed_is_that_of_a_pilot_of_one_task(tmp_path):
    made_up(tmp_path, "m", {"gap": (1.0, 0.5)}, n=50, total_evaluation_time_seconds="200.0")
    each, said = speed(read(tmp_path)[0])
    assert each == 4 and said == "Speed: 0.25 documents a second, those of the pilot."


def test_speed_of_several_tasks_is_shared_out_and_said_to_be(tmp_path):
    path = made_up(tmp_path, "m", {"gap": (1.0, 0.5)}, n=50, total_evaluation_time_seconds="200.0")
    content = json.loads(path.read_text())
    for part in ("results", "configs", "versions"):
        content[part]["other"] = content[part]["mine"]
    content["n-samples"]["other"] = {"original": 100, "effective": 150}
    path.write_text(json.dumps(content))
    each, said = speed(next(run for run in read(tmp_path) if run.task == "mine"))
    # 200 s / (50 + 150)
    assert each == 1 and "for 2 tasks, shared out by their numbers of documents" in said
    # Prompts of three times the length take three times as long: 50 x 30 characters and 150 x 10.
    for task, length in (("mine", 30), ("other", 10)):
        sample = {
            "arguments": {
                "gen_args_0": {"arg_0": "x" * (length - 2)},
                "gen_args_1": {"arg_0": "x" * (length - 2)},
            },
            "resps": [["ab"]],
        }
        path.with_name(path.name.replace("results_", f"samples_{task}_") + "l").write_text(
            json.dumps(sample) + "\n"
        )
    each, said = speed(next(run for run in read(tmp_path) if run.task == "mine"))
    assert each == 2 and "the length of their prompts and answers" in said  # 200 s / 2 / 50


def test_a_pilot_that_does_not_say_how_long_it_took_has_no_time(tmp_path):
    made_up(tmp_path, "m", {"gap": (1.0, 0.5)}, n=50)
    each, said = speed(read(tmp_path)[0])
    assert each != each and said == "The pilot does not say how long it took."
