"""`lm-eval-bias reasons`: reasons out of answers, their key phrases, their diversity, and the
command on sample files."""

import json
import sys
from math import exp, isnan, log, log2
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, strategies as st
from pandas import Series

from lm_eval_bias.answers.text import CUT_OFF, REFUSED
from lm_eval_bias.benchmarks.stereomap import documents as stereomap
from lm_eval_bias.commands import reasons as reasons_command
from lm_eval_bias.reasons import answers, entropy, reasons, self_bleu
from tests.scripted import made_up, samples_beside

CASES = yaml.safe_load((Path(__file__).parents[1] / "data" / "reasons.yaml").read_text())

# ---- What is a reason


def test_ratings_and_headings_are_no_reasons_and_the_group_is_they():
    for case in CASES["sentences"]:
        assert reasons(case["answer"], "nurses", "") == "\n".join(case["reasons"]), case
    for case in CASES["mentions"]:
        assert reasons(case["text"], case["group"].lower(), "") == case["they"], case


def test_what_only_repeats_the_prompt_is_no_reason():
    prompt = "How economically successful have men been? I am not interested in your beliefs."
    answer = "How economically successful have men been?\nWages are high."
    assert reasons(answer, "nurses", prompt) == "wages are high."


@given(st.text(), st.sampled_from(["men", "poor people", "Black", "middle-class", "="]))
def test_any_text_gives_reasons_in_lower_case_or_none(text, group):
    found = reasons(text, group, "")
    assert found == found.lower()


# ---- Key phrases


@pytest.fixture
def topics(monkeypatch):
    """KeyBERT with a stub of the embedding model: a text is where its words about money, school and
    neither point to."""
    keybert = pytest.importorskip("keybert", reason="the extra `reasons` is not installed")
    from keybert.backend import BaseEmbedder

    about = {"money": {"pay", "wages", "money", "high"}, "school": {"degree", "school", "good"}}

    class Topics(BaseEmbedder):
        def embed(self, documents, verbose=False):
            counts = [
                [1e-3 + sum(w in words for w in text.split()) for words in about.values()] + [0.5]
                for text in documents
            ]
            return np.array(counts)

    model = keybert.KeyBERT(model=Topics())
    monkeypatch.setattr(reasons_command, "keybert", lambda: model)


# ---- Diversity


def test_self_bleu_by_hand():
    """Each against the other, both of five words: 1-grams 4 of 5, 2-grams 3 of 4, 3-grams 2 of 3,
    4-grams 1 of 2; no brevity penalty. One 1-gram of 4: 0.1 in place of no n-gram in common, of 3,
    2 and 1. A text alone has none."""
    expected = (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert self_bleu(Series(["a b c d e", "a b c d f"])) == pytest.approx(expected)
    assert self_bleu(Series(["a b c d", "a f g h"])) == pytest.approx(
        exp((log(1 / 4) + sum(log(0.1 / n) for n in (3, 2, 1))) / 4)
    )
    assert self_bleu(Series(["a b c d", "e f g h"])) == 0
    assert self_bleu(Series(["A b c d", "a B c d"])) == pytest.approx(1)
    assert isnan(self_bleu(Series(["a b c d"])))


def test_entropy_by_hand():
    # 2-grams of "a b a b": ab, ba, ab. -(2/3 log2 2/3 + 1/3 log2 1/3)
    expected = -(2 / 3 * log2(2 / 3) + 1 / 3 * log2(1 / 3))
    assert entropy(Series(["a b a b"]), 2) == pytest.approx(expected)
    # ab and cd: none goes from one text into the next
    assert entropy(Series(["a b", "c d"]), 2) == 1
    assert entropy(Series(["A b", "a B"]), 2) == 0
    assert isnan(entropy(Series(["a"]), 2))


# ---- The command

ITEM = "economically successful"


def sample(i, group, text, item=ITEM, style="paper", round=1, read=None):
    doc = {"group": group, "text": group.lower(), "item": item, "items": [item]}
    prompt = "How economically successful have they been?"
    return {
        "doc_id": i,
        "doc_hash": str(i),
        "doc": {**doc, "style": style, "round": round},
        "resps": [[text]],
        "filtered_resps": [[read or {"ratings": {}}]],  # as the harness writes a reader's answers
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": {}}},
    }


DATE = "2026-01-31T10-11-12.123456"


def write(folder, samples, **results):
    return samples_beside(made_up(folder, {}, task="asked", **results), samples, "asked")


SAID = [
    sample(0, "Poor people", "Rating: 1\nLack of school: poor people lack money."),
    sample(1, "Poor people", "Rating: 2\nLack of school."),
    sample(2, "Nurses", "4\nHigh pay: nurses get high pay."),
    sample(3, "Nurses", "High pay."),
    sample(4, "Nurses", "I can't rate groups.", read="refused"),
    sample(5, "Nurses", "Prestige of prestige", item="prestigious"),
    sample(6, "Others", "High pay \x1b[2J."),
]
LIKELIHOOD = [{**SAID[0], "resps": [[["-1.5", "True"]]], "filtered_resps": [["-1.5", "True"]]}]
GROUPS = [
    {"group": "Nurses", "cluster": "high-high"},
    {"group": "Poor people", "cluster": "low-low"},
    {"group": "Others", "cluster": None},
]
CELLS = {"configs": {"asked": {}, "rated": {"cells": {"groups": GROUPS}}}}


def test_the_tables_overall_and_by_cluster(tmp_path, command, topics):
    """Five answers name an economic item. The phrase "high pay" is nearest to money in three, of
    which two are about nurses."""
    path, output = write(tmp_path, SAID, **CELLS), tmp_path / "o.json"
    results = tmp_path / f"results_{DATE}.json"
    status, out, err = command("reasons", path, "--clusters", results, "--output", output)
    assert status == 0, err
    assert "high pay" in out and "prestige" not in out and "\x1b" not in out
    found = json.loads(output.read_text())
    rows = {(row["cluster"], row["phrase"]): row for row in found["phrases"]}
    assert all((row["table"] == "overall") == (cluster == "") for (cluster, _), row in rows.items())
    overall, nurses = rows["", "high pay"], rows["high-high", "high pay"]
    assert (overall["key_in"], overall["of"]) == (3, 5)
    assert (nurses["key_in"], nurses["of"]) == (2, 2)
    assert rows["low-low", "lack school"]["of"] == 2


def test_the_phrases_of_most_answers_come_first_fifteen_of_each_table(tmp_path, command, topics):
    """Each answer counts once, however long. KeyBERT on the joined text would see the first 256
    tokens alone."""
    texts = ["Good school, good degree."] * 3 + ["High pay. High wages, high pay."] * 40
    texts += [f"Money{i} high pay degree{i} school{i} wages{i}" for i in range(4)]
    samples = [sample(i, "Nurses", text) for i, text in enumerate(texts)]
    path, output = write(tmp_path, samples, **CELLS), tmp_path / "o.json"
    results = tmp_path / f"results_{DATE}.json"
    assert command("reasons", path, "--clusters", results, "--output", output)[0] == 0
    rows = json.loads(output.read_text())["phrases"]
    for table in ("overall", "cluster"):
        counts = [row["key_in"] for row in rows if row["table"] == table]
        assert counts == sorted(counts, reverse=True) and counts[0] >= 40 and len(counts) == 15


def test_an_answer_of_stop_words_alone_has_no_key_phrase(tmp_path, command, topics):
    said = [sample(i, "Men", text) for i, text in enumerate(["They are.", "High pay."])]
    status, out, err = command("reasons", write(tmp_path, said))
    assert status == 0 and "high pay" in out, err


def test_attention_checks_and_refused_answers_are_no_answers_about_groups(tmp_path):
    """As the task asks: the checks stand behind the groups, with None for what they lack."""
    documents = stereomap.build(part="structure", rounds=1)["test"]
    lines = [{**SAID[2], "doc": {"check": None, **doc}} for doc in documents if doc["item"] == ITEM]
    checks = [line for line in lines if line["doc"]["check"]]
    assert checks and len(answers([write(tmp_path, lines)], "economic")) == len(lines) - len(checks)
    lines[2]["arguments"] = {"gen_args_0": {"arg_0": ['[{"role": "user"}]']}}  # of a chat API
    lines[0]["filtered_resps"], lines[1]["filtered_resps"] = [[REFUSED]], [[CUT_OFF]]
    found = answers([write(tmp_path, lines)], "economic")
    assert len(found) == len(lines) - len(checks) - 2


def test_diversity_is_of_what_all_styles_answered_and_needs_no_embeddings(tmp_path, command):
    text = "Rating: 4\nHigh pay and good schools"
    styles = ("paper", "paper", "neither", "neither")
    answers = [sample(i, "Men", text, "warm", style=s, round=i % 2) for i, s in enumerate(styles)]
    answers.append(sample(4, "Men", "Rating: 4\nLow wages", "warm", round=2))
    path, output = write(tmp_path, answers), tmp_path / "o.json"
    status, out, _ = command("reasons", path, "--diversity", "--output", output)
    head, *rows = [line.split() for line in out.splitlines()]
    assert head == ["style", "answers", "self_bleu", "entropy_2", "entropy_3"]
    # "high pay and good schools": four 2-grams, log2 4 = 2 bits; three 3-grams, log2 3
    numbers = ["2", "1.0", "2.0", "1.585"]
    assert status == 0 and rows == [["neither", *numbers], ["paper", *numbers]]
    written = json.loads(output.read_text())["diversity"]
    assert [row["style"] for row in written] == ["neither", "paper"]


def test_styles_without_a_question_in_common_are_not_compared(tmp_path, command):
    given = [sample(i, "Men", "High pay.", style=str(i), round=i) for i in range(2)]
    status, _, err = command("reasons", write(tmp_path, given), "--diversity")
    assert status == 1 and "no question has answers with reasons in all prompt styles" in err


def test_self_bleu_compares_answers_about_one_group_alone(tmp_path, command):
    said = [("Men", "high pay and good schools"), ("Women", "few jobs for any of them")]
    given = [sample(i, *said[i % 2], round=i) for i in range(4)]
    _, out, _ = command("reasons", write(tmp_path, given), "--diversity")
    assert out.split()[-3] == "1.0"


@pytest.mark.parametrize(
    "samples, arguments, message",
    [
        (SAID[4:5], [], "no answer has reasons"),
        ([sample(0, "Men", "High pay.", "prestigious")], [], "no answer has reasons"),
        ([{"x": 1}], [], "line 1: no answer in words about a group; give logged samples"),
        (LIKELIHOOD, [], "line 1: no answer in words about a group; give logged samples"),
        ([sample(0, "Men", "Rating: 4")], [], "no answer has reasons"),
        (SAID, ["--clusters", "absent.json"], "cannot read absent.json: No such file or directory"),
        (
            SAID,
            ["--clusters", f"results_{DATE}.json"],
            "has no clusters; give the results of a run that rates warmth and competence",
        ),
        (SAID, ["--output", "o.txt"], "--output o.txt: expected a file .json"),
    ],
)
def test_mistakes_end_with_one_line(here, command, samples, arguments, message):
    path = write(here, samples)
    status, _, err = command("reasons", path, *arguments)
    assert status == 1 and message in err
    assert err.startswith("lm-eval-bias: ") and err.count("\n") == 1


def test_files_of_several_models_are_refused(tmp_path, command):
    a, b = write(tmp_path / "a", SAID), write(tmp_path / "b", SAID, model_name="n")
    status, _, err = command("reasons", a, b)
    assert status == 1 and "give the samples of one model, not of m and n" in err


def test_without_the_extra_one_line_says_what_to_install(tmp_path, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "keybert", None)
    status, _, err = command("reasons", write(tmp_path, SAID))
    assert status == 1 and "run: pip install 'lm-eval-bias[reasons]'" in err
    assert "keybert" in err and err.count("\n") == 1
