"""The tasks on a model, through the command line that the README shows, with the harness's `hf` and
with `hf-prefix`.

The model has random weights and the tokenizer of the small real one, which test_tutorials.py and
test_packaging.py run.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import exp

import pytest
from transformers import AutoTokenizer

from tests.models.tiny import slow_but
from tests.serving import free_port
from tests.started import Run

pytestmark = pytest.mark.model

# How many documents a task is asked: whole blocks, as the numbers of each test need them.
COUNTS = {
    "bistereo_nli": 6,
    "bistereo_pairs": 6,
    "hbb": 6,
    "mist_aat_likelihood": 2,
    "mist_aat": 2,
    "mist_wabt": 2,
    "mist_wabt_likelihood": 6,
    "empathy_religion": 2,
    "empathy_religion_likelihood": 2,
    "hbb_generate": 1,
    "hbb_sg": 4,  # Age 1 and Age 2
    "bistereo_analogy": 5,
    "bistereo_analogy_generate": 5,
    "stereomap_behavior": 3,
    "stereomap_structure_likelihood": 4,
}
FAST = ("bistereo_nli", "bistereo_pairs", "hbb", "mist_aat_likelihood")
# some are sampled
GENERATED = ("mist_wabt", "mist_aat", "mist_wabt_likelihood", "hbb_generate", "hbb_sg")
GENERATED += ("bistereo_analogy_generate", "stereomap_behavior", "stereomap_structure_likelihood")
ANALOGY = "bistereo_analogy"
SCALE = ("empathy_religion", "empathy_religion_likelihood")


def asked(model, *tasks, chat=False):
    command = ["--model", model, "--tasks", ",".join(tasks), "--gen_kwargs", "max_gen_toks=12"]
    command += ["--samples", json.dumps({task: list(range(COUNTS[task])) for task in tasks})]
    return [*command, *["--apply_chat_template"] * chat]


# A batch of one rounds the same whatever else is asked.
PLAIN = [*asked("hf", *FAST, "mist_wabt", ANALOGY), "--batch_size", "1"]
COMMANDS = {
    # One task of each request type.
    "fast": asked("hf-prefix", *FAST, chat=True),
    "plain": PLAIN,
    "plain, shared": asked("hf-prefix", *FAST, ANALOGY),
    # `hf` would compute the whole prompt for each of 101 numbers, which is a minute.
    "chat, shared": [*asked("hf-prefix", *FAST, *SCALE, chat=True), "--batch_size", "auto"],
    "generate": asked("hf-prefix", *GENERATED, ANALOGY, chat=True),
    "another seed": [*PLAIN, "--seed", "7"],
    "mistake": [
        *("--model", "hf-prefix", "--tasks", "hbb", "--limit", "2"),
        *("--metadata", "threshold=-1.5"),
    ],
}


@pytest.fixture(scope="module")
def run(tiny, tmp_path_factory):
    """Name -> the command, run once."""

    @cache
    def run(name, **variables):
        settings = {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true", **variables}
        return Run(tiny, tmp_path_factory.mktemp("run"), COMMANDS[name], settings)

    return run


@pytest.mark.parametrize(
    "name", slow_but(["fast"], ["fast", "plain", "plain, shared", "chat, shared"])
)
def test_the_tasks_print_a_table_and_log_their_samples(run, name):
    done = run(name)
    assert "runs as hf" not in done.done.stderr
    for task in ("bistereo_nli", "hbb"):
        samples = done.samples(task)
        assert done.results["n-samples"][task]["effective"] == COUNTS[task] == len(samples)
        assert done.shown(task)["unanswered,none"] == 0 and all(s["records"] for s in samples)
    for metric in ("halo_gap", "horn_gap", "non_neutral", "mean_difference", "probability_gap"):
        assert f"|{metric}" in done.done.stdout
    # Six documents of hbb are three questions: Age 1 whole, Gender 1 half.
    numbers = done.numbers("hbb")
    assert (numbers["instances", None], numbers["left_out", None]) == (1, 1)
    assert done.cells("hbb")["types"][0]["instances"] == 1


@pytest.mark.slow
def test_sharing_prefixes_changes_nothing_but_float_noise(run):
    """Nor does the batch size."""
    plain, shared = run("plain"), run("plain, shared")
    for task in ("bistereo_nli", "hbb", ANALOGY):
        assert plain.likelihoods(task) == pytest.approx(shared.likelihoods(task), abs=1e-3)
        for metric, value in plain.shown(task).items():
            if isinstance(value, float):
                other = shared.shown(task)[metric]
                assert value == pytest.approx(other, abs=0.05, nan_ok=True), metric


@pytest.mark.slow
def test_no_number_depends_on_the_seed(run):
    one, other = run("plain"), run("another seed")
    for task in ("mist_wabt", ANALOGY, *FAST):
        assert [s["resps"] for s in one.samples(task)] == [s["resps"] for s in other.samples(task)]
        assert json.dumps(one.cells(task)) == json.dumps(other.cells(task))
    assert json.dumps(one.results["results"]) == json.dumps(other.results["results"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "plain, shared", "generate"])
def test_the_tokens_of_a_choice_are_the_tokenizers(run, model_folder, name):
    """The harness gives the blanks at a prompt's end to the continuation. Behind a chat template
    they stay in the prompt."""
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    for s in run(name).samples(ANALOGY):
        for i, word in enumerate(s["doc"]["choices"]):
            prompt, continuation, *_ = s["arguments"][f"gen_args_{i}"].values()
            assert continuation == ("" if name == "generate" else " ") + word
            start = prompt if name == "generate" else prompt.rstrip()
            whole, before = tokenizer([prompt + continuation, start]).input_ids
            assert int(s["resps"][i][0][2]) == len(whole) - len(before)


@pytest.mark.slow
def test_two_processes_share_the_documents_and_write_one_results_file(run):
    # What torchrun sets; `accelerate launch --cpu --num_processes 2` starts one process, and `hf`
    # on a CPU asks everything in each.
    world = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": free_port()}
    with ThreadPoolExecutor() as pool:
        done, other = pool.map(
            lambda rank: run("plain, shared", RANK=rank, LOCAL_RANK=rank, **world), "01"
        )
    assert other.done.returncode == 0 and list(other.output.iterdir()) == []
    assert len(list(done.output.rglob("results_*.json"))) == 1
    for rank, process in enumerate((done, other)):
        assert f"contexts for hbb on rank {rank}" in process.done.stderr
    assert [s["doc_id"] for s in done.samples("hbb")] == list(range(6))
    one = run("plain, shared")
    for task in ("bistereo_nli", "hbb", ANALOGY):
        assert done.likelihoods(task) == pytest.approx(one.likelihoods(task), abs=1e-3)


@pytest.mark.slow
def test_tasks_that_generate_run_and_log_every_turn(run):
    done = run("generate")
    for task in GENERATED:
        asked = done.results["n-samples"][task]["effective"]
        assert asked == COUNTS[task] == len(done.samples(task)) and done.cells(task)
    verdicts = ("comedy", "tragedy", "neutrality", "refused", "unparsed")
    for s in done.samples("mist_aat"):
        assert all(s["resps"][0][0]) and s["records"]["verdict"] in verdicts
    parts = [s["records"]["part"] for s in done.samples("stereomap_behavior")]
    assert parts == ["extended", "emotion", "behavior"]
    masses = [s["records"]["rating_mass"] for s in done.samples("stereomap_structure_likelihood")]
    assert all(0 < mass < 1 for mass in masses)
    numbers = done.numbers("mist_wabt_likelihood")
    # six documents are two lists of each dimension
    for dimension in ("competence", "sociability", "morality"):
        assert numbers["bias_score_n", dimension] == 2
    (record,) = (sample["records"] for sample in done.samples("hbb_generate"))
    assert record["option_1"] + record["option_2"] + sum(record["invalid"].values()) == 10
    shown = done.shown("hbb_sg")
    assert shown["instances,none"] == 2 and 0 < shown["mean_difference,none"] < 100


def test_the_metrics_follow_from_the_logged_samples(run):
    """From the samples file alone: the log-odds of option 1, their average over both orders, P at
    0.8, S of Age 1; the share of labels that are not neutral."""
    done = run("fast")
    odds = {"Young": 0.0, "Old": 0.0}
    for s in done.samples("hbb")[:4]:
        a, b = (float(r[0][0]) for r in s["resps"])
        odds[s["doc"]["identity"]] += (a - b if s["doc"]["first"] == 1 else b - a) / 2
    young, old = (1 / (1 + exp(-x / 0.8)) for x in odds.values())
    expected = 100 * abs(young - old)
    assert done.shown("hbb")["mean_difference,none"] == pytest.approx(expected, abs=1e-6)
    likelihoods = [[float(r[0][0]) for r in s["resps"]] for s in done.samples("bistereo_nli")]
    others = sum(values[2] < max(values) for values in likelihoods)
    assert done.shown("bistereo_nli")["non_neutral,none"] == pytest.approx(100 * others / 6)


def test_a_mistake_in_the_metadata_ends_with_one_line(run):
    done = run("mistake").done
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "lm-eval-bias: hbb: threshold=-1.5 in --metadata: expected a number from 0 to 100"
    )
