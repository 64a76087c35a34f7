"""Likelihoods behind a model's own thought: `--metadata reasoning=true` in tasks by likelihood."""

import itertools

import pytest
import torch
from lm_eval.models.huggingface import HFLM

from lm_eval_bias.answers.reasoning import beginning
from lm_eval_bias.models.prefix import PrefixLM
from tests.models import tiny
from tests.rule_model import evaluate

# ---- What stands before an answer

ENDS = "<|end|><|start|>assistant"
ANALYSIS, FINAL = "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"
BEGINNINGS = [  # the prompt's end, what the model wrote, and it up to the answer, with and without
    ("", "<think>\nHm.\n</think>\n\na", "<think>\nHm.\n</think>\n\n", "<think>\n\n</think>\n\n"),
    ("A:<think>\n", "Hm.\n</think>\n\na", "Hm.\n</think>\n\n", "\n</think>\n\n"),
    ("", "<think>Hm</think>\na", "<think>Hm</think>\n", "<think>\n\n</think>\n"),
    ("", "<think>Hm</think>", "<think>Hm</think>\n\n", "<think>\n\n</think>\n\n"),
    ("", "<think>Hm", None, "<think>\n\n</think>\n\n"),
    ("A:<think>\n", "Hm", None, "\n</think>\n\n"),
    ("[THINK]", "Hm[/THINK]a", "Hm[/THINK]", "\n\n[/THINK]"),
    ("", f"{ANALYSIS}Hm{ENDS}{FINAL}a", f"{ANALYSIS}Hm{ENDS}{FINAL}", FINAL),
    ("", f"{FINAL}a", FINAL, FINAL),
    ("", f"{ANALYSIS}Hm", None, FINAL),
    (ANALYSIS, f"Hm{ENDS}{FINAL}a", f"Hm{ENDS}{FINAL}", f"{ENDS}{FINAL}"),
    ("", "analysisHm.assistantfinala", None, FINAL),
    ("", "<|START_THINKING|>Hm", None, None),
    ("", "a) It is.", "", ""),
    ("", "", "", ""),
]


@pytest.mark.parametrize(("opened", "text", "thought", "empty"), BEGINNINGS)
def test_what_stands_before_an_answer(opened, text, thought, empty):
    assert beginning(opened, text) == (thought, empty)


# ---- Tiny models that think

TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
SWITCH = "{% if enable_thinking is defined and enable_thinking is false %}"
CLOSE = f"{ENDS}{FINAL}"
TEMPLATES = {  # each: what ends a prompt, and a token behind each token
    "Qwen3": (
        f"{TURNS}<assistant>\n{SWITCH}{{{{ '<think>\n\n</think>\n\n' }}}}{{% endif %}}",
        ["\n", "<think>", "H", "m", "</think>", "\n\n", "a", "</s>"],
    ),
    "DeepSeek-R1": (
        TURNS + "<assistant><think>{{ '\n' }}",
        ["\n", "H", "m", "</think>", "\n\n", "a", "</s>"],
    ),
    "gpt-oss": (TURNS + "<|start|>assistant", ["t", ANALYSIS, "H", "m", CLOSE, "a", "</s>"]),
    "SmolLM3": (
        TURNS + "<assistant>{{ '\n' }}",
        ["\n", "<think>", "H", "m", "</think>", "b", "</s>"],
    ),
}


def thinker(name, kind=PrefixLM, script=None, **options):
    """A model that writes these tokens, one behind the other; else its likelihoods are chance."""
    template, own = TEMPLATES[name]
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = template
    tokenizer.add_tokens(["<think>", "</think>", "\n\n"])
    tokenizer.add_special_tokens({"additional_special_tokens": [ANALYSIS, CLOSE]})
    size = len(tokenizer)
    shape = {"vocab_size": size, "hidden_size": size, "num_attention_heads": 2, "head_dim": 8}
    model = tiny.model("Llama", **shape, max_position_embeddings=4096, initializer_range=0.02)
    ids = [tokenizer.encode(token, add_special_tokens=False)[-1] for token in script or own]
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(size))
        for before, after in itertools.pairwise(ids):
            model.lm_head.weight[after, before] += 0.7
    return tiny.hf(model, kind, tokenizer=tokenizer, max_length=4000, **options)


def behind(lm, text, choice):
    """The log-likelihood of a letter behind a text, from the model alone."""
    ids = lm.tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.inference_mode():
        logits = lm.model(ids).logits[0, -1].float().log_softmax(-1)
    return float(logits[lm.tokenizer.convert_tokens_to_ids(choice)])


def thoughtful(lm, task="hbb_ci", limit=3, **options):
    options = {"gen_kwargs": "max_gen_toks=12", **options}
    chat = {"apply_chat_template": True, "log_samples": True, "limit": limit}
    return evaluate(lm, task, {"reasoning": True}, **chat, **options)


@pytest.mark.parametrize("kind", [HFLM, PrefixLM])
@pytest.mark.parametrize("name", TEMPLATES)
def test_choices_are_scored_behind_the_thought_and_behind_an_empty_one(name, kind):
    lm = thinker(name, kind)
    samples = thoughtful(lm)["samples"]["hbb_ci"]
    thought, empty = {
        "Qwen3": ("<think>Hm</think>\n\n", "<think>\n\n</think>\n\n"),
        "DeepSeek-R1": ("Hm</think>\n\n", "\n</think>\n\n"),
        "gpt-oss": (f"{ANALYSIS}Hm{CLOSE}", FINAL),
        "SmolLM3": ("<think>Hm</think>", "<think>\n\n</think>"),
    }[name]
    for sample in samples:
        prompt = sample["arguments"][0][0]
        ((text, without, own),) = sample["resps"][0]
        assert text == thought + ("b" if name == "SmolLM3" else "a")
        for start, likelihoods in ((thought, own), (empty, without)):
            expected = [behind(lm, prompt + start, letter) for letter in "ab"]
            assert [value for value, *_ in likelihoods] == tiny.near(expected)
        (record,) = [sample["records"]]
        assert record["log_odds"] != record["without_thinking"]["log_odds"]
        assert record["thought"] and record["thought_closed"]
        tokens = lm.tokenizer(thought, add_special_tokens=False).input_ids
        assert record["thought_tokens"] == len(tokens)
