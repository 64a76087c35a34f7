"""Entries for `.eval_results/` and results in a model card; everything else in the files stays."""

import re
from itertools import pairwise
from math import nan

import pytest
import yaml
from huggingface_hub import EvalResultEntry, ModelCard, parse_eval_result_entries
from huggingface_hub.repocard_data import model_index_to_eval_results

from lm_eval_bias.export import card, hub
from lm_eval_bias.export.numbers import CannotMerge, Source, chosen
from tests.gate.judged import found, run_of

VALUES = {
    "share": (12.5, 2.0, None, "lower"),
    "gap": (-6.0, 2.0, 0, None),
    "bare": (3.0, None, None, None),
    "lost": (nan, 1.0, None, "lower"),
}


def results(folder, model="org/model", values=VALUES, **more):
    run_of(folder, model, values, **more)
    return chosen(found(folder).runs)[0]


@pytest.fixture
def run(command):
    return lambda *arguments: command("export", *arguments)


# ---- .eval_results


def test_an_entry_says_value_direction_interval_and_documents(tmp_path):
    (entry,), _ = hub.entries(
        results(tmp_path, n=40, metadata={"order": "both"}),
        Source("org/bench", "0123abc", "https://a.example/x", "Outputs"),
    )
    (again,) = parse_eval_result_entries(yaml.safe_load(hub.text([entry])))
    assert again == entry  # as huggingface_hub reads it, the date a text
    assert (again.dataset_id, again.task_id, again.value, again.date) == (
        "org/bench",
        "mine.share",
        12.5,
        "2026-01-31",
    )
    assert (again.dataset_revision, again.source_url, again.source_name) == (
        "0123abc",
        "https://a.example/x",
        "Outputs",
    )
    # 12.5 ± t.975 of 23 degrees of freedom, 2.068658, x sqrt(24 / 23) x 2 = 4.226302
    assert again.notes.startswith(
        "share of mine by lm-eval-bias: points, lower is better; 95 % interval [8.3, "
        "16.7] (made by the task over 24 clusters)"
    )
    assert (
        "n = 37; 40 documents" in again.notes
        and "order both" in again.notes
        and "asked 40 of 100 documents" in again.notes
    )
    assert "date: '2026-01-31'" in hub.text([entry])


def test_numbers_without_a_direction_are_left_out_and_said(tmp_path, run):
    run_of(tmp_path, "org/model", VALUES)
    status, out, err = run(tmp_path, "--to", "hub", "--dataset_id", "org/bench")
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


# 370 bytes that stand for 9 ** 9 texts
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghi")
)
OURS = EvalResultEntry("org/bench", "mine.share", 12.5, date="2026-01-31", notes="of ours")
STANDING = """\
# theirs
- dataset: {id: org/bench, task_id: mine.share}
  value: 1
- dataset: {id: cais/hle, task_id: default}
  value: 20.90
- no entry
"""


def test_an_older_entry_of_the_task_is_replaced_and_every_other_stays():
    new = hub.merged(STANDING, [OURS])
    ours, *others = yaml.safe_load(new)
    assert [ours] == yaml.safe_load(hub.text([OURS]))
    assert others == yaml.safe_load(STANDING)[1:]
    assert hub.merged(new, [OURS]) == new
    for empty in ("", "# nothing yet", "[]\n"):
        assert hub.merged(empty, [OURS]) == hub.text([OURS])


@pytest.mark.parametrize(
    "content, why",
    [
        ("a: 1\n", "no list"),
        ("- {a: \n", "no YAML"),
        (BOMB, "anchors"),
        ("- 1\n...\n---\n- 2\n", "no YAML"),
        ("- " * 3000 + "1", "no YAML"),
    ],
)
def test_a_file_that_is_no_list_of_entries_is_not_changed(content, why):
    with pytest.raises(CannotMerge, match=why):
        hub.merged(content, [OURS])


def test_in_a_repository_only_our_own_file_is_changed(tmp_path, run):
    run_of(tmp_path / "runs", "org/model", {**VALUES, "other": (1.0, 0.1, None, "higher")})
    folder = tmp_path / "repo" / ".eval_results"
    folder.mkdir(parents=True)
    before = {"theirs.yaml": STANDING, "broken.yaml": "{"}
    for name, text in before.items():
        (folder / name).write_text(text)
    options = ("--to", "hub", "--dataset_id", "org/bench", "--output", tmp_path / "repo")
    status, out, err = run(tmp_path / "runs", *options)
    assert status == 0 and out == f"wrote {folder / 'lm-eval-bias.yaml'}\n"
    assert "broken.yaml is left alone: it is no YAML" in err
    assert "mine.share is left out: the entry that stands there is of another file" in err
    assert {name: (folder / name).read_text() for name in before} == before
    (made,) = parse_eval_result_entries(yaml.safe_load((folder / "lm-eval-bias.yaml").read_text()))
    assert (made.task_id, made.value) == ("mine.other", 1.0)
    again = run(tmp_path / "runs", *options)
    assert again[0] == 0 and "is as it was" in again[1]


@pytest.mark.parametrize(
    "more, why",
    [
        ("verifyToken: abc", "signed"),
        ("date: 2026-02-01", "newer (2026-02-01)"),
        ('date: "2026-02-01T10:00:00Z"', "newer"),
    ],
)
def test_a_signed_or_newer_entry_stays(tmp_path, run, more, why):
    run_of(tmp_path / "runs", "org/model", VALUES)
    file = tmp_path / ".eval_results" / "lm-eval-bias.yaml"
    file.parent.mkdir()
    content = f"- dataset: {{id: org/bench, task_id: mine.share}}\n  value: 1\n  {more}\n"
    file.write_text(content)
    status, _, err = run(
        tmp_path / "runs", "--to", "hub", "--dataset_id", "org/bench", "--output", tmp_path
    )
    assert why in err and status == 1 and file.read_text() == content


# ---- model-index

CARD = """\
---
# made by hand
license:   apache-2.0
tags: [a,  b]
model-index:
- name: Their name
  results:
  - task: {type: text-classification}
    dataset: {name: IMDB, type: imdb}
    metrics:
    - {type: accuracy, value: 0.9, unknown: kept}
  - task: {type: text-generation}
    dataset: {name: mine, type: mine}
    metrics:
    - {type: share, value: 99}
    - {type: theirs, value: 1}
  extra: kept
language: en  # last
---
# A model

model-index: in the text

---
more
"""


def made(tmp_path, source=None):
    return card.eval_results(results(tmp_path), source or Source())[0]


def test_a_card_keeps_its_text_its_metadata_and_the_results_of_others(tmp_path):
    new = card.merged(CARD, "org/model", made(tmp_path))
    before, after = (
        CARD.split("model-index:\n", 1)[0],
        "language: en  # last\n---\n" + CARD.split("# last\n---\n")[1],
    )
    assert new.startswith(before) and new.endswith(after)
    index = yaml.safe_load(new.split("---")[1])["model-index"]
    assert index[0]["name"] == "Their name" and index[0]["extra"] == "kept" and len(index) == 1
    assert index[0]["results"][0]["metrics"] == [
        {"type": "accuracy", "value": 0.9, "unknown": "kept"}
    ]
    read = {
        (one.dataset_type, one.metric_type): one.metric_value
        for one in ModelCard(new).data.eval_results
    }
    assert read == {("imdb", "accuracy"): 0.9, ("mine", "share"): 12.5, ("mine", "theirs"): 1}
    assert card.merged(new, "org/model", made(tmp_path)) == new


def test_a_result_says_direction_interval_and_documents_in_its_name_and_as_data(tmp_path):
    (one,) = made(tmp_path, Source("org/bench", "0123abc", "https://a.example"))
    _, (again,) = model_index_to_eval_results(yaml.safe_load(card.text("m", [one]))["model-index"])
    assert again == one and (one.dataset_type, one.dataset_config, one.dataset_revision) == (
        "org/bench",
        "mine",
        "0123abc",
    )
    assert one.metric_name == (
        "share (points, lower is better; 95 % interval [8.3, 16.7] (made by the task over "
        "24 clusters); n = 37)"
    )
    assert (
        one.metric_args["interval"] == pytest.approx([12.5 - 4.226302, 12.5 + 4.226302])
        and one.metric_args["documents"] == 100
    )


@pytest.mark.parametrize(
    "content",
    [
        "",
        "# only text\n",
        "---\nlicense: mit\n---\n",
        "---\nlicense: mit\n---",
        "---\n---\ntext\n",
        "---\r\nlicense: mit\r\n---\r\n# text\r\n",
        "\ufeff---\na: 1\n---\nx",
        "\ufeffx",
        "---\nmodel-index:\na: 1\n---\nx",
        "---\nmodel-index: []\na: 1\n---\nx",
        "---\na: |\n  model-index: 3\n---\nx",
        "---\nmodel-index: null  # none\n---\n\n---\n",
        "---\nd: 2020-01-01\nx: .nan\n---\n",
        "\n\n---\na: 1\n---\nx",
        "---\n# nothing\n---\nx",
        "---\na: 1\n...\n---\nx",
    ],
)
def test_a_card_without_results_gets_them(tmp_path, content):
    try:
        new = card.merged(content, "org/model", made(tmp_path))
    except CannotMerge:
        assert "..." in content
        return
    read = ModelCard(new.removeprefix("\ufeff"))
    assert read.data.model_name == "org/model" and [
        one.metric_value for one in read.data.eval_results
    ] == [12.5]
    bare = content.removeprefix("\ufeff")
    assert read.text == ModelCard(bare).text and new.startswith("\ufeff") == content.startswith(
        "\ufeff"
    )
    others = {
        key: value for key, value in ModelCard(bare).data.to_dict().items() if key != "model-index"
    }
    assert repr(
        {key: value for key, value in read.data.to_dict().items() if key != "model-index"}
    ) == repr(others)
    assert not re.search(r"(?<!\r)\n", new) if "\r\n" in content else True


@pytest.mark.parametrize(
    "content, why",
    [
        ("---\n- a\n---\n", "no mapping"),
        ("---\na: [\n---\n", "no YAML"),
        ("---\n{a: 1}\n---\n", "cannot read the card then"),
        ("---\nmodel-index: []\nmodel-index: []\n---\n", "without the rest of its metadata"),
        ("---\nmodel-index: 3\n---\n", "cannot read its model-index"),
        ("---\nmodel-index: [{name: a}]\n---\n", "cannot read its model-index"),
        (
            "---\nmodel-index: [{name: a, results: [{task: 3}]}]\n---\n",
            "cannot read its model-index",
        ),
        ("---\nmodel-index: &a\n- {name: a, results: []}\nb: *a\n---\n", "anchors"),
        (f"---\n{BOMB}---\n", "anchors"),
    ],
)
def test_a_card_that_cannot_be_changed_in_one_place_is_not(tmp_path, content, why):
    with pytest.raises(CannotMerge, match=why):
        card.merged(content, "org/model", made(tmp_path))


def test_of_several_models_in_a_card_the_others_keep_their_results(tmp_path):
    group = "{task: {type: t}, dataset: {name: d, type: %s}, metrics: [{type: acc, value: %d}]}"
    content = (
        f"---\nmodel-index:\n- name: a\n  results: [{group % ('d', 1)}]\n- name: b\n  "
        f"results: [{group % ('d', 2)}, {group % ('e', 3)}]\n---\n"
    )
    index = yaml.safe_load(card.merged(content, "m", made(tmp_path)).split("---")[1])["model-index"]
    values = {
        element["name"]: [
            metric["value"] for result in element["results"] for metric in result["metrics"]
        ]
        for element in index
    }
    assert values == {"a": [1, 12.5], "b": [2, 3]}


def test_a_verified_result_stays(tmp_path, run):
    run_of(tmp_path / "runs", "org/model", {**VALUES, "other": (1.0, 0.1, None, "higher")})
    file = tmp_path / "README.md"
    file.write_text(
        CARD.replace("{type: share, value: 99}", "{type: share, value: 99, verified: true}")
    )
    status, _, err = run(tmp_path / "runs", "--to", "model-index", "--card", file)
    read = {
        one.metric_type: one.metric_value for one in ModelCard(file.read_text()).data.eval_results
    }
    assert (
        status == 0
        and "a verified result stands there" in err
        and (read["share"], read["other"]) == (99, 1.0)
    )
