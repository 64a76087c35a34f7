"""`lm-eval-bias history`, on made-up runs."""

import csv
import io
import shutil

import pytest

from lm_eval_bias.report.history import history
from lm_eval_bias.results.runs import find
from tests.gate.judged import run_of

VALUES = (1.0, 2.0, 3.0, 1.5, 2.5, 2.0, 40.0)


@pytest.fixture
def nights(tmp_path):
    """Seven nights; the last is far from the others."""
    folders = []
    for i, value in enumerate(VALUES):
        folders.append(tmp_path / f"night{i}")
        run_of(folders[-1], "m", {"gap": (value, 0.5, 0, None, "Q")}, minutes=i)
    return folders


def rows(tmp_path, command, folders):
    file = tmp_path / "h.csv"
    status, out, err = command("history", *folders, "--output", file)
    assert (status, err) == (0, "")
    return list(csv.DictReader(io.StringIO(file.read_text("utf-8-sig")))), out


def test_what_left_its_limits_is_marked(tmp_path, command, nights):
    table, out = rows(tmp_path, command, reversed(nights))
    assert [float(row["value"]) for row in table] == list(VALUES)  # by date
    assert [row["marks"] for row in table] == [""] * 6 + ["outside its limits"]
    assert "1 of 7 points outside their limits: mine gap (" in out
    # 1, 2, 3, 1.5, 2.5, 2: mean 2, deviation sqrt(2.5 / 5); t of 5 degrees at 99.865 %: 5.507
    high = 2 + 5.507 * 0.7071 * (7 / 6) ** 0.5
    assert float(table[-1]["limit_high"]) == pytest.approx(high, abs=0.01)


def test_a_new_version_begins_anew_and_a_new_model_does_not(tmp_path, command, nights):
    shutil.rmtree(nights[5])
    run_of(nights[5], "other", {"gap": (2.0, 0.5, 0, None, "Q")}, minutes=5)
    table, _ = rows(tmp_path, command, nights)
    assert table[5]["marks"] == "other model" and table[5]["limit_low"]
    run_of(nights[4], "m", {"gap": (2.5, 0.5, 0, None, "Q")}, minutes=4, version=2.0)
    table, _ = rows(tmp_path, command, nights)
    assert table[4]["marks"] == "other version" and not table[4]["limit_low"]


@pytest.mark.parametrize("ending", [".html", ".md"])
def test_pages(tmp_path, command, nights, ending):
    file = tmp_path / f"h{ending}"
    assert command("history", *nights, "--output", file)[0] == 0
    text = file.read_text()
    assert "outside its limits" in text and "0.27 %" in text and "40.0" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent"], "absent is not there"),
        (["two"], "has several models"),
        (["two", "--output", "h.pdf"], "expected a file .html, .md, .csv"),
    ],
)
def test_mistakes(tmp_path, command, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate("ab"):
        run_of(tmp_path / "two", name, {"gap": (1.0, 0.5, 0, None)}, minutes=i)
    status, _, err = command("history", *arguments)
    assert status == 1 and message in err


def test_runs_without_a_date_stand_last(nights):
    (first, second), (third,) = find(nights[:1]).runs * 2, find(nights[1:2]).runs
    undated = [run._replace(date=None) for run in (first, second)]
    (line,) = history([*undated, third])
    assert [point.number.value for point in line.points] == [2.0, 1.0, 1.0]
