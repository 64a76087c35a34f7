"""Entries for `.eval_results/`; everything else in the files stays."""

from math import nan

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from lm_eval_bias.export import hub
from lm_eval_bias.export.numbers import chosen
from tests.gate.judged import found, run_of
from tests.mistakes import refused

VALUES = {
    "share": (12.5, 2.0, None, "lower"),
    "gap": (-6.0, 2.0, 0, None),
    "bare": (3.0, None, None, None),
    "lost": (nan, 1.0, None, "lower"),
}
TO_HUB = ("--to", "hub", "--dataset_id", "org/bench")


# ---- .eval_results


def test_an_entry_says_value_direction_interval_and_documents(tmp_path):
    run_of(tmp_path, VALUES, "org/model", n=40, metadata={"order": "both"})
    entries, _ = hub.entries(chosen(found(tmp_path).runs)[0], "org/bench")
    (again,) = parse_eval_result_entries(yaml.safe_load(hub.text(entries)))
    assert (again.dataset_id, again.task_id, again.value, again.date) == (
        "org/bench",
        "mine.share",
        12.5,
        "2026-01-31",
    )
    # 12.5 ± t.975 of 23 degrees of freedom, 2.068658, x 2 = 4.137315
    assert again.notes.startswith(
        "share of mine by lm-eval-bias: points, lower is better; 95 % interval [8.4, "
        "16.6] (made by the task over 24 clusters)"
    )
    assert (
        "n = 37; 40 documents" in again.notes
        and "order both" in again.notes
        and "asked 40 of 100 documents" in again.notes
    )
    assert "date: '2026-01-31'" in hub.text(entries)


def test_numbers_without_a_direction_are_left_out_and_said(tmp_path, command):
    run_of(tmp_path, VALUES, "org/model")
    status, out, err = command("export", tmp_path, *TO_HUB)
    assert status == 0 and [entry["dataset"]["task_id"] for entry in yaml.safe_load(out)] == [
        "mine.share"
    ]
    assert (
        "mine/gap of org/model is left out: best near 0, which is neither lower nor higher" in err
    )
    assert (
        "mine/bare of org/model is left out: a description" in err
        and "mine/lost of org/model is left out: it does not exist" in err
    )


OURS = {"dataset": {"id": "org/bench", "task_id": "mine.share"}, "value": 12.5}
STANDING = """\
# theirs
- dataset: {id: org/bench, task_id: mine.share}
  value: 1
- dataset: {id: cais/hle, task_id: default}
  value: 20.90
- no entry
"""


def test_an_older_entry_of_the_task_is_replaced_and_every_other_stays():
    entries = {hub.key_of(OURS): OURS}
    new = hub.text(entries, hub.standing(STANDING))
    assert yaml.safe_load(new) == [OURS, *yaml.safe_load(STANDING)[1:]]
    assert hub.text(entries, hub.standing(new)) == new
    for empty in ("", "# nothing yet", "[]\n"):
        assert yaml.safe_load(hub.text(entries, hub.standing(empty))) == [OURS]


@pytest.mark.parametrize(
    "content, why",
    [
        ("a: 1\n", "no list"),
        ("- {a: \n", "no YAML"),
        ("- &a x\n- *a\n", "anchors"),
        ("- 1\n...\n---\n- 2\n", "no YAML"),
    ],
)
def test_a_file_that_is_no_list_of_entries_is_not_changed(content, why):
    with refused(why):
        hub.standing(content)


def test_in_a_repository_only_our_own_file_is_changed(tmp_path, command):
    run_of(tmp_path / "runs", {**VALUES, "other": (1.0, 0.1, None, "higher")}, "org/model")
    folder = tmp_path / "repo" / ".eval_results"
    folder.mkdir(parents=True)
    before = {"theirs.yaml": STANDING, "broken.yaml": "{"}
    for name, text in before.items():
        (folder / name).write_text(text)
    options = (*TO_HUB, "--output", tmp_path / "repo")
    status, out, err = command("export", tmp_path / "runs", *options)
    assert status == 0 and out == f"wrote {folder / 'lm-eval-bias.yaml'}\n"
    assert "broken.yaml is left alone: it is no YAML" in err
    assert "mine.share is left out: the entry that stands there is of another file" in err
    assert {name: (folder / name).read_text() for name in before} == before
    (made,) = parse_eval_result_entries(yaml.safe_load((folder / "lm-eval-bias.yaml").read_text()))
    assert (made.task_id, made.value) == ("mine.other", 1.0)
    before = (folder / "lm-eval-bias.yaml").read_text()
    assert command("export", tmp_path / "runs", *options)[0] == 0
    assert (folder / "lm-eval-bias.yaml").read_text() == before


@pytest.mark.parametrize(
    "more, why",
    [
        ("verifyToken: abc", "signed"),
        ("date: 2026-02-01", "newer (2026-02-01)"),
        ('date: "2026-02-01T10:00:00Z"', "newer"),
    ],
)
def test_a_signed_or_newer_entry_stays(tmp_path, command, more, why):
    run_of(tmp_path / "runs", VALUES, "org/model")
    file = tmp_path / ".eval_results" / "lm-eval-bias.yaml"
    file.parent.mkdir()
    content = f"- dataset: {{id: org/bench, task_id: mine.share}}\n  value: 1\n  {more}\n"
    file.write_text(content)
    status, _, err = command("export", tmp_path / "runs", *TO_HUB, "--output", tmp_path)
    assert why in err and status == 1 and file.read_text() == content
