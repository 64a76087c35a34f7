"""The analogies on the small real model, through the command line, with the harness's `hf` and with
`hf-prefix`."""

import json

import pytest
from transformers import AutoTokenizer

from tests.models import tiny_masked
from tests.started import run_lm_eval

pytestmark = pytest.mark.model

LIMIT = 10  # two analogies in all contexts
COMMANDS = {
    "plain": ["--model", "hf", "--tasks", "bistereo_analogy", "--batch_size", "4"],
    "plain, shared": [
        "--model",
        "hf-prefix",
        "--tasks",
        "bistereo_analogy,bistereo_analogy_generate",
    ],
    "chat": [
        "--model",
        "hf",
        "--tasks",
        "bistereo_analogy",
        "--apply_chat_template",
        "--batch_size",
        "4",
    ],
    "chat, shared": [
        "--model",
        "hf-prefix",
        "--tasks",
        "bistereo_analogy,bistereo_analogy_generate",
        "--apply_chat_template",
    ],
}


@pytest.fixture(scope="module")
def runs(model_folder, tmp_path_factory):
    """name -> what the command printed, its results, and the samples of each task."""
    made = {}
    for name, arguments in COMMANDS.items():
        made[name] = run(
            model_folder,
            tmp_path_factory.mktemp("run"),
            [*arguments, "--gen_kwargs", "max_gen_toks=8"],
        )
    return made


def run(model, output, arguments):
    """One command of a person: what it printed, its results, and the samples of each task."""
    command = ["--model_args", f"pretrained={model}", "--device", "cpu", "--limit", LIMIT]
    done = run_lm_eval([*command, "--output_path", output, "--log_samples", *arguments])
    assert done.returncode == 0, done.stderr[-3000:]
    samples = {
        path.name.split("_2")[0].removeprefix("samples_"): [
            json.loads(line) for line in path.read_text().splitlines()
        ]
        for path in output.rglob("samples_*.jsonl")
    }
    return done.stdout, json.loads(next(output.rglob("results_*.json")).read_text()), samples


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_has_the_four_shares(runs, name):
    printed, results, samples = runs[name]
    for metric in (
        "biased_preferences",
        "calibrated_preferences",
        "directed_preferences",
        "per_token_preferences",
        "unanswered",
    ):
        assert f"|{metric}" in printed
    numbers = results["results"]["bistereo_analogy"]
    assert numbers["unanswered,none"] == 0 and 0 <= numbers["calibrated_preferences,none"] <= 100
    assert len(samples["bistereo_analogy"]) == LIMIT


@pytest.mark.parametrize(
    ("plain", "shared"), [("plain", "plain, shared"), ("chat", "chat, shared")]
)
def test_sharing_prefixes_changes_nothing_but_float_noise(runs, plain, shared):
    for a, b in zip(*(runs[name][2]["bistereo_analogy"] for name in (plain, shared)), strict=True):
        one, two = ([r[0] for r in s["resps"]] for s in (a, b))
        assert [float(x[0]) for x in one] == pytest.approx([float(x[0]) for x in two], abs=1e-3)
        assert [int(x[2]) for x in one] == [int(x[2]) for x in two]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_tokens_are_those_of_the_models_tokenizer(runs, model_folder, name):
    """The end of a line before a chat answer is scored with it: the harness gives the blanks at a
    prompt's end to the continuation."""
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    for s in runs[name][2]["bistereo_analogy"]:
        for i, word in enumerate(s["doc"]["choices"]):
            prompt, continuation = (s["arguments"][f"gen_args_{i}"][f"arg_{k}"] for k in (0, 1))
            assert continuation == ("" if "chat" in name else " ") + word
            assert int(s["resps"][i][0][2]) == len(tokenizer.encode(prompt + continuation)) - len(
                tokenizer.encode(prompt.rstrip())
            )


@pytest.mark.parametrize("name", ["plain, shared", "chat, shared"])
def test_written_words_are_parsed(runs, name):
    _, results, samples = runs[name]
    answers = [s["records"]["answer"] for s in samples["bistereo_analogy_generate"]]
    assert len(answers) == LIMIT and set(answers) <= {"biased", "unbiased", "refused", "unparsed"}
    share = 100 * sum(a in ("refused", "unparsed") for a in answers) / LIMIT
    assert results["results"]["bistereo_analogy_generate"]["unanswered,word"] == pytest.approx(
        share
    )


def test_an_encoder_answers_by_pseudo_log_likelihood(tmp_path):
    """A tiny random BERT, whose scores say nothing; each word is scored over its own tokens."""
    encoder = tiny_masked.saved(tmp_path / "encoder", "BERT", max_position_embeddings=512)
    printed, results, samples = run(
        encoder, tmp_path / "run", ["--model", "hf-mlm", "--tasks", "bistereo_analogy"]
    )
    assert (
        "|calibrated_preferences" in printed
        and results["results"]["bistereo_analogy"]["unanswered,none"] == 0
    )
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    for s in samples["bistereo_analogy"]:
        for word, ((value, _, tokens),) in zip(s["doc"]["choices"], s["resps"], strict=True):
            assert float(value) < 0 and int(tokens) == len(
                tokenizer.encode(word, add_special_tokens=False)
            )
