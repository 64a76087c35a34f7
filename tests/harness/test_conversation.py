"""Requests of several turns: with models that answer by rule, with a tiny model, and the example of
docs/conversations.md."""

import json
import logging
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import datasets
import pytest
import torch
from lm_eval import simple_evaluate
from lm_eval.api.model import LM, CachingLM
from lm_eval.models.api_models import JsonChatStr
from lm_eval.models.huggingface import HFLM
from lm_eval.models.openai_completions import LocalChatCompletion
from lm_eval.tasks import TaskManager

from lm_eval_bias.harness import compat
from lm_eval_bias.harness import conversation as module
from lm_eval_bias.harness.conversation import (
    ConversationTask,
    conversation,
    prompt,
    question,
    read_turns,
)
from lm_eval_bias.models.prefix import PrefixLM
from lm_eval_bias.usage import UsageError
from tests.models import tiny


class EchoLM(LM):
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

    def loglikelihood_rolling(self, requests, **_):
        raise NotImplementedError

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        return "".join(f"<{m['role']}>{m['content']}" for m in chat_history) + "<assistant>"

    @property
    def tokenizer_name(self):
        return "echo"


def request(lm, turns, doc=None, system=None, chat=False, index=0):
    turns = [
        {"generation_kwargs": {"max_gen_toks": 5}, **t} if "choices" not in t else dict(t)
        for t in turns
    ]
    turns = [
        {**{k: v for k, v in t.items() if k != "user"}, **question(t["user"], doc or {})}
        for t in turns
    ]
    plan = {"system": system, "chat": chat, "turns": turns}
    first = prompt(plan, [{"role": "user", "content": turns[0]["user"]}], lm.apply_chat_template)
    return compat.request("conversation", doc or {}, (first, plan), 0, "task", index)


TWO = [{"user": "Describe {{thing}}."}, {"user": "Is {{answers[0]}} much?"}]


def test_turn_1_of_all_goes_first_then_turn_2_of_all():
    lm = EchoLM()
    answers = lm.conversation(
        [request(lm, TWO, {"thing": "a cup"}), request(lm, TWO, {"thing": "an old key"}, index=1)]
    )
    first, second = lm.calls
    assert [prompt for prompt, _ in first] == [
        "Q1: Describe a cup.\nA1:",
        "Q1: Describe an old key.\nA1:",
    ]
    # "Q1: Describe a cup. A1:" has five words, with " 5 words" seven, with "Q2: Is 5 words much?
    # A2:" thirteen
    assert [prompt for prompt, _ in second] == [
        "Q1: Describe a cup.\nA1: 5 words\nQ2: Is 5 words much?\nA2:",
        "Q1: Describe an old key.\nA1: 6 words\nQ2: Is 6 words much?\nA2:",
    ]
    assert answers == [[" 5 words", " 13 words"], [" 6 words", " 14 words"]]


def test_a_plain_transcript_stops_where_the_next_question_would_begin_and_turns_have_settings_of_their_own():
    lm = EchoLM()
    lm.conversation(
        [
            request(
                lm,
                [
                    {"user": "a", "generation_kwargs": {"until": "x", "max_gen_toks": 3}},
                    {"user": "b"},
                ],
            )
        ]
    )
    assert lm.calls[0][0][1] == {"until": ["x", "\nQ2:"], "max_gen_toks": 3}
    assert lm.calls[1][0][1] == {"until": ["\nQ3:"], "max_gen_toks": 5}


def test_with_a_chat_template_the_history_is_a_conversation():
    lm = EchoLM()
    lm.conversation([request(lm, TWO, {"thing": "it"}, system="Be brief.", chat=True)])
    assert lm.calls[0][0] == (
        "<system>Be brief.<user>Describe it.<assistant>",
        {"max_gen_toks": 5, "until": []},
    )
    assert (
        lm.calls[1][0][0]
        == "<system>Be brief.<user>Describe it.<assistant>3 words<user>Is 3 words much?<assistant>"
    )


def test_conversations_of_different_length_and_none_at_all():
    lm = EchoLM()
    answers = lm.conversation([request(lm, [{"user": "a"}]), request(lm, [{"user": "a"}] * 3)])
    assert [len(a) for a in answers] == [1, 3] and [len(c) for c in lm.calls] == [2, 1, 1]
    assert lm.calls[0][0][0] == "a" and lm.calls[0][0][1]["until"] == []
    assert lm.calls[0][1][0] == "Q1: a\nA1:" and lm.calls[0][1][1]["until"] == ["\nQ2:"]
    assert lm.conversation([]) == []


def test_a_last_turn_by_likelihood():
    lm = EchoLM()
    (answers,) = lm.conversation(
        [request(lm, [{"user": "a"}, {"user": "b", "choices": ["short", "longer"]}])]
    )
    assert answers == [" 3 words", [(-6.0, False), (-7.0, False)]]
    assert lm.calls[1] == [
        ("Q1: a\nA1: 3 words\nQ2: b\nA2:", " short"),
        ("Q1: a\nA1: 3 words\nQ2: b\nA2:", " longer"),
    ]
    lm.conversation(
        [request(lm, [{"user": "a"}, {"user": "b", "choices": ["short", "longer"]}], chat=True)]
    )
    assert lm.calls[-1][0] == ("<user>a<assistant>1 words<user>b<assistant>", "short")


def test_the_cache_of_the_harness_answers_turns_that_were_asked_before(tmp_path):
    lm = EchoLM()
    asked = [request(lm, [*TWO, {"user": "c", "choices": ["x", "y"]}], {"thing": "a cup"})]
    for _ in range(2):
        answers = CachingLM(lm, str(tmp_path / "cache.db")).conversation(asked)
        assert answers == [[" 5 words", " 13 words", [(-2.0, False), (-2.0, False)]]]
    assert len(lm.calls) == 3


class GemmaLikeLM(EchoLM):
    """No system role, and roles must take turns, as Gemma's template has it; HFLM drops the system
    message when the template raises."""

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        kept = [m for m in chat_history if m["role"] != "system"]
        assert [m["role"] for m in kept] == ["user", "assistant"] * (len(kept) // 2) + ["user"]
        return super().apply_chat_template(kept)

    def generate_until(self, requests, **_):
        super().generate_until(requests)
        return [""] * len(requests)


def test_a_system_message_without_a_role_goes_into_the_first_question_and_empty_answers_stay_turns():
    lm = GemmaLikeLM()
    answers = lm.conversation([request(lm, TWO, {"thing": "it"}, system="You are old.", chat=True)])
    assert answers == [["", ""]]
    assert (
        lm.calls[1][0][0]
        == "<user>You are old.\n\nDescribe it.<assistant><user>Is  much?<assistant>"
    )


ALTERNATING = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate user/assistant') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
NO_HISTORY = "{% if messages | length > 1 %}{{ raise_exception('one message only') }}{% endif %}{{ messages[0].content }}"


@pytest.fixture(scope="module")
def made():
    return tiny.model("Llama", max_position_embeddings=2048), tiny.tokenizer()


@pytest.mark.parametrize("kind", [HFLM, PrefixLM])
@pytest.mark.parametrize("chat", [False, True])
def test_a_real_chat_template_that_knows_no_system_role(made, kind, chat, caplog):
    model, tokenizer = made
    tokenizer.chat_template = ALTERNATING
    lm = kind(model, tokenizer=tokenizer, batch_size=2)
    asked = [
        request(lm, TWO, {"thing": t}, system="You are old.", chat=chat, index=i)
        for i, t in enumerate(("a cup", "a key", "the old road"))
    ]
    with caplog.at_level(logging.WARNING):
        answers = lm.conversation(asked)
    assert [len(a) for a in answers] == [2, 2, 2] and "removing the system role" not in caplog.text
    # The same by hand, one at a time: greedy continuations of the prompt that a person would write.
    first = (
        "<user>You are old.\n\nDescribe a cup.<assistant>"
        if chat
        else "You are old.\n\nQ1: Describe a cup.\nA1:"
    )
    assert answers[0][0] == continued(model, tokenizer, first, 5)
    said = answers[0][0].strip()
    second = (
        f"{first}{said}<user>Is {said} much?<assistant>"
        if chat
        else f"{first} {said}\nQ2: Is {said} much?\nA2:"
    )
    assert answers[0][1] == continued(model, tokenizer, second, 5)


def continued(model, tokenizer, prompt, tokens):
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.inference_mode():
        out = model.generate(ids, max_new_tokens=tokens, do_sample=False)
    return tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)


@pytest.mark.parametrize("kind", [HFLM, PrefixLM])
@pytest.mark.parametrize("at_a_time", [25, 50_000])
def test_exclusive_choices_with_a_real_model(made, kind, at_a_time, monkeypatch):
    """One token a byte, so " 8" holds " 80" to " 89": P(" 8" and no digit) from the model's own
    next-token probabilities."""
    model, tokenizer = made
    monkeypatch.setattr(module, "SCORED_AT_A_TIME", at_a_time)
    choices = ["7", "8", *(f"8{d}" for d in range(10))]
    lm = kind(model, tokenizer=tokenizer, batch_size=4)
    questions = ["How much?", "And she?", "How many of them?", "How old?", "Who?"]
    asked = [
        request(lm, [{"user": q, "choices": choices, "exclusive": True}], index=i)
        for i, q in enumerate(questions)
    ]
    for text, (scored,) in zip(questions, lm.conversation(asked), strict=True):

        def following(extra, text=text):
            with torch.inference_mode():
                return (
                    model(
                        tokenizer(
                            text + extra, return_tensors="pt", add_special_tokens=False
                        ).input_ids
                    )
                    .logits[0, -1]
                    .float()
                    .softmax(-1)
                )

        token = {c: tokenizer(c, add_special_tokens=False).input_ids[0] for c in " 0123456789"}
        space = following("")[token[" "]]
        eight, after = space * following(" ")[token["8"]], following(" 8")
        digits = [after[token[str(d)]] for d in range(10)]
        expected = [
            space * following(" ")[token["7"]],
            eight * (1 - sum(digits)),
            *(eight * d for d in digits),
        ]
        assert [x.exp() for x in torch.tensor([value for value, _ in scored])] == pytest.approx(
            [float(x) for x in expected], rel=1e-3
        )


def test_a_template_that_refuses_the_conversation_is_told_in_one_line(made):
    model, tokenizer = made
    tokenizer.chat_template = NO_HISTORY
    lm = HFLM(model, tokenizer=tokenizer)
    with pytest.raises(
        UsageError,
        match="chat template refuses a conversation of user, assistant, user: one message only",
    ):
        lm.conversation([request(lm, TWO, {"thing": "it"}, chat=True)])


def test_an_api_models_messages_stay_messages():
    class ChatLM(EchoLM):
        def apply_chat_template(self, chat_history, add_generation_prompt=True):
            return JsonChatStr(json.dumps(chat_history, ensure_ascii=False))

    lm = ChatLM()
    lm.conversation([request(lm, TWO, {"thing": "it"}, system="Be brief.", chat=True)])
    assert [m["role"] for m in json.loads(lm.calls[1][0][0].prompt)] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


def test_a_model_that_takes_messages_gives_no_likelihoods():
    class ChatLM(EchoLM):
        def apply_chat_template(self, chat_history, add_generation_prompt=True):
            return JsonChatStr(json.dumps(chat_history))

    lm = ChatLM()
    with pytest.raises(UsageError, match="takes messages, not text, so it gives no likelihoods"):
        lm.conversation([request(lm, [{"user": "a", "choices": ["x", "y"]}], chat=True)])


class Server(BaseHTTPRequestHandler):
    """Speaks the OpenAI protocol: answers with the roles of the messages, and once with nothing, as
    a content filter does."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        roles = " ".join(m["role"] for m in asked["messages"])
        content = None if "a key" in asked["messages"][-1]["content"] else roles
        body = json.dumps(
            {"choices": [{"index": 0, "message": {"role": "assistant", "content": content}}]}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_the_harnesss_api_model_holds_a_conversation():
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        lm = LocalChatCompletion(
            base_url=f"http://127.0.0.1:{server.server_port}/v1/chat/completions",
            model="any",
            num_concurrent=2,
            max_retries=1,
        )
        asked = [
            request(lm, TWO, {"thing": t}, system="Be brief.", chat=True, index=i)
            for i, t in enumerate(("a cup", "a key"))
        ]
        answers = lm.conversation(asked)
        server.shutdown()
    assert answers == [
        ["system user", "system user assistant user"],
        ["", "system user assistant user"],
    ]


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        (None, "expected `turns`, a list with at least one turn, found None"),
        ([], "at least one turn"),
        ([{"user": "a"}, {"text": "b"}], "turn 2: expected `user`, the text of the question"),
        ([{"user": "a", "until": ["x"]}], "turn 1: unknown key 'until'"),
        ([{"user": "Was it {{answers[0]}}?"}], "turn 1: it has no earlier answers to quote"),
    ],
)
def test_a_mistake_in_the_turns_says_where(turns, message):
    with pytest.raises(UsageError, match=message):
        read_turns("mine", turns)


def test_every_model_of_the_harness_has_the_method():
    assert (
        LM.conversation is conversation
        and HFLM.conversation is conversation
        and CachingLM.conversation is conversation
    )


DATA = {
    "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list([{"x": 1}])},
    "test_split": "test",
}


@pytest.fixture
def example(root, tmp_path, monkeypatch):
    """The files of docs/conversations.md as written, and questions of our own."""
    blocks = re.findall(
        r"```(?:yaml|python)\n# (\S+)\n(.*?)```",
        (root / "docs" / "conversations.md").read_text(),
        re.DOTALL,
    )
    for name, text in blocks:
        (tmp_path / name).write_text(text)
    (tmp_path / "questions.jsonl").write_text(
        "".join(
            json.dumps({"question": q}) + "\n" for q in ("What is red?", "Who is it?", "And now?")
        )
    )
    monkeypatch.chdir(tmp_path)
    return {name for name, _ in blocks}


def run(lm, tmp_path, **options):
    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    return simple_evaluate(
        model=lm,
        tasks=["second_thoughts"],
        task_manager=manager,
        bootstrap_iters=0,
        log_samples=True,
        **options,
    )


def test_the_documented_example_runs(example, tmp_path):
    assert example == {"second_thoughts.yaml", "second_thoughts.py"}
    lm = EchoLM()
    results = run(lm, tmp_path)
    # the second prompt is longer than the first, so no answer is kept
    assert results["results"]["second_thoughts"]["kept,none"] == 0
    sample = results["samples"]["second_thoughts"][0]
    # "Q1: What is red? Answer in one word. A1:" has nine words, " 9 words" two, "Q2: Are you sure
    # that it is 9 words? Answer in one word. A2:" fourteen
    assert (
        sample["resps"] == [[[" 9 words", " 25 words"]]]
        and sample["arguments"][0][0] == "Q1: What is red? Answer in one word.\nA1:"
    )
    asked = sample["arguments"][0][1]["turns"]
    assert asked[0]["user"] == "What is red? Answer in one word." and asked[1][
        "user_template"
    ].startswith("Are you sure that it is {{answers[0]}}?")
    assert results["configs"]["second_thoughts"]["turns"][0]["generation_kwargs"] == {
        "max_gen_toks": 8
    }


def test_options_of_the_command_line_reach_every_turn(example, tmp_path):
    lm = EchoLM()
    run(
        lm,
        tmp_path,
        gen_kwargs="max_gen_toks=3,temperature=0.5,do_sample=True",
        system_instruction="Be brief.",
        apply_chat_template=True,
        limit=2,
    )
    for call in lm.calls:
        assert len(call) == 2 and all(
            k["max_gen_toks"] == 3 and k["temperature"] == 0.5 and k["do_sample"] for _, k in call
        )
        assert all(prompt.startswith("<system>Be brief.<user>") for prompt, _ in call)


def test_choices_that_exclude_one_another_are_asked_for_in_the_yaml():
    task = ConversationTask(
        {
            "task": "mine",
            "turns": [{"user": "a"}],
            "doc_to_choice": ["1", "10"],
            "exclusive_choices": True,
            **DATA,
        }
    )
    built = task.construct_requests({"x": 1}, "", metadata=("mine", 0, 1))
    assert (
        built.args[1]["turns"] == [{"user": "a", "choices": ["1", "10"], "exclusive": True}]
        and task.dump_config()["exclusive_choices"]
    )


def test_few_shot_examples_in_the_yaml_are_refused():
    with pytest.raises(
        UsageError,
        match="mine: a task of several turns takes no few-shot examples, found num_fewshot=2",
    ):
        ConversationTask({"task": "mine", "turns": [{"user": "a"}], "num_fewshot": 2})


def test_the_output_type_is_the_request_so_that_processes_are_padded_by_it(example, tmp_path):
    task = TaskManager(include_path=str(tmp_path), include_defaults=False).load(
        ["second_thoughts"]
    )["tasks"]["second_thoughts"]
    assert isinstance(task, ConversationTask) and task.OUTPUT_TYPE == "conversation"
