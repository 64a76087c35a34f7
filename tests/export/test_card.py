"""Results in a model card: the text, the other metadata and the results of others stay."""

from math import nan

import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results

from lm_eval_bias.export import card
from lm_eval_bias.export.numbers import Source, chosen
from lm_eval_bias.usage import UsageError
from tests.gate.judged import found, run_of

VALUES = {
    "share": (12.5, 2.0, None, "lower"),
    "gap": (-6.0, 2.0, 0, None),
    "bare": (3.0, None, None, None),
    "lost": (nan, 1.0, None, "lower"),
}
CARD = """\
---
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
language: en
---
# A model

model-index: in the text

---
more
"""


@pytest.fixture
def run(command):
    return lambda *arguments: command("export", *arguments, "--to", "model-index")


@pytest.fixture
def made(tmp_path):
    run_of(tmp_path, "org/model", VALUES)
    return card.eval_results(chosen(found(tmp_path).runs)[0], Source())[0]


@pytest.fixture
def changed(tmp_path, made):
    """Text of a card -> the text with our results."""

    def change(content):
        file = tmp_path / "README.md"
        file.write_bytes(content.encode())
        assert card.change(file, "org/model", made) == []
        return file.read_bytes().decode()

    return change


def test_numbers_without_a_direction_are_left_out_and_said(tmp_path, run):
    run_of(tmp_path, "org/model", VALUES)
    status, out, err = run(tmp_path)
    (element,) = yaml.safe_load(out)["model-index"]
    names = [metric["type"] for of in element["results"] for metric in of["metrics"]]
    assert status == 0 and names == ["share"]
    assert (
        "mine/gap of org/model is left out: best near 0, which is neither lower nor higher" in err
    )
    assert (
        "mine/bare of org/model is left out: a description" in err
        and "mine/lost of org/model is left out: it does not exist" in err
    )


def test_a_card_keeps_its_text_its_metadata_and_the_results_of_others(changed):
    new = changed(CARD)
    assert new.endswith("---\n# A model\n\nmodel-index: in the text\n\n---\nmore\n")
    metadata = yaml.safe_load(new.split("---")[1])
    assert list(metadata) == ["license", "tags", "model-index", "language"]
    (index,) = metadata["model-index"]
    assert index["name"] == "Their name" and index["extra"] == "kept"
    assert index["results"][0]["metrics"] == [{"type": "accuracy", "value": 0.9, "unknown": "kept"}]
    read = {
        (one.dataset_type, one.metric_type): one.metric_value
        for one in ModelCard(new).data.eval_results
    }
    assert read == {("imdb", "accuracy"): 0.9, ("mine", "share"): 12.5, ("mine", "theirs"): 1}
    assert changed(new) == new


def test_a_result_says_direction_interval_and_documents_in_its_name_and_as_data(tmp_path):
    run_of(tmp_path, "org/model", VALUES)
    source = Source("org/bench", "0123abc", "https://a.example")
    ((one,), _) = card.eval_results(chosen(found(tmp_path).runs)[0], source)
    _, (again,) = model_index_to_eval_results(yaml.safe_load(card.text("m", [one]))["model-index"])
    assert again == one and (one.dataset_type, one.dataset_config, one.dataset_revision) == (
        "org/bench",
        "mine",
        "0123abc",
    )
    assert one.metric_name == (
        "share (points, lower is better; 95 % interval 8.3 to 16.7 (made by the task over "
        "24 clusters); n = 100)"
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
        "---\r\nlicense: mit\r\n---\r\n# text\r\n",
        "---\nmodel-index: []\na: 1\n---\nx",
        "---\na: |\n  model-index: 3\n---\nx",
        "---\nmodel-index: null  # none\n---\n\n---\n",
    ],
)
def test_a_card_without_results_gets_them(changed, content):
    read, before = ModelCard(changed(content)), ModelCard(content)
    assert read.data.model_name == "org/model" and read.text == before.text
    assert [one.metric_value for one in read.data.eval_results] == [12.5]
    assert (read.data.get("license"), read.data.get("a")) == (
        before.data.get("license"),
        before.data.get("a"),
    )


@pytest.mark.parametrize(
    "content",
    [
        "---\n- a\n---\n",
        "---\na: [\n---\n",
        "---\nmodel-index: 3\n---\n",
        "---\nmodel-index: [{name: a}]\n---\n",
        "---\nmodel-index: [{name: a, results: [{task: 3}]}]\n---\n",
    ],
)
def test_a_card_that_cannot_be_read_stays_as_it_is(tmp_path, made, content):
    file = tmp_path / "README.md"
    file.write_text(content)
    with pytest.raises(UsageError, match="cannot read its metadata"):
        card.change(file, "org/model", made)
    assert file.read_text() == content


def test_of_several_models_in_a_card_the_others_keep_their_results(changed):
    group = "{task: {type: t}, dataset: {name: d, type: %s}, metrics: [{type: acc, value: %d}]}"
    content = (
        f"---\nmodel-index:\n- name: a\n  results: [{group % ('d', 1)}]\n- name: b\n  "
        f"results: [{group % ('d', 2)}, {group % ('e', 3)}]\n---\n"
    )
    index = yaml.safe_load(changed(content).split("---")[1])["model-index"]
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
    status, _, err = run(tmp_path / "runs", "--card", file)
    read = {
        one.metric_type: one.metric_value for one in ModelCard(file.read_text()).data.eval_results
    }
    assert (
        status == 0
        and "a verified result stands there" in err
        and (read["share"], read["other"]) == (99, 1.0)
    )
