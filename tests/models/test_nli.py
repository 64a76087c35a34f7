"""hf-nli: a classifier's probabilities of a pair as the likelihoods of a task's choices."""

import importlib.util
import json
from math import exp
from pathlib import Path

import lm_eval
import peft
import pytest
import tiny
import torch
import transformers
from classifiers import ARCHITECTURES, MNLI, MOST, RTE, TEXTS, entailment, random_classifier
from lm_eval.api.model import CachingLM
from lm_eval.tasks import TaskManager

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.harness import compat
from lm_eval_bias.models.nli import EntailmentLM
from tests.mistakes import refused

WORDS = ["True", "Neither", "False"]
PREMISE, FIRST = ("premise", "hypothesis"), ("sentence1", "sentence2")
THREE = ["entailment", "neutral", "contradiction"]
TWO = ["entailment", "not_entailment"]
PAIRS = [
    (premise, hypothesis) for premise in TEXTS[:4] for hypothesis in (TEXTS[5], TEXTS[6] * 2, "So.")
]


def requests(pairs=PAIRS, choices=WORDS, task="anli_r1", columns=("premise", "hypothesis")):
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

TRUE_FALSE, LABEL_0_TO_2 = ["True", "False"], ["LABEL_0", "LABEL_1", "LABEL_2"]
NAMED = "neutral/entailment/contradiction"


@pytest.mark.parametrize(
    "head, options, choices, expected",
    [
        # False is everything but entailment, whether the model has one label for that or two
        (TWO, {}, TRUE_FALSE, ["entailment", "not_entailment"]),
        (THREE, {}, TRUE_FALSE, ["entailment", "neutral+contradiction"]),
        (TWO, {"not_entailment": "neutral"}, WORDS, ["entailment", "not_entailment", ""]),
        (TWO, {"not_entailment": "contradiction"}, WORDS, ["entailment", "", "not_entailment"]),
        # other names, and fact checking
        (["refutes", "entails", "unknown"], {}, WORDS, ["entails", "unknown", "refutes"]),
        (["not-entailment", "Entailment"], {}, TRUE_FALSE, ["Entailment", "not-entailment"]),
        (["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"], {}, TRUE_FALSE, ["SUPPORTS", None]),
        # named by the person
        (LABEL_0_TO_2, {"labels": NAMED}, WORDS, ["LABEL_1", "LABEL_0", "LABEL_2"]),
        (LABEL_0_TO_2, {"labels": NAMED.title().split("/")}, TRUE_FALSE, ["LABEL_1", None]),
        (THREE, {"choices": TWO[::-1]}, ["Yes", "No"], ["neutral+contradiction", "entailment"]),
    ],
)
def test_a_choice_has_the_probability_of_the_labels_that_it_names(head, options, choices, expected):
    """expected: names of the model's labels; None for all others."""
    lm = entailment(head=dict(enumerate(head)), **options)
    found = iter(values(lm, requests(choices=choices)))
    for pair in PAIRS:
        known = alone(lm, pair)
        for names in expected:
            value = exp(next(found))
            if names is None:
                names = "+".join(known.keys() - set(expected))
            total = sum(known[name] for name in names.split("+") if name)
            assert value == pytest.approx(total, abs=1e-5) and (names or value == 0)


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
            {"labels": "entailment/not_entailment"},
            "labels=entailment/not_entailment in --model_args: expected 3 names, since .* has the "
            "labels a, b, c",
        ),
        (
            ["a", "b", "c"],
            {"labels": "entailment/neutral/no"},
            "labels=entailment/neutral/no in --model_args: 'no' is not one of entailment, neutral, "
            "contradiction, not_entailment; they are separated by /",
        ),
        (["a", "b", "c"], {"labels": "entailment/neutral/neutral"}, "has the labels a, b, c"),
        (["a", "b"], {"choices": "yes/no"}, "choices=yes/no in --model_args: 'yes' is not one of"),
        (["a", "b"], {"premise": "claim"}, "premise and hypothesis in --model_args go together"),
        (
            ["a", "b"],
            {"not_entailment": "both"},
            "not_entailment=both in --model_args: expected neutral or contradiction",
        ),
        (
            ["a", "b"],
            {"label": "entailment/not_entailment"},
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


# ---- Tasks of the harness

HARNESS = Path(lm_eval.__file__).parent / "tasks"
# task -> its YAML, the columns of its texts, and the labels in the order of its data
TASKS = {
    "anli_r1": ("anli/anli_r1.yaml", PREMISE, THREE),
    "mnli": ("glue/mnli/default.yaml", PREMISE, THREE),
    "cb": ("super_glue/cb/default.yaml", PREMISE, ["entailment", "contradiction", "neutral"]),
    "rte": ("glue/rte/default.yaml", FIRST, TWO),
    "wnli": ("glue/wnli/default.yaml", FIRST, TWO[::-1]),
    "xnli_en": ("xnli/xnli_en.yaml", PREMISE, THREE),
}
SPLITS = ["train", "validation", "test", "train_r1", "dev_r1", "test_r1", "validation_matched"]


def labelled(lm, columns, order):
    """The documents of a task whose data have these labels: of each pair that which the model finds
    likeliest."""
    for pair in PAIRS:
        known = alone(lm, pair)
        known.setdefault("not_entailment", 1 - known["entailment"])
        likeliest = max(order, key=known.get)
        yield {**dict(zip(columns, pair, strict=True)), "label": order.index(likeliest)}


@pytest.mark.parametrize("first", range(4))
def test_a_classifier_is_right_in_every_task_of_the_harness_where_the_labels_are_its_own(
    first, tmp_path
):
    """The harness's own tasks, on local rows. With three labels the model finds the second one
    likeliest, so each is the second in turn; the last has two."""
    head = TWO if first == 3 else THREE[first:] + THREE[:first]
    lm = entailment(head=dict(enumerate(head)), batch_size="auto")
    tasks = {name: of for name, of in TASKS.items() if len(head) == 3 or len(of[-1]) == 2}
    for name, (path, columns, order) in tasks.items():
        file, rows = tmp_path / f"{name}.json", [*labelled(lm, columns, order)]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files = dict.fromkeys(SPLITS, str(file))
        (tmp_path / f"{name}.yaml").write_text(
            f"include: {HARNESS / path}\ntask: {name}\ntag: []\ndataset_path: json\n"
            f"dataset_name: null\ndataset_kwargs: {json.dumps({'data_files': files})}\n"
        )
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    results = lm_eval.simple_evaluate(
        model=lm, tasks=[*tasks], task_manager=manager, bootstrap_iters=0
    )["results"]
    assert {name: results[name]["acc,none"] for name in tasks} == dict.fromkeys(tasks, 1.0)


def test_the_connectives_of_every_language_of_xnli_are_known():
    """The harness's generator of those tasks has a table of them, with what each means."""
    spec = importlib.util.spec_from_file_location("connectives", HARNESS / "xnli" / "utils.py")
    spec.loader.exec_module(made := importlib.util.module_from_spec(spec))
    known = lexicon("nli_words")["choices"]
    assert len(made.LANGUAGES) == 15
    for language in made.LANGUAGES.values():
        words = {label: language[f"{label.upper()}_LABEL"].casefold() for label in THREE}
        assert words in [dict(each) for each in known], words


@pytest.mark.parametrize(
    "options, asked, says",
    [
        (
            {},
            {"choices": ["Yes", "No"], "task": "paws_en"},  # may be about paraphrase
            r"paws_en: hf-nli does not know which labels its choices name \(0: yes; 1: no\).*"
            "choices=entailment/not_entailment",
        ),
        (
            {"choices": "not_entailment/entailment"},
            {"choices": ["Maybe", "Yes", "No"]},
            "does not know",
        ),
        (
            {},
            {"columns": ("claim", "evidence")},
            "anli_r1: hf-nli reads the texts in premise and hypothesis or sentence1 and sentence2"
            " of a document; this one has claim, evidence",
        ),
        (
            {"head": RTE},
            {},
            r"anli_r1 needs contradiction and neutral, but .* entailment and not_entailment. With "
            "not_entailment=neutral in --model_args",
        ),
    ],
)
def test_what_is_not_known_of_a_task_is_not_guessed(options, asked, says):
    with refused(says):
        entailment(**options).loglikelihood(requests(**asked))


def test_columns_can_be_named():
    expected = values(entailment(), requests())
    own = entailment(premise="claim", hypothesis="evidence")
    assert values(own, requests(columns=("claim", "evidence"))) == expected
    assert values(entailment(), requests(columns=FIRST)) == expected


# ---- What a classifier cannot do


def test_it_writes_no_text_and_rates_none():
    lm, asked = entailment(), requests(PAIRS[:1], choices=["True"], task="gsm8k")
    with refused(r"gsm8k: --model hf-nli writes no text\. Run tasks of prem"):
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
