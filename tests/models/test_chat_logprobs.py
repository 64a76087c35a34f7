"""`--model chat-logprobs` against servers that answer by rule, and against the small real model.

Expected likelihoods are products of the probabilities that a server was given, or those of `hf`.
"""

import gc
import gzip
import json
import logging
import re
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack
from copy import deepcopy
from functools import reduce
from math import exp, inf, isnan, log, nan
from operator import getitem
from pathlib import Path

import pytest
from lm_eval.api.model import CachingLM

from lm_eval_bias.harness import compat, scoring
from lm_eval_bias.models import chat_calls
from lm_eval_bias.models.chat_logprobs import ChatLogprobs
from lm_eval_bias.models.replies import Reply, turn
from lm_eval_bias.results import runs
from tests.hostile import ODD, places
from tests.mistakes import refused
from tests.rule_model import evaluate, load
from tests.serving import Raw, chatting, free_port

KEY = "sk-of-a-person"
LETTERS = {"a": 0.5, "b": 0.25, "The": 0.125}
LABELS = {
    "": {"Ent": 0.5, "Ne": 0.25, "No": 0.125},
    "Ent": {"ail": 0.5, "ity": 0.5},
    "Entail": {"ment": 0.75, "s": 0.25},
    "Ne": {"utral": 0.5, "ver": 0.5},
}


class Server:
    """A chat server whose next token depends on the beginning of its answer.

    language: beginning -> token -> probability; a token is a text or bytes. continues: an
    assistant's turn; else it begins another. whole: gives likelihoods of such a turn, as vLLM does.
    bodies: of all requests. faults: answers in place of the first ones. more: fields of a reply.
    refused: fields of a request; says: in which sentence.
    """

    def __init__(self, language=LETTERS, continues=True, whole=False, refused=(), says="", **more):
        self.language = language if "" in language else {"": language}
        self.continues, self.whole, self.refused, self.says = continues, whole, refused, says
        self.bodies, self.faults, self.more, self.lock = [], [], more, threading.Lock()
        self.address = None

    def answer(self, body):
        with self.lock:
            self.bodies.append(body)
            fault = self.faults.pop(0) if self.faults else None
        wrong = [field for field in self.refused if field in body]
        if wrong:
            fault = Raw(400, (self.says or f"unknown field {wrong[0]}").encode())
        if fault is not None:
            return fault() if callable(fault) else fault
        last = body["messages"][-1]
        begun = last["content"] if last["role"] == "assistant" else ""
        written = self.tokens(begun)
        used = 10 + len(written) + (0 if self.continues else 5) * bool(begun)
        tokens = self.language.get(begun if self.continues else "", {"x": 1.0})
        shown = [
            {
                "token": "?" if isinstance(token, bytes) else token,
                "bytes": list(token) if isinstance(token, bytes) else None,
                "logprob": log(p),
            }
            for token, p in tokens.items()
        ]
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "x"},
            "logprobs": {"content": [{"top_logprobs": shown[: body.get("top_logprobs", 0)]}]},
        }
        usage = {"prompt_tokens": used, "completion_tokens": 1}
        reply = {"model": body["model"], "choices": [choice], "usage": usage, **self.more}
        if self.whole and body.get("prompt_logprobs") == 0:
            reply["prompt_logprobs"] = [None] * 10
            for i, token in enumerate(written):
                known = self.language.get("".join(written[:i]), {})
                p, likeliest = known.get(token, 0.001), max(known.values(), default=1)
                row = {"decoded_token": token, "logprob": log(p), "rank": 2 - (p == likeliest)}
                reply["prompt_logprobs"].append({"7": row})
        return reply

    def tokens(self, text):
        """The longest known token that begins the text, else its letter or bytes, and so on."""
        known = {token for p in self.language.values() for token in p if isinstance(token, str)}
        first = max((t for t in known if text.startswith(t)), key=len, default=text[:1])
        pieces = [first] if first in known or first.isascii() else ["?"] * len(first.encode())
        return [*pieces, *self.tokens(text[len(first) :])] if text else []

    def limits(self):
        """The names of the limit of tokens in each request."""
        return [[name for name in LIMITS if name in body] for body in self.bodies]


@pytest.fixture
def waits(monkeypatch):
    """The seconds that calls waited, which pass at once."""
    seconds = []

    async def sleep(wait):
        seconds.append(wait)

    monkeypatch.setattr(chat_calls, "sleep", sleep)
    return seconds


@pytest.fixture
def failures():
    """What `compat.fail_at_end` is given."""
    return []


@pytest.fixture
def serve(monkeypatch, failures):
    """(server, arguments of the model) -> the model."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(chat_calls, "_pause", lambda _: 0)
    monkeypatch.setattr(compat, "fail_at_end", lambda *failure: failures.append(failure))
    with ExitStack() as stack:

        def start(server, **arguments):
            if server.address is None:
                server.address = stack.enter_context(chatting(server.answer))
            return ChatLogprobs(server.address, model="m", **arguments)

        yield start


def requests(*choices, questions=1, chat=True):
    """By default for the choices a and b."""
    made = []
    for i in range(questions):
        text = json.dumps([{"role": "user", "content": f"Question {i}"}]) if chat else "Question"
        arguments = [(text, choice) for choice in choices or "ab"]
        made += [
            compat.request("loglikelihood", {}, a, j, "a_task", i) for j, a in enumerate(arguments)
        ]
    return made


def written(count):
    settings = {"until": ["x"], "max_gen_toks": 7}
    questions = [request.args[0] for request in requests("a", questions=count)]
    return [compat.request("generate_until", {}, (q, settings), 0, "a_task", 0) for q in questions]


def probabilities(lm, *choices):
    return [exp(value) for value, _ in lm.loglikelihood(requests(*choices))]


HALF = pytest.approx([0.5, 0.25])
"""What `LETTERS` gives "a" and "b"."""


# ---- Reading


def ways(answers):
    return [answer.how for answer in answers]


def test_one_call_serves_all_choices_of_a_question(serve):
    server = Server()
    answers = serve(server).shown_likelihoods(requests(questions=3))
    both = [(pytest.approx(log(0.5)), True), (pytest.approx(log(0.25)), False)]
    assert [answer[:2] for answer in answers] == both * 3
    assert [answer.shown for answer in answers] == pytest.approx([0.875] * 6)
    assert [(b["max_tokens"], b["logprobs"], b["top_logprobs"]) for b in server.bodies] == [
        (1, True, 20)
    ] * 3


BODY = {"model": "m", "messages": [{"role": "user", "content": ""}], "top_logprobs": 9}
DEEP = reduce(lambda inner, _: [inner], range(60), [])


def showing(*tokens):
    """The fields of a reply with these likeliest tokens."""
    shown = [{"token": "a", "bytes": None, "logprob": log(0.5), **token} for token in tokens]
    return {"choices": [{"index": 0, "logprobs": {"content": [{"top_logprobs": shown}]}}]}


def rows(**probabilities):
    return [{"token": t, "logprob": p and log(p)} for t, p in probabilities.items()]


def replying(**logprobs):
    return Server(choices=[{"index": 0, "logprobs": logprobs}])


SPELLED = {"a": 0.5, " b": 0.125, "b)": 0.0625, "A": 0.03125, "about": 0.25}
MARIA = {"": {"Mar": 0.5, "x": 0.25}, "Mar": {"ia": 0.5, "ta": 0.25}}
SHOWN = rows(a=0.75, x=None, b=2**-4)
# The rest of what is shown, and 0.0001 of rounding.
OPEN = {"a": 0.75, "b": 2**-4, "c?": 0.1876, "x?": 0.1876}
HIDDEN = {"Ent": 0.5, "N": 0.125, "x": 0.0625, "Ne": 0.03125}


@pytest.mark.parametrize(
    "server, options, expected",
    [
        # a blank or a bracket is a spelling, a capital if asked for
        (Server(SPELLED), {}, {"a": 0.5, "b": 0.1875}),
        (Server(SPELLED), {"ignore_case": True}, {"a": 0.53125, "b": 0.1875}),
        # as LMDeploy writes a blank: of the vocabulary of GPT-2 and of Llama 2
        (Server({"a": 0.25, "Ġa": 0.5, "▁b": 0.125}), {}, {"a": 0.75, "b": 0.125}),
        # 0.96875 is shown
        (
            Server({"a": 0.75, "b": 0.125, "x": 0.09375}),
            {},
            {"a": 0.75, "c?": 0.03135, "d?": 0.03135},
        ),
        # no token that is not shown has more than the last one
        (Server({"a": 0.75, "x": 0.0625}), {}, {"a": 0.75, "b?": 0.0625}),
        # vLLM shows the token of the answer, "x", though others have more: "c" may have 0.125
        (
            replying(content=[{"token": "x", "top_logprobs": rows(x=2**-10, a=0.5, b=0.125)}]),
            {},
            {"a": 0.5, "c?": 0.125},
        ),
        # null is -inf in some servers' JSON, but may be any number; the second form is Together's
        (replying(content=[{"token": "a", "top_logprobs": SHOWN}]), {}, OPEN),
        (replying(top_logprobs=[{row["token"]: row["logprob"] for row in SHOWN}]), {}, OPEN),
        # "Neutral" is "Ne" and "utral"; where "N" alone is shown, it has 0.0625 or less
        (
            Server({"": HIDDEN, "N": {"eutral": 0.5}, "Ent": {"ailment": 1.0}}),
            {"top_logprobs": 3},
            {"Entailment": 0.5, "Neutral?": 0.0625},
        ),
        (Server(MARIA), {}, {"Maria": 0.25, "Marta": 0.125}),
        # the server does not go on behind "8"; the rest of the tokens has less
        (
            Server({"8": 0.5, "9": 0.25}, continues=False),
            {},
            {"8": 0.5, "84?": 0.5, "85?": 0.5, "7?": 0.25},
        ),
        # no JSON holds half a letter, so the rest of it is not asked
        (Server({"é".encode()[:1]: 0.5, "n": 0.25}), {}, {"été…": 0.5, "n": 0.25}),
        (Server(), {}, {"c!": nan, "d!": nan}),
    ],
)
def test_a_choice_has_the_probability_of_its_tokens_or_the_most_that_it_can_have(
    server, options, expected, serve
):
    """expected: a choice -> its probability; ? marks what was not seen, … a first token, ! where no
    choice is shown."""
    how = {"?": "unseen", "…": "first token", "!": "hidden"}
    asked = requests(*(c.strip("?…!") for c in expected))
    answers = serve(server, **options).shown_likelihoods(asked)
    values = [exp(value) for value, *_ in answers]
    assert values == pytest.approx([*expected.values()], nan_ok=True)
    assert ways(answers) == [how.get(choice[-1], "") for choice in expected]


def test_a_server_that_gives_the_likelihood_of_a_turn_hides_nothing(serve):
    server = Server(LABELS, whole=True)
    lm = serve(server, top_logprobs=1)
    answers = lm.shown_likelihoods(requests("Entailment", "Neutral", questions=2))
    expected = [(log(0.5 * 0.5 * 0.75), True), (log(0.25 * 0.5), False)] * 2
    assert [(pytest.approx(v), greedy) for v, greedy in expected] == [a[:2] for a in answers]
    assert ways(answers) == [""] * 4
    # the questions with their two labels, and whether the server continues
    assert len(server.bodies) == 2 * 3 + 1


def test_many_choices_are_not_asked_each_for_itself(serve):
    """Thirteen numbers are read behind their first digit; "22", hidden there, is asked whole."""
    rest = {str(digit): 0.0625 for digit in range(10)}
    language = {"": {"1": 0.5, "2": 0.25}, "1": rest, "2": {"0": 0.5, "1": 0.25, "x": 0.125}}
    server = Server(language, whole=True)
    choices = [str(number) for number in range(10, 22)] + ["22"]
    found = probabilities(serve(server), *choices)
    assert found == pytest.approx([0.5 * 0.0625] * 10 + [0.25 * 0.5, 0.25 * 0.25, 0.25 * 0.001])
    # the question, "a", behind "1" and "2", once for each choice whether its token is longer, "22"
    assert len(server.bodies) == 1 + 1 + 2 + 13 + 1
    # the server computes a prompt anew for its likelihood: only "a" and "22" ask for it
    assert sum("prompt_logprobs" in body for body in server.bodies) == 2


@pytest.mark.parametrize(
    "continues, expected, how, calls",
    [
        # the question, "Ent", "Entail" and "Ne"; once, whether the server continues, and whether a
        # token goes on into "ailment", "ment" or "utral", letter by letter
        (True, [0.5 * 0.5 * 0.75, 0.25 * 0.5], "", (4, 1 + 7 + 4 + 5)),
        # once, the two ways to let it continue
        (False, [0.5, 0.25], "first token", (1, 2)),
    ],
)
def test_labels_of_several_tokens_are_asked_on_where_the_server_continues(
    continues, expected, how, calls, serve
):
    server, (each, once) = Server(LABELS, continues), calls
    lm = serve(server)
    for questions in (1, 2):
        asked = requests("Entailment", "Neutral", questions=questions)
        answers = lm.shown_likelihoods(asked)
        assert [exp(value) for value, *_ in answers] == pytest.approx(expected * questions)
        assert {*ways(answers)} == {how}
    assert len(server.bodies) == 3 * each + once


def test_a_shared_beginning_needs_a_server_that_continues(serve):
    with refused("'Maria', 'Marta' begin with the same token"):
        probabilities(serve(Server(MARIA, continues=False)), "Maria", "Marta")


# ---- What cannot be asked


@pytest.mark.parametrize(
    "asked, sentence",
    [
        (requests(chat=False), "needs --apply_chat_template"),
        (requests("A long sentence. " * 5, "Another one. " * 8), "a_task: the choices of a"),
    ],
)
def test_a_task_that_cannot_be_asked_says_so_before_the_first_call(serve, asked, sentence):
    server = Server()
    lm = serve(server)
    with refused(sentence):
        lm.loglikelihood([*requests(), *asked])
    with refused("chat-logprobs gives no likelihood of a text"):
        lm.loglikelihood_rolling(asked)
    assert not server.bodies


def test_a_task_that_cannot_be_asked_is_refused_before_the_first_request_of_a_run(serve):
    lm = serve(Server({}))
    names = ("bistereo_pairs_height", "hbb_ci", "mist_wabt_likelihood_ci", "stereomap_original")
    tasks = load(*names)["tasks"]
    chat = {"apply_chat_template": True, "chat_template": lm.apply_chat_template, "limit": 2}
    for name, why in (
        ("bistereo_pairs_height", "it scores texts as they stand"),
        ("mist_wabt_likelihood_ci", "the choices of a question have 392 characters"),
    ):
        message = f"{name}: --model chat-logprobs cannot be asked this: {why}"
        with refused(message):
            tasks[name].build_all_requests(**chat)
    for name in ("hbb_ci", "stereomap_original"):
        tasks[name].build_all_requests(**chat)


@pytest.mark.parametrize(
    "name, sentence", [("num_concurent", "num_concurrent"), ("header", "OPENAI_API_KEY")]
)
def test_arguments_that_are_wrong_or_secret_are_refused(name, sentence):
    with refused(sentence):
        ChatLogprobs(model="m", **{name: 1})


# ---- Servers that fail


def hanging():
    time.sleep(60)  # in a thread that nobody waits for


def zipped(content):
    return Raw(200, gzip.compress(content), {"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    "fault",
    [
        Raw(500, b"down"),
        Raw(200, b'{"choices": [{"ind'),
        Raw(200, b'{"error": "no provider"}'),
        Raw(200, b'{"choices": [{"error": {"code": 502}, "message": {"content": ""}}]}'),
        Raw(200, b" " * 70_000),
        zipped(b" " * 70_000),
        Raw(200, b"no gzip", {"Content-Encoding": "gzip"}),
        hanging,
    ],
)
def test_a_call_that_failed_is_made_again(serve, fault, monkeypatch):
    """And the reply is read that comes at last, compressed."""
    monkeypatch.setattr(chat_calls, "LARGEST", 65_536)
    server = Server()
    server.faults = [fault, fault, zipped(json.dumps(server.answer(BODY)).encode())]
    lm = serve(server, timeout=1 if fault is hanging else 60)
    assert probabilities(lm) == HALF
    assert len(server.bodies) == 1 + 3
    used = lm.get_model_info()["api_usage"]
    assert (used["calls"], used["failed_calls"]) == (1, 2)


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    "retry_after, wait", [("0", 5), ("-3", 5), ("nan", 5), ("soon", 5), (DATE, 5), ("9", 9)]
)
def test_a_call_waits_as_long_as_the_server_says_and_no_shorter_than_otherwise(
    serve, waits, monkeypatch, retry_after, wait
):
    server = Server()
    server.faults = [Raw(429, b"slow down", {"Retry-After": retry_after})]
    lm = serve(server)
    monkeypatch.setattr(chat_calls, "_pause", lambda _: 5)
    assert probabilities(lm) == HALF
    assert wait in waits


@pytest.mark.parametrize(
    "retry_after, longest", [("inf", 600), ("601", 600), ("Fri, 01 Jan 2999 00:00:00 GMT", 9)]
)
def test_a_server_that_asks_to_wait_too_long_ends_the_run(serve, waits, retry_after, longest):
    server = Server()
    server.faults = [Raw(503, b"come back", {"Retry-After": retry_after})]
    with refused(f"more than longest_wait={longest} in --model_args. With --use_cache the same"):
        probabilities(serve(server, longest_wait=longest))
    assert len(server.bodies) == 1 and max(waits) <= 0


@pytest.mark.parametrize(
    "fault, sentence",
    [
        (Raw(500, f"bad Authorization: {KEY}".encode()), "asked 2 times in vain: status 500"),
        (Raw(401, f"wrong key {KEY}".encode()), "status 401: wrong key"),
        (Raw(500, b" " * 9000 + KEY.encode() + b"x" * 9000), "in vain: status 500"),
        (
            Raw(307, b"", {"Location": f"http://other/{KEY}"}),
            r"307: it sends to http://other/\*\*\*",
        ),
        ({"choices": [{"message": {"content": "a"}}]}, "no top_logprobs"),
    ],
)
def test_what_goes_on_failing_ends_in_a_sentence_without_the_key(fault, sentence, serve, caplog):
    caplog.set_level(logging.DEBUG)
    server = Server()
    server.faults = [fault] * 4
    lm = serve(server, max_retries=2)
    with refused(sentence) as error:
        probabilities(lm)
    if isinstance(fault, Raw):
        with refused(sentence):
            lm.generate_until(written(1))
    gc.collect()  # asyncio tells of errors that nobody took when their tasks are dropped
    assert KEY not in str(error.value) + caplog.text and "never retrieved" not in caplog.text


@pytest.mark.parametrize(
    "language, choices, before",
    [
        (LETTERS, ("a", "b"), 1),
        # the second question's call behind "Ent" or "Ne"; the first took 21 calls
        (LABELS, ("Entailment", "Neutral"), 22),
    ],
)
def test_a_question_held_back_by_a_filter_is_unanswered(serve, language, choices, before):
    server = Server(language)
    server.faults = [None] * before + [Raw(400, b"content_filter")]
    answers = serve(server, num_concurrent=1).loglikelihood(requests(*choices, questions=3))
    assert [isnan(value) for value, _ in answers] == [False, False, True, True, False, False]


SHORT, LONG = LIMITS = ["max_tokens", "max_completion_tokens"]


@pytest.mark.parametrize("says", ["", '{"input": "' + "x" * 500 + '"} max_tokens'])
def test_a_server_that_refuses_the_name_of_the_limit_gets_the_other_one_from_then_on(serve, says):
    server = Server(refused=[SHORT], says=says)
    lm = serve(server, max_retries=1)
    assert probabilities(lm) == HALF
    lm.loglikelihood(requests(questions=3))
    assert server.limits() == [[SHORT], *[[LONG]] * 4]


@pytest.mark.parametrize(
    "fields, fault, sentence, limits",
    [
        ([SHORT, LONG], None, "unknown field max_tokens", [[SHORT], [LONG]]),
        ([SHORT], b"this model gives no logprobs", "gives no logprobs", [[SHORT], [LONG]]),
        (["logprobs"], None, "unknown field logprobs", [[SHORT]]),  # not of the limit
    ],
)
def test_what_neither_name_mends_ends_in_the_sentence_that_helps(
    fields, fault, sentence, limits, serve
):
    server = Server(refused=fields)
    server.faults = [None, fault and Raw(400, fault)]
    with refused(sentence):
        probabilities(serve(server))
    assert server.limits() == limits


def test_a_prompt_has_the_tokens_of_a_tokenizer_that_is_named(tmp_path):
    tiny = pytest.importorskip("tiny")  # has torch
    known, text = tiny.tokenizer(), "The sun rose."
    known.save_pretrained(tmp_path)
    named = {"tokenizer_backend": "huggingface", "tokenizer": str(tmp_path)}
    lm, other = ChatLogprobs(model="m", **named), ChatLogprobs(model="m")
    assert scoring.count_text(lm, text) == len(known.tokenize(text)) > 3
    assert scoring.count_text(other, text) is None


def test_null_in_extra_body_leaves_a_field_out(serve):
    server = Server(refused=[SHORT, "temperature"])
    extra = {SHORT: None, LONG: 1, "temperature": None}
    assert probabilities(serve(server, extra_body=extra)) == HALF
    assert server.limits() == [[LONG]]


def test_another_model_in_the_middle_of_a_run_ends_it(serve):
    server = Server()
    lm = serve(server)
    assert probabilities(lm) == HALF
    server.more = {"model": "cheaper"}
    with refused("m answered before, now cheaper does"):
        probabilities(lm)


def test_a_refusal_in_the_middle_of_a_run_ends_it_and_keeps_the_answers(
    serve, tmp_path, capfd, caplog
):
    server, asked = Server(), requests(questions=20)
    lm = CachingLM(serve(server), str(tmp_path / "cache"))
    server.faults = [None] * 5 + [Raw(402, b"no credit")] * 9
    with refused("status 402: no credit"):
        lm.loglikelihood(asked)
    gc.collect()
    assert "never retrieved" not in capfd.readouterr().err + caplog.text
    server.bodies.clear()
    server.faults.clear()
    assert [v for v, _ in lm.loglikelihood(asked)] == pytest.approx([log(0.5), log(0.25)] * 20)
    assert len(server.bodies) <= 15


def test_requests_keep_to_their_pace(serve, waits):
    serve(Server(), requests_per_minute=1).loglikelihood(requests(questions=6))
    # a minute apart, less what passed between the first and the last
    assert sorted(waits) == pytest.approx([0, 60, 120, 180, 240, 300], abs=30)


PRICES = {"input_price": 100_000, "output_price": 1_000_000}
"""A call reads 10 tokens and writes 1, for 2 dollars."""


def test_a_budget_is_of_all_runs_with_a_cache(serve, tmp_path, caplog, failures):
    server, asked = Server(), requests(questions=10)

    def ask(most, *cache):
        lm = serve(server, max_cost=most, **PRICES)
        values = [v for v, _ in CachingLM(lm, str(tmp_path / "cache")).loglikelihood(asked)]
        return values, lm

    values, lm = ask(7)
    assert [isnan(value) for value in values] == [False] * 6 + [True] * 14  # three calls
    says = "max_cost is reached (3 calls, 33 tokens, $6.0000), so 7 of 10 questions are unanswered"
    assert says in caplog.text and says in failures[0][0] and failures[0][1] == 75
    used = {"calls": 3, "tokens_read": 30, "tokens_written": 3, "dollars": 6}
    assert +lm.get_model_info()["api_usage"] == used
    values, lm = ask(7)
    assert lm.server.used["calls"] == 0 and len(server.bodies) == 3
    values, lm = ask(30)
    assert values == pytest.approx([log(0.5), log(0.25)] * 10)
    assert len(server.bodies) == 10
    assert lm.get_model_info()["api_usage_of_earlier_runs_with_this_cache"] == used


def test_a_written_answer_that_the_budget_left_open_is_asked_later(serve, tmp_path):
    server = Server()
    for most, texts in ((4, ["x", "x", ""]), (7, ["x", "x", "x"])):
        lm = CachingLM(serve(server, max_cost=most, **PRICES), str(tmp_path / "cache"))
        assert lm.generate_until(written(3)) == texts
    assert len(server.bodies) == 3


def test_earlier_calls_without_prices_count_by_those_of_today(serve, tmp_path):
    server = Server()
    for most, prices in ((None, {}), (3, PRICES)):
        lm = CachingLM(serve(server, max_cost=most, **prices), str(tmp_path / "cache"))
        lm.loglikelihood(requests(questions=len(server.bodies) + 1))
    assert len(server.bodies) == 1  # a second one would make 4 dollars
    with refused("add input_price and output_price"):
        probabilities(serve(server, max_cost=1))


@pytest.mark.parametrize("most", [1, 5, 6])
def test_calls_side_by_side_cost_no_more_than_the_budget_and_a_call(serve, most, failures):
    """The server names a price. Nothing is known before the first call, so it may be too dear."""
    server = Server(usage={"prompt_tokens": 10, "cost": 1.5})
    lm = serve(server, max_cost=most, num_concurrent=8)
    answers = lm.loglikelihood(requests(questions=20))
    assert len(server.bodies) == max(most // 1.5, 1)
    assert 0 < sum(isnan(value) for value, _ in answers) < len(answers)
    assert failures[0][1] == compat.OUT_OF_BUDGET


# ---- Shapes


@pytest.mark.parametrize(
    "more, sentence",
    [
        ({"choices": []}, "no choices"),
        ({"choices": [{"message": {"content": 5}}]}, "choices.0.message.content is 5"),
        ({"choices": DEEP}, "more than 50 levels"),
        *[
            (showing(wrong), sentence)
            for wrong, sentence in (
                ({"bytes": [300]}, "bytes is [300]"),
                ({"bytes": 10**12}, "bytes is 1000000000000"),
                ({"logprob": 5}, "logprob is 5"),
                ({"logprob": True}, "logprob is True"),
                ({"logprob": float("inf")}, "logprob is inf"),
                ({"token": 7}, "token is 7"),
            )
        ],
        (showing({}, {"token": "b", "logprob": 0}), "the probabilities of 2 tokens add up to 1.5"),
    ],
)
def test_a_reply_with_what_cannot_be_is_asked_again_and_named(serve, more, sentence):
    server = Server(**more)
    with refused(re.escape(f"asked 2 times in vain: no chat completion: {sentence}")):
        probabilities(serve(server, max_retries=2))


@pytest.mark.parametrize("usage", ["x", {"prompt_tokens": True}, {"cost": -1}])
def test_usage_that_cannot_be_counts_as_unsaid(serve, usage):
    with refused("the server names no cost of a call"):
        probabilities(serve(Server(usage=usage), max_cost=1, **PRICES))


TOKEN = {"decoded_token": "a", "logprob": -1, "rank": 1}
WHOLE = Server(usage={"cost": 1, "prompt_tokens": 1}, prompt_logprobs=[None, {"7": TOKEN}]).answer(
    BODY
)


@pytest.mark.parametrize("path", places(WHOLE), ids=str)
def test_any_reply_is_read_or_refused_by_a_sentence(path):
    *above, last = path
    for other in ODD:
        reply = deepcopy(WHOLE)
        reduce(getitem, above, reply)[last] = other
        try:
            read = Reply.read(json.dumps(reply))
        except ValueError as error:
            assert str(error)
            continue
        assert read.text is None or isinstance(read.text, str)
        for count in (read.tokens_read, read.tokens_written, read.dollars):
            assert count is None or 0 <= count < inf
        if read.top:
            assert read.top.mass <= 1.01
            assert all(isinstance(text, bytes) and p > 0 for text, p in read.top.tokens)
        turn(read, read)


# ---- Where keys go


@pytest.mark.parametrize(
    "address, header",
    [
        ("https://me.openai.azure.com/v1", "api-key"),
        ("https://me.azure.example.com/v1", "Authorization"),
        ("https://example.com/me.azure.com", "Authorization"),
    ],
)
def test_the_host_alone_says_where_the_key_stands(monkeypatch, address, header):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    headers = ChatLogprobs(address, model="m").server._headers
    assert [name for name, value in headers.items() if KEY in value] == [header]


@pytest.mark.parametrize(
    "address, key, sentence",
    [
        ("http://me:secret@host/v1", KEY, "holds a name or a password"),
        ("host/v1", KEY, "'host/v1' is no address of a server"),
        ("http://[/v1", KEY, "is no address of a server"),
        ("http://host/v1", "sk-1\n", "OPENAI_API_KEY: a key has no blank, no line break"),
    ],
)
def test_an_address_or_a_key_that_cannot_be_is_refused(monkeypatch, address, key, sentence):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with refused(sentence) as error:
        ChatLogprobs(address, model="m")
    assert "secret" not in str(error.value)


# ---- Through the harness


def test_the_record_and_the_report_say_what_was_not_seen(serve, tmp_path):
    from lm_eval.loggers import EvaluationTracker

    lm = serve(Server({"a": 0.5, "x": 0.125}))  # b is not shown: at most 0.125
    tracker = EvaluationTracker(output_path=str(tmp_path))
    options = {"limit": 8, "apply_chat_template": True, "log_samples": True}
    results = evaluate(lm, "hbb_ci", evaluation_tracker=tracker, **options)
    for sample in results["samples"]["hbb_ci"]:
        record = sample["records"]
        assert record["seen_mass"] == pytest.approx(0.625) and not record["first_token"]
        assert record["log_odds"] == pytest.approx(log(0.5 / 0.125))
        assert record["letter_mass"] == pytest.approx(0.625)
        assert record["without_unseen"]["letter_mass"] == pytest.approx(0.5)
    rows = {row["metric"]: row for row in results["configs"]["hbb_ci"]["cells"]["seen"]}
    # odds of 4 at the paper's temperature of 0.8, or all for a
    value, row = 100 / (1 + 4 ** (-1 / 0.8)) - 50, rows["position_preference"]
    assert (row["value"], row["without_unseen"]) == (pytest.approx(value), pytest.approx(50))
    assert (row["unseen"], row["seen_mass"]) == (100, pytest.approx(62.5))
    tracker.save_results_aggregated(results=results, samples=results["samples"])
    [run] = runs.find([tmp_path]).runs
    [line] = [line for line in run.warnings if "server showed" in line]
    assert line.startswith("100 % of questions") and "position_preference 35.0 or 50.0" in line


class Real:
    """The small real model behind the protocol: what a server computes, without one's batching."""

    address = None

    def __init__(self, folder):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
        self.model = model.requires_grad_(False)

    def answer(self, body):
        begun = body["messages"][-1]["role"] == "assistant"
        ways = {"continue_final_message": True} if begun else {"add_generation_prompt": True}
        text = self.tokenizer.apply_chat_template(body["messages"], tokenize=False, **ways)
        ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        top = self.model(ids, logits_to_keep=1).logits[0].log_softmax(-1).topk(body["top_logprobs"])
        pairs = zip(self.tokenizer.batch_decode(top.indices.T), *top.values.tolist(), strict=True)
        shown = [{"token": token, "logprob": logprob} for token, logprob in pairs]
        return {**showing(*shown), "usage": {"prompt_tokens": ids.shape[1]}}


@pytest.mark.slow
@pytest.mark.model
def test_likelihoods_are_those_of_hf(serve, model_folder):
    """Letters, labels of two and three tokens, and ratings."""
    from lm_eval.models.huggingface import HFLM

    # the small model would not write the labels: they are not among its likeliest tokens
    lm = serve(Real(model_folder), top_logprobs=3000)
    hf = HFLM(str(model_folder), device="cpu", dtype="float32")
    tasks = ["hbb_ci", "bistereo_nli_ci", "stereomap_original_likelihood"]
    seen = 0
    for name, task in load(*tasks)["tasks"].items():
        answers = []
        for model in (lm, hf):
            chat = {"apply_chat_template": True, "chat_template": model.apply_chat_template}
            task.build_all_requests(limit=1, rank=0, world_size=1, tokenizer_name="", **chat)
            answers.append(model.likelihoods(task.instances))
        for shown, (theirs, is_greedy, *_) in zip(*answers, strict=True):
            ours, greedy = shown[:2]
            if shown.how:
                assert theirs <= ours + 1e-4, name
            else:
                assert exp(ours) == pytest.approx(exp(theirs), abs=1e-3), name
                assert ours == pytest.approx(theirs, abs=0.01) and greedy == is_greedy, name
                seen += 1
    assert seen >= 9  # of 2 + 3 + 5


@pytest.mark.slow
@pytest.mark.model
def test_a_server_without_likelihoods_says_so_and_writes_the_answers_of_hf(
    monkeypatch, model_folder, tmp_path
):
    """`transformers serve` gives no likelihoods of tokens."""
    from lm_eval.models.huggingface import HFLM

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    port = free_port()
    command = [Path(sys.executable).with_name("transformers"), "serve", "--port", port]
    command += ["--device", "cpu", "--dtype", "float32", model_folder]
    address, log = f"http://localhost:{port}", tmp_path / "log"
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file) as server:
        try:
            while not answers_at(f"{address}/health"):
                assert server.poll() is None, log.read_text()[-3000:]
                time.sleep(0.5)
            lm = ChatLogprobs(f"{address}/v1/chat/completions", model=str(model_folder))
            with refused("no top_logprobs, so this model gives no"):
                lm.loglikelihood(requests())
            hf = HFLM(str(model_folder), device="cpu", dtype="float32")
            texts = [answer_of(model, "Which is the capital of France?") for model in (lm, hf)]
        finally:
            server.terminate()
    assert texts[0].strip() == texts[1].strip() != ""


def answers_at(address):
    try:
        return urllib.request.urlopen(address).status == 200
    except OSError:
        return False


def answer_of(lm, question):
    prompt = lm.apply_chat_template([{"role": "user", "content": question}])
    settings = {"until": ["\n\n"], "max_gen_toks": 12, "do_sample": False}
    [text] = lm.generate_until(
        [compat.request("generate_until", {}, (prompt, settings), 0, "a_task", 0)]
    )
    return text
