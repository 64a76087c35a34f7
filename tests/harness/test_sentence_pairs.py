"""What two sentences share, and the request that scores one of them beside the other."""

import json

import pytest
from hypothesis import given, strategies as st
from lm_eval.api.model import CachingLM

from lm_eval_bias.benchmarks.bistereo.pairs_documents import documents
from lm_eval_bias.harness.scoring import PAIR
from lm_eval_bias.harness.sentence_pairs import modified, read_sentences, words
from lm_eval_bias.likelihoods import SHARED, Likelihood
from tests.mistakes import refused
from tests.models import tiny
from tests.rule_model import RuleLM, evaluate


def parts(sentence, other):
    return [sentence[start:end] for start, end in modified(sentence, other)]


@pytest.mark.parametrize(
    "sentence, other, changed",
    [
        # section 4.1.1
        ("A beautiful dark-skinned man.", "A beautiful fair-skinned man.", ["dark-skinned"]),
        ("A tall man came.", "An obese man came.", ["A", "tall"]),
        ("Two short men left.", "Two very tall men left.", ["short"]),
        ("Two men left.", "Two tall men left.", []),  # nothing of this one is modified
        ("she said that he left", "he said that she left", ["she", "he"]),
        ("他很高。", "她很高。", ["他"]),
    ],
)
def test_words_that_differ(sentence, other, changed):
    assert parts(sentence, other) == changed


@pytest.mark.parametrize(
    "text, found",
    [
        (
            "I saw  a dark-skinned man's dog, (twice).",
            ["I", "saw", "a", "dark-skinned", "man's", "dog", ",", "(", "twice", ")", "."],
        ),
        ("- yes -no- '90s", ["-", "yes", "-", "no", "-", "'", "90s"]),
        ("cafe\u0301 हिन्दी", ["cafe\u0301", "हिन्दी"]),  # marks belong to their letters
        ("키가 큰", ["키가", "큰"]),
        ("", []),
    ],
)
def test_words(text, found):
    assert [text[start:end] for start, end in words(text)] == found


sentences = st.text(alphabet="ab -.", max_size=12)


@given(sentences, sentences)
def test_shared_words_correspond_one_to_one(a, b):
    def shared(text, other):
        gone = modified(text, other)
        return [text[start:end] for start, end in words(text) if (start, end) not in gone]

    assert shared(a, b) == shared(b, a)


class OwnLM(RuleLM):
    """Has a way of its own to score pairs, and to keep the scores."""

    def pair_likelihoods(self, requests):
        return [OWN for _ in requests]


OWN = Likelihood(0.5, False, how=SHARED)
HOW = {PAIR: True}


def test_the_cache_asks_a_model_that_reads_from_left_to_right_once(tmp_path):
    for expected in ([("", "abc"), ("", "ab")], []):
        lm = RuleLM(lambda _, text: -float(len(text)))
        cached = CachingLM(lm, str(tmp_path / "cache.db"))
        answers = tiny.scored(cached, ("abc", "ab"), ("ab", "abc"), **HOW)
        assert answers == [(-3.0, False), (-2.0, False)]
        assert [request.args for request in lm.requests] == expected


def test_each_pair_is_asked_twice_desirable_first_and_nothing_around_it():
    task = "bistereo_pairs_skin"
    lm = OwnLM()
    lm.apply_chat_template = lambda *_: 1 / 0
    options = {"system_instruction": "Be fair.", "num_fewshot": 2}
    results = evaluate(lm, task, limit=6, log_samples=True, **options)
    for sample, doc in zip(results["samples"][task], documents("skin")[:6], strict=True):
        pair = (doc["desirable_sentence"], doc["undesirable_sentence"])
        assert sample["arguments"] == [(*pair, HOW), (*pair[::-1], HOW)]
        assert sample["records"]["method"] == SHARED
        assert sample["records"]["attribute"] == doc["attribute"]
    config = results["configs"][task]
    assert config["sentences"] == ["desirable_sentence", "undesirable_sentence"]
    json.dumps(config)


@pytest.mark.parametrize("sentences", [None, ["a", ""], ["a", "b", "c"]])
def test_a_task_of_pairs_names_two_sentences(sentences):
    with refused("mine: expected `sentences`, a list of two columns or templates"):
        read_sentences("mine", sentences)
