"""`lm-eval-bias compare`, on samples of a small task of one's own: what is compared, what is
refused, and how it is told."""

import html
import json
import random
import re

import pytest

from lm_eval_bias import cli
from lm_eval_bias.report.compare_files import WRITERS
from tests.scripted import MORNING, made_up

MEASURE = """
from lm_eval_bias.measure import Measure, Metric, Number, Summary

def options(shard="1/1", items=None):
    return {}

def summary(records, **_):
    mean = sum(r["x"] for r in records) / len(records)
    return Summary({"gap": Number(mean, 1.0), "n": Number(float(len(records)))})

GAP = Metric("gap", "points", "The gap.", null_value=0, primary=True)
COUNT = Metric("n", "count", "Records.", stderr=False)
TOY = Measure(lambda doc, results: {}, summary, [GAP, COUNT], clusters=(("scene",),))
"""
YAML = (
    "task: toy\nmeasure: !function toy.TOY\noptions: !function toy.options\noutput_type: "
    "multiple_choice\nmetadata: {version: 1.0}\n"
)
HOSTILE = "=cmd|' /C calc'!A0<script>alert(1)</script>\x1b[2J\u202e"


@pytest.fixture
def tasks(tmp_path):
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "toy.py").write_text(MEASURE)
    (folder / "toy.yaml").write_text(YAML)
    return folder


def asked(
    folder,
    model,
    shift=0.0,
    scenes=range(12),
    seed=1,
    prompt="p",
    samples=True,
    arguments=None,
    **changes,
):
    """A run of `toy`: a document for each scene; every model shares what a scene does to it."""
    rng = random.Random(seed)
    values = {s: 30 * random.Random(s).gauss(0, 1) + shift + rng.gauss(0, 1) for s in range(100)}
    found = [values[s] for s in scenes]
    mean = sum(found) / len(found)
    repeats = changes.pop("repeats", 1)
    file = made_up(
        folder, model, {"gap": (mean, 9.0, 0, None)}, task="toy", n=len(found), of=12, **changes
    )
    if repeats != 1:
        content = json.loads(file.read_text())
        content["configs"]["toy"]["repeats"] = repeats
        file.write_text(json.dumps(content))
    if samples:
        lines = [
            {
                "doc_hash": f"d{s}",
                "prompt_hash": f"{prompt}{s}",
                "doc": {},
                "resps": [],
                **(arguments or {}),
                "records": {"scene": s, "x": values[s]},
            }
            for s in scenes
        ]
        date = MORNING.isoformat().replace(":", "-")
        (folder / f"samples_toy_{date}.jsonl").write_text(
            "".join(json.dumps(line) + "\n" for line in lines)
        )
    return folder


@pytest.fixture
def compare(tasks, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments):
        status = cli.main(["compare", *map(str, arguments), "--include_path", str(tasks)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def rows(compare, tmp_path, *arguments):
    file = tmp_path / "found.jsonl"
    status, *_ = compare(*arguments, "--output", file)
    return status, [json.loads(line) for line in file.read_text().splitlines()]


def test_what_scenes_do_to_both_is_no_part_of_the_error(compare, tmp_path):
    """Scenes move both by 30, each alone by 1: 3 apart is seen on the same documents, and not with
    intervals of 9 each."""
    a, b = asked(tmp_path / "a", "one"), asked(tmp_path / "b", "two", shift=3, seed=2)
    status, (row,) = rows(compare, tmp_path, a, b)
    assert (
        status == 0
        and row["paired"]
        and row["p_holm"] < 0.001
        and row["clusters"] == row["documents"] == 12
    )
    assert row["low"] < 3 < row["high"] and row["difference"] == pytest.approx(
        row["second_value"] - row["first_value"]
    )
    status, out, _ = compare(a, b)
    assert (
        re.search(r"toy/gap points, best near 0 .*<0.001", out)
        and "1 of 1 numbers differ after Holm; 1 task compared" in out
    )


def test_before_and_after_of_one_model(compare, tmp_path):
    a, b = asked(tmp_path / "a", "m"), asked(tmp_path / "b", "m", shift=3, seed=2)
    status, (row,) = rows(compare, tmp_path, a, b)
    assert status == 0 and row["first"] == f"m ({a})" and row["second"] == f"m ({b})"


def test_two_models_of_one_folder(compare, tmp_path):
    asked(tmp_path / "runs" / "a", "one"), asked(tmp_path / "runs" / "b", "two", shift=3, seed=2)
    status, (row,) = rows(compare, tmp_path, tmp_path / "runs", "--models", "two", "one")
    assert status == 0 and (row["first"], row["second"]) == ("two", "one") and row["difference"] < 0
    assert compare(tmp_path / "runs")[0] == 1
    status, _, err = compare(tmp_path / "runs", "--models", "two", "oen")
    assert status == 1 and "did you mean one?" in err


def test_the_same_answers_are_said_to_be_the_same(compare, tmp_path):
    a, b = asked(tmp_path / "a", "one"), asked(tmp_path / "b", "two")
    status, out, _ = compare(a, b)
    assert (
        status == 0
        and "all answers are the same in both runs" in out
        and "no number could be tested" in out
    )


def test_without_samples_it_is_unpaired_and_said(compare, tmp_path):
    """9 and 9 are 12.7 together: 3 apart is nothing."""
    a, b = (
        asked(tmp_path / "a", "one"),
        asked(tmp_path / "b", "two", shift=3, seed=2, samples=False),
    )
    status, (row,) = rows(compare, tmp_path, a, b)
    assert (
        status == 0
        and not row["paired"]
        and row["stderr"] == pytest.approx(9 * 2**0.5)
        and row["p"] > 0.5
    )
    assert "has no samples beside it" in compare(a, b)[1]
    status, out, _ = compare(a, b, "--common")
    assert status == 2 and "--common needs samples" in out


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"scenes": range(1, 13)},
            "other documents: 12 against 12, of which 11 are the same; --common compares these",
        ),
        (
            {"scenes": range(11)},
            "other documents: 12 against 11, of which 11 are the same; --common compares these",
        ),
        ({"scenes": range(20, 32)}, "other documents: 12 against 12, of which 0 are the same"),
        ({"prompt": "q"}, "other prompts, in 12 of 12 documents"),
        ({"version": 2.0}, "asked otherwise: version 1 against 2"),
        ({"chat_template_sha": "abc"}, "asked otherwise: a chat template in the second run alone"),
        ({"repeats": 3}, "asked otherwise: repeats default against 3"),
        (
            {"metadata": {"items": "mine.csv", "items_sha256": "abc"}},
            "asked otherwise: items_sha256 default against abc",
        ),
        (
            {"system_instruction_sha": "abc"},
            "asked otherwise: system instruction default against abc",
        ),
    ],
)
def test_what_was_asked_otherwise_is_refused_and_named(compare, tmp_path, changes, told):
    status, out, _ = compare(
        asked(tmp_path / "a", "one"), asked(tmp_path / "b", "two", seed=2, **changes)
    )
    assert status == 2 and f"toy: {told}" in " ".join(out.split()), out


def rewritten(folder, change):
    """The samples of a run, changed: a function of the list of them."""
    (file,) = folder.glob("samples_*.jsonl")
    lines = change([json.loads(line) for line in file.read_text().splitlines()])
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_order_of_samples_is_no_difference(compare, tmp_path):
    a, b = asked(tmp_path / "a", "one"), asked(tmp_path / "b", "two", shift=3, seed=2)
    _, straight = rows(compare, tmp_path, a, b)
    _, turned = rows(compare, tmp_path, a, rewritten(b, lambda lines: lines[::-1]))
    assert straight[0]["low"] == pytest.approx(turned[0]["low"]) and straight[0][
        "p"
    ] == pytest.approx(turned[0]["p"])


def test_a_run_in_shards_is_the_run(compare, tmp_path):
    """Two halves of the second run, put together from their samples, against the whole of the
    first."""
    a, b = asked(tmp_path / "a", "one"), asked(tmp_path / "b", "two", shift=3, seed=2)
    _, (whole,) = rows(compare, tmp_path, a, b)
    for i, scenes in enumerate((range(6), range(6, 12))):
        asked(
            tmp_path / "c" / str(i),
            "two",
            shift=3,
            scenes=scenes,
            seed=2,
            metadata={"shard": f"{i + 1}/2"},
        )
    status, (parts,) = rows(compare, tmp_path, a, tmp_path / "c")
    assert status == 0 and parts["paired"] and parts["documents"] == 12
    assert (parts["difference"], parts["low"], parts["p"]) == pytest.approx(
        (whole["difference"], whole["low"], whole["p"])
    )


def test_several_answers_to_a_document_of_which_one_run_lost_some(compare, tmp_path):
    """Every scene is answered three times; the second run lacks the third answer to half of them. A
    scene counts by its answers then."""

    def thrice(lines, last=True):
        return [
            {
                **line,
                "records": [
                    {**line["records"], "x": line["records"]["x"] + k}
                    for k in range(3 if last or i % 2 else 2)
                ],
            }
            for i, line in enumerate(lines)
        ]

    a, b = (
        asked(tmp_path / "a", "one", repeats=3),
        asked(tmp_path / "b", "two", shift=3, seed=2, repeats=3),
    )
    rewritten(a, thrice), rewritten(b, lambda lines: thrice(lines, last=False))
    status, (row,) = rows(compare, tmp_path, a, b)
    values = [
        record["x"]
        for line in (b / next(b.glob("samples_*")).name).read_text().splitlines()
        for record in json.loads(line)["records"]
    ]
    assert (
        status == 0
        and row["second_value"] == pytest.approx(sum(values) / 30)
        and row["clusters"] == 12
        and row["p"] < 1
    )


def of_requests(*requests):
    """The part of a sample that says what was asked, as the harness writes it."""
    return {
        "arguments": {
            f"gen_args_{i}": {f"arg_{k}": part for k, part in enumerate(each)}
            for i, each in enumerate(requests)
        }
    }


def turns(second, system=None, **settings):
    """A conversation of two turns; the harness's own prompt_hash is of the first."""
    return of_requests(
        [
            "Say a word.",
            {
                "turns": [{"user": "Say a word.", "generation_kwargs": settings}, {"user": second}],
                "system": system,
            },
        ]
    )


SENTENCES = of_requests(["He is kind.", "She is kind."], ["She is kind.", "He is kind."])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (turns("And why?"), turns("And why not?")),
        (turns("And why?"), turns("And why?", system="Be nice.")),
        (of_requests(["He is", " kind"]), of_requests(["He is", " cruel"])),
        (SENTENCES, of_requests(["He is kind.", "She is kind."], ["She is cruel.", "He is kind."])),
    ],
)
def test_all_that_was_asked_counts_not_the_first_text_alone(
    compare, tasks, tmp_path, capsys, before, after
):
    """A later turn, a system instruction of a task, a choice and a second sentence: the harness's
    prompt_hash is the same in all."""
    a, b = (
        asked(tmp_path / "runs" / m, m, seed=i, arguments=of)
        for i, (m, of) in enumerate((("one", before), ("two", after)))
    )
    status, out, _ = compare(a, b)
    assert status == 2 and "toy: other prompts, in 12 of 12 documents" in " ".join(out.split())
    assert cli.main(["leaderboard", str(tmp_path / "runs"), "--include_path", str(tasks)]) == 0
    out = capsys.readouterr().out
    assert out.count(
        "which prompts"
    ) == 2 and "asked the same documents in other words" in " ".join(out.split())


def test_other_generation_settings_are_said_and_a_seed_is_none(compare, tmp_path):
    folders = [
        asked(tmp_path / m, m, seed=i, shift=3 * i, arguments=turns("And why?", **settings))
        for i, (m, settings) in enumerate(
            {"one": {"temperature": 0, "seed": 1}, "two": {"temperature": 0.7, "seed": 2}}.items()
        )
    ]
    status, out, _ = compare(*folders)
    assert status == 0
    assert (
        "answers were generated with other settings (temperature 0 against 0.7), so a difference"
        in " ".join(out.split())
    )


def test_common_documents_are_compared_if_that_is_asked_for(compare, tmp_path):
    a, b = (
        asked(tmp_path / "a", "one"),
        asked(tmp_path / "b", "two", shift=3, seed=2, scenes=range(1, 14)),
    )
    status, (row,) = rows(compare, tmp_path, a, b, "--common")
    assert status == 0 and row["documents"] == row["clusters"] == 11 and row["paired"]


def test_the_rest_goes_on(compare, tmp_path):
    a, b = asked(tmp_path / "a", "one"), asked(tmp_path / "b", "two", shift=3, seed=2)
    for folder, model, version in ((a, "one", 1.0), (b, "two", 2.0)):
        made_up(folder, model, {"gap": (1.0, 1.0)}, task="other", minutes=1, version=version)
    made_up(a, "one", {"gap": (1.0, 1.0)}, task="alone", minutes=2)
    status, found = rows(compare, tmp_path, a, b)
    assert status == 0 and [row["task"] for row in found] == ["toy", "alone", "other"]
    assert (
        found[1]["refused"] == "only one was asked it"
        and "version 1 against 2" in found[2]["refused"]
    )


@pytest.mark.parametrize("ending", sorted(WRITERS))
def test_a_hostile_name_shows_as_text(compare, tmp_path, ending):
    a, b = (
        asked(tmp_path / "a", "one"),
        asked(tmp_path / "b", f"org/{HOSTILE}"[4:], shift=3, seed=2),
    )
    file = tmp_path / f"found{ending}"
    assert compare(a, b, "--output", file)[0] == 0
    written = file.read_text(encoding="utf-8")
    assert "\x1b" not in written and "\u202e" not in written
    assert ending == ".jsonl" or "<script>" not in written or ending == ".csv"
    if ending == ".csv":
        assert not re.search(r'(^|,)"?[=+@]', written, re.M)
    if ending == ".html":
        assert "default-src 'none'" in html.unescape(written) and "NaN" not in written
    assert "\x1b" not in compare(a, b)[1]


def test_the_leaderboard_ranks_on_the_same_documents_where_all_have_samples(
    tasks, tmp_path, capsys, monkeypatch
):
    """12 scenes that move both by 30, and each alone by 1: the intervals of 9 leave ranks open, the
    scenes do not."""
    monkeypatch.setenv("COLUMNS", "200")
    (
        asked(tmp_path / "runs" / "a", "one", shift=40),
        asked(tmp_path / "runs" / "b", "two", shift=43, seed=2),
    )
    found = []
    for more in ([], ["--unpaired"]):
        file = tmp_path / "board.jsonl"
        assert (
            cli.main(
                [
                    "leaderboard",
                    str(tmp_path / "runs"),
                    "--include_path",
                    str(tasks),
                    "--output",
                    str(file),
                    *more,
                ]
            )
            == 0
        )
        found.append(
            {
                row["model"]: row["numbers"][0]
                for row in map(json.loads, file.read_text().splitlines())
            }
        )
    capsys.readouterr()
    paired, unpaired = found
    assert [paired[m]["rank"] for m in ("one", "two")] == [[1, 1], [2, 2]] and paired["one"][
        "paired"
    ]
    assert [unpaired[m]["rank"] for m in ("one", "two")] == [[1, 2], [1, 2]] and not unpaired[
        "one"
    ]["paired"]


def test_six_models_of_known_order_and_two_alike(tasks, tmp_path, capsys):
    """The gap grows by 6 from model to model, each scene strays by 1 of each alone: 12 scenes tell
    all apart but `a` and `b`, who are drawn alike. 15 pairs; the copy of `f` says what `f` says,
    and is tied with it."""
    shifts = {"a": 100, "b": 100, "c": 106, "d": 112, "e": 118, "f": 124, "g": 124}
    for i, (name, shift) in enumerate(shifts.items()):
        asked(tmp_path / "runs" / name, name, shift=shift, seed=min(i, 5))
    file = tmp_path / "board.jsonl"
    assert (
        cli.main(
            [
                "leaderboard",
                str(tmp_path / "runs"),
                "--include_path",
                str(tasks),
                "--output",
                str(file),
            ]
        )
        == 0
    )
    capsys.readouterr()
    rows = {
        row["model"]: row["numbers"][0] for row in map(json.loads, file.read_text().splitlines())
    }
    assert {name: row["rank"] for name, row in rows.items()} == {
        "a": [1, 2],
        "b": [1, 2],
        "c": [3, 3],
        "d": [4, 4],
        "e": [5, 5],
        "f": [6, 7],
        "g": [6, 7],
    }
    ties = {name: row["ties"] for name, row in rows.items()}
    assert ties["a"] == ties["b"] and ties["f"] == ties["g"] and len(set(ties.values())) == 5


def test_holm_over_all_tests_of_a_comparison_by_hand(compare, tmp_path):
    """Unpaired normal tests with standard errors of 1 each: z = d / sqrt(2). d = 4, 3, 2 have p =
    0.00468, 0.0339, 0.1573. Holm with three tests: 3 p1 = 0.0140; 2 p2 = 0.0678; the last stays."""
    for name, values in (("a", (0.0, 0.0, 0.0)), ("b", (4.0, 3.0, 2.0))):
        for i, value in enumerate(values):
            made_up(tmp_path / name, name, {"gap": (value, 1.0, 0, None)}, task=f"t{i}", minutes=i)
    status, found = rows(compare, tmp_path, tmp_path / "a", tmp_path / "b")
    assert status == 0 and [row["task"] for row in found] == ["t0", "t1", "t2"]
    assert [row["p"] for row in found] == pytest.approx([0.00468, 0.0339, 0.1573], rel=3e-3)
    assert [row["p_holm"] for row in found] == pytest.approx([0.0140, 0.0678, 0.1573], rel=3e-3)


def test_models_asked_other_documents_stand_apart_on_the_leaderboard(tasks, tmp_path, capsys):
    (
        asked(tmp_path / "runs" / "a", "one"),
        asked(tmp_path / "runs" / "b", "two", seed=2, scenes=range(1, 13)),
    )
    assert cli.main(["leaderboard", str(tmp_path / "runs"), "--include_path", str(tasks)]) == 0
    out = capsys.readouterr().out
    assert out.count(
        "which documents"
    ) == 2 and "models were asked other documents, as many as each other" in " ".join(out.split())
