"""hf-mlm under the harness's own tasks, made from local files, and through the command line in one
process and in two."""

import json
from functools import cache

import pytest
import tiny
import tiny_masked
import yaml
from launched import launched
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.sentence_pairs import REQUEST
from lm_eval_bias.models.masked import MaskedLM
from tests.started import run_lm_eval

# As many documents as two processes share unequally; the same sentence stands in several pairs.
PAIRS = [
    {"sent_more": f"{one} {rest}", "sent_less": f"{other} {rest}"}
    for one, other in (
        ("Old people", "Young people"),
        ("Young people", "Old people"),
        ("Old people", "Tall women"),
    )
    for rest in ("never learn anything new.", "live next door.", "say what they mean.")
]
MINIMAL = [
    {"sentence_good": "The women say it.", "sentence_bad": "The women says it."},
    {"sentence_good": "He was kind.", "sentence_bad": "He were kind."},
]
# What the harness's `crows_pairs_english` has, and its `blimp`, but for where the documents come
# from.
CROWS_PAIRS = {
    "doc_to_text": "",
    "doc_to_target": 0,
    "doc_to_choice": "{{[sent_more, sent_less]}}",
    "target_delimiter": "",
    "output_type": "multiple_choice",
    "metric_list": [{"metric": "acc"}],
}
BLIMP = {**CROWS_PAIRS, "doc_to_choice": "{{[sentence_good, sentence_bad]}}"}


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    for name, documents, task in (
        ("local_pairs", PAIRS, CROWS_PAIRS),
        ("local_minimal", MINIMAL, BLIMP),
    ):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents))
        config = {
            "task": name,
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(folder / f"{name}.jsonl")}},
            "test_split": "test",
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({**config, **task}))
    return folder


@cache
def bert(**options):
    return MaskedLM(
        tiny_masked.model("BERT"), tokenizer=tiny_masked.tokenizer("wordpiece"), **options
    )


def evaluated(model, tasks, name, **options):
    """For each document its choices with their log-likelihoods."""
    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    results = simple_evaluate(
        model=model, tasks=[name], task_manager=manager, bootstrap_iters=0, **options
    )
    return choices(results["samples"][name])


def choices(samples):
    """doc_id -> choice -> log-likelihood."""
    scores = {}
    for sample in samples:
        arguments = sample["arguments"]
        if isinstance(arguments, dict):  # of a file
            arguments = [tuple(a.values()) for a in arguments.values()]
        values = [float(r[0][0]) for r in sample["resps"]]
        scores[sample["doc_id"]] = dict(zip([a[1] for a in arguments], values, strict=True))
    return scores


def shared(model, sentence, other):
    asked = compat.request(REQUEST, {}, (sentence, other), 0, "task", 0)
    return getattr(model, REQUEST)([asked])[0][0]


def whole(model, sentence, _=None):
    asked = compat.request("loglikelihood_rolling", {}, (sentence,), 0, "task", 0)
    return model.loglikelihood_rolling([asked])[0]


def assert_scored(found, documents, score, model):
    """documents: two sentences each. score: `shared` or `whole`."""
    assert len(found) == len(documents)
    for i, document in enumerate(documents):
        one, two = document.values()
        expected = {one: score(model, one, two), two: score(model, two, one)}
        assert found[i] == tiny.near(expected)


def test_the_two_sentences_of_crows_pairs_are_scored_by_the_tokens_they_share(tasks, caplog):
    found = evaluated(bert(), tasks, "local_pairs")
    assert_scored(found, PAIRS, shared, bert())
    assert "the sentences of local_pairs are scored by the tokens that a pair" in caplog.text


def test_others_are_scored_whole_unless_asked_otherwise(tasks):
    """Salazar et al. 2020 score the sentences of BLiMP whole. `off` is False in a YAML."""
    for off in ("off", False):
        assert_scored(evaluated(bert(pairs=off), tasks, "local_pairs"), PAIRS, whole, bert())
    found = evaluated(bert(), tasks, "local_minimal")
    assert_scored(found, MINIMAL, whole, bert())
    found = evaluated(bert(pairs="choices"), tasks, "local_minimal")
    assert_scored(found, MINIMAL, shared, bert())
    found = evaluated(bert(pairs="choices"), tasks, "local_minimal", system_instruction="Listen.")
    for sentence, value in found[0].items():
        request = compat.request("loglikelihood", {}, ("Listen.", sentence), 0, "task", 0)
        assert value == tiny.near(bert().loglikelihood([request])[0][0]), "behind a context"


# ---- Through the command line


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_command_line_gives_the_scores_of_the_model(processes, tasks, tmp_path):
    saved = tiny_masked.saved(tmp_path / "model", "RoBERTa")
    command = [
        *("--model", "hf-mlm", "--model_args", f"pretrained={saved},pll=within_word_l2r"),
        *("--device", "cpu", "--batch_size", "auto", "--include_path", str(tasks)),
        *("--tasks", "local_pairs,local_minimal", "--use_cache", str(tmp_path / "cache")),
        *("--output_path", str(tmp_path / "run"), "--log_samples"),
    ]
    launched(command, processes)
    assert len(list(tmp_path.glob("cache_rank*.db"))) == processes
    model = MaskedLM(
        tiny_masked.model("RoBERTa"),
        tokenizer=tiny_masked.tokenizer("bytes"),
        pll="within_word_l2r",
    )
    for task, documents, score in (
        ("local_pairs", PAIRS, shared),
        ("local_minimal", MINIMAL, whole),
    ):
        (path,) = (tmp_path / "run").rglob(f"samples_{task}_2*.jsonl")
        found = choices(map(json.loads, path.read_text().splitlines()))
        assert_scored(found, documents, score, model)


def test_a_mistake_at_the_command_line_is_told_in_one_line(tmp_path):
    tiny.model("GPT-2").save_pretrained(tmp_path)
    command = f"--model hf-mlm --model_args pretrained={tmp_path} --device cpu --tasks bistereo_nli"
    done = run_lm_eval(command.split())
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("lm-eval-bias: --model hf-mlm: ")
    assert "is no encoder" in done.stderr
