"""`lm-eval-bias compare` and the ranks of `leaderboard`, on samples of a small task of one's own:
what is compared, what is refused, and how it is told."""

import random
import re
from math import nan
from pathlib import Path

import pytest

from lm_eval_bias.show.page import WRITERS
from tests.scripted import edited, lines_of, made_up, samples_beside

MEASURE = """
from lm_eval_bias.measure import Counted, Measure, Metric
from lm_eval_bias.data.options import Option, TaskOptions
from lm_eval_bias.usage import path

class Options(TaskOptions):
    items = Option(None, path, "")

    @classmethod
    def read(cls, given):
        return {}

def values(x, total, **_):
    n = total(1)
    return {"gap": (total(x["x"]) / n, n), "n": (n, n)}

GAP = Metric("gap", "points", "The gap.", null_value=0, primary=True)
COUNT = Metric("n", "count", "Records.", stderr=False)
COUNTED = Counted(lambda x, **_: {"all": x}, {"all": values})
TOY = Measure(lambda doc, results: {}, COUNTED, [GAP, COUNT], clusters=[("scene",)])
"""
YAML = """
task: toy
measure: !function toy.TOY
options: !function toy.Options
output_type: multiple_choice
metadata: {version: 1.0}
wordings: [first, second]
"""


pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def toy(command, tmp_path, monkeypatch):
    """Runs a command that knows the task; standard output as one line."""
    monkeypatch.setenv("COLUMNS", "200")
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "toy.py").write_text(MEASURE)
    (folder / "toy.yaml").write_text(YAML)

    def run(*arguments):
        status, out, err = command(*arguments, "--include_path", folder)
        return status, " ".join(out.split()), err

    return run


@pytest.fixture
def rows(toy):
    def run(*arguments):
        file = Path("found.jsonl")
        status, *_ = toy(*arguments, "--output", file)
        return status, lines_of(file)

    return run


def asked(
    folder, model, shift=0.0, scenes=range(12), seed=1, prompt="p", repeats=1, more=None, **changes
):
    """A run of `toy`: a document for each scene; every model shares what a scene does to it. more:
    of every sample."""
    folder, rng = Path(folder), random.Random(seed)
    values = {s: 30 * random.Random(s).gauss(0, 1) + shift + rng.gauss(0, 1) for s in range(100)}
    n = len(scenes)
    gap = {"gap": (sum(values[s] for s in scenes) / n, 9.0, 0, None)}
    file = made_up(folder, gap, model, task="toy", n=n, of=12, **changes)
    with edited(file) as content:
        content["configs"]["toy"]["repeats"] = repeats
    samples = [
        {
            "doc_hash": f"d{s}",
            "prompt_hash": f"{prompt}{s}",
            "doc": {},
            "resps": [],
            "records": {"scene": s, "x": values[s]},
            **(more or {}),
        }
        for s in scenes
    ]
    write(folder, samples)
    return folder


def write(folder, samples):
    samples_beside(next(folder.glob("results_*")), samples, "toy")


@pytest.fixture
def pair():
    """Two models, 3 apart."""
    return asked("a", "one"), asked("b", "two", shift=3, seed=2)


@pytest.fixture
def far_apart():
    """Two models of one folder, 50 apart."""
    asked("runs/a", "one")
    asked("runs/b", "two", shift=50, seed=2)


def test_what_scenes_do_to_both_is_no_part_of_the_error(pair, rows, toy):
    """Scenes move both by 30, each alone by 1: 3 apart is seen on the same documents, and not with
    intervals of 9 each."""
    status, (row,) = rows("compare", *pair)
    assert status == 0 and row["clusters"] == row["documents"] == 12
    assert row["p_holm"] < 0.001 and row["low"] < 3 < row["high"]
    difference = row["second_value"] - row["first_value"]
    assert row["difference"] == pytest.approx(difference)
    status, out, _ = toy("compare", *pair)
    assert re.search(r"toy/gap points, best near 0 .*<0.001", out)
    assert "1 of 1 numbers differ after Holm; 1 task compared" in out


def test_two_models_of_one_folder_and_before_and_after_of_one(rows, toy, far_apart):
    status, (row,) = rows("compare", "runs", "--models", "two", "one")
    assert status == 0 and (row["first"], row["second"]) == ("two", "one") and row["difference"] < 0
    assert toy("compare", "runs")[0] == 1
    status, _, err = toy("compare", "runs", "--models", "two", "oen")
    assert status == 1 and "did you mean one?" in err
    a, b = "runs/a", asked("c", "one", shift=3, seed=2)
    (row,) = rows("compare", a, b)[1]
    assert (row["first"], row["second"]) == (f"one ({a})", f"one ({b})")


def test_the_same_answers_are_said_to_be_the_same(toy):
    status, out, _ = toy("compare", asked("a", "one"), asked("b", "two"))
    assert status == 0 and "all answers are the same in both runs" in out
    assert "no number could be tested" in out


def test_without_samples_it_is_refused(pair, toy):
    next(pair[1].glob("samples_*")).unlink()
    status, out, _ = toy("compare", *pair)
    assert status == 2 and "has no samples beside it; run it again with --log_samples" in out


@pytest.mark.parametrize(
    "changes, message",
    [
        (
            {"scenes": range(1, 13)},
            "other documents: 12 against 12, of which 11 are the same; compare --common takes "
            "these",
        ),
        ({"scenes": range(20, 32)}, "other documents: 12 against 12, of which 0 are the same"),
        ({"prompt": "q"}, "other prompts, in 12 of 12 documents"),
        (
            {"chat_template_sha": "abc"},
            "asked otherwise: chat template none against the model's; compare --across "
            "chat_template takes them together",
        ),
        ({"repeats": 3}, "asked otherwise: repeats default against 3"),
        (
            {"metadata": {"items": "mine.csv", "items_sha256": "abc"}},
            "asked otherwise: items_sha256 default against abc",
        ),
    ],
)
def test_what_was_asked_otherwise_is_refused_and_named(toy, changes, message):
    a, b = asked("a", "one"), asked("b", "two", seed=2, **changes)
    status, out, _ = toy("compare", a, b)
    assert status == 2 and f"toy: {message}" in out


def test_messages_are_the_same_from_the_harness_and_from_chat_logprobs(toy):
    for folder, said in (("a", ["p"]), ("b", "p")):
        asked(folder, folder, more={"arguments": {"gen_args_0": {"arg_0": said}}})
    assert toy("compare", "a", "b")[0] == 0


def of_model(**changes):
    return {"config": {"model": "hf", "model_args": {"pretrained": "m"}, **changes}}


@pytest.mark.parametrize(
    "across, changes, besides",
    [
        ("chat_template", {"chat_template_sha": "abc"}, "chat template none against the model's"),
        ("system", {"system_instruction_sha": "abc"}, "system instruction none against abc"),
        ("wording", {"metadata": {"wording": 2}}, "wording paper against 2"),
        (
            "dtype",
            of_model(model_args={"dtype": "auto", "load_in_4bit": True}),
            "dtype unknown against auto load_in_4bit=True",
        ),
        ("revision", of_model(model_args={"revision": "step5"}), "revision main against step5"),
    ],
)
def test_across_compares_conditions_of_a_model_and_every_line_says_them(
    toy, rows, across, changes, besides
):
    """One model in two conditions; what shapes prompts changes them, too."""
    prompt = "p" if across in ("dtype", "revision") else "q"
    a = asked("a", "m")
    b = asked("b", "m", shift=3, seed=2, prompt=prompt, **changes)
    status, (row,) = rows("compare", a, b, "--across", across)
    assert status == 0 and row["p_holm"] < 0.001 and row["besides_the_model"] == besides
    assert f"<0.001 {row['towards']} {besides}" in toy("compare", a, b, "--across", across)[1]


def test_every_format_says_what_differs_and_other_prompts_need_a_reason(toy):
    changes = of_model(model_dtype="torch.float16")
    a = asked("a", "m")
    b, c = (asked(p, "m", seed=2, prompt=p, **changes) for p in "pq")
    assert "other prompts, in 12 of 12" in toy("compare", a, c, "--across", "dtype")[1]
    for ending in WRITERS:
        file = Path(f"found{ending}")
        assert toy("compare", a, b, "--output", file)[0] == 0
        text = file.read_text().replace(r"\\{}", " ")  # a broken line in LaTeX
        assert "dtype unknown against float16" in text


def test_across_makes_nothing_else_comparable(toy):
    changes = {"chat_template_sha": "abc", "version": 2.0}
    a, b = asked("a", "one"), asked("b", "two", seed=2, **changes)
    status, out, _ = toy("compare", a, b, "--across", "chat_template", "system")
    assert status == 2 and "toy: asked otherwise: version 1 against 2 " in out
    assert "--across" not in toy("compare", a, b)[1]


def test_another_template_of_a_model_is_a_condition_and_of_two_models_a_note(toy):
    a, b, c = (
        asked(of, model, seed=i, prompt=of, chat_template_sha=of * 64)
        for i, (of, model) in enumerate(zip("abc", "mmn", strict=True))
    )
    status, out, _ = toy("compare", a, b)
    other = "chat template aaaaaaaaaaaa against bbbbbbbbbbbb"
    assert status == 2 and f"{other}; compare --across chat_template takes" in out
    assert other in toy("compare", a, b, "--across", "chat_template")[1]
    status, out, _ = toy("compare", a, c)
    assert status == 0 and "with a chat template of its own" in out and "against" not in out


def test_two_conditions_of_one_folder_are_two_models(rows, toy):
    """Two wordings in two number formats: without `--across` the newest stands for all."""
    for i, wording in enumerate((1, 2)):
        changes = {"metadata": {"wording": wording}, "prompt": "pq"[i], "shift": 3 * i}
        asked(f"runs/{i}", "m", seed=i, **changes, **of_model(model_dtype="torch.float16"))
    names = [f"m (wording {of}, dtype float16)" for of in (1, 2)]
    across = ("--across", "wording", "--across", "dtype")
    status, (row,) = rows("compare", "runs", "--models", *names, *across)
    assert status == 0 and [row["first"], row["second"]] == names
    found = rows("leaderboard", "runs", *across)[1]
    assert [(of["model"], of["of"]) for of in found if of["metric"] == "gap"] == [
        (name, 2) for name in names
    ]
    assert "wording" not in found[0]["asked"]
    assert toy("leaderboard", "runs")[1].count("toy (") == 2


def test_runs_are_called_what_a_person_calls_them(rows):
    """Two folders of one model; a folder whose own name has the sign is a path."""
    asked("lr=1", "/x/.model")
    asked("b", "/x/.model", shift=3, seed=2)
    status, (row,) = rows("compare", "before=lr=1", "after=b")
    assert status == 0 and (row["first"], row["second"]) == ("before", "after")
    assert rows("compare", "lr=1", "after=b")[1][0]["first"] == ".model"
    assert [of["model"] for of in rows("leaderboard", "a=lr=1", "c=b")[1]] == ["a", "c"]


def test_the_range_over_conditions_stands_beside_the_interval(toy, rows):
    """That in the paper's wording, and 7 in another: of a run that has both."""
    for i, model in enumerate(("one", "two")):
        asked(model, model, shift=i, seed=i)
    made_up(Path("one"), {"gap": (7.0, 1.0)}, "one", task="toy", metadata={"wording": 1}, n=12)
    pair = "one", "two"
    (row,) = rows("compare", *pair)[1]
    ends = sorted([row["first_value"], 7.0])
    text = f"range {ends[0]:.1f} to {ends[1]:.1f} over 2 conditions"
    assert (row["first_range"], row["second_range"]) == (text, None)
    assert text in toy("compare", *pair)[1] and text in toy("leaderboard", *pair)[1]


@pytest.mark.parametrize("name", ["compare", "leaderboard"])
def test_a_terminal_shows_a_bar_and_nothing_else_does(pair, toy, monkeypatch, name):
    """Of two runs one is read when the second begins."""
    assert toy(name, *pair)[2] == ""
    monkeypatch.setattr("_pytest.capture.CaptureIO.isatty", lambda file: True, raising=False)
    err = toy(name, *pair)[2]
    assert "toy of one" in err and re.search(r" 50%\|.*toy of two", err)


def test_several_answers_to_a_document_of_which_one_run_lost_some(rows):
    """Every scene is answered three times; the second run lacks the third answer to half of them. A
    scene counts by its answers then."""
    a = asked("a", "one", repeats=3)
    b = asked("b", "two", shift=3, seed=2, repeats=3)
    for folder, lost in ((a, 0), (b, 1)):
        samples = lines_of(next(folder.glob("samples_*.jsonl")))
        values = []
        for i, sample in enumerate(samples):
            scene, x = sample["records"].values()
            answers = [x + k for k in range(3 - lost * (i % 2))]
            sample["records"] = [{"scene": scene, "x": answer} for answer in answers]
            values += answers
        write(folder, samples)
    status, (row,) = rows("compare", a, b)
    assert status == 0 and row["clusters"] == 12 and row["p"] < 1 and len(values) == 30
    assert row["second_value"] == pytest.approx(sum(values) / 30)


def turns(second, system=None):
    """A conversation of two turns; the harness's own prompt_hash is of the first."""
    asked = [{"user": "Say a word."}, {"user": second}]
    return [["Say a word.", {"turns": asked, "system": system}]]


@pytest.mark.parametrize(
    "before, after",
    [
        (turns("And why?"), turns("And why not?")),
        (turns("And why?"), turns("And why?", system="Be nice.")),
        ([["He is", " kind"]], [["He is", " cruel"]]),
        ([["A.", "B."], ["B.", "A."]], [["A.", "B."], ["C.", "A."]]),
    ],
)
def test_all_that_was_asked_counts_not_the_first_text_alone(toy, before, after):
    """A later turn, a system instruction of a task, a choice and a second sentence: the harness's
    prompt_hash is the same in all."""
    a = asked("runs/one", "one", more={"arguments": before})
    b = asked("runs/two", "two", seed=2, more={"arguments": after})
    status, out, _ = toy("compare", a, b)
    assert status == 2 and "toy: other prompts, in 12 of 12 documents" in out
    status, out, _ = toy("leaderboard", "runs")
    assert status == 0 and out.count("which prompts") == 2
    assert "asked the same documents in other words" in out


def test_other_generation_settings_are_said_and_a_seed_is_none(toy):
    cold, warm = (of_model(gen_kwargs={"temperature": t, "seed": i}) for i, t in enumerate((0, 1)))
    a = asked("a", "one", **cold)
    b = asked("b", "two", seed=2, shift=3, **warm)
    status, out, _ = toy("compare", a, b)
    settings = "answers were generated with other settings (temperature 0 against 1), so a differ"
    assert status == 0 and settings in out


def test_common_documents_are_compared_if_that_is_asked_for(rows):
    b = asked("b", "two", shift=3, seed=2, scenes=range(1, 14))
    status, (row,) = rows("compare", asked("a", "one"), b, "--common")
    assert status == 0 and row["documents"] == row["clusters"] == 11


def test_the_rest_goes_on(pair, rows, toy):
    a, b = pair
    for folder, model, version in ((a, "one", 1.0), (b, "two", 2.0)):
        made_up(folder, {"gap": (1.0, 1.0)}, model, task="other", minutes=1, version=version)
    made_up(a, {"gap": (1.0, 1.0)}, "one", task="alone", minutes=2)
    file = a / "found.html"
    assert toy("compare", a, b, "--output", file)[0] == 0
    assert "Source: first one, second two; toy version 1 (documents " in file.read_text()
    status, (of_toy, alone, other) = rows("compare", a, b)
    assert status == 0 and of_toy["task"] == "toy"
    assert (alone["task"], alone["refused"]) == ("alone", "only one was asked it")
    assert other["task"] == "other" and "version 1 against 2" in other["refused"]


# ---- Leaderboard


def ends(row):
    return tuple(row[key] for key in ("rank_low", "rank_high", "of", "ties"))


NO_RANK = (None,) * 4


def test_the_leaderboard_ranks_only_where_all_have_samples_and_says_whose_are_missing(rows, toy):
    asked("runs/a", "one", shift=40)
    for model in "two", "three":
        asked(f"runs/{model}", model, shift=43, seed=2)
        next(Path(f"runs/{model}").glob("samples_*")).unlink()
    assert [ends(row) for row in rows("leaderboard", "runs")[1]] == [NO_RANK] * 3
    notes = "toy: no ranks without the samples of three, two (--log_samples)"
    assert notes in toy("leaderboard", "runs")[1].replace("two, three", "three, two")


@pytest.mark.parametrize(
    "null_value, better, first",
    [(0, None, "one"), (1000, None, "two"), (None, "higher", "two"), (None, "lower", "one")],
)
def test_the_best_is_the_nearest_to_the_null_value_the_highest_or_the_lowest(
    rows, null_value, better, first
):
    """12 scenes that move both by 30, and each alone by 1: the intervals of 9 leave ranks open, the
    scenes do not."""
    for i, model in enumerate(("one", "two")):
        asked(f"runs/{model}", model, shift=100 + 3 * i, seed=i)
    directed(null_value, better)
    _, numbers = rows("leaderboard", "runs")
    assert {row["model"]: row["rank_low"] for row in numbers}[first] == 1
    assert sorted(map(ends, numbers)) == [(1, 1, 2, "a"), (2, 2, 2, "b")]


def directed(null_value, better):
    measure = Path("tasks/toy.py")
    declared = f"null_value={null_value}, better={better!r}"
    measure.write_text(measure.read_text().replace("null_value=0", declared))


def test_what_has_no_interval_has_no_rank(rows, far_apart):
    asked("runs/c", "none", seed=3, ends={"gap": (nan, nan)})
    ranked = {row["model"]: ends(row) for row in rows("leaderboard", "runs")[1]}
    assert ranked["none"] == (None, None, 2, None)
    assert (ranked["one"], ranked["two"]) == ((1, 1, 2, "a"), (2, 2, 2, "b"))


def test_what_has_no_direction_has_no_rank(rows, far_apart):
    directed(None, None)
    assert [ends(row) for row in rows("leaderboard", "runs")[1]] == [NO_RANK] * 2


def test_ranks_are_within_one_condition(rows):
    """`one` without its template is far from itself, which says nothing about the models."""
    asked("runs/a", "one", chat_template_sha="t" * 64)
    asked("runs/b", "two", shift=50, seed=2, chat_template_sha="u" * 64)
    asked("runs/c", "one", shift=90, seed=3)
    found = {
        (row["model"], row["asked"].split()[-1]): ends(row)
        for row in rows("leaderboard", "runs")[1]
    }
    assert found == {
        ("one", "model's"): (1, 1, 2, "a"),
        ("two", "model's"): (2, 2, 2, "b"),
        ("one", "none"): NO_RANK,
    }


def test_models_asked_other_documents_stand_apart_on_the_leaderboard(toy):
    asked("runs/a", "one")
    asked("runs/b", "two", seed=2, scenes=range(1, 13))
    status, out, _ = toy("leaderboard", "runs")
    assert status == 0 and out.count("which documents") == 2
    assert "models were asked other documents, as many as each other" in out
