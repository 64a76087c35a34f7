"""The analogies on the small real model, through the command line, with the harness's `hf` and with
`hf-prefix`."""

import pytest
from transformers import AutoTokenizer

from tests.started import Run

pytestmark = [pytest.mark.model, pytest.mark.slow]

LIMIT = 5  # an analogy in all contexts
TASK = "bistereo_analogy"
WRITTEN = f"{TASK}_generate"
COMMANDS = {
    "plain": f"--model hf --tasks {TASK} --batch_size 4",
    "plain, shared": f"--model hf-prefix --tasks {TASK}",
    "chat": f"--model hf-prefix --tasks {TASK},{WRITTEN} --apply_chat_template",
}


@pytest.fixture(scope="module")
def runs(model_folder, tmp_path_factory):
    options = f" --limit {LIMIT} --gen_kwargs max_gen_toks=8"
    return {
        name: Run(model_folder, tmp_path_factory.mktemp("run"), (command + options).split())
        for name, command in COMMANDS.items()
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_has_the_four_shares_and_the_tokens_are_the_tokenizers(runs, model_folder, name):
    """The end of a line before a chat answer is scored with it: the harness gives the blanks at a
    prompt's end to the continuation."""
    shares = [f"{kind}_preferences" for kind in ("biased", "calibrated", "directed", "per_token")]
    for metric in (*shares, "unanswered"):
        assert f"|{metric}" in runs[name].done.stdout
    numbers, samples = runs[name].shown(TASK), runs[name].samples(TASK)
    assert numbers["unanswered,none"] == 0 and 0 <= numbers["calibrated_preferences,none"] <= 100
    assert len(samples) == LIMIT
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    for s in samples:
        for i, word in enumerate(s["doc"]["choices"]):
            prompt, continuation = (s["arguments"][f"gen_args_{i}"][f"arg_{k}"] for k in (0, 1))
            assert continuation == ("" if name == "chat" else " ") + word
            whole, before = tokenizer([prompt + continuation, prompt.rstrip()]).input_ids
            assert int(s["resps"][i][0][2]) == len(whole) - len(before)


def test_sharing_prefixes_changes_nothing_but_float_noise(runs):
    plain, shared = (runs[name].likelihoods(TASK) for name in ("plain", "plain, shared"))
    assert plain == pytest.approx(shared, abs=1e-3)


def test_written_words_are_parsed(runs):
    answers = [s["records"]["answer"] for s in runs["chat"].samples(WRITTEN)]
    assert len(answers) == LIMIT and set(answers) <= {"biased", "unbiased", "refused", "unparsed"}
    share = 100 * sum(a in ("refused", "unparsed") for a in answers) / LIMIT
    assert runs["chat"].shown(WRITTEN)["unanswered,word"] == pytest.approx(share)
