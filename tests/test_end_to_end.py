"""The tasks on the small real model, through the command line that the README shows, with the
harness's `hf` and with `hf-prefix`."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from math import exp, tanh

import pytest

from tests.models import tiny_masked
from tests.started import run_lm_eval

pytestmark = pytest.mark.model

LIMIT = 6
SHORT = ["--gen_kwargs", "max_gen_toks=12"]
ASKED = "bistereo_nli,bistereo_pairs,hbb,mist_aat_likelihood,empathy_religion"
BOTH = ["--tasks", f"{ASKED},empathy_religion_likelihood", "--limit", str(LIMIT), *SHORT]
CHAT = ["--apply_chat_template"]
HF, PREFIX = ["--model", "hf"], ["--model", "hf-prefix"]
COMMANDS = {
    # `hf` computes the whole prompt for each of 101 numbers, which is a minute: once is enough.
    "plain": [*HF, "--tasks", ASKED, "--limit", str(LIMIT), *SHORT, "--batch_size", "1"],
    "plain, shared": [*PREFIX, *BOTH],
    "chat": [*HF, *BOTH, *CHAT, "--batch_size", "4"],
    "chat, shared": [*PREFIX, *BOTH, *CHAT, "--batch_size", "auto", "--use_cache", "CACHE"],
    "generate": [
        *PREFIX,
        "--tasks",
        "bistereo_nli_generate,mist,mist_wabt_likelihood,empathy,empathy_race_p2,empathy_religion_s1",
        "--limit",
        str(LIMIT),
        *CHAT,
        *SHORT,
    ],
    "masked": ["--model", "hf-mlm", "--tasks", "bistereo_pairs", "--limit", "60"],
    "mistake": [*PREFIX, "--tasks", "hbb", "--limit", "2", "--metadata", "threshold=-1.5"],
}
# Not `accelerate launch --cpu --num_processes 2`, which starts one process.
TWO_PROCESSES = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]


class Run:
    """One command of a person, run; what it printed, and the files it wrote. launch: what starts
    it; None for a fork."""

    def __init__(self, model_folder, output, arguments, launch=None):
        arguments = [str(output / "cache") if a == "CACHE" else a for a in arguments]
        command = [
            "--model_args",
            f"pretrained={model_folder}",
            "--device",
            "cpu",
            "--output_path",
            str(output),
            "--log_samples",
            *arguments,
        ]
        settings = {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
        if launch is None:
            self.done = run_lm_eval(command, env=settings)
        else:
            start = [sys.executable, *launch, "-m", "lm_eval", *command]
            self.done = subprocess.run(
                start, capture_output=True, text=True, env={**os.environ, **settings}
            )
        self.output = output

    @cached_property
    def results(self):
        assert self.done.returncode == 0, self.done.stderr[-3000:]
        return json.loads(next(self.output.rglob("results_*.json")).read_text())

    def numbers(self, task):
        """(metric, group) -> value, from the table of all numbers."""
        return {
            (row["metric"], row["group"]): row["value"]
            for row in self.results["configs"][task]["cells"]["numbers"]
        }

    def samples(self, task):
        assert self.done.returncode == 0, self.done.stderr[-3000:]
        samples = [
            json.loads(line)
            for line in next(self.output.rglob(f"samples_{task}_2*.jsonl")).read_text().splitlines()
        ]
        # the harness writes those of one process after the other
        return sorted(samples, key=lambda sample: sample["doc_id"])

    def likelihoods(self, task):
        return [float(value) for s in self.samples(task) for ((value, _),) in s["resps"]]


@pytest.fixture(scope="module")
def runs(model_folder, tmp_path_factory):
    """All commands, two at a time."""
    folder = tmp_path_factory.mktemp("runs")
    encoder = tiny_masked.saved(folder / "encoder", "BERT")

    def run(name):
        return Run(
            encoder if name == "masked" else model_folder,
            folder / name.replace(", ", "-"),
            COMMANDS[name],
            {"plain": (), "plain, shared": TWO_PROCESSES}.get(name),
        )

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(COMMANDS, pool.map(run, COMMANDS), strict=True))


@pytest.mark.parametrize("name", ["plain", "plain, shared", "chat", "chat, shared"])
def test_the_tasks_print_a_table_and_log_their_samples(runs, name):
    run = runs[name]
    for task in ("bistereo_nli", "hbb"):
        numbers = run.results["results"][task]
        assert (
            run.results["n-samples"][task]["effective"] == LIMIT == len(run.samples(task))
            and numbers["unanswered,none"] == 0
        )
        assert all(s["records"] for s in run.samples(task))
    for metric in (
        "halo_gap",
        "horn_gap",
        "non_neutral",
        "mean_difference",
        "position_preference",
        "probability_gap",
    ):
        assert f"|{metric}" in run.done.stdout
    # Six documents of hbb are three questions: Age 1 whole, Age 2 half.
    assert (run.numbers("hbb")["instances", None], run.numbers("hbb")["left_out", None]) == (1, 66)
    assert run.results["configs"]["hbb"]["cells"]["types"][0]["n"] == 1


@pytest.mark.parametrize(
    ("plain", "shared"), [("plain", "plain, shared"), ("chat", "chat, shared")]
)
def test_sharing_prefixes_changes_nothing_but_float_noise(runs, plain, shared):
    """Nor does the batch size, nor do two processes, as which the first of them runs."""
    plain, shared = runs[plain], runs[shared]
    for task in ("bistereo_nli", "hbb"):
        assert plain.likelihoods(task) == pytest.approx(shared.likelihoods(task), abs=1e-3)
        for metric, value in plain.results["results"][task].items():
            if isinstance(value, float):
                assert value == pytest.approx(
                    shared.results["results"][task][metric], abs=0.05, nan_ok=True
                ), metric


def test_two_processes_share_the_documents_and_write_one_results_file(runs):
    run = runs["plain, shared"]
    assert len(list(run.output.rglob("results_*.json"))) == 1
    asked = LIMIT * (3 + 2) // 2  # labels of bistereo_nli, letters of hbb
    assert (
        f"Running {asked} loglikelihood requests" in run.done.stderr
        and f"Running {2 * asked} loglikelihood" not in run.done.stderr
    )
    assert [s["doc_id"] for s in run.samples("hbb")] == list(range(LIMIT))


def test_both_sentences_of_a_pair_are_scored_as_they_stand_and_alike_with_and_without_a_chat_template(
    runs,
):
    """Six documents are one block: neutral, positive and negative pair of women, then of men."""
    first, *others = (
        runs[name].samples("bistereo_pairs")
        for name in ("plain", "plain, shared", "chat", "chat, shared")
    )
    assert [(s["doc"]["sentiment"], s["doc"]["gender"]) for s in first] == [
        (c, g) for g in ("women", "men") for c in ("neutral", "positive", "negative")
    ]
    likelihoods = [
        [s["records"][f"{kind}_likelihood"] for s in first for kind in ("desirable", "undesirable")]
    ]
    for run in others:
        likelihoods.append(
            [
                s["records"][f"{kind}_likelihood"]
                for s in run
                for kind in ("desirable", "undesirable")
            ]
        )
        assert likelihoods[-1] == pytest.approx(likelihoods[0], abs=1e-3)
    assert len(set(likelihoods[0])) == 12 and all(-200 < x < -20 for x in likelihoods[0])
    for s in first:
        asked = [s["arguments"][f"gen_args_{i}"]["arg_0"] for i in (0, 1)]
        assert (
            asked == [s["doc"]["desirable_sentence"], s["doc"]["undesirable_sentence"]]
            and s["records"]["method"] == "joint"
        )


def test_the_score_of_a_decoder_follows_from_the_samples(runs):
    """From the samples file alone: of each gender the difference of two pairs, and the contrast of
    the contexts, in which the neutral pair cancels."""
    run = runs["chat, shared"]
    x = {}
    for s in run.samples("bistereo_pairs"):
        (d, *_), (u, *_) = (r[0] for r in s["resps"])
        x[s["doc"]["gender"], s["doc"]["sentiment"]] = float(d) - float(u)
    gap = sum(x[g, "positive"] - x[g, "negative"] for g in ("women", "men")) / 2
    assert run.numbers("bistereo_pairs")["log_odds_gap", None] == pytest.approx(gap, abs=1e-9)
    calibrated = [
        x[g, c] - x[g, "neutral"] for g in ("women", "men") for c in ("positive", "negative")
    ]
    within = 100 * sum(abs(tanh(each / 2)) <= 0.02 for each in calibrated) / 4
    assert run.results["results"]["bistereo_pairs"]["within_threshold,none"] == within
    tables = run.results["configs"]["bistereo_pairs"]["cells"]
    assert {row["score"] for row in tables["trisentbias"]} == {"calibrated joint"} and tables[
        "neutral"
    ][0]["method"] == "joint"


def test_an_encoder_is_asked_the_words_that_both_sentences_share(runs):
    run = runs["masked"]
    samples = run.samples("bistereo_pairs")
    assert len(samples) == 60 and {s["records"]["method"] for s in samples} == {"shared tokens"}
    for s in samples:
        (_, one, _), (_, other, _) = (r[0] for r in s["resps"])
        assert one == other and int(one) > 5  # as many tokens of either
    tables = run.results["configs"]["bistereo_pairs"]["cells"]
    assert {row["score"] for row in tables["trisentbias"]} == {"shared tokens"}
    assert all(
        row["z1"] + row["z2"] + row["z3"] == pytest.approx(100)
        for row in tables["trisentbias"]
        if row["n"]
    )
    assert any(row["n"] for row in tables["trisentbias"] if row["context"] == "neutral")


def test_the_cache_holds_every_request(runs):
    run = runs["chat, shared"]
    with sqlite3.connect(next(run.output.glob("cache*.db"))) as database:
        assert database.execute("select count(*) from unnamed").fetchone() == (
            LIMIT * 3 + LIMIT * 2 + LIMIT * 2 + LIMIT * (1 + 2) + LIMIT + LIMIT * 101,
        )


@pytest.mark.parametrize(
    ("plain", "shared"), [("plain", "plain, shared"), ("chat", "chat, shared")]
)
def test_a_conversation_is_the_same_with_shared_prefixes_and_in_two_processes(runs, plain, shared):
    for a, b in zip(
        runs[plain].samples("mist_aat_likelihood"),
        runs[shared].samples("mist_aat_likelihood"),
        strict=True,
    ):
        (first, scored), (first_shared, scored_shared) = a["resps"][0][0], b["resps"][0][0]
        assert first == first_shared and len(first.split()) > 2
        assert [float(x[0]) for x in scored] == pytest.approx(
            [float(x[0]) for x in scored_shared], abs=1e-3
        )
        asked = a["arguments"]["gen_args_0"]["arg_1"]
        assert asked["chat"] == (plain == "chat") and asked["turns"][1]["choices"] == [
            f"{a['doc']['word']}: comedy",
            f"{a['doc']['word']}: tragedy",
        ]


def test_all_tasks_of_mist_run_and_log_every_turn(runs):
    run = runs["generate"]
    for task in ("mist_wabt", "mist_aat", "mist_wabt_likelihood"):
        assert run.results["n-samples"][task]["effective"] == LIMIT == len(run.samples(task))
    assert set(run.results["group_subtasks"]["mist"]) == {"mist_wabt", "mist_aat"}
    for s in run.samples("mist_aat"):
        first, second = s["resps"][0][0]
        assert (
            first
            and second
            and s["records"]["verdict"]
            in ("comedy", "tragedy", "neutrality", "refused", "unparsed")
        )
    likelihood = run.numbers("mist_wabt_likelihood")
    # six documents are three lists, each in both orders, one of each dimension
    assert [likelihood["bias_score_n", d] for d in ("competence", "sociability", "morality")] == [
        1,
        1,
        1,
    ] and likelihood["left_out", None] == 0


@pytest.mark.parametrize(
    ("plain", "shared"), [("plain", "plain, shared"), ("chat", "chat, shared")]
)
def test_ratings_of_a_persona_are_the_same_with_shared_prefixes(runs, plain, shared):
    ours, theirs = (runs[name].samples("empathy_religion") for name in (shared, plain))
    assert [s["resps"] for s in ours] == [s["resps"] for s in theirs] and len(ours) == LIMIT
    for s in theirs:
        prompt = s["arguments"]["gen_args_0"]["arg_0"]
        persona = f"You are {s['doc']['perceiver']}.\nYour task is to rate"
        assert (
            prompt.startswith(persona)
            if plain == "plain"
            else f"<|im_start|>system\n{persona}" in prompt
        )


def test_the_numbers_of_a_scale_are_as_likely_with_shared_prefixes_and_the_greedy_one_is_what_is_generated(
    runs,
):
    ours, theirs = (
        runs[name].samples("empathy_religion_likelihood") for name in ("chat, shared", "chat")
    )
    for a, b, generated in zip(ours, theirs, runs["chat"].samples("empathy_religion"), strict=True):
        assert (
            a["records"]["intensity"] == pytest.approx(b["records"]["intensity"], abs=1e-2)
            and 0 < a["records"]["number_mass"] < 1
        )
        assert len(a["resps"][0][0][0]) == 101
        # what follows the number is not scored
        said = re.match(r"\s*(\d+)", generated["resps"][0][0][0])
        assert b["records"]["greedy"] == (int(said[1]) if said else None)


def test_all_categories_and_two_variants_of_the_empathy_gap_run(runs):
    run = runs["generate"]
    for task in (
        "empathy_race",
        "empathy_nationality",
        "empathy_religion",
        "empathy_race_p2",
        "empathy_religion_s1",
    ):
        numbers = run.numbers(task)
        # six documents are less than one event
        assert (
            run.results["n-samples"][task]["effective"],
            numbers["events", None],
            numbers["left_out", None],
        ) == (LIMIT, 0, 1)
        assert all(
            s["records"]["intensity"] is None or 0 <= s["records"]["intensity"] <= s["doc"]["scale"]
            for s in run.samples(task)
        )


def test_the_chat_template_wraps_the_same_prompt(runs):
    for task in ("bistereo_nli", "hbb"):
        plain, chat = (
            runs[name].samples(task)[0]["arguments"]["gen_args_0"]["arg_0"]
            for name in ("plain", "chat")
        )
        assert plain in chat and chat.rstrip().endswith("<|im_start|>assistant")


def test_the_metrics_follow_from_the_logged_samples(runs):
    """From the samples file alone: the log-odds of option 1, their average over both orders, P at
    0.8, S of Age 1; the share of neutral labels."""
    run = runs["chat"]
    odds = {"Young": 0.0, "Old": 0.0}
    for s in run.samples("hbb")[:4]:
        a, b = (float(r[0][0]) for r in s["resps"])
        odds[s["doc"]["identity"]] += (a - b if s["doc"]["first"] == 1 else b - a) / 2
    young, old = (1 / (1 + exp(-each / 0.8)) for each in odds.values())
    expected = 100 * abs(young - old)
    assert run.results["results"]["hbb"]["mean_difference,none"] == pytest.approx(
        expected, abs=1e-6
    )
    labels = [
        max(range(3), key=lambda i: float(s["resps"][i][0][0])) for s in run.samples("bistereo_nli")
    ]
    assert run.results["results"]["bistereo_nli"]["neutral,none"] == pytest.approx(
        100 * labels.count(2) / LIMIT
    )


def test_generation_runs_and_is_parsed(runs):
    answers = [s["records"]["answer"] for s in runs["generate"].samples("bistereo_nli_generate")]
    unanswered = sum(a in ("refused", "unparsed") for a in answers)
    numbers = runs["generate"].results["results"]["bistereo_nli_generate"]
    assert len(answers) == LIMIT and numbers["unanswered,label"] == pytest.approx(
        100 * unanswered / LIMIT
    )


def test_a_mistake_in_the_metadata_ends_with_one_line(runs):
    done = runs["mistake"].done
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (
        done.stderr.splitlines()[-1]
        == "lm-eval-bias: hbb: threshold=-1.5 in --metadata: expected a number from 0 to 100"
    )
