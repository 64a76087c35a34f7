"""Both sentences of a pair asked through the harness, by models whose bias is known: rules, a
bigram model, and a bidirectional one."""

import json
import math
import random
import re
from collections import Counter
from itertools import product

import pytest
from rule_model import RuleLM, evaluate, numbers_of

from lm_eval_bias.benchmarks.bistereo.pairs_documents import documents
from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.harness.sentence_pairs import JOINT, SHARED, modified, read_sentences, words
from lm_eval_bias.harness.task import MeasureTask
from lm_eval_bias.usage import UsageError

TASK = "bistereo_pairs"
WORDS = lexicon(TASK)
DESIRABLE, UNDESIRABLE = (
    {pair[kind] for pairs in WORDS["axes"].values() for pair in pairs}
    for kind in ("desirable", "undesirable")
)
LIMIT = 1200


def tokens(sentence):
    return re.findall(r"[\w'’-]+", sentence.lower())


def side(sentence):
    """1 for a desirable descriptor, -1 for an undesirable one, and 1, 0 or -1 for the attribute."""
    said = set(tokens(sentence))
    sentiment = bool(said & set(WORDS["attributes"]["positive"])) - bool(
        said & set(WORDS["attributes"]["negative"])
    )
    return (1 if said & DESIRABLE else -1), sentiment


def stereotype(sentence):
    descriptor, sentiment = side(sentence)
    return -60.0 + 2.0 * descriptor * sentiment


def opposite(sentence):
    return -120.0 - stereotype(sentence)


def length(sentence):
    return -1.7 * len(sentence) - 3.1 * len(sentence.split())


def frequency(sentence):
    """A word's own: a thousand times between "thin" and "overweight", and any number for the
    others."""
    own = {
        "thin": -4.0,
        "overweight": -11.0,
        "fat": -5.5,
        "fair-skinned": -9.0,
        "dark-skinned": -7.0,
        "tall": -5.0,
        "short": -3.9,
    }
    return sum(own.get(word, -6.0 - len(word) / 7) for word in tokens(sentence))


def chance(sentence):
    return random.Random(sentence).gauss(-60, 1)


class PairLM(RuleLM):
    """Answers each sentence beside the other of its pair as an encoder does: shared tokens."""

    def __init__(self, rule, method=SHARED):
        super().__init__(lambda *_: 1 / 0)
        self.sentence, self.method = rule, method

    def pair_loglikelihood(self, requests):
        return [(self.sentence(*r.args), 7, self.method) for r in requests]


def decoder(rule):
    def joint(context, sentence):
        assert context == "", "nothing stands before a sentence"
        return rule(sentence)

    return RuleLM(joint)


def encoder(rule):
    return PairLM(lambda sentence, other: rule(sentence))


# ---- Models with a known bias

# model, rule -> favouritism, discrimination, z1, gap of the log-odds; None: whatever its words are.
KNOWN = [
    (decoder, stereotype, (100, 100, 0, 8)),
    (encoder, stereotype, (100, 100, 0, 8)),
    (decoder, opposite, (-100, -100, 0, -8)),
    (encoder, opposite, (-100, -100, 0, -8)),
    (decoder, length, (0, 0, 100, 0)),
    (encoder, length, (0, 0, None, 0)),
    (decoder, frequency, (0, 0, 100, 0)),
    (encoder, frequency, (0, 0, None, 0)),
]


@pytest.mark.parametrize(
    ("model", "rule", "known"), KNOWN, ids=lambda each: getattr(each, "__name__", "")
)
def test_a_model_with_a_known_bias_has_the_scores_that_it_must(model, rule, known):
    """The stereotype is worth 2 nats a sentence, so 4 between two of a pair, and 8 between positive
    and negative context."""
    numbers = numbers_of(evaluate(model(rule), TASK, limit=LIMIT), TASK)
    for name, expected in zip(
        ("favouritism", "discrimination", "within_threshold", "log_odds_gap"), known, strict=True
    ):
        if expected is not None:
            for group in (None, "skin", "shape", "height"):
                assert numbers[name, group] == pytest.approx(expected, abs=1e-9), (name, group)
    # the limit cuts one block
    assert numbers["unanswered", None] == 0 and numbers["left_out", None] in (
        0,
        pytest.approx(100 / LIMIT),
    )


@pytest.mark.parametrize("model", [decoder, encoder])
def test_a_random_model_has_no_bias_beyond_chance(model):
    """For each axis and for all."""
    results = evaluate(model(chance), TASK, limit=LIMIT)
    found = [
        row
        for row in results["configs"][TASK]["cells"]["numbers"]
        if row["metric"] in ("favouritism", "discrimination", "log_odds_gap")
    ]
    assert len(found) == 3 * 4 and all(abs(row["value"]) < 3.5 * row["stderr"] for row in found), (
        found
    )


def test_a_decoder_has_no_score_in_neutral_context_and_its_raw_difference_is_beside():
    cells = evaluate(decoder(frequency), TASK, limit=LIMIT)["configs"][TASK]["cells"]
    assert {row["score"] for row in cells["trisentbias"]} == {"calibrated joint"}
    assert all(math.isnan(row["z1"]) for row in cells["trisentbias"] if row["context"] == "neutral")
    found = {(row["desirable"], row["gender"]): row["log_odds"] for row in cells["neutral"]}
    # -4 + 5.5, -6 - 11 / 7 + 11 (underweight has no number of its own), -9 + 7, -5 + 3.9
    for descriptor, log_odds in {
        "thin": 1.5,
        "underweight": 5 - 11 / 7,
        "fair-skinned": -2,
        "tall": -1.1,
    }.items():
        assert [found[descriptor, g] for g in ("all", "women", "men")] == pytest.approx(
            [log_odds] * 3
        )


# ---- Through the harness


def test_each_pair_is_asked_twice_desirable_first_and_nothing_around_it():
    asked = []

    def rule(sentence, other):
        asked.append((sentence, other))
        return -1.0

    lm = PairLM(rule)
    lm.apply_chat_template = lambda *_: 1 / 0
    results = evaluate(
        lm, TASK, limit=6, log_samples=True, system_instruction="Be fair.", num_fewshot=2
    )
    docs = documents()[:6]
    assert asked == [
        (d[a], d[b])
        for d in docs
        for a, b in (
            ("desirable_sentence", "undesirable_sentence"),
            ("undesirable_sentence", "desirable_sentence"),
        )
    ]
    for sample, doc in zip(results["samples"][TASK], docs, strict=True):
        assert (
            sample["records"]["method"] == SHARED
            and sample["records"]["attribute"] == doc["attribute"]
        )
        assert (
            [list(a) for a in sample["arguments"]] == [list(a) for a in asked[:2]]
            if doc is docs[0]
            else True
        )
    assert results["configs"][TASK]["sentences"] == ["desirable_sentence", "undesirable_sentence"]
    json.dumps(results["configs"][TASK])


def test_a_mixture_of_answers_is_an_error_that_costs_no_answers(caplog):
    methods = iter([JOINT, SHARED] * 100)
    lm = PairLM(lambda *_: -1.0)
    lm.pair_loglikelihood = lambda requests: [(-1.0, None, next(methods)) for _ in requests]
    results = evaluate(lm, TASK, limit=12, log_samples=True)
    assert (
        math.isnan(results["results"][TASK]["favouritism,none"])
        and len(results["samples"][TASK]) == 12
    )
    assert "expected answers that were made in one way" in results["configs"][TASK]["error"]


def test_unusable_likelihoods_are_counted():
    lm = decoder(
        lambda sentence: (
            math.nan if "woman" in tokens(sentence) or "women" in tokens(sentence) else -1.0
        )
    )
    docs = documents()[:LIMIT]
    numbers = numbers_of(evaluate(lm, TASK, limit=LIMIT), TASK)
    broken = sum(bool({"woman", "women"} & set(tokens(d["desirable_sentence"]))) for d in docs)
    assert numbers["unanswered", None] == pytest.approx(100 * broken / LIMIT) and broken > 0


def test_the_threshold_is_set_by_metadata():
    """4 nats have tanh(2) = 0.964."""
    for threshold, favouritism in ((0.9, 100), (0.97, 0)):
        numbers = numbers_of(
            evaluate(decoder(stereotype), TASK, {"threshold": threshold}, limit=60), TASK
        )
        assert numbers["favouritism", None] == favouritism
    with pytest.raises(
        UsageError, match=f"^{TASK}: threshold=1.5 in --metadata: expected a number from 0 to 1$"
    ):
        evaluate(decoder(stereotype), TASK, {"threshold": 1.5}, limit=6)
    with pytest.raises(UsageError, match="Did you mean 'threshold'"):
        evaluate(decoder(stereotype), TASK, {"treshold": 0.5}, limit=6)


def test_predict_only_asks_and_does_not_score():
    results = evaluate(decoder(stereotype), TASK, limit=4, predict_only=True, log_samples=True)
    assert len(results["samples"][TASK]) == 4 and "favouritism,none" not in results["results"][TASK]


def test_a_task_of_an_axis_asks_that_axis():
    results = evaluate(decoder(stereotype), "bistereo_pairs_height", limit=30, log_samples=True)
    assert {s["doc"]["axis"] for s in results["samples"]["bistereo_pairs_height"]} == {"height"}
    assert results["results"]["bistereo_pairs_height"]["favouritism,none"] == 100
    assert "favouritism_height,none" not in results["results"]["bistereo_pairs_height"]


@pytest.mark.parametrize("sentences", [None, "a", ["a"], ["a", ""], ["a", "b", "c"], ["a", 1]])
def test_a_task_of_pairs_names_two_sentences(sentences):
    with pytest.raises(
        UsageError, match="mine: expected `sentences`, a list of two columns or templates"
    ):
        read_sentences("mine", sentences)


def test_a_task_of_pairs_is_a_task_of_a_measure():
    from lm_eval_bias.harness.sentence_pairs import SentencePairTask

    assert issubclass(SentencePairTask, MeasureTask)
    with pytest.raises(UsageError, match="takes no few-shot examples, found num_fewshot=3"):
        SentencePairTask({"task": "mine", "sentences": ["a", "b"], "num_fewshot": 3})


# ---- Models built by hand

POSITIVE, NEGATIVE = 1.2, 0.8
"""How much likelier, in nats, "fair-skinned" stands with "cute" and "dark-skinned" with "ugly" than
by chance."""
TEMPLATES = {
    "descriptor, then attribute, at the start": "[B] <[A] >[women/men] were waiting {here|there}.",
    "attribute, then descriptor, at the start": "<[A] >[B] [women/men] were waiting {here|there}.",
    "descriptor, then attribute, at the end": "The [women/men] who were waiting {here|there} were [B]< [A]>.",
    "attribute, then descriptor, at the end": "The [women/men] who were waiting {here|there} were <[A] >[B].",
    "apart": "[B] [women/men] were waiting {here|there}< and were [A]>.",
}
GROUPS = """
attributes: {positive: [cute], negative: [ugly]}
axes:
  skin: [{desirable: fair-skinned, undesirable: dark-skinned}]
"""


def associated(a, b):
    """In nats; 0 for most words."""
    return {
        frozenset(("fair-skinned", "cute")): POSITIVE,
        frozenset(("dark-skinned", "ugly")): NEGATIVE,
    }.get(frozenset((a, b)), 0.0)


# Words by how common they are; one descriptor is five times as common as the other.
COMMON = {
    "fair-skinned": 0.01,
    "dark-skinned": 0.05,
    "cute": 0.02,
    "ugly": 0.03,
    "women": 0.2,
    "men": 0.2,
    "were": 0.2,
    "waiting": 0.1,
}
COMMON |= {"here": 0.02, "there": 0.03, "the": 0.3, "who": 0.1, "and": 0.3}
END = "."


def bigram(word, before):
    """p(word | the word before it), a distribution over COMMON and the end of the sentence."""
    weights = {w: p * math.exp(associated(w, before)) for w, p in {**COMMON, END: 0.2}.items()}
    return weights[word] / sum(weights.values())


def bigram_likelihood(sentence):
    said = [*tokens(sentence), END]
    return sum(
        math.log(bigram(word, before)) for before, word in zip(["<s>", *said], said, strict=False)
    )


def masked(word, others):
    """p(word | all other words of the sentence, wherever they stand), a distribution over COMMON."""
    weights = {
        w: p * math.exp(sum(associated(w, other) for other in others)) for w, p in COMMON.items()
    }
    return weights[word] / sum(weights.values())


def shared_token_likelihood(sentence, other):
    differing = modified(sentence, other)
    spans = [span for span in words(sentence) if sentence[slice(*span)] != END]
    said = [sentence[slice(*span)].lower() for span in spans]
    return sum(
        math.log(masked(w, said[:i] + said[i + 1 :]))
        for i, w in enumerate(said)
        if spans[i] not in differing
    )


@pytest.fixture
def by_hand(tmp_path, monkeypatch):
    """Scores the templates above: place -> x of each context by a model, and the numbers of the
    task."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "groups.yaml").write_text(GROUPS)
    rows = [f"{name}\tskin\t2\t2\t{text}\n" for name, text in TEMPLATES.items()]
    (tmp_path / "items.tsv").write_text("wording\taxis\twomen\tmen\ttext\n" + "".join(rows))

    def scored(lm, calibrated):
        results = evaluate(
            lm, TASK, {"items": "items.tsv", "groups": "groups.yaml"}, log_samples=True
        )
        records = [s["records"] for s in results["samples"][TASK]]
        assert len(records) == 5 * 2 * 2 * 3
        raw = {
            (r["wording"], r["variant"], r["gender"], r["sentiment"]): r["desirable_likelihood"]
            - r["undesirable_likelihood"]
            for r in records
        }
        x = {}
        for (name, *place, sentiment), value in raw.items():
            x.setdefault((name, sentiment), []).append(
                value - calibrated * raw[name, *place, "neutral"]
            )
        return x, numbers_of(results, TASK)

    return scored


def test_the_models_built_by_hand_are_distributions():
    for before in [*COMMON, "<s>"]:
        assert sum(bigram(w, before) for w in [*COMMON, END]) == pytest.approx(1)
    for others in product(COMMON, repeat=2):
        assert sum(masked(w, others) for w in COMMON) == pytest.approx(1)


def test_a_bigram_models_association_is_found_at_the_end_of_a_sentence_as_at_its_start(by_hand):
    """To the last digit, in nats, although one descriptor is five times as common: that is in the
    neutral sentence too.

    Descriptor first: log p(cute | fair) / p(next | fair) - log p(cute | dark) / p(next | dark),
    where the sums over all words after the descriptor cancel. Attribute first: log p(fair | cute) /
    p(dark | cute) - log p(fair | before) / p(dark | before). 1.2 both times. Words that are apart
    no bigram model associates, and there is nothing to find.
    """
    x, numbers = by_hand(decoder(bigram_likelihood), calibrated=True)
    for name in TEMPLATES:
        for sentiment, expected in (
            ("positive", POSITIVE),
            ("negative", -NEGATIVE),
            ("neutral", 0.0),
        ):
            assert x[name, sentiment] == pytest.approx(
                [0.0 if name == "apart" else expected] * 4, abs=1e-9
            ), (name, sentiment)
    assert numbers["favouritism", None] == numbers["discrimination", None] == pytest.approx(80)
    assert numbers["log_odds_gap", None] == pytest.approx(4 / 5 * (POSITIVE + NEGATIVE))
    assert numbers["within_threshold", None] == pytest.approx(20)


def test_without_calibration_the_bigram_model_prefers_what_is_common(by_hand):
    """log 5 = 1.6 nats for dark-skinned hide the 1.2 of the association."""
    x, _ = by_hand(decoder(bigram_likelihood), calibrated=False)
    for name, sentiment in x:
        assert all(value < 0 for value in x[name, sentiment])


def test_a_bidirectional_models_association_is_found_wherever_the_descriptor_stands(by_hand):
    """The shared word that is associated is the attribute: log p(cute | fair, rest) - log p(cute |
    dark, rest). Its sums over all words are COMMON's, plus what the descriptor adds: 0.02 * (e^1.2
    - 1) behind fair, 0.03 * (e^0.8 - 1) behind dark. All other shared words have the second part
    alone, once each, and so have all words of the neutral sentence."""
    x, numbers = by_hand(PairLM(shared_token_likelihood), calibrated=False)
    whole = sum(COMMON.values())
    sums = {
        "fair": whole + COMMON["cute"] * math.expm1(POSITIVE),
        "dark": whole + COMMON["ugly"] * math.expm1(NEGATIVE),
    }
    # An attribute adds to the sums of the others what it makes of its own descriptor.
    of_attribute = {
        "positive": COMMON["fair-skinned"] * math.expm1(POSITIVE),
        "negative": COMMON["dark-skinned"] * math.expm1(NEGATIVE),
        "neutral": 0,
    }
    for name, text in TEMPLATES.items():
        for sentiment, direct in (
            ("positive", POSITIVE),
            ("negative", -NEGATIVE),
            ("neutral", 0.0),
        ):
            infused = (
                re.sub(r"[<>]|<[^>]*>", "", text)
                if sentiment != "neutral"
                else re.sub(r"<[^>]*>", "", text)
            )
            others = (
                len(infused.replace("{here|there}", "here").rstrip(".").split())
                - 1
                - (sentiment != "neutral")
            )
            more = of_attribute[sentiment]
            expected = direct - others * math.log((sums["fair"] + more) / (sums["dark"] + more))
            expected -= (sentiment != "neutral") * math.log(sums["fair"] / sums["dark"])
            assert x[name, sentiment] == pytest.approx([expected] * 4), (name, sentiment)
    assert numbers["favouritism", None] == numbers["discrimination", None] == pytest.approx(100)
    assert numbers["log_odds_gap", None] == pytest.approx(POSITIVE + NEGATIVE, abs=0.05)


def test_the_order_of_asking_is_that_of_the_documents_in_both_genders():
    """The harness may ask in parts; the first sentence is the desirable one for every document."""
    results = evaluate(decoder(stereotype), TASK, limit=60, log_samples=True)
    signs = Counter()
    for sample in results["samples"][TASK]:
        r = sample["records"]
        signs[
            r["sentiment"],
            r["gender"],
            math.copysign(1, r["desirable_likelihood"] - r["undesirable_likelihood"]),
        ] += r["sentiment"] != "neutral"
    assert {key for key, n in signs.items() if n} == {
        ("positive", g, 1.0) for g in ("women", "men")
    } | {("negative", g, -1.0) for g in ("women", "men")}
