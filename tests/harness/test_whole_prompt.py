"""Likelihoods under chat templates, against plain forward passes of tiny models behind the prompt
as the template renders it."""

from functools import cache
from math import exp

import pytest
import transformers
from lm_eval.api.model import CachingLM
from lm_eval.models.huggingface import HFLM
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from lm_eval_bias.harness.task import BiasTask
from lm_eval_bias.models.prefix import PrefixLM
from tests.harness.test_conversation import DATA
from tests.mistakes import refused
from tests.models import tiny
from tests.rule_model import ChatLM, evaluate, load, rows_of

ENDS = {"newline": "\n", "two newlines": "\n\n", "blank": " ", "token": "<s>", "word": ":"}


TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>\n{% endfor %}<assistant>"


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
    made.chat_template = f"{TURNS}{{{{ {end!r} }}}}"
    return made


@cache
def llama():
    return tiny.model("Llama", vocab_size=270, max_position_embeddings=4096)


def after(tokenizer, prompt, letter):
    return tiny.probability(llama(), tokenizer, prompt, letter)


def requests(*pairs):
    return tiny.asked("loglikelihood", *pairs)


def in_chat(lm, *pairs):
    return [exp(value) for value, _ in tiny.scored(lm, *pairs, whole_prompt=True)]


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
    pairs = ("<assistant>\n", "ab"), ("<assistant>:", "a")
    answers = tiny.scored(lm, *pairs, whole_prompt=True, count_tokens=True)
    assert [answer.tokens for answer in answers] == [2, 1]


def test_an_answer_that_no_tokens_spell_is_an_error():
    """A tokenizer without a token for "é" drops it."""
    backend = Tokenizer(models.BPE({"x": 0, " ": 1, " x": 2, "<s>": 3}, [(" ", "x")]))
    backend.decoder = decoders.Fuse()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")
    lm = HFLM(llama(), tokenizer=made)
    with refused("no tokens that spell 'xé' behind a prompt that ends in"):
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


@pytest.mark.parametrize(
    "task, name, letters",
    [("hbb_ci", "letter_mass", "ab"), ("stereomap_original_likelihood", "rating_mass", "12345")],
)
def test_the_mass_of_a_task_is_that_behind_the_prompt(task, name, letters):
    lm = HFLM(llama(), tokenizer=(made := tokenizer("bytes")))
    results = evaluate(lm, task, limit=4, apply_chat_template=True, log_samples=True)
    prompts = [sample["arguments"][0][0] for sample in results["samples"][task]]
    expected = [sum(after(made, prompt, letter) for letter in letters) for prompt in prompts]
    value = rows_of(results, task)[name, None]["value"]
    assert len(prompts) == 4 and value == pytest.approx(100 * sum(expected) / 4, rel=1e-3)


# ---- A thinking block that stays open


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
    "<think>\n</think>\n<think>\nOkay, so ",
    "<|start|>assistant<|channel|>analysis<|message|>",
    "[/INST][THINK]",
]
CLOSED = ["<think>\n\n</think>\n\n", "</think>", "<|start|>assistant", ""]


@pytest.mark.parametrize("end", OPEN)
def test_likelihoods_behind_an_open_thinking_block_are_refused(end, hbb):
    with refused(
        r"^hbb_ci: the model's chat template opens a thinking block[\s\S]*"
        r"Let it think first with --metadata reasoning=true\.\Z"
    ):
        build(hbb, ChatLM(end=end))


@pytest.mark.parametrize("end", CLOSED)
def test_a_closed_block_and_none_are_not(end, hbb):
    assert build(hbb, ChatLM(end=end)).endswith(end)


def test_a_template_with_the_switch_is_named_it(hbb):
    """As Qwen3's, whose block is empty with enable_thinking=False, and without it is left open or,
    with enable_thinking=True, left to the model."""
    made = tokenizer("bytes")
    made.chat_template = (
        TURNS + "{% if enable_thinking is defined and enable_thinking is false %}"
        "{{ '<think>\n\n</think>\n\n' }}{% elif not enable_thinking %}{{ '<think>\n' }}{% endif %}"
    )
    for more, why in (
        ({}, "opens a thinking block"),
        ({"enable_thinking": True, "think_end_token": "</t>"}, "lets the model think first"),
    ):
        with refused(f"{why}.* Let it .* or set enable_thinking=False in --model_args"):
            build(hbb, HFLM(llama(), tokenizer=made, **more))
    lm = HFLM(llama(), tokenizer=made, enable_thinking=False)
    assert build(hbb, lm).endswith("</think>\n\n")


@pytest.mark.parametrize("end", ["", "<assistant>\n"])
def test_an_item_that_quotes_the_word_is_asked(end):
    config = {"task": "mine", "turns": [{"user": "Who writes <think>"}]}
    task = BiasTask({**config, "doc_to_choice": ["a", "b"], **DATA})
    assert "<think>" in build(task, ChatLM(end=end))


def test_the_last_turn_of_a_conversation_is_looked_at_before_the_first_is_asked():
    """Its template thinks only behind a second question."""

    class Later(ChatLM):
        def apply_chat_template(self, chat_history, **_):
            self.end = "<assistant>" + "<think>\n" * (len(chat_history) > 1)
            return super().apply_chat_template(chat_history)

    turns = [{"user": "Why?"}, {"user": "Is {{answers[0]}} much?"}]
    scored = BiasTask({"task": "mine", "turns": turns, "doc_to_choice": ["yes", "no"], **DATA})
    with refused(r"mine: .* Let it think first with"):
        build(scored, Later())
    build(BiasTask({"task": "mine", "turns": turns, **DATA}), Later())


# ---- A template without a system role


@pytest.mark.parametrize("system", ["takes", "drops", "refuses"])
def test_the_system_message_and_the_description_reach_the_model(system):
    task = load("hbb_ci")["tasks"]["hbb_ci"]
    task.config.description = "Be brief."
    prompt = build(task, ChatLM(system=system), system_instruction="You are old.")
    start, end = {"takes": ("<system>", "</s><user>")}.get(system, ("<user>", "\n\n"))
    assert prompt.startswith(f"{start}You are old.\n\nBe brief.{end}Answer the questions based on")
