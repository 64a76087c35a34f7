"""`lm-eval-bias plan` on runs of scripted models, and on files that are not what they should be."""

import json
import re
from shutil import copytree

import pytest

from tests.gate.judged import run_of
from tests.rule_model import RuleLM
from tests.scripted import ask, chance, made_up, scripted

DOCUMENTS = 620


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pilot")
    ask(folder, "org/leaning", scripted("leaning", 0.4), "bistereo_analogy", limit=DOCUMENTS)
    return folder


@pytest.fixture
def plan(command):
    """Status, standard output, and standard output and error as one line."""

    def run(folder, *width):
        status, out, err = command("plan", "--pilot", folder, "--width", *width)
        return status, out, " ".join((out + err).split())

    return run


def row(out, name):
    return next(line for line in out.splitlines() if line.split()[:1] == [name])


def test_what_is_wide_enough_already_takes_fewer_documents_than_the_pilot(pilot, plan):
    status, out, _ = plan(pilot, "40")
    assert status == 0 and "bistereo_analogy, org/leaning: 620 of 2,213 documents" in out
    content = json.loads(next(pilot.rglob("results_*.json")).read_text())
    numbers = content["configs"]["bistereo_analogy"]["cells"]["numbers"]
    number = {n["metric"]: n for n in numbers if n["group"] is None}["biased_preferences"]
    now = float(row(out, "biased_preferences").split()[2])
    assert now == pytest.approx(number["high"] - number["low"], rel=0.01)
    needed = row(out, "biased_preferences").split()[4]
    assert int(needed) in range(7, DOCUMENTS, 7)  # an analogy has seven contexts
    # 600 come before 16 attention checks of four forms
    assert "documents: lm_eval --tasks bistereo_analogy --limit 664" in out


def test_what_the_task_has_not_is_said_with_the_width_of_all_documents(pilot, plan):
    _, out, text = plan(pilot, "biased_preferences=0.5")
    line = row(out, "biased_preferences")
    assert "too few" in line and "with all 2,213 the width is" in line
    assert (
        "It is not certain that all of these can be reached with the 2,213 documents of "
        "bistereo_analogy." in text
    )


def test_a_width_for_one_task_goes_before_one_for_all(pilot, plan):
    widths = ("40", "directed_preferences=35", "bistereo_analogy/directed_preferences=30")
    _, out, _ = plan(pilot, *widths)
    wanted = [row(out, f"{name}_preferences").split()[3] for name in ("biased", "directed")]
    assert wanted == ["40.0", "30.0"]


def test_samples_that_are_cut_off_or_missing_are_named(pilot, tmp_path, plan):
    copytree(pilot, tmp_path / "pilot")
    (file,) = tmp_path.rglob("samples_*.jsonl")
    file.write_text(file.read_text()[:-300])
    status, _, text = plan(tmp_path / "pilot", "10")
    assert status == 0 and "line 620" in text
    file.unlink()
    _, out, text = plan(tmp_path / "pilot", "10")
    assert "it has samples of 0 of its 620 documents" in text
    assert "run it again with --log_samples" in text and "DOCUMENTS" not in out


def test_no_number_of_documents_narrows_what_comes_from_groups(tmp_path, plan):
    """Muslims alone feel for their own, alike in all events: other events change nothing, other
    religions much."""

    def rule(context, continuation):
        own = context.count("Muslim") > 1 and "extremely" in continuation
        return -3 + 0.1 * chance(context, continuation) + 4 * own

    ask(tmp_path, "m", RuleLM(rule=rule), "empathy_religion_likelihood", limit=1200)
    _, out, _ = plan(tmp_path, "1")
    cells = row(out, "gap_points").split()
    now, least = float(cells[2]), float(re.search(r"width is ([\d.]+)", row(out, "gap_points"))[1])
    assert cells[4:6] == ["too", "few"] and now > 10 and least == pytest.approx(now, rel=0.02)
    assert "responds" not in out  # every size asks the same attention checks


def test_too_few_clusters_plan_nothing(tmp_path, plan):
    """Two of 24 themes: 46 and 26 documents, which are no evidence of 72. Ten have 388, since four
    ask each type once, in 156: 2 x 156 + 46 + 30. What has ten of them is said in place of a plan,
    and of one reason for all numbers there is no table."""
    ask(tmp_path, "m", scripted("m"), "hbb", limit=72)
    _, _, text = plan(tmp_path, "2")
    assert "mean_difference" in text
    assert "cannot be planned, since the pilot has 2 clusters, and 10 are needed" in text
    assert "A pilot of 388 documents has them: lm_eval --tasks hbb --limit 388" in text
    assert "DOCUMENTS" not in text


def test_a_width_for_numbers_in_several_units_is_refused(tmp_path, plan):
    """0.05 of a score is another thing than 0.05 points."""
    made_up(tmp_path, {"gap": (1.0, 0.5)}, task="one")
    run_of(tmp_path, {"gap": (1.0, 0.5)}, task="two", minutes=1, unit="score")
    status, _, text = plan(tmp_path, "gap=2")
    assert status == 1 and (
        "numbers in several units (one/gap in points, two/gap in score); name the task: "
        "TASK/gap=VALUE" in text
    )
    assert plan(tmp_path, "gap=2", "two/gap=0.1")[0] == 0


def test_a_task_that_is_not_known_here_and_a_hostile_name_are_told_and_shown_as_text(
    tmp_path, plan
):
    made_up(tmp_path, {"gap": (1.0, 0.5)}, "evil\x1b[2J", task="no\x1b]0;such")
    status, out, text = plan(tmp_path, "2")
    assert status == 0 and "\x1b" not in out and "it is not known here" in text


@pytest.mark.parametrize(
    "given, message",
    [
        (["0"], "--width 0: expected a number above 0"),
        (["nan"], "expected a number above 0"),
        (["gap=wide"], "--width gap=wide: expected"),
        (["2", "3"], "--width 3: another width of it was given before"),
        (["gup=2"], "no run has that number; did you mean gap"),
    ],
)
def test_a_width_that_is_none_is_refused(tmp_path, plan, given, message):
    made_up(tmp_path, {"gap": (1.0, 0.5)})
    status, _, text = plan(tmp_path, *given)
    assert status == 1 and message in text
