"""hf-mlm under the harness's own tasks, made from local files, and through the command line in one
process and in two."""

import json
import os
import subprocess
import sys

import overt_rows
import pytest
import tiny
import tiny_masked
import yaml
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
from rule_model import evaluate

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.sentence_pairs import REQUEST
from lm_eval_bias.models.masked import MaskedLM
from lm_eval_bias.models.prefix import PrefixLM
from lm_eval_bias.usage import UsageError
from tests.started import run_lm_eval

# As many documents as two processes share unequally; the same sentence stands in several pairs.
PAIRS = [
    {
        "sent_more": f"{a} {rest}",
        "sent_less": f"{b} {rest}",
        "bias_type": "age",
        "stereo_antistereo": "stereo",
    }
    for a, b in (
        ("Old people", "Young people"),
        ("Young people", "Old people"),
        ("Old people", "Tall women"),
    )
    for rest in (
        "never learn anything new.",
        "live next door, near the station.",
        "say what they mean.",
    )
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
    found = {}
    for sample in samples:
        arguments = (
            sample["arguments"].values()
            if isinstance(sample["arguments"], dict)
            else sample["arguments"]
        )
        texts = [a["arg_1"] if isinstance(a, dict) else a[1] for a in arguments]
        found[sample["doc_id"]] = dict(
            zip(texts, (float(r[0][0]) for r in sample["resps"]), strict=True)
        )
    return found


def shared(model, sentence, other):
    return getattr(model, REQUEST)([compat.request(REQUEST, {}, (sentence, other), 0, "task", 0)])[
        0
    ][0]


def whole(model, sentence):
    return model.loglikelihood_rolling(
        [compat.request("loglikelihood_rolling", {}, (sentence,), 0, "task", 0)]
    )[0]


def assert_scored(found, documents, columns, score):
    assert len(found) == len(documents)
    for i, document in enumerate(documents):
        one, two = (document[column] for column in columns)
        assert found[i] == pytest.approx({one: score(one, two), two: score(two, one)}, abs=1e-4)


def test_the_two_sentences_of_crows_pairs_are_scored_by_the_tokens_they_share(tasks, caplog):
    found = evaluated(bert(), tasks, "local_pairs")
    assert_scored(found, PAIRS, ("sent_more", "sent_less"), lambda a, b: shared(bert(), a, b))
    assert (
        "the sentences of local_pairs are scored by the tokens that a pair shares (pairs=off: whole)"
        in caplog.text
    )


def test_or_whole_if_asked_so(tasks):
    for off in ("off", False):
        found = evaluated(bert(pairs=off), tasks, "local_pairs")
        assert_scored(found, PAIRS, ("sent_more", "sent_less"), lambda a, b: whole(bert(), a))


def test_other_pairs_of_choices_are_scored_whole_unless_asked_otherwise(tasks):
    """Salazar et al. 2020 score the sentences of BLiMP whole."""
    columns = ("sentence_good", "sentence_bad")
    assert_scored(
        evaluated(bert(), tasks, "local_minimal"), MINIMAL, columns, lambda a, b: whole(bert(), a)
    )
    assert_scored(
        evaluated(bert(pairs="choices"), tasks, "local_minimal"),
        MINIMAL,
        columns,
        lambda a, b: shared(bert(), a, b),
    )


def test_choices_behind_a_context_are_continuations(tasks):
    found = evaluated(bert(pairs="choices"), tasks, "local_minimal", system_instruction="Listen.")
    assert len(found) == len(MINIMAL)
    for sentence, value in found[0].items():
        request = compat.request("loglikelihood", {}, ("Listen.", sentence), 0, "task", 0)
        assert value == pytest.approx(bert().loglikelihood([request])[0][0], abs=1e-4)


def test_the_cache_keeps_pairs_apart(tasks, tmp_path):
    """By its texts alone, as the harness knows a request, "Old people ..." is one sentence with two
    partners."""
    plain = evaluated(bert(), tasks, "local_pairs")
    for _ in range(2):
        model = bert()
        assert evaluated(model, tasks, "local_pairs", use_cache=str(tmp_path / "cache")) == plain
    assert model.tokens_computed == 0
    assert evaluated(
        bert(pairs="off"), tasks, "local_pairs", use_cache=str(tmp_path / "cache")
    ) == evaluated(bert(pairs="off"), tasks, "local_pairs")


def test_a_decoder_answers_the_same_task_by_joint_likelihoods(tasks):
    found = evaluated(
        PrefixLM(tiny.model("Llama"), tokenizer=tiny.tokenizer(), max_length=128),
        tasks,
        "local_pairs",
    )
    assert len(found) == len(PAIRS)


def test_a_task_that_generates_says_what_an_encoder_cannot_do():
    with pytest.raises(UsageError, match=r"writes no text.*mist_wabt"):
        simple_evaluate(model=bert(), tasks=["mist_wabt"], limit=1, bootstrap_iters=0)


def test_three_sentences_about_a_stereotype_are_scored_whole(tmp_path):
    """Each token masked in turn, and as many counted as are scored."""
    (tmp_path / "rows.json").write_text(json.dumps(overt_rows.rows("intrasentence", 1)))
    results = evaluate(
        bert(),
        "stereoset_intrasentence",
        {"data": str(tmp_path / "rows.json")},
        limit=2,
        log_samples=True,
    )
    for sample in results["samples"]["stereoset_intrasentence"]:
        sentences, record = sample["doc"]["choices"], sample["records"]
        assert record["likelihoods"] == pytest.approx(
            [whole(bert(), sentence) for sentence in sentences], abs=1e-4
        )
        assert record["lengths"] == [
            len(bert().tokenizer.encode(sentence, add_special_tokens=False))
            for sentence in sentences
        ]


# ---- Through the command line


@pytest.fixture(scope="module")
def runs(tasks, tmp_path_factory):
    """The samples of the same command as one process and as two."""
    folder = tmp_path_factory.mktemp("runs")
    model = tiny_masked.saved(folder / "model", "RoBERTa")
    found = {}
    for name, launch in (
        ("one", []),
        ("two", ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]),
    ):
        command = [
            "--model",
            "hf-mlm",
            "--model_args",
            f"pretrained={model},pll=within_word_l2r",
            "--device",
            "cpu",
        ]
        command += [
            "--batch_size",
            "auto",
            "--include_path",
            str(tasks),
            "--tasks",
            "local_pairs,local_minimal",
        ]
        command += [
            "--output_path",
            str(folder / name),
            "--log_samples",
            "--use_cache",
            str(folder / name / "cache"),
        ]
        settings = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
        if launch:
            done = subprocess.run(
                [sys.executable, *launch, "-m", "lm_eval", *command],
                capture_output=True,
                text=True,
                env=settings,
            )
        else:
            done = run_lm_eval(command)
        assert done.returncode == 0, done.stderr[-3000:]
        found[name] = {
            task: choices(
                map(
                    json.loads,
                    next((folder / name).rglob(f"samples_{task}_2*.jsonl"))
                    .read_text()
                    .splitlines(),
                )
            )
            for task in ("local_pairs", "local_minimal")
        }
        found[name]["caches"] = sorted(path.name for path in (folder / name).glob("cache*.db"))
    return found


def test_two_processes_share_the_work_and_give_the_numbers_of_one(runs):
    assert (runs["one"]["caches"], runs["two"]["caches"]) == (
        ["cache_rank0.db"],
        ["cache_rank0.db", "cache_rank1.db"],
    )
    for task, documents in (("local_pairs", PAIRS), ("local_minimal", MINIMAL)):
        assert sorted(runs["one"][task]) == sorted(runs["two"][task]) == list(range(len(documents)))
        for i in runs["one"][task]:
            assert runs["one"][task][i] == pytest.approx(runs["two"][task][i], abs=1e-4)


def test_the_command_line_gives_the_scores_of_the_model(runs):
    model = MaskedLM(
        tiny_masked.model("RoBERTa"),
        tokenizer=tiny_masked.tokenizer("bytes"),
        pll="within_word_l2r",
    )
    assert_scored(
        runs["one"]["local_pairs"],
        PAIRS,
        ("sent_more", "sent_less"),
        lambda a, b: shared(model, a, b),
    )


def test_a_mistake_at_the_command_line_is_told_in_one_line(tmp_path):
    tiny.model("GPT-2").save_pretrained(tmp_path)
    done = run_lm_eval(
        [
            "--model",
            "hf-mlm",
            "--model_args",
            f"pretrained={tmp_path}",
            "--device",
            "cpu",
            "--tasks",
            "bistereo_nli",
        ]
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (
        done.stderr.splitlines()[-1].startswith("lm-eval-bias: --model hf-mlm: ")
        and "is no encoder" in done.stderr
    )
