"""hf-nli: a classifier's probabilities of a pair as the likelihoods of a task's choices."""

from math import exp

import peft
import pytest
import tiny
import torch
import transformers
from classifiers import ARCHITECTURES, MNLI, MOST, TEXTS, entailment, random_classifier
from lm_eval.api.model import CachingLM

from lm_eval_bias.harness import compat
from lm_eval_bias.models.nli import EntailmentLM
from tests.mistakes import refused

WORDS = ["Entailment", "Neutral", "Contradiction"]
THREE = ["entailment", "neutral", "contradiction"]
PAIRS = [
    (premise, hypothesis) for premise in TEXTS[:4] for hypothesis in (TEXTS[5], TEXTS[6] * 2, "So.")
]


def requests(pairs=PAIRS, choices=WORDS, task="bistereo_nli", columns=("premise", "hypothesis")):
    """Those of a multiple-choice task that shows both texts in its prompt."""
    return [
        compat.request(
            "loglikelihood",
            dict(zip(columns, pair, strict=True)),
            (" ".join(pair), f" {choice}"),
            k,
            task,
            i,
        )
        for i, pair in enumerate(pairs)
        for k, choice in enumerate(choices)
    ]


def alone(lm, pair):
    """The probabilities of a pair by itself, from the model's own forward: label -> probability."""
    with torch.no_grad():
        logits = lm.model(**lm.tokenizer(*pair, return_tensors="pt")).logits[0]
    probabilities = torch.softmax(logits.double(), 0).tolist()
    return dict(zip(lm.model.config.id2label.values(), probabilities, strict=True))


def values(lm, asked):
    return [value for value, _ in lm.loglikelihood(asked)]


# ---- Probabilities


@pytest.mark.parametrize("batch_size", [5, "auto"])
@pytest.mark.parametrize("name", tiny.slow_but(("BERT", "RoBERTa", "GPT-2"), ARCHITECTURES))
def test_the_probabilities_are_those_of_the_model_asked_pair_by_pair(name, batch_size):
    lm = entailment(name, batch_size=batch_size)
    answers = lm.loglikelihood(requests())
    for i, pair in enumerate(PAIRS):
        logs, greedy = zip(*answers[3 * i : 3 * i + 3], strict=True)
        expected = [alone(lm, pair)[label] for label in THREE]
        assert list(map(exp, logs)) == tiny.near(expected)
        assert sum(map(exp, logs)) == pytest.approx(1)
        assert greedy.index(True) == logs.index(max(logs))
    assert len({value for value, _ in answers}) > 30, "the texts make a difference"


# ---- Labels

LABEL_0_TO_2 = ["LABEL_0", "LABEL_1", "LABEL_2"]
NAMED = "neutral/entailment/contradiction"


@pytest.mark.parametrize(
    "head, options, expected",
    [
        # other names, and fact checking
        (["refutes", "entails", "unknown"], {}, ["entails", "unknown", "refutes"]),
        (
            ["SUPPORTS", "REFUTES", "NOT_ENOUGH INFO"],
            {},
            ["SUPPORTS", "NOT_ENOUGH INFO", "REFUTES"],
        ),
        # named by the person
        (LABEL_0_TO_2, {"labels": NAMED}, ["LABEL_1", "LABEL_0", "LABEL_2"]),
        (LABEL_0_TO_2, {"labels": NAMED.title().split("/")}, ["LABEL_1", "LABEL_0", "LABEL_2"]),
    ],
)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_a_choice_has_the_probability_of_the_label_that_it_names(head, options, expected, order):
    """expected: the model's labels that are entailment, neutral and contradiction."""
    lm = entailment(head=dict(enumerate(head)), **options)
    found = iter(values(lm, requests(choices=[WORDS[i] for i in order])))
    for pair in PAIRS:
        known = alone(lm, pair)
        for i in order:
            assert exp(next(found)) == pytest.approx(known[expected[i]], abs=1e-5)


@pytest.mark.parametrize("head, warnings", [(LABEL_0_TO_2, 0), (list(MNLI.values()), 1)])
def test_named_labels_are_told_of_where_the_config_has_other_names(head, warnings, caplog):
    """A copied example would turn every number round in silence."""
    entailment(head=dict(enumerate(head)), labels=NAMED)
    says = "labels contradiction, neutral, entailment; all numbers follow labels=neutral/ent"
    assert caplog.text.count(says) == warnings


def test_an_adapter_may_bring_the_head(tmp_path):
    """An encoder without a head as its base, three labels from the adapter, which are named."""
    made, tokenizer = random_classifier("BERT")
    base, adapter = str(tmp_path / "base"), str(tmp_path / "adapter")
    made.bert.save_pretrained(base)
    tokenizer.save_pretrained(base)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=3)
    lora = peft.LoraConfig(task_type="SEQ_CLS", r=2, init_lora_weights=False)
    adapted = peft.get_peft_model(model, lora).eval()
    adapted.save_pretrained(adapter)
    named = {"num_labels": 3, "labels": "entailment/neutral/contradiction"}
    lm = EntailmentLM(base, peft=adapter, device="cpu", **named)
    with torch.no_grad():
        logits = adapted(**tokenizer(*PAIRS[0], return_tensors="pt")).logits[0]
    assert values(lm, requests(PAIRS[:1])) == tiny.near(logits.log_softmax(0).tolist())


@pytest.mark.parametrize(
    "labels, options, says",
    [
        (
            ["LABEL_0", "LABEL_1", "LABEL_2"],
            {},
            "has the labels LABEL_0, LABEL_1, LABEL_2: .*name them in the order of the model in "
            "--model_args, such as labels=entailment/neutral/contradiction",
        ),
        (
            ["a", "b", "c"],
            {"labels": "entailment/neutral"},
            "labels=entailment/neutral in --model_args: expected 3 names, since .* has the labels "
            "a, b, c",
        ),
        (
            ["entailment", "neutral"],
            {},
            "has the labels entailment, neutral: hf-nli needs entailment, neutral and contr",
        ),
        (
            ["a", "b", "c"],
            {"labels": "entailment/neutral/no"},
            "labels=entailment/neutral/no in --model_args: 'no' is not one of entailment, neutral, "
            "contradiction; they are separated by /",
        ),
        (["a", "b", "c"], {"labels": "entailment/neutral/neutral"}, "has the labels a, b, c"),
        (
            ["a", "b"],
            {"label": "entailment/neutral"},
            "unknown option 'label' in --model_args. Did you mean 'labels'?",
        ),
    ],
)
def test_a_head_that_is_not_one_of_entailment_and_a_wrong_option_are_told(labels, options, says):
    with refused(says):
        entailment(head=dict(enumerate(labels)), **options)


def test_a_model_without_a_classification_head_is_refused_before_one_is_made_up(tmp_path):
    made, tokenizer = random_classifier("BERT")
    transformers.BertForMaskedLM(made.config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with refused("is a BertForMaskedLM: without a classification head its answers would be random"):
        EntailmentLM(str(tmp_path), device="cpu")


@pytest.mark.parametrize(
    "asked, says",
    [
        (
            {"choices": ["Yes", "No"], "task": "paws_en"},  # about paraphrase
            "paws_en: hf-nli answers tasks with the choices entailment, neutral, contradiction; "
            r"this one has no, yes\. Run tasks of premises",
        ),
        ({"choices": WORDS[:2]}, "this one has entailment, neutral"),
        ({"choices": [*WORDS, "Neither"]}, "this one has contradiction, entailment, neither"),
        (
            {"columns": ("claim", "evidence")},
            "bistereo_nli: hf-nli reads premise and hypothesis of a document; this one has claim, "
            "evidence",
        ),
    ],
)
def test_what_is_not_known_of_a_task_is_not_guessed(asked, says):
    with refused(says):
        entailment().loglikelihood(requests(**asked))


# ---- What a classifier cannot do


def test_it_writes_no_text_and_rates_none():
    lm, asked = entailment(), requests(PAIRS[:1], choices=["Neutral"], task="gsm8k")
    with refused(r"gsm8k: --model hf-nli writes no text\. Run tasks of premises"):
        lm.generate_until(asked)
    with refused("gsm8k: --model hf-nli gives no likelihood of a text"):
        lm.loglikelihood_rolling(asked)
    with refused("leave --apply_chat_template out"):
        lm.apply_chat_template([])


def test_a_pair_of_the_greatest_length_is_read_and_a_longer_one_refused():
    """RoBERTa's 130 positions hold 128 tokens: two stand for padding."""
    lm, most, pair = entailment("RoBERTa"), MOST - 2, ("The", "bus.")
    assert lm.max_length == most
    while len(lm.tokenizer(*pair)["input_ids"]) < most:
        pair = (pair[0] + " a", "bus.")
    lm.loglikelihood(requests([pair]))
    longer = ("a a " + pair[0], pair[1])
    with refused(f"1 of 2 texts are longer than the {most} tokens that"):
        lm.loglikelihood(requests([pair, longer]))


def test_the_tokenizer_and_the_person_may_set_the_greatest_length():
    model, tokenizer = random_classifier("BERT")
    tokenizer.model_max_length = 40
    assert EntailmentLM(model, tokenizer=tokenizer).max_length == 40
    assert EntailmentLM(model, tokenizer=tokenizer, max_length=20).max_length == 20


# ---- Cache


def test_the_cache_knows_pairs_and_names_of_labels_whatever_the_prompt_says(tmp_path):
    """The prompt is not read, so it may be the same for all documents; the harness's cache knows
    requests by it alone."""
    asked = [
        compat.request("loglikelihood", r.doc, ("", r.args[1]), r.idx, r.task_name, r.doc_id)
        for r in requests()
    ]
    for labels in (THREE, [THREE[1], THREE[0], THREE[2]]):
        cached = CachingLM(entailment(labels=labels), str(tmp_path / "cache.db"))
        expected = tiny.near(values(entailment(labels=labels), requests()))
        assert values(cached, asked) == values(cached, asked) == expected
