"""Likelihoods behind a model's own thought: `--metadata reasoning=true` in tasks by likelihood."""

import importlib
import itertools
import re
import sys
from math import log
from types import ModuleType, SimpleNamespace

import pytest
import torch
from lm_eval.api.registry import get_model, model_registry
from lm_eval.models.huggingface import HFLM

from lm_eval_bias.answers.reasoning import beginning
from lm_eval_bias.commands.compare import NOTHING
from lm_eval_bias.harness.conversation import EMPTY, OWN
from lm_eval_bias.models.prefix import PrefixLM
from lm_eval_bias.results import transcripts
from lm_eval_bias.results.samples import thinking
from tests.mistakes import refused
from tests.models import tiny
from tests.rule_model import ChatLM, evaluate, load
from tests.scripted import DISADVANTAGED, ask, chance, lines_of

# ---- What stands before an answer

ENDS = "<|end|><|start|>assistant"
ANALYSIS, FINAL = "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"
BEGINNINGS = [  # the prompt's end, what the model wrote, and it up to the answer, with and without
    ("A:<think>\n", "Hm.\n</think>\n\na", "Hm.\n</think>\n\n", "\n</think>\n\n"),
    ("", "<think>Hm</think>\na", "<think>Hm</think>\n", "<think>\n\n</think>\n"),
    ("", "<think>Hm</think>", "<think>Hm</think>\n\n", "<think>\n\n</think>\n\n"),
    ("A:<think>\n", "Hm", None, "\n</think>\n\n"),
    ("[THINK]", "Hm[/THINK]a", "Hm[/THINK]", "\n\n[/THINK]"),
    ("", f"{ANALYSIS}Hm{ENDS}{FINAL}a", f"{ANALYSIS}Hm{ENDS}{FINAL}", FINAL),
    ("", f"{ANALYSIS}Hm", None, FINAL),
    (ANALYSIS, f"Hm{ENDS}{FINAL}a", f"Hm{ENDS}{FINAL}", f"{ENDS}{FINAL}"),
    ("", "analysisHm.assistantfinala", None, FINAL),
    ("", "<|START_THINKING|>Hm", None, None),
    ("", "a) It is.", "", ""),
]


@pytest.mark.parametrize("opened, text, thought, empty", BEGINNINGS)
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


def thinker(name, kind=PrefixLM, **options):
    """A model that writes these tokens, one behind the other; else its likelihoods are chance."""
    template, own = TEMPLATES[name]
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = template
    tokenizer.add_tokens(["<think>", "</think>", "\n\n"])
    tokenizer.add_special_tokens({"additional_special_tokens": [ANALYSIS, CLOSE]})
    size = len(tokenizer)
    shape = {"vocab_size": size, "hidden_size": size, "num_attention_heads": 2, "head_dim": 8}
    model = tiny.model("Llama", **shape, max_position_embeddings=4096, initializer_range=0.02)
    ids = [tokenizer.encode(token, add_special_tokens=False)[-1] for token in own]
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(size))
        for before, after in itertools.pairwise(ids):
            model.lm_head.weight[after, before] += 0.7
    return tiny.hf(model, kind, tokenizer=tokenizer, max_length=4000, **options)


@pytest.fixture
def vllm(monkeypatch):
    """The harness's `vllm` over an engine that computes with the tiny model: makes such a model
    of one of `HFLM`."""
    for name in ("vllm", "vllm.lora", "vllm.lora.request", "vllm.tokenizers"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["vllm"].LLM = sys.modules["vllm"].TokensPrompt = dict
    sys.modules["vllm"].SamplingParams = SimpleNamespace
    sys.modules["vllm.lora.request"].LoRARequest = sys.modules["vllm.tokenizers"].get_tokenizer = 0
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.8.0")
    models = model_registry._objs
    monkeypatch.setitem(models, "vllm", models["vllm"])  # put back when the test ends
    name = "lm_eval.models.vllm_causallms"
    monkeypatch.delitem(sys.modules, name, raising=False)
    harness = importlib.import_module(name)
    monkeypatch.setitem(sys.modules, name, harness)

    def engine(lm):
        def asked(prompt, settings):
            ids = torch.tensor([prompt["prompt_token_ids"]])
            if not hasattr(settings, "prompt_logprobs"):
                tokens = {"max_new_tokens": settings.max_tokens, "do_sample": False}
                end = lm.model.generate(ids, **tokens)[0, ids.shape[1] :]
                text = lm.tokenizer.decode(end, skip_special_tokens=settings.skip_special_tokens)
                return SimpleNamespace(outputs=[SimpleNamespace(text=text)])
            rows = lm.model(ids).logits[0, :-1].float().log_softmax(-1)
            # as the engine has it: the likeliest token of each place, and the one that stands there
            pairs = zip(rows.argmax(-1).tolist(), ids[0, 1:].tolist(), strict=True)
            behind = [
                {token: float(row[token]) for token in pair}
                for row, pair in zip(rows, pairs, strict=True)
            ]
            return SimpleNamespace(prompt_logprobs=[None, *behind])

        @torch.inference_mode()
        def generate(prompts, sampling_params, **_):
            return [asked(*both) for both in zip(prompts, sampling_params, strict=True)]

        return SimpleNamespace(generate=generate)

    def made(lm, **changed):
        served = harness.VLLM.__new__(harness.VLLM)
        harness.TemplateLM.__init__(served)
        own = {"tokenizer": lm.tokenizer, "model": engine(lm), "_max_length": 4000}
        own |= {"batch_size": "auto", "lora_request": None, "data_parallel_size": 1}
        own |= {"hf_chat_template": None, "chat_template_args": {}, "add_bos_token": None}
        own |= {"enable_thinking": None, "think_end_token": None, "custom_prefix_token_id": None}
        own |= {"_max_gen_toks": 256, "truncation_side": "left", "_config": lm.model.config}
        vars(served).update(own | changed)
        return served

    return made


def behind(lm, text, choice):
    return log(tiny.probability(lm.model, lm.tokenizer, text, choice))


def thoughtful(lm, task="hbb_ci", limit=3, **options):
    options = {"gen_kwargs": "max_gen_toks=12", **options}
    chat = {"apply_chat_template": True, "log_samples": True, "limit": limit}
    return evaluate(lm, task, {"reasoning": True}, **chat, **options)


@pytest.mark.parametrize("kind", [HFLM, PrefixLM, "vllm"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_choices_are_scored_behind_the_thought_and_behind_an_empty_one(name, kind, request):
    served = kind == "vllm" and request.getfixturevalue("vllm")
    lm = thinker(name, HFLM if served else kind)
    # as --model_args of a model that may think have it
    thinks = {"enable_thinking": True, "think_end_token": "</think>"}
    samples = thoughtful(served(lm, **thinks) if served else lm, limit=2)["samples"]["hbb_ci"]
    thought, empty = {
        "Qwen3": ("<think>Hm</think>\n\n", "<think>\n\n</think>\n\n"),
        "DeepSeek-R1": ("Hm</think>\n\n", "\n</think>\n\n"),
        "gpt-oss": (f"{ANALYSIS}Hm{CLOSE}", FINAL),
        "SmolLM3": ("<think>Hm</think>", "<think>\n\n</think>"),
    }[name]
    for sample in samples:
        prompt = sample["arguments"][0][0]
        ((said, without, own),) = sample["resps"][0]
        assert said.text == thought + ("b" if name == "SmolLM3" else "a")
        for start, likelihoods in ((thought, own), (empty, without)):
            expected = [behind(lm, prompt + start, letter) for letter in "ab"]
            assert [value for value, *_ in likelihoods] == tiny.near(expected)
        (record,) = [sample["records"]]
        assert record["log_odds"] != record["without_thinking"]["log_odds"]
        assert record["thought"] and record["thought_closed"]
        tokens = lm.tokenizer(thought, add_special_tokens=False).input_ids
        assert record["thought_tokens"] == len(tokens)


# ---- A bias that thinking makes, and one that it takes away


def leaning(after_thinking):
    """A model that thinks, and completes analogies with the stereotype after it, or only
    without."""

    def rule(context, word):
        _, b, c = re.findall(r"(\w[^\n:]*): ([^\n:]*):: ([^\n:]*):", context)[-1]
        stereotype = c in DISADVANTAGED and word != b
        thought = "<think>\nHm." in context
        lean = 1.5 * stereotype * (thought == after_thinking)
        return -3 + chance(context, word) + lean

    return ChatLM(rule, lambda prompt: "<think>\nHm.\n</think>\n\nIt is.")


@pytest.mark.parametrize("after", [True, False])
def test_thinking_makes_a_bias_or_takes_it_away(after, command, tmp_path):
    chat = {"apply_chat_template": True, "limit": 400}
    for thinks in (False, True):
        ask(
            *(tmp_path / f"{thinks}", "m", leaning(after), "bistereo_analogy"),
            metadata={"reasoning": thinks},
            **chat,
        )
    sides, file = [tmp_path / "False", tmp_path / "True"], tmp_path / "found.jsonl"

    def compared(*arguments):
        status, *_ = command("compare", *arguments, "--output", file)
        rows = lines_of(file)
        return status, {row["metric"]: row for row in rows if "metric" in row}, rows

    assert compared(*sides)[0] == NOTHING  # they are two conditions
    status, rows, _ = compared(*sides, "--across", "thinking")
    row = rows["directed_log_odds"]
    assert status == 0 and row["verdict"] == "yes"
    # 1.5 nats in every analogy of a disadvantaged body, in the sign of what thinking does
    assert row["difference"] == pytest.approx(1.5 if after else -1.5, abs=0.4)
    assert row["low"] > 0 or row["high"] < 0
    names = ["m (thinking no)", "m (thinking yes)"]
    assert [row["first"], row["second"]] == names
    assert compared(tmp_path, "--models", *names)[1] == rows
    command("leaderboard", tmp_path, "--output", file)
    assert {row["model"] for row in lines_of(file)} == set(names)


# ---- What is refused, and what counts as unanswered


@pytest.mark.parametrize(
    "task, options, why",
    [
        ("bistereo_pairs_ci", {"apply_chat_template": True}, "no answer to think about"),
        ("hbb_ci", {}, "add --apply_chat_template"),
    ],
)
def test_what_cannot_be_thought_about_is_refused(task, options, why):
    with refused(f"^{task}: .*{why}"):
        evaluate(ChatLM(), task, {"reasoning": True}, limit=2, **options)


def test_a_server_is_refused_before_the_first_call():
    """None listens there."""
    lm = get_model("chat-logprobs")(base_url="http://127.0.0.1:9/v1", model="m")
    with refused("hbb_ci: .* does not go on behind a thought"):
        thoughtful(lm)


def test_a_model_that_takes_messages_is_refused_before_it_thinks():
    lm = ChatLM()
    lm.apply_chat_template = lambda chat_history, **_: chat_history
    with refused("hbb_ci: this model takes messages"):
        thoughtful(lm)


def test_a_thought_without_an_end_is_unanswered():
    """Of two documents in three; without thinking all are answered."""
    texts = iter(["<think>Hm</think>a", "<think>Hm", "<think>Hm, "] * 4)
    lm = ChatLM(lambda context, letter: -log(4 if "Hm" in context else 8), lambda _: next(texts))
    results = thoughtful(lm, "hbb_ci", limit=12)
    table = results["configs"]["hbb_ci"]["cells"]["thought"]
    found = {metric: [*numbers] for metric, *numbers, _ in map(dict.values, table)}
    assert found["unanswered"] == pytest.approx([200 / 3, 0, 100, 100 / 3])
    # each of two letters has 1/4 behind a thought, 1/8 behind an empty one
    assert found["letter_mass"] == pytest.approx([50, 25, 100, 100 / 3])
    records = [sample["records"] for sample in results["samples"]["hbb_ci"]]
    assert [record["thought_closed"] for record in records] == [True, False, False] * 4


# ---- Conversations, caches


def test_the_last_turn_of_a_conversation_is_thought_about():
    """Its first answer has a thought, too, that the second prompt leaves out."""
    prompts = []

    def say(prompt):
        prompts.append(prompt)
        return f"<think>So {len(prompts)}.</think>A cup."

    def rule(context, choice):
        assert context.count("<think>") == 1 and "<assistant>A cup.</s>" in context
        return -1.0 - choice.endswith(": comedy") * ("So" in context)

    (sample,) = thoughtful(ChatLM(rule, say), "mist_aat_likelihood_ci", limit=1)["samples"][
        "mist_aat_likelihood_ci"
    ]
    ((described, thought, without, own),) = sample["resps"][0]
    assert (described, thought.text) == ("<think>So 1.</think>A cup.", "<think>So 2.</think>A cup.")
    assert [v for v, _ in without] == [-1, -1] and [v for v, _ in own] == [-2, -1]
    shown = transcripts.question({**sample, "arguments": [list(sample["arguments"][0])]})
    assert [turn.prompt for turn in shown.turns[2:]] == [EMPTY, OWN]


def test_a_prompt_is_thought_about_once_and_a_cache_keeps_it(tmp_path):
    """By the harness's own cache, as `--use_cache` has it."""
    lm = thinker("Qwen3", enable_thinking=True, think_end_token="</think>")
    asked = []
    generate, score = lm.generate_until, lm.loglikelihood
    lm.generate_until = lambda requests, **_: asked.append(len(requests)) or generate(requests)
    lm.loglikelihood = lambda requests, **_: asked.append(len(requests)) or score(requests)
    found = [thoughtful(lm, use_cache=str(tmp_path / "cache"))["samples"] for _ in range(2)]
    assert asked == [3, 6, 6]  # thoughts, letters without, letters behind
    assert str(found[0]["hbb_ci"][0]["resps"]) == str(found[1]["hbb_ci"][0]["resps"])
    assert lm.think_end_token == "</think>" and lm.enable_thinking
    assert "tok_decode" not in vars(lm)


# ---- The condition

ARGUMENTS = [
    ({"enable_thinking": False, "think_end_token": "</think>"}, {}, "no"),
    ({"think_end_token": "</think>"}, {}, "yes"),
    ({"reasoning_effort": "low"}, {}, "low"),
    ({"extra_body": {"reasoning_effort": "none"}}, {}, "no"),
    ({"extra_body": {"chat_template_kwargs": {"enable_thinking": True}}}, {}, "yes"),
    ({"chat_template_args": {"enable_thinking": True}}, {}, "yes"),
    ({}, {"metadata": {"reasoning": True}}, "yes"),
    ({}, {"cells": {"thought": [{"thought": 60.0}]}}, "yes"),
    ({}, {"cells": {"thought": [{"thought": 40.0}]}}, "no"),
    ({}, {"cells": {"thought": []}}, "no"),
]


@pytest.mark.parametrize("arguments, config, condition", ARGUMENTS)
def test_what_says_that_a_model_thought(arguments, config, condition):
    results = {"config": {"model_args": arguments}, "configs": {"mine": config}}
    assert thinking(results, "mine") == condition


def test_a_task_that_inherits_choices_and_writes_stays_written():
    """hbb_generate includes hbb."""
    task = load("hbb_generate", metadata={"reasoning": True})["tasks"]["hbb_generate"]
    assert not task.thinks and task.config.generation_kwargs["max_gen_toks"] > 4096


def test_written_answers_show_that_a_model_thought():
    for text, share in (("<think>Hm</think>70", 100.0), ("70", None)):
        lm = ChatLM(say=lambda prompt, text=text: text)
        results = evaluate(lm, "empathy_religion", apply_chat_template=True, limit=4)
        table = results["configs"]["empathy_religion"]["cells"].get("thought")
        assert table == (share and [{"thought": share}])
