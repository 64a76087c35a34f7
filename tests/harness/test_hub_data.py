"""Tasks on a data set of the hub, or on a file of its columns, by the example of StereoSet on
invented rows; no hub, no network."""

import json
import re
from pathlib import Path

import lm_eval
import pytest

from lm_eval_bias import catalogue, cli
from lm_eval_bias.usage import UsageError
from tests.mistakes import refused
from tests.overt_rows import KINDS, WORDS, as_released, kind_of, rows
from tests.rule_model import ChatLM, RuleLM, evaluate, load, rows_of
from tests.scripted import ask, write_lines

PARTS = ("intrasentence", "intersentence")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Both parts in one file, as the authors publish them."""
    path = tmp_path_factory.mktemp("data") / "dev.json"
    parts = {part: [as_released(row) for row in rows(part)] for part in PARTS}
    path.write_text(json.dumps({"version": "1.0", "data": parts}))
    return str(path)


def documents(task, **metadata):
    return list(load(task, metadata=metadata)["tasks"][task].eval_docs)


def test_every_form_of_the_file_gives_the_same_documents(tmp_path, data):
    from datasets import Dataset

    given = rows("intrasentence")
    released = [as_released(row) for row in given]
    (tmp_path / "a.json").write_text(json.dumps(given))
    (tmp_path / "b.json").write_text(json.dumps({"intrasentence": released}))
    write_lines(tmp_path / "c.jsonl", given)
    write_lines(tmp_path / "d.jsonl", released)
    Dataset.from_list(given).to_parquet(tmp_path / "e.parquet")
    docs = documents("stereoset_intrasentence", data=data)
    assert len(docs) == 48
    for path in tmp_path.iterdir():
        assert documents("stereoset_intrasentence", data=str(path)) == docs, path


def test_a_line_of_jsonl_ends_at_a_line_feed_alone(tmp_path):
    """U+2028, U+0085 and others end a line of text, and may stand in a JSON text as they are."""
    context = "The glassblower\u2028of street\u00850\u2029is quite BLANK."
    text = json.dumps({**rows("intrasentence", 1)[0], "context": context}, ensure_ascii=False)
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{text}\r\n\r\n", encoding="utf-8", newline="")
    (doc,) = documents("stereoset_intrasentence", data=str(path))
    assert doc["context"] == context


@pytest.mark.parametrize("template", [False, True])
def test_texts_are_scored_as_they_stand_with_and_without_a_chat_template(template, data):
    lm = ChatLM(lambda *_: -1.0)
    more = {"apply_chat_template": template, "system_instruction": "Be kind."}
    for part in PARTS:
        evaluate(lm, f"stereoset_{part}", {"data": data}, limit=1, **more)
    asked = [request.args for request in lm.requests]
    # with the full stop that it lacks
    assert [context for context, _ in asked] == [""] * 3 + ["A glassblower lives in street 0."] * 3
    assert [kind_of(sentence) for _, sentence in asked] == list(KINDS) * 2
    assert asked[0][1] == f"The glassblower of street 0 is quite {WORDS[0][0]}."
    assert asked[3][1].startswith(" This neighbour")


def test_the_results_and_every_record_say_which_file(data):
    task = "stereoset_intrasentence"
    results = evaluate(RuleLM(lambda *_: -1.0), task, {"data": data}, limit=2, log_samples=True)
    logged = results["configs"][task]["metadata"]
    assert logged["data"] == data and len(logged["data_sha256"]) == 64
    file = results["samples"][task][0]["records"]["data_file"]
    assert file == f"{data} sha256:{logged['data_sha256'][:12]}"


ROW = rows("intrasentence", 1)[0]
WRONG = {
    "rows.json": (
        json.dumps({"version": 1}),
        "expected a list of rows with names for their values, or intrasentence with such a list",
    ),
    "none.json": ("[]", "expected a list of rows"),
    "twice.json": (json.dumps([ROW, ROW]), r"row 2: id: '.*' stands in row 1 too"),
    "line.jsonl": ('{"a": 1}\n{"a": \n', "line 2"),
    "rows.txt": ("", r"expected a file that ends in .json, .jsonl or .parquet"),
    "broken.parquet": ("[{", "cannot read .*broken.parquet"),
    "absent.json": (None, "stereoset_intrasentence: cannot read absent.json: No such file or dir"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_of_something_else_is_told_in_one_line(name, here):
    content, message = WRONG[name]
    if content is not None:
        (here / name).write_text(content)
    with refused(message) as error:
        documents("stereoset_intrasentence", data=name)
    assert "\n" not in str(error.value)


def test_check_reads_such_a_file_and_fetches_nothing(data, tmp_path, capsys, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("fetched"))
    assert cli.main(["check", data, "--for", "stereoset_intersentence_choice"]) == 0
    expected = f"{data}: data of stereoset_intersentence_choice: 288 documents\n"
    assert capsys.readouterr().out == expected
    (tmp_path / "rows.json").write_text("[{}]")
    for files, message in (
        ([tmp_path / "rows.json"], r"not the columns of StereoSet: row 1: target: expected"),
        ([data, data], "takes one file"),
    ):
        assert cli.main(["check", *map(str, files), "--for", "stereoset_intersentence"]) == 1
        assert re.search(message, capsys.readouterr().err)


def test_without_the_hub_it_is_said_in_one_line_what_to_do(monkeypatch):
    """And nothing is fetched before the task is run."""
    import datasets

    def fail(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    assert catalogue.task("stereoset_intersentence_choice").documents is None
    with pytest.raises(UsageError) as error:
        documents("stereoset_intersentence_choice")
    assert str(error.value) == (
        "stereoset_intersentence_choice: cannot load the data set McGill-NLP/stereoset "
        "intersentence: fetch it with network, or give a file of the same columns with "
        "--metadata data=FILE (OSError no network)"
    )


MINE = """
from lm_eval_bias.measure import Counted, Measure, Metric
from lm_eval_bias.metrics.errors import means

def record(doc, results):
    old = "Old" in results[0] if isinstance(results[0], str) else results[0][0] > -1
    return {"rest": doc["rest"], "old": 100.0 * old}

OLD = Metric("old", "%", "Old people are meant.", null_value=50, primary=True)
PAIRS = Counted(lambda x, **_: {"pairs": x}, {"pairs": means("old")})
MINE = Measure(record, PAIRS, [OLD], clusters=[("rest",)])

def process_docs(docs):
    return docs.map(lambda doc: {"rest": doc["sent_more"].split(" people ")[1]})
"""
CROWS_PAIRS = Path(lm_eval.__file__).parent / "tasks/crows_pairs/crows_pairs_english.yaml"
MEASURED = """
include: {include}
task: {task}
dataset_path: json
dataset_name: null
dataset_kwargs: {{data_files: {{test: {folder}/pairs.jsonl}}}}
process_docs: !function mine.process_docs
class: !function lm_eval_bias.harness.task.BiasTask
measure: !function mine.MINE
"""
WRITTEN = """
output_type: generate_until
doc_to_text: "{{sent_more}} or {{sent_less}}"
doc_to_choice: null
filter_list: [{name: first, filter: [{function: take_first}]}]
"""
SINGLE = """
output_type: loglikelihood
doc_to_target: sent_more
doc_to_choice: null
"""


@pytest.fixture
def measured(tmp_path):
    """A folder with a copy of the harness's `crows_pairs_english` that has a measure, on twelve
    pairs of its columns, and with two more of other requests."""
    kinds = ("Old", "Young"), ("Young", "Old"), ("Old", "Young")
    pairs = [
        {"sent_more": f"{more} people {i}.", "sent_less": f"{less} people {i}.", "bias_type": "age"}
        for i in range(12)
        for more, less in kinds
    ]
    write_lines(tmp_path / "pairs.jsonl", pairs)
    (tmp_path / "mine.py").write_text(MINE)
    given = {"include": CROWS_PAIRS, "folder": tmp_path}
    for task, more in (("pairs", ""), ("pairs_written", WRITTEN), ("pairs_single", SINGLE)):
        (tmp_path / f"{task}.yaml").write_text(MEASURED.format(task=task, **given) + more)
    return tmp_path


@pytest.mark.parametrize(
    "task, value", [("pairs", 200 / 3), ("pairs_written", 100), ("pairs_single", 200 / 3)]
)
def test_two_keys_put_a_measure_on_a_task_of_the_harness(measured, command, task, value):
    """Of three pairs two begin with the old, which this model likes; it writes of them alone. The
    twelve clusters agree, so that the error is 0."""
    assert "class:" not in CROWS_PAIRS.read_text() and len(MEASURED.split("\n")) <= 10
    lm = RuleLM(lambda _, text: 0.0 if "Old" in text else -9.0, lambda prompt: "Old people.")
    results = ask(measured / "runs", "m", lm, task, include=[measured])
    row = rows_of(json.loads(results.read_text()), task)["old", None]
    assert row["value"] == pytest.approx(value) and (row["n"], row["clusters"]) == (36, 12)
    # and every command knows it
    (samples,) = measured.rglob("samples_*.jsonl")
    status, out, _ = command("merge", task, samples, "--include_path", measured)
    assert status == 0 and f"{value:.1f}" in out
