"""Likelihoods under chat templates, against plain forward passes of tiny models behind the prompt
as the template renders it."""

from functools import cache, partial
from math import exp, log

import jinja2
import pytest
import torch
import transformers
from lm_eval.api.model import CachingLM
from lm_eval.models.huggingface import HFLM
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from lm_eval_bias.harness import compat, token_counts
from lm_eval_bias.harness.task import BiasTask
from lm_eval_bias.models.chat_logprobs import ChatLogprobs
from lm_eval_bias.models.prefix import PrefixLM
from lm_eval_bias.usage import UsageError
from tests.harness.test_conversation import DATA
from tests.models import tiny
from tests.rule_model import RuleLM, evaluate, load, rows_of
from tests.serving import chatting

ENDS = {"newline": "\n", "two newlines": "\n\n", "blank": " ", "token": "<s>", "word": ":"}


TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>\n{% endfor %}<assistant>"


def template(end):
    return f"{TURNS}{{{{ {end!r} }}}}"


def tokenizer(kind, end="\n"):
    """bytes: a token each. merging: and " a", " b". words: letters behind "▁", which stands before
    the first word of a text, too, as in Llama 2."""
    if kind == "bytes":
        made = tiny.tokenizer()
    else:
        blank = {"merging": "Ġ", "words": "▁"}[kind]
        letters = sorted({*pre_tokenizers.ByteLevel.alphabet(), "▁", "\n"})
        tokens = [*letters, f"{blank}a", f"{blank}b", "<s>", "<pad>", "</s>"]
        merges = [(blank, "a"), (blank, "b")]
        backend = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges))
        if kind == "merging":
            backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            backend.decoder = decoders.ByteLevel()
        else:
            backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
            backend.decoder = decoders.Metaspace(prepend_scheme="first")
        special = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>"}
        made = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    made.chat_template = template(end)
    return made


@cache
def llama():
    return tiny.model("Llama", vocab_size=270, max_position_embeddings=4096)


def next_tokens(tokenizer, prompt):
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.inference_mode():
        return llama()(ids).logits[0, -1].float().softmax(-1)


def after(tokenizer, prompt, letter):
    """P(the token of a letter) behind a prompt."""
    return float(next_tokens(tokenizer, prompt)[tokenizer.convert_tokens_to_ids(letter)])


def requests(*pairs, kind="loglikelihood"):
    return [compat.request(kind, {}, pair, i, "t", 0) for i, pair in enumerate(pairs)]


def in_chat(lm, *pairs):
    return [exp(value) for value, _ in lm.loglikelihood_in_chat(requests(*pairs))]


@pytest.mark.parametrize("kind", [HFLM, PrefixLM])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("of", ["bytes", "merging", "words"])
def test_an_answer_has_the_softmax_behind_the_rendered_prompt(of, end, kind):
    """Behind a lone blank also where " a" is one token, and where "a" alone has a blank before."""
    made = tokenizer(of, ENDS[end])
    lm = kind(llama(), tokenizer=made, batch_size=2)
    texts = ["Which one?", "And of these two?"]
    prompts = [lm.apply_chat_template([{"role": "user", "content": t}]) for t in texts]
    assert all(prompt.endswith(f"<assistant>{ENDS[end]}") for prompt in prompts)
    found = in_chat(lm, *[(prompt, letter) for prompt in prompts for letter in "ab"])
    assert found == pytest.approx(
        [after(made, prompt, letter) for prompt in prompts for letter in "ab"], rel=1e-4
    )


@pytest.mark.parametrize("kind", [HFLM, PrefixLM])
def test_the_tokens_of_an_answer_are_its_own(kind):
    lm = kind(llama(), tokenizer=tokenizer("bytes"))
    ask = getattr(lm, f"{token_counts.REQUEST}_in_chat")
    asked = requests(("<assistant>\n", "ab"), ("<assistant>:", "a"))
    assert [count for _, _, count in ask(asked)] == [2, 1]


def test_an_answer_that_no_tokens_spell_is_an_error():
    """A tokenizer without a token for "é" drops it."""
    backend = Tokenizer(models.BPE({"x": 0, " ": 1, " x": 2, "<s>": 3}, [(" ", "x")]))
    backend.decoder = decoders.Fuse()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")
    lm = HFLM(llama(), tokenizer=made)
    with pytest.raises(UsageError, match="no tokens that spell 'xé' behind a prompt that ends in"):
        in_chat(lm, ("xx ", "xé"))


def test_a_cache_holds_both_kinds_of_answers_apart(tmp_path):
    made = tokenizer("bytes")
    cached = CachingLM(HFLM(llama(), tokenizer=made), str(tmp_path / "cache.db"))
    pair = ("<assistant>\n", "a")
    with_newline = exp(cached.loglikelihood(requests(pair))[0][0])
    assert with_newline == pytest.approx(
        after(made, "<assistant>", "Ċ") * after(made, *pair), rel=1e-4
    )
    for _ in range(2):
        assert in_chat(cached, pair) == [pytest.approx(after(made, *pair), rel=1e-4)]
    assert exp(cached.loglikelihood(requests(pair))[0][0]) == with_newline


# ---- Masses of tasks


def serving(made):
    """A chat server with the softmax of the tiny model."""

    def answer(body):
        probabilities = next_tokens(
            made, made.apply_chat_template(body["messages"], tokenize=False)
        )
        shown = [
            {"token": made.decode([i]), "logprob": log(p)}
            for i, p in enumerate(probabilities.tolist()[: len(made)])
            if i not in made.all_special_ids
        ]
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "x"},
            "logprobs": {"content": [{"top_logprobs": shown}]},
        }
        usage = {"prompt_tokens": 9, "completion_tokens": 1}
        return {"model": "m", "choices": [choice], "usage": usage}

    return chatting(answer)


MASSES = {
    "hbb_ci": ("letter_mass", "ab"),
    "stereomap_original_likelihood": ("rating_mass", "12345"),
}


@pytest.mark.parametrize("end", ["newline", "blank"])
@pytest.mark.parametrize("kind", ["hf", "hf-prefix", "chat-logprobs"])
def test_the_mass_of_a_task_is_that_behind_the_prompt(kind, end, monkeypatch):
    made = tokenizer("bytes", ENDS[end])
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    of_model = partial(evaluate, limit=4, apply_chat_template=True, log_samples=True)
    tasks = MASSES if end == "newline" else ["hbb_ci"]
    for task in tasks:
        name, letters = MASSES[task]
        if kind == "chat-logprobs":
            with serving(made) as url:
                lm = ChatLogprobs(url, model="m", top_logprobs=300, prefill=False)
                results = of_model(lm, task)
            local = HFLM(llama(), tokenizer=made)
            prompts = [
                local.apply_chat_template(lm.create_message(s["arguments"][0]))
                for s in results["samples"][task]
            ]
        else:
            lm = {"hf": HFLM, "hf-prefix": PrefixLM}[kind](llama(), tokenizer=made)
            results = of_model(lm, task)
            prompts = [sample["arguments"][0][0] for sample in results["samples"][task]]
        expected = [sum(after(made, prompt, letter) for letter in letters) for prompt in prompts]
        assert len(prompts) == 4
        value = rows_of(results, task)[name, None]["value"]
        assert value == pytest.approx(100 * sum(expected) / 4, rel=1e-3), task


def test_the_mass_of_numbers_counts_each_number_once():
    """One token a digit, so P(a number from 0 to 100) is at most P(a digit)."""
    made, task = tokenizer("bytes"), "empathy_religion_likelihood_ci"
    lm = PrefixLM(llama(), tokenizer=made)
    results = evaluate(lm, task, limit=1, apply_chat_template=True, log_samples=True)
    prompt = results["samples"][task][0]["arguments"][0][0]
    assert prompt.endswith("<assistant>\n")
    rows = rows_of(results, task)
    numbers = sum(rows[name, None]["value"] for name in ("number_mass", "off_scale"))
    digits = [after(made, prompt, d) for d in "0123456789"]
    assert 0 < numbers <= 100 * sum(digits) * (1 + 1e-4)
    assert numbers > 50 * sum(digits[1:])


# ---- A thinking block that stays open


class Chat(RuleLM):
    """end: what its template writes behind the last turn. system: whether it takes, drops or
    refuses a system message."""

    def __init__(self, end="<assistant>\n", system="takes"):
        super().__init__(lambda *_: -1.0)
        self.end, self.system = end, system

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        if self.system == "refuses" and chat_history[0]["role"] == "system":
            raise jinja2.TemplateError("System role not supported")
        kept = [m for m in chat_history if self.system == "takes" or m["role"] != "system"]
        return "".join(f"<{m['role']}>{m['content'].strip()}</s>" for m in kept) + self.end

    @property
    def tokenizer_name(self):
        return "chat"


@pytest.fixture(scope="module")
def hbb():
    return load("hbb_ci")["tasks"]["hbb_ci"]


def build(task, lm, **options):
    """The first prompt of a task."""
    chat = {"apply_chat_template": True, "chat_template": lm.apply_chat_template}
    more = {"fewshot_as_multiturn": True, "tokenizer_name": "", **options}
    task.build_all_requests(limit=1, rank=0, world_size=1, **chat, **more)
    return task.instances[0].args[0]


OPEN = [
    "<think>\n",
    "</s><|im_start|>assistant\n<think>\n",
    "<｜Assistant｜><think>",
    "<think>\n</think>\n<think>\nOkay, so ",
    "<|start|>assistant<|channel|>analysis<|message|>",
    "<reasoning>\n",
    "[/INST][THINK]",
    "<seed:think>",
    "[|assistant|]<thought>\n",
    "◁think▷",
]
CLOSED = [
    "<think>\n\n</think>\n\n",
    "</think>",
    "<|start|>assistant",
    "<|start|>assistant<|channel|>final<|message|>",
    "<seed:think></seed:think>",
    "[THINK][/THINK]",
    "",
]


@pytest.mark.parametrize("end", OPEN)
def test_likelihoods_behind_an_open_thinking_block_are_refused(end, hbb):
    with pytest.raises(UsageError) as refused:
        build(hbb, Chat(end))
    assert str(refused.value).startswith("hbb_ci: the model's chat template opens a thinking block")
    assert "Run hbb_generate with --metadata reasoning=true." in str(refused.value)


@pytest.mark.parametrize("end", CLOSED)
def test_a_closed_block_and_none_are_not(end, hbb):
    assert build(hbb, Chat(end)).endswith(end)


def test_a_template_with_the_switch_is_named_it(hbb):
    """As Qwen3's, whose block is empty with enable_thinking=False."""
    made = tokenizer("bytes")
    made.chat_template = (
        TURNS + "{% if enable_thinking is defined and enable_thinking is false %}"
        "{{ '<think>\n\n</think>\n\n' }}{% else %}{{ '<think>\n' }}{% endif %}"
    )
    with pytest.raises(UsageError, match="Set enable_thinking=False in --model_args"):
        build(hbb, HFLM(llama(), tokenizer=made))
    lm = HFLM(llama(), tokenizer=made, enable_thinking=False)
    assert build(hbb, lm).endswith("</think>\n\n")


def test_a_model_that_is_to_think_is_refused_where_its_template_leaves_it_to_the_model(hbb):
    """As Qwen3's with enable_thinking=True, which ends in "assistant" and a newline."""
    lm = HFLM(llama(), tokenizer=tokenizer("bytes"), enable_thinking=True, think_end_token="</t>")
    with pytest.raises(UsageError, match=r"lets the model think first.* Set enable_thinking=False"):
        build(hbb, lm)


@pytest.mark.parametrize("end", ["", "<assistant>\n"])
def test_an_item_that_quotes_the_word_is_asked(end):
    config = {"task": "mine", "turns": [{"user": "Who writes <think>"}]}
    task = BiasTask({**config, "doc_to_choice": ["a", "b"], **DATA})
    assert "<think>" in build(task, Chat(end))


def test_the_last_turn_of_a_conversation_is_looked_at_before_the_first_is_asked():
    """Its template thinks only behind a second question."""

    class Later(Chat):
        def apply_chat_template(self, chat_history, **_):
            self.end = "<assistant>" + "<think>\n" * (len(chat_history) > 1)
            return super().apply_chat_template(chat_history)

    turns = [{"user": "Why?"}, {"user": "Is {{answers[0]}} much?"}]
    scored = BiasTask({"task": "mine", "turns": turns, "doc_to_choice": ["yes", "no"], **DATA})
    with pytest.raises(UsageError, match=r"mine: .* Run a task that generates with"):
        build(scored, Later())
    build(BiasTask({"task": "mine", "turns": turns, **DATA}), Later())


# ---- A template without a system role


@pytest.mark.parametrize("system", ["takes", "drops", "refuses"])
def test_the_system_message_reaches_the_model(system, hbb):
    prompt = build(hbb, Chat(system=system), system_instruction="You are old.")
    start = {"takes": "<system>You are old.</s><user>"}.get(system, "<user>You are old.\n\n")
    assert prompt.startswith(f"{start}Answer the questions based on the context")


def test_the_description_of_a_task_does_too():
    task = load("hbb_ci")["tasks"]["hbb_ci"]
    task.config.description = "Be brief."
    prompt = build(task, Chat(system="drops"), system_instruction="You are old.")
    assert prompt.startswith("<user>You are old.\n\nBe brief.\n\nAnswer the questions")
