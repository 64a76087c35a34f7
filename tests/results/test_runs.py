"""Finished runs: what is found below a folder, what is believed of it, and what is told where it is
not."""

import gzip
import json
import shlex
import shutil
from datetime import timedelta
from math import isnan
from pathlib import Path

import pytest

from lm_eval_bias import catalogue, cli
from lm_eval_bias.benchmarks.empathy import documents as empathy
from lm_eval_bias.benchmarks.empathy.measure import record
from lm_eval_bias.data.bounds import lines
from lm_eval_bias.results import merged as merge
from lm_eval_bias.results.runs import Place, find
from lm_eval_bias.results.transcripts import transcript
from tests.mistakes import refused
from tests.scripted import MORNING, ask, edited, made_up, samples_beside, scripted

TASKS = catalogue.by_name()


def found_in(*paths, tasks=None):
    return find([Path(path) for path in paths], TASKS, tasks)


def only(found):
    (run,) = found.runs
    return run


def the_run(folder):
    return only(found_in(folder))


# ---- Written by the harness itself


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Two runs of a scripted model by the harness, with its tracker: one task whole of two, 40
    documents each."""
    folder = tmp_path_factory.mktemp("real")
    for name in ("org/one", "/somewhere/two"):
        ask(
            folder,
            name,
            scripted(name),
            "bistereo_analogy",
            "stereomap_structure_likelihood",
            limit=40,
        )
    return folder


def test_what_the_harness_writes_is_read(real):
    found = found_in(real)
    tasks = ("bistereo_analogy", "stereomap_structure_likelihood")
    assert [(run.model, run.task) for run in found.runs] == [
        (model, task) for model in ("two", "org/one") for task in tasks
    ]
    assert not found.notes
    run = found.runs[2]
    written = json.loads(run.results.read_text())
    cells = written["configs"]["bistereo_analogy"]["cells"]
    assert (run.version, run.n, run.template, run.parts) == ("1.3", 40, None, False)
    assert run.metrics == catalogue.task("bistereo_analogy").measure.metrics
    assert run.tables.keys() == cells.keys()
    assert "asked 40 of 2,213 documents" in run.warnings
    assert abs(run.date.timestamp() - written["date"]) < 3600 * 24 and run.samples[0].is_file()


def test_a_run_from_before_a_test_says_that_it_has_no_answer(real, tmp_path):
    path = next(real.rglob("results_*.json"))
    content = json.loads(path.read_text())
    cells = content["configs"]["bistereo_analogy"]["cells"]
    cells["numbers"] = [r for r in cells["numbers"] if r["metric"] != "log_odds_beyond_words"]
    (tmp_path / path.name).write_text(json.dumps(content))
    (run,) = found_in(tmp_path, tasks=["bistereo_analogy"]).runs
    assert "version 1.3 had no log_odds_beyond_words: run it again for an answer" in run.warnings


def test_a_folder_within_a_folder_and_a_file_are_found_once(real):
    file = next(real.rglob("results_*.json"))
    assert len(found_in(real, file, file.parent).runs) == 4 and len(found_in(file).runs) == 2


# ---- A task that nobody here knows


def test_a_task_of_ones_own_needs_no_folder(tmp_path):
    """Its numbers are in the file: those of the harness's table are the primary ones."""
    made_up(tmp_path, more={"finer": (1.0, None)})
    gap, unanswered, finer = the_run(tmp_path).metrics
    assert [m.primary for m in (gap, unanswered, finer)] == [True, True, False]
    assert gap.null_value == 0 and gap.stderr
    assert unanswered.better == "lower" and not unanswered.stderr


def test_a_run_without_primary_numbers_has_no_range(tmp_path):
    made_up(tmp_path)
    run = the_run(tmp_path)
    run = run._replace(metrics=[metric._replace(primary=False) for metric in run.metrics])
    assert not run.primaries and len(run.conditions) == 1 and not run.range_text(run.metrics[0])


def test_tasks_of_the_harness_stand_apart(tmp_path):
    for minutes, value in ((0, 0.25), (1, 0.5)):  # the newest counts
        with edited(made_up(tmp_path, minutes=minutes)) as content:
            content["configs"]["hellaswag"] = {"task": "hellaswag", "metadata": {"version": 1.0}}
            content["n-samples"]["hellaswag"] = {"original": 9, "effective": 8}
            content["results"]["hellaswag"] = {
                "alias": "hellaswag",
                "acc,none": value,
                "acc_stderr,none": 0.1,
                "bleu,strict": 7,
                "bleu_stderr,strict": "N/A",
            }
    found = found_in(tmp_path)
    (other,) = found.others
    assert only(found).task == "mine" and other.model == only(found).model
    assert "hellaswag: without a measure of bias" in found.notes[0]
    acc, bleu = other.numbers["acc", "none"], other.numbers["bleu", "strict"]
    assert acc[:4] == pytest.approx((0.5, 0.1, 0.304, 0.696)) and acc.n == 8
    assert bleu.value == 7 and isnan(bleu.low) and len(other.numbers) == 2
    assert not found_in(tmp_path, tasks=["mine"]).others


# ---- Models


@pytest.mark.parametrize(
    "given, shown",
    [
        ("meta/llama", "meta/llama"),
        ("./llama", "llama"),
        ("C:\\models\\llama", "llama"),
        ("/work/tuned/checkpoint-500/hf", "tuned"),
        ("/Model/snapshots", "snapshots"),
        ("/hub/models--org--a-b/snapshots/4f5e", "org/a-b"),
    ],
)
def test_a_local_path_is_named_by_its_last_part(tmp_path, given, shown):
    made_up(tmp_path, model=given)
    assert the_run(tmp_path).model == shown


@pytest.mark.parametrize(
    "given, shown",
    [
        (("/a/step1/model", "/a/step2/model", "/b/o"), ["step1", "step2", "o"]),
        (("/a/t/checkpoint-10", "/a/t/checkpoint-200"), ["t/checkpoint-10", "t/checkpoint-200"]),
        (("/x/hf", "y/z/hf/"), ["x", "z"]),
        (
            ("/h/models--org--a/snapshots/4f50", "/h/models--org--a/snapshots/4f51"),
            ["org/a@4f50", "org/a@4f51"],
        ),
    ],
)
def test_models_of_the_same_name_are_told_apart(tmp_path, given, shown):
    for i, name in enumerate(given):
        made_up(tmp_path, model=name, minutes=i)
    assert sorted(run.model for run in found_in(tmp_path).runs) == sorted(shown)


def test_a_person_names_models_and_paths_of_one_name_are_one_model(tmp_path):
    """The same model by two paths; one of them is another's full name, too."""
    for i, name in enumerate(("/a/model", "/b/model", "c")):
        made_up(tmp_path / str(i), model=name, minutes=i, task=f"t{i}")
    places = [Place(tmp_path / str(i), name) for i, name in enumerate(("c", "c", ""))]
    assert {(run.model, run.task) for run in find(places).runs} == {
        ("c", f"t{i}") for i in range(3)
    }


def test_a_name_lies_in_the_folder_or_is_given_for_it(tmp_path):
    """The nearest counts; one that a path itself has comes before all."""
    for i, folder in enumerate(("a", "a/b", "a/b/c", "d")):
        made_up(tmp_path / folder, model="/data/3f2a", minutes=i, task=f"t{i}")
    (tmp_path / "a" / "name.txt").write_text("with template\n")
    (file,) = (tmp_path / "a").glob("*.json")
    for places, models in (
        (
            [Place(tmp_path / "a/b/c", "T=0"), tmp_path],
            ["with template", "with template", "T=0", "3f2a"],
        ),
        ([file], ["with template"]),
        ([Place(tmp_path, "x")], ["x"] * 4),
    ):
        found = find(places).runs
        assert [run.model for run in sorted(found, key=lambda run: run.task)] == models


@pytest.mark.parametrize("below, models", [("", 2), ("gone", 0)])
def test_a_name_is_of_one_model(tmp_path, below, models):
    for i in range(2):
        made_up(tmp_path, model=f"m{i}", minutes=i)
    (tmp_path / "gone").mkdir()
    with refused(f"x={tmp_path / below}: .* found {models} models"):
        find([Place(tmp_path / below, "x"), tmp_path])


@pytest.mark.parametrize(
    "name, config, shown",
    [
        ("m", {"model": "hf", "model_args": "pretrained=m,revision=step5"}, "m@step5"),
        (None, {"model_args": {"pretrained": "x"}}, "x"),
        (None, {"model_args": "dtype=float32,pretrained=x"}, "x"),
        (None, {"model": "x"}, "x"),
    ],
)
def test_a_revision_is_another_model_and_without_a_name_the_arguments_tell(
    tmp_path, name, config, shown
):
    made_up(tmp_path, model=name, config=config)
    assert the_run(tmp_path).model == shown


def test_arguments_as_text_are_those_of_a_mapping(tmp_path):
    """So `simple_evaluate(model_args="...")` keeps them."""
    given = {
        "pretrained": "m",
        "load_in_4bit": True,
        "load_in_8bit": False,
        "enable_thinking": True,
    }
    text = "pretrained=m,load_in_4bit=True,load_in_8bit=None,enable_thinking=True"
    config = {"model": "hf", "model_dtype": "torch.float16"}
    for i, arguments in enumerate([given, text]):
        of_run = {**config, "model_args": arguments}
        made_up(tmp_path / str(i), task="other", config=of_run, metadata=given)
    mapped, written = (the_run(tmp_path / folder) for folder in "01")
    assert mapped.condition["dtype"] == "float16 load_in_4bit=True"
    assert mapped.condition["thinking"] == "yes"
    assert (written.condition, written.settings) == (mapped.condition, mapped.settings)


def test_none_and_quotes_in_arguments_are_what_the_harness_takes_them_for(tmp_path):
    """Else two models with `peft=None` are one that is called None."""
    text = "pretrained={} ,dtype= 'bfloat16',peft=None,revision=none,think_end_token=None"
    for model, tracked in (("one", None), ("two", "None")):
        of_run = {"model": "hf", "model_args": text.format(model)}
        made_up(tmp_path / model, model=tracked, task="other", config=of_run)
    runs = found_in(tmp_path).runs
    assert sorted(run.model for run in runs) == ["one", "two"]
    assert {(run.condition["dtype"], run.condition["thinking"]) for run in runs} == {
        ("bfloat16", "no")
    }


# ---- Several runs


def test_of_two_runs_the_newest_counts_and_a_note_says_so(tmp_path):
    old = made_up(tmp_path / "a", {"gap": (1.0, 0.5)}, n=10)
    new = made_up(tmp_path / "b", {"gap": (2.0, 0.5)}, minutes=1, version=2)
    found = found_in(tmp_path)
    assert only(found).numbers["gap", None].value == 2.0
    assert only(found).date == MORNING + timedelta(minutes=1)
    difference = "version 1 against 2; documents 10 against 100"
    assert found.notes == [f"{old}: mine of m is ignored: {new} is newer ({difference})"]


PARTED = "empathy_religion_official"
VERSION = catalogue.task(PARTED).metadata["version"]


def shard(folder, part, of=3, minutes=0, documents=36, version=VERSION):
    """A part of a task, of one event, with the harness's two files; all but the first lack an
    answer."""
    options = {"shard": f"{part}/{of}", "missing": "complete", "events_per_emotion": 25}
    about = {"task": PARTED, "n": 36, "of": documents, "metadata": options}
    path = made_up(folder, {"gap_points": (0.0, None)}, minutes=minutes, version=version, **about)
    lines = []
    for i, doc in enumerate(empathy.documents("religion")[100 * (part - 1) :][:36]):
        answer = record(doc, [60.0 if i < 35 or part == 1 else ""])
        lines.append({"doc_id": i, "doc_hash": f"{part}/{i}", "records": answer})
    samples_beside(path, lines, PARTED)
    return path


def merged(folder):
    """What the command `merge` makes of all samples in a folder, read back."""
    output, samples = folder / "merged.json", sorted(map(str, folder.glob("samples_*")))
    assert cli.main(["merge", PARTED, *samples, "--output", str(output)]) == 0
    return found_in(folder)


def test_a_part_is_no_run_and_a_note_says_what_puts_parts_together(tmp_path):
    path = shard(tmp_path, 1)
    made_up(tmp_path, minutes=1)
    found = found_in(tmp_path)
    assert only(found).task == "mine" and found.notes == [
        f"{path}: {PARTED} of m is a part, 1/3; put the parts together: lm-eval-bias merge "
        f"{PARTED} SAMPLES ... --output FILE"
    ]


@pytest.mark.parametrize("stem", ["results", "mine"])
def test_what_merge_wrote_is_read(tmp_path, stem):
    """Beside its parts, of which no note complains: three events of 36 documents. `--output_path
    mine.json` names the results. Two of the events lack an answer, so they do not count."""
    for part in (1, 2, 3):
        path = shard(tmp_path, part, minutes=part)
        path.rename(path.with_name(path.name.replace("results", stem)))
    run = only(found := merged(tmp_path))
    text = run.results.read_text()
    assert "NaN" not in text and "Infinity" not in text
    assert (run.results.name, run.model, run.n) == ("merged.json", "m", 108)
    assert run.version == str(VERSION)
    assert not found.notes and run.of == 108
    assert not any("documents" in line for line in run.warnings)
    assert "gap_beyond_repetition counts 1 of 3 events" in run.warnings[0] and len(run.samples) == 3


def test_what_merge_wrote_tells_how_many_documents_the_task_has(tmp_path, capsys):
    """Two of three parts of 36 documents each, beside the first part's 20 attention checks; a run
    of which a limit left most; a part whose results are gone."""
    for part in (2, 3):
        shard(tmp_path / "parts", part, minutes=part)
    run = only(merged(tmp_path / "parts"))
    assert (run.n, run.of) == (72, 128) and "asked 72 of 128 documents" in run.warnings
    shard(tmp_path / "limit", 1, of=1, documents=8640)
    run = only(merged(tmp_path / "limit"))
    assert (run.n, run.of) == (36, 8640) and "asked 36 of 8,640 documents" in run.warnings
    shard(tmp_path / "alone", 1, minutes=1).unlink()
    shard(tmp_path / "alone", 2, minutes=2)
    assert not capsys.readouterr().err
    run = only(merged(tmp_path / "alone"))
    assert run.n == 72 and run.of is None
    assert capsys.readouterr().err.count("its results file is not beside it") == 1


def test_samples_of_another_version_are_not_counted_anew(tmp_path, capsys):
    shard(tmp_path, 1, version=1)
    assert cli.main(["merge", PARTED, *map(str, tmp_path.glob("samples_*"))]) == 1
    assert f"samples of version 1, and this is version {VERSION}" in capsys.readouterr().err


# ---- What cannot be read


def test_results_that_python_saved_are_found_under_any_name_and_blank_lines_are_no_samples(
    tmp_path,
):
    made_up(tmp_path, minutes=1)
    path = made_up(tmp_path, model="tuned")
    content = json.loads(path.read_text())
    path.unlink()
    (tmp_path / "tuned.json").write_text(json.dumps({"results": content.pop("results"), **content}))
    assert {run.model for run in found_in(tmp_path).runs} == {"m", "tuned"}
    (tmp_path / "samples").write_text("{}\n\n[]\n\n")
    assert [number for number, _ in lines(tmp_path / "samples")] == [1, 3]


@pytest.mark.parametrize(
    "place, message",
    [
        ("", "no results below {0}; run lm_eval with --output_path {0} --log_samples"),
        ("gone", "{0} is not there; give a folder or a file that `lm_eval --output_path` wrote"),
    ],
)
def test_nothing_to_read_says_what_to_do(tmp_path, place, message):
    with refused(f"{message.format(tmp_path / place)}$"):
        found_in(tmp_path / place)


@pytest.mark.parametrize(
    "text, told",
    [
        ('{"results": {"mine": {"gap,none": 1.', "not JSON: Expecting"),
        ("{}", "it has no `configs` and `results`"),
        ('{"results": [], "configs": 3}', "it has no `configs` and `results`"),
        ('{"results": {}, "configs": {"mine": {}}}', "it names no model"),
    ],
)
def test_a_broken_results_file_is_told_and_the_rest_is_read(tmp_path, text, told):
    good, bad = made_up(tmp_path), tmp_path / "results_2026-01-31T10-11-13.5.json"
    bad.write_text(text)
    found = found_in(tmp_path)
    assert only(found).results == good
    (note,) = found.notes
    assert note.startswith(f"{bad}: ") and told in note and "\n" not in note
    with refused(f"(?s)has numbers.*{told}"):
        found_in(bad)


@pytest.mark.parametrize("numbers", [None, [], 3, [3], [{}], [{"metric": 3}], {"metric": "gap"}])
def test_a_table_of_numbers_that_is_none(tmp_path, numbers):
    path = made_up(tmp_path)
    with edited(path) as content:
        content["configs"]["mine"]["cells"]["numbers"] = numbers
    good = made_up(tmp_path, minutes=1)
    found = found_in(tmp_path)
    assert only(found).results == good and found.notes == [
        f"{path}: mine is left out: its table `numbers` is not one; run it again"
    ]


@pytest.mark.parametrize("value", ["3", None, True, [1], 10**400])
def test_a_value_that_is_no_number_does_not_exist(tmp_path, value):
    made_up(tmp_path, {"gap": (value, value)})
    number = the_run(tmp_path).numbers["gap", None]
    assert isnan(number.value) and isnan(number.stderr)


OLD = "it has no table of numbers"


@pytest.mark.parametrize(
    "config, results, why",
    [
        ({}, {"gap,none": 1}, OLD),
        ({"cells": {"pairs": [{"group": "women", "mean": 3.0}]}}, {"gap,none": 1}, OLD),
        ({"error": "ValueError: no\nway"}, {}, "its numbers could not be computed (ValueError: no"),
        ({}, {"bypass,none": 999}, "it ran with --predict_only, without numbers"),
    ],
)
@pytest.mark.parametrize("logged", [True, False])
def test_a_run_of_ours_without_numbers_says_what_makes_them(tmp_path, config, results, why, logged):
    path = made_up(tmp_path, task="hbb")
    with edited(path) as content:
        content["configs"]["hbb"], content["results"]["hbb"] = {"task": "hbb", **config}, results
    made_up(tmp_path, minutes=1)
    remedy = "run it again with --log_samples"
    if logged:
        samples = samples_beside(path, task="hbb")
        output = f"--output '{tmp_path / 'merged_hbb.json'}'"
        remedy = f"lm-eval-bias merge hbb '{samples}' {output} makes them from its samples"
    (note,) = found_in(tmp_path).notes
    assert note.startswith(f"{path}: hbb is left out: {why}") and note.endswith(f"; {remedy}")


def test_the_command_that_a_note_gives_makes_the_numbers(real, tmp_path):
    """A run of the harness whose numbers are taken away: the note's own command, and the model is
    there again with the same ones."""
    (before,) = found_in(real / "org__one", tasks=["bistereo_analogy"]).runs
    folder = shutil.copytree(real / "org__one", tmp_path / "runs")
    path = next(folder.glob("results_*.json"))
    with edited(path) as content:
        del content["configs"]["bistereo_analogy"]["cells"]
    (note,) = found_in(folder).notes
    command = shlex.split(note[note.index("lm-eval-bias merge") : note.index(" makes them")])
    assert cli.main(command[1:]) == 0
    (again,) = found_in(folder, tasks=["bistereo_analogy"]).runs
    assert (again.model, again.settings, again.n) == (before.model, before.settings, before.n)
    for key, number in before.numbers.items():
        assert list(again.numbers[key]) == pytest.approx(list(number), nan_ok=True), key


def test_samples_without_results_are_said(tmp_path):
    path = made_up(tmp_path)
    samples_beside(path)
    alone = tmp_path / "samples_mine_2025-01-31T10-11-12.1.jsonl"
    alone.write_text("{}\n")
    assert found_in(tmp_path).notes == [
        f"{alone}: its results file is not beside it, so its model and options are not known; "
        "put both into one folder"
    ]


def test_a_task_name_leads_to_no_other_folder(tmp_path):
    made_up(tmp_path, task="../../etc/passwd")
    assert not the_run(tmp_path).samples


# ---- Compressed by somebody


def compress(folder):
    for path in [*folder.rglob("*.json*")]:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def read(folder):
    """All that is read of the only run, as a text without names of files."""
    found = found_in(folder, tasks=["bistereo_analogy"])
    run = only(found)
    content = merge.merged(TASKS[run.task], run.samples) | {"files": None}
    shown = run._replace(results=None, samples=(), place=None)
    return repr((shown, content, found.answers(run), transcript(run.samples)))


def test_what_is_compressed_is_read_as_it_was(real, tmp_path):
    runs = shutil.copytree(real / "org__one", tmp_path / "runs")
    plain = read(runs)
    compress(runs)
    assert read(runs) == plain


def test_a_compressed_file_that_is_cut_off_is_said(tmp_path):
    samples_beside(made_up(tmp_path))
    compress(tmp_path)
    (samples,), (results,) = (tmp_path.glob(f"{name}_*.gz") for name in ("samples", "results"))
    samples.write_bytes(samples.read_bytes()[:-20])
    results.write_bytes(b"no archive")
    assert any(str(samples) in note for note in transcript([samples]).notes)
    made_up(tmp_path, minutes=1)
    (note,) = found_in(tmp_path).notes
    assert str(results) in note and "cannot be read" in note


# ---- Warnings, and what was asked


@pytest.mark.parametrize(
    "kind, template",
    [
        ("local-chat-completions", "the server's"),
        ("LocalChatCompletion", "the server's"),  # as Python names it
        ("local-completions", None),
    ],
)
def test_a_chat_model_behind_a_server_has_the_servers_template(tmp_path, kind, template):
    """The harness writes no checksum for models whose server makes the prompts of messages."""
    made_up(tmp_path, model="org/8B-Instruct", config={"model": kind})
    assert the_run(tmp_path).template == template


def test_what_python_saved_does_not_say_that_there_was_no_system_message(tmp_path):
    """A template that was not applied is not unknown."""
    with edited(made_up(tmp_path, metadata={"unused_chat_template": True})) as content:
        del content["chat_template_sha"], content["system_instruction_sha"]
    run = the_run(tmp_path)
    assert run.condition["system instruction"] == "unknown"
    (warning,) = run.warnings
    assert warning.startswith("its tokenizer has a chat template, which was not applied")


def test_warnings_name_their_consequence(tmp_path):
    masses = {"letter_mass": (17.0, None), "rating_mass": (80.0, None), "events": (4, None)}
    values = {"refused": (12.0, None), "unanswered": (9.0, None), **masses}
    config = {"model_args": {"pretrained": "x"}, "gen_kwargs": {"max_gen_toks": 4}}
    more = {"config": config, "metadata": {"unused_chat_template": True}}
    made_up(tmp_path, values, "org/tiny", n=20, of=100, **more)
    assert the_run(tmp_path).warnings == (
        "asked 20 of 100 documents",
        "refused 12 %: the numbers are those of the other answers",
        "letter_mass 17 %: most of the probability lies on other words than the answers",
        "its tokenizer has a chat template, which was not applied: right for a base model, not for "
        "an instruction-tuned one",
        'generation settings of its own: {"max_gen_toks": 4}',
    )


def test_a_file_of_ones_own_is_known_by_its_checksum(tmp_path):
    files = ("/a/items.tsv", "12" * 32), ("/b/items.tsv", "12" * 32), ("/a/items.tsv", "34" * 32)
    for i, (path, checksum) in enumerate(files):
        options = {"items": path, "items_sha256": checksum}
        made_up(tmp_path, model=f"m{i}", minutes=i, metadata=options)
    first, moved, other = (run.settings for run in found_in(tmp_path).runs)
    assert first == moved != other and "items" not in first
    assert first["items_sha256"] == "121212121212"


def test_the_models_arguments_are_no_options(tmp_path):
    made_up(tmp_path, metadata={"pretrained": "m", "order": "paper", "paper": "x"})
    run = the_run(tmp_path)
    assert run.options == {"order": "paper"}
    assert run.settings == {"version": "1", "documents": "100", "order": "paper"}


def test_a_trial_with_a_limit_does_not_hide_a_whole_run(tmp_path):
    """Of the same questions; a whole run of another version is another thing, and the newest
    counts."""
    made_up(tmp_path / "a", {"gap": (1.0, 1.0)}, n=100)
    made_up(tmp_path / "a", {"gap": (2.0, 1.0)}, n=10, minutes=1)
    found = found_in(tmp_path / "a")
    assert only(found).n == 100 and any(
        "covers more documents, or the wording of the paper" in note for note in found.notes
    )
    made_up(tmp_path / "b", {"gap": (1.0, 1.0)}, n=100, version=1.0)
    made_up(tmp_path / "b", {"gap": (2.0, 1.0)}, n=10, version=2.0, minutes=1)
    assert the_run(tmp_path / "b").n == 10


# ---- Key phrases


def test_key_phrases_are_a_table_of_the_run_whose_samples_they_are_of(tmp_path):
    """The file of `lm-eval-bias reasons --output` names the samples; another run has none, and what
    is no table is none."""
    samples = []
    for i, name in enumerate("ab"):
        path = made_up(tmp_path, {"gap": (1, 0.5)}, f"org/{name}", minutes=i)
        samples.append(samples_beside(path))
    rows = [{"table": "overall", "cluster": None, "phrase": "high pay", "answers": 3}]
    for i, found in enumerate(([{"phrase": "older"}], rows, "no table")):
        (tmp_path / f"{i}.json").write_text(
            json.dumps({"reasons_of": [samples[0].name], "phrases": found})
        )
    runs = {run.model: run for run in found_in(tmp_path).runs}
    assert runs["org/a"].tables["phrases"] == rows and "phrases" not in runs["org/b"].tables
