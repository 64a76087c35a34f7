"""Requests of several turns: with models that answer by rule, with a tiny model, and the example of
docs/how-to/conversations.md."""

import logging
import re
from functools import partial
from math import exp

import datasets
import pytest
import torch
from lm_eval.models.huggingface import HFLM
from lm_eval.models.openai_completions import LocalChatCompletion

from lm_eval_bias.harness import compat, conversation as module
from lm_eval_bias.harness.conversation import prompt, question, read_turns
from lm_eval_bias.harness.task import BiasTask
from lm_eval_bias.measure import Counted, Measure
from lm_eval_bias.models.prefix import PrefixLM
from tests.mistakes import refused
from tests.models import tiny
from tests.rule_model import ChatLM, evaluate
from tests.scripted import write_lines
from tests.serving import chatting


class EchoLM(ChatLM):
    """Answers every prompt with how many words it has; keeps what it was asked."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def generate_until(self, requests, **_):
        self.calls.append([r.args for r in requests])
        return [f" {len(str(r.args[0]).split())} words" for r in requests]

    def loglikelihood(self, requests, **_):
        self.calls.append([r.args for r in requests])
        return [(-float(len(r.args[1])), False) for r in requests]

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        return "".join(f"<{m['role']}>{m['content']}" for m in chat_history) + "<assistant>"


def request(lm, turns, doc=None, system=None, chat=False, index=0):
    doc = doc or {}
    turns = [
        {
            **({} if "choices" in turn else {"generation_kwargs": {"max_gen_toks": 5}}),
            **{key: value for key, value in turn.items() if key != "user"},
            **question(turn["user"], doc),
        }
        for turn in turns
    ]
    plan = {"system": system, "chat": chat, "turns": turns}
    first = prompt(plan, [{"role": "user", "content": turns[0]["user"]}], lm.apply_chat_template)
    return compat.request("conversation", doc, (first, plan), 0, "task", index)


TWO = [{"user": "Describe {{thing}}."}, {"user": "Is {{answers[0]}} much?"}]


CHOICES = [{"user": "a"}, {"user": "b", "choices": ["short", "longer"]}]


def test_turn_1_of_all_goes_first_then_turn_2_of_all():
    lm = EchoLM()
    things = [{"thing": "a cup"}, {"thing": "an old key"}]
    answers = lm.conversation([request(lm, TWO, doc, index=i) for i, doc in enumerate(things)])
    # "Q1: Describe a cup. A1:" has five words, with " 5 words" seven, with "Q2: Is 5 words much?
    # A2:" thirteen
    assert [[prompt for prompt, _ in call] for call in lm.calls] == [
        ["Q1: Describe a cup.\nA1:", "Q1: Describe an old key.\nA1:"],
        [
            "Q1: Describe a cup.\nA1: 5 words\nQ2: Is 5 words much?\nA2:",
            "Q1: Describe an old key.\nA1: 6 words\nQ2: Is 6 words much?\nA2:",
        ],
    ]
    assert answers == [[" 5 words", " 13 words"], [" 6 words", " 14 words"]]


def test_conversations_of_different_length_with_settings_of_their_own_and_none_at_all():
    """A plain transcript stops at the next question."""
    lm = EchoLM()
    first = {"user": "a", "generation_kwargs": {"until": "x", "max_gen_toks": 3}}
    answers = lm.conversation([request(lm, [{"user": "a"}]), request(lm, [first, {"user": "b"}])])
    assert [len(a) for a in answers] == [1, 2]
    assert lm.calls == [
        [
            ("a", {"until": [], "max_gen_toks": 5}),
            ("Q1: a\nA1:", {"until": ["x", "\nQ2:"], "max_gen_toks": 3}),
        ],
        [("Q1: a\nA1: 3 words\nQ2: b\nA2:", {"until": ["\nQ3:"], "max_gen_toks": 5})],
    ]
    assert lm.conversation([]) == []


def test_a_last_turn_by_likelihood():
    lm = EchoLM()
    (answers,) = lm.conversation([request(lm, CHOICES)])
    assert answers == [" 3 words", [(-6.0, False), (-7.0, False)]]
    second = "Q1: a\nA1: 3 words\nQ2: b\nA2:"
    assert lm.calls[1] == [(second, " short"), (second, " longer")]
    lm.conversation([request(lm, CHOICES, chat=True)])
    assert lm.calls[-1][0] == ("<user>a<assistant>1 words<user>b<assistant>", "short")


ALTERNATING = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate user/assistant') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_HISTORY = (
    "{% if messages | length > 1 %}{{ raise_exception('one message only') }}{% endif %}"
    "{{ messages[0].content }}"
)


@pytest.fixture(scope="module")
def made():
    return tiny.model("Llama", max_position_embeddings=2048), tiny.tokenizer()


@pytest.mark.parametrize("kind", [HFLM, PrefixLM])
@pytest.mark.parametrize("chat", [False, True])
def test_a_real_chat_template_that_knows_no_system_role(made, kind, chat, caplog):
    """Against greedy continuations of the prompts that a person would write, one at a time."""
    model, tokenizer = made
    tokenizer.chat_template = ALTERNATING
    lm = kind(model, tokenizer=tokenizer, batch_size=2)
    requests = [
        request(lm, TWO, {"thing": thing}, "You are old.", chat, i)
        for i, thing in enumerate(("a cup", "a key", "the old road"))
    ]
    with caplog.at_level(logging.WARNING):
        answers = lm.conversation(requests)
    assert [len(a) for a in answers] == [2, 2, 2] and "removing the system role" not in caplog.text
    if chat:
        first = "<user>You are old.\n\nDescribe a cup.<assistant>"
        second = f"{first}{{0}}<user>Is {{0}} much?<assistant>"
    else:
        first = "You are old.\n\nQ1: Describe a cup.\nA1:"
        second = f"{first} {{0}}\nQ2: Is {{0}} much?\nA2:"
    assert answers[0][0] == continued(model, tokenizer, first)
    second = second.format(answers[0][0].strip())
    assert answers[0][1] == continued(model, tokenizer, second)


def continued(model, tokenizer, prompt):
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.inference_mode():
        out = model.generate(ids, max_new_tokens=5, do_sample=False)
    return tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)


@pytest.mark.parametrize("kind", [HFLM, PrefixLM])
@pytest.mark.parametrize("at_a_time", [25, 50_000])
def test_choices_with_a_real_model_all_at_once_or_in_parts(made, kind, at_a_time, monkeypatch):
    """One token a byte: P(" 8") and P(" 80") from the model's own next-token probabilities."""
    model, tokenizer = made
    monkeypatch.setattr(module, "SCORED_AT_A_TIME", at_a_time)
    choices = ["7", "8", *(f"8{d}" for d in range(10))]
    lm = kind(model, tokenizer=tokenizer, batch_size=4)
    questions = ["How much?", "And she?", "How many of them?", "How old?", "Who?"]
    requests = [
        request(lm, [{"user": q, "choices": choices}], index=i) for i, q in enumerate(questions)
    ]

    probability = partial(tiny.probability, model, tokenizer)
    for text, (scored,) in zip(questions, lm.conversation(requests), strict=True):
        space, seven, eight = (
            probability(text + before, token)
            for before, token in (("", "Ġ"), (" ", "7"), (" ", "8"))
        )
        digits = [probability(f"{text} 8", str(digit)) for digit in range(10)]
        assert [exp(value) for value, _ in scored] == pytest.approx(
            [space * p for p in (seven, eight, *(eight * p for p in digits))], rel=1e-3
        )


def test_a_template_that_refuses_the_conversation_ends_with_one_line(made):
    model, tokenizer = made
    tokenizer.chat_template = NO_HISTORY
    lm = HFLM(model, tokenizer=tokenizer)
    with refused("chat template refuses a conversation of user, assistant, user: one message only"):
        lm.conversation([request(lm, TWO, {"thing": "it"}, chat=True)])


def test_the_harnesss_api_model_holds_a_conversation_and_gives_no_likelihoods():
    """Answers are the roles of the messages, and once nothing, as of a content filter."""

    def roles(body):
        if "a key" in body["messages"][-1]["content"]:
            return None
        return " ".join(message["role"] for message in body["messages"])

    with chatting(roles) as address:
        lm = LocalChatCompletion(base_url=address, model="any", num_concurrent=2, max_retries=1)
        requests = [
            request(lm, TWO, {"thing": thing}, system="Be brief.", chat=True, index=i)
            for i, thing in enumerate(("a cup", "a key"))
        ]
        answers = lm.conversation(requests)
        with refused("takes messages, not text, so it gives no likelihoo"):
            lm.conversation([request(lm, CHOICES, chat=True)])
    second = "system user assistant user"
    assert answers == [["system user", second], ["", second]]


@pytest.mark.parametrize(
    "turns, message",
    [
        (None, "expected `turns`, a list with at least one turn, found None"),
        ([], "at least one turn"),
        ([{"user": "a"}, {"text": "b"}], "turn 2: expected `user`, the text of the question"),
        ([{"user": "a", "until": ["x"]}], "turn 1: expected .*, found .*'until'"),
        ([{"user": "Was it {{answers[0]}}?"}], "turn 1: it has no earlier answers to quote"),
    ],
)
def test_a_mistake_in_the_turns_says_where(turns, message):
    with refused(message):
        read_turns("mine", turns)


DATA = {
    "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list([{"x": 1}])},
    "test_split": "test",
    "request": "turns",
    "measure": Measure(lambda doc, results: {}, Counted(lambda records: {}, {}), []),
}


@pytest.fixture
def example(root, here):
    """Runs the files of docs/how-to/conversations.md as written, on questions of our own."""
    text = (root / "docs" / "how-to" / "conversations.md").read_text()
    blocks = dict(re.findall(r"```(?:yaml|python)\n# (\S+)\n(.*?)```", text, re.DOTALL))
    assert set(blocks) == {"second_thoughts.yaml", "second_thoughts.py"}
    for name, content in blocks.items():
        (here / name).write_text(content)
    questions = [{"question": q} for q in ("What is red?", "Who is it?", "And now?")]
    write_lines(here / "questions.jsonl", questions)
    return partial(evaluate, task="second_thoughts", folder=here, log_samples=True)


def test_the_documented_example_runs(example):
    results = example(EchoLM())
    # the second prompt is longer than the first, so no answer is kept
    assert results["results"]["second_thoughts"]["kept,none"] == 0
    sample = results["samples"]["second_thoughts"][0]
    # "Q1: What is red? Answer in one word. A1:" has nine words, " 9 words" two, "Q2: Are you sure
    # that it is 9 words? Answer in one word. A2:" fourteen
    assert sample["resps"] == [[[" 9 words", " 25 words"]]]
    first, plan = sample["arguments"][0]
    assert first == "Q1: What is red? Answer in one word.\nA1:"
    one, two = plan["turns"]
    assert one["user"] == "What is red? Answer in one word."
    assert two["user_template"].startswith("Are you sure that it is {{answers[0]}}?")
    turns = results["configs"]["second_thoughts"]["turns"]
    assert turns[0]["generation_kwargs"] == {"max_gen_toks": 8}


def test_options_of_the_command_line_reach_every_turn(example):
    lm = EchoLM()
    example(
        lm,
        gen_kwargs="max_gen_toks=3,temperature=0.5,do_sample=True",
        system_instruction="Be brief.",
        apply_chat_template=True,
        limit=2,
    )
    assert [len(call) for call in lm.calls] == [2, 2]
    expected = {"max_gen_toks": 3, "temperature": 0.5, "do_sample": True}
    for text, settings in (arguments for call in lm.calls for arguments in call):
        assert expected.items() <= settings.items()
        assert text.startswith("<system>Be brief.<user>")


def test_the_yaml_of_a_task_asks_for_choices_and_has_no_examples():
    config = {"task": "mine", "turns": [{"user": "a"}]}
    task = BiasTask({**config, "doc_to_choice": ["1", "10"], **DATA})
    built = task.construct_requests({"x": 1}, "", metadata=("mine", 0, 1))
    assert built.args[1]["turns"] == [{"user": "a", "choices": ["1", "10"]}]
    with refused("mine: it takes no few-shot examples, found num_fewshot=2"):
        BiasTask({**config, "num_fewshot": 2})
