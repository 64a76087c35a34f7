"""Both tasks on the small real model, through the command line that the README shows."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = pytest.mark.model

LIMIT = 10
SETTINGS = {
    (chat, batch): [*(["--apply_chat_template"] if chat else []), "--batch_size", batch, *(["--max_batch_size", "4"] if batch == "auto" else [])]
    for chat in (False, True)
    for batch in ("1", "auto")
}  # fmt: skip


def lm_eval(model_folder, output, *arguments, check=True):
    """Run the harness as a person does; returns results and samples per task, read from the files it wrote."""
    command = [sys.executable, "-m", "lm_eval", "--model", "hf", "--model_args", f"pretrained={model_folder}", "--device", "cpu"]
    done = subprocess.run(
        [*command, "--output_path", str(output), "--log_samples", *arguments],
        capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    if not check:
        return done
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(next(output.rglob("results_*.json")).read_text())
    samples = {
        task: [json.loads(line) for line in next(output.rglob(f"samples_{task}_*.jsonl")).read_text().splitlines()]
        for task in results["results"]
    }
    return done.stdout, results, samples


@pytest.fixture(scope="module")
def runs(model_folder, tmp_path_factory):
    """The four settings, two at a time; `hbb` and `bistereo_nli` together, as one command."""
    folder = tmp_path_factory.mktemp("runs")

    def run(key):
        return lm_eval(model_folder, folder / f"{key[0]}-{key[1]}", "--tasks", "bistereo_nli,hbb", "--limit", str(LIMIT), *SETTINGS[key])

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(SETTINGS, pool.map(run, SETTINGS), strict=True))


@pytest.mark.parametrize("key", SETTINGS)
def test_both_tasks_print_a_table_and_log_their_samples(runs, key):
    table, results, samples = runs[key]
    for metric in ("halo_gap", "horn_gap", "non_neutral", "mean_difference", "position_preference"):
        assert f"|{metric}" in table
    for task in ("bistereo_nli", "hbb"):
        numbers = results["results"][task]
        assert numbers["records,none"] == LIMIT == len(samples[task]) and numbers["unanswered,none"] == 0
        assert all(s["records"] for s in samples[task])
    # Ten documents of hbb are five questions: Age 1 and Age 2 whole, Age 3 half.
    assert (results["results"]["hbb"]["instances,none"], results["results"]["hbb"]["left_out,none"]) == (2, 65)
    assert results["configs"]["hbb"]["cells"]["types"][0]["n"] == 1


def likelihoods(samples):
    return [float(value) for s in samples for ((value, _),) in s["resps"]]


@pytest.mark.parametrize("chat", [False, True])
def test_the_batch_size_changes_nothing_but_float_noise(runs, chat):
    one, auto = runs[chat, "1"], runs[chat, "auto"]
    for task in ("bistereo_nli", "hbb"):
        assert likelihoods(one[2][task]) == pytest.approx(likelihoods(auto[2][task]), abs=1e-3)
        for name, value in one[1]["results"][task].items():
            if isinstance(value, float):
                assert value == pytest.approx(auto[1]["results"][task][name], abs=0.05, nan_ok=True), name


def test_the_chat_template_wraps_the_same_prompt(runs):
    for task in ("bistereo_nli", "hbb"):
        plain, chat = (runs[c, "1"][2][task][0]["arguments"]["gen_args_0"]["arg_0"] for c in (False, True))
        assert plain in chat and chat.rstrip().endswith("<|im_start|>assistant")


def test_the_metrics_follow_from_the_logged_samples(runs):
    """From the samples file alone, with loops: P(a), its average over both orders, S."""
    from math import exp

    _, results, samples = runs[True, "1"]
    p = {}
    for s in samples["hbb"]:
        a, b = (exp(float(r[0][0])) for r in s["resps"])
        key = s["doc"]["type"], s["doc"]["identity"]
        p.setdefault(key, []).append(a / (a + b) if s["doc"]["first"] == 1 else b / (a + b))
    s = [100 * abs(sum(p[t, "Young"]) - sum(p[t, "Old"])) / 2 for t in ("Age 1", "Age 2")]
    assert results["results"]["hbb"]["mean_difference,none"] == pytest.approx(sum(s) / 2, abs=1e-6)
    labels = [max(range(3), key=lambda i: float(x["resps"][i][0][0])) for x in samples["bistereo_nli"]]
    assert results["results"]["bistereo_nli"]["neutral,none"] == pytest.approx(10 * labels.count(2))


def test_generation_runs_and_is_parsed(model_folder, tmp_path):
    _, results, samples = lm_eval(model_folder, tmp_path, "--tasks", "bistereo_nli_generate", "--limit", "6", "--apply_chat_template")
    answers = [s["records"]["answer"] for s in samples["bistereo_nli_generate"]]
    unanswered = sum(a in ("refused", "unparsed") for a in answers)
    assert len(answers) == 6 and results["results"]["bistereo_nli_generate"]["unanswered,label"] == pytest.approx(100 * unanswered / 6)


def test_a_mistake_in_the_metadata_ends_with_one_line(model_folder, tmp_path):
    done = lm_eval(model_folder, tmp_path, "--tasks", "hbb", "--limit", "2", "--metadata", "threshold=-1.5", check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1] == "lm-eval-bias: threshold=-1.5 in --metadata: expected a number from 0 to 100"
