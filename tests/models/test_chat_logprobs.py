"""`--model chat-logprobs` against servers that answer by rule, and against the small real model.

Expected likelihoods are products of the probabilities that a server was given, or those of `hf`.
"""

import gc
import json
import logging
import subprocess
import sys
import threading
import time
import urllib.request
from itertools import takewhile
from math import exp, isnan, log
from pathlib import Path

import pytest
from lm_eval.api.instance import Instance
from lm_eval.api.model import CachingLM

from lm_eval_bias.harness.choices import Nesting
from lm_eval_bias.likelihoods import Read, apart
from lm_eval_bias.models import chat_calls
from lm_eval_bias.models.chat_logprobs import ChatLogprobs
from lm_eval_bias.results import runs
from lm_eval_bias.usage import UsageError
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
    """

    def __init__(self, language, continues=True, whole=False):
        self.language, self.continues, self.whole = language, continues, whole
        self.bodies, self.faults, self.more, self.lock = [], [], {}, threading.Lock()

    def answer(self, body):
        with self.lock:
            self.bodies.append(body)
            fault = self.faults.pop(0) if self.faults else None
        if callable(fault):
            fault = fault()
        if fault is not None:
            return fault
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


@pytest.fixture
def serve(monkeypatch):
    """(server, arguments of the model) -> the model."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(chat_calls, "_backoff", lambda _: 0)
    open_servers = []

    def start(server, **arguments):
        context = chatting(server.answer)
        open_servers.append(context)
        return ChatLogprobs(context.__enter__(), model="m", **arguments)

    yield start
    for context in open_servers:
        context.__exit__(None, None, None)


def requests(*choices, questions=1, chat=True, task="a_task"):
    made = []
    for i in range(questions):
        text = json.dumps([{"role": "user", "content": f"Question {i}"}]) if chat else "Question"
        for j, choice in enumerate(choices):
            place = {"metadata": (task, i, 1), "task_name": task, "doc_id": i}
            made.append(Instance("loglikelihood", {}, (text, choice), j, **place))
    return made


def probabilities(lm, *choices):
    return [exp(value) for value, _ in lm.loglikelihood(requests(*choices))]


def hows(lm, *choices):
    return [value.how for value, _ in lm.loglikelihood(requests(*choices))]


# ---- Reading


def test_one_call_serves_all_choices_of_a_question(serve):
    server = Server({"": LETTERS})
    answers = serve(server).loglikelihood(requests("a", "b", questions=3))
    assert answers == [(pytest.approx(log(0.5)), True), (pytest.approx(log(0.25)), False)] * 3
    assert [value.shown for value, _ in answers] == pytest.approx([0.875] * 6)
    assert len(server.bodies) == 3
    assert {(b["max_tokens"], b["logprobs"], b["top_logprobs"]) for b in server.bodies} == {
        (1, True, 20)
    }


def test_a_blank_or_a_bracket_is_a_spelling_and_a_capital_if_asked_for(serve):
    language = {"": {"a": 0.5, " b": 0.125, "b)": 0.0625, "A": 0.03125, "about": 0.25}}
    assert probabilities(serve(Server(language)), "a", "b") == pytest.approx([0.5, 0.1875])
    any_case = serve(Server(language), ignore_case=True)
    assert probabilities(any_case, "a", "b") == pytest.approx([0.53125, 0.1875])


def test_an_unseen_choice_has_at_most_the_rest(serve, caplog):
    # shown 0.96875 with 0.09375 as the last; the rest is 0.03125, and 0.0001 of rounding
    lm = serve(Server({"": {"a": 0.75, "b": 0.125, "x": 0.09375}}))
    assert probabilities(lm, "a", "c", "d") == pytest.approx([0.75, 0.03135, 0.03135])
    assert hows(lm, "a", "c", "d") == ["", "unseen", "unseen"]
    # the last one shown has 0.0625, and no token that is not shown has more; the rest is 0.1875
    lm = serve(Server({"": {"a": 0.75, "x": 0.0625}}))
    assert probabilities(lm, "a", "b") == pytest.approx([0.75, 0.0625])
    assert all(isnan(value) for value, _ in lm.loglikelihood(requests("c", "d")))
    assert "1 of 1 questions are unanswered, since the server showed none" in caplog.text


def test_the_token_of_the_answer_is_shown_though_others_have_more(serve):
    """As vLLM does: "c" may have 0.125, as the last of those that have the most, not 2 ** -10."""
    server = Server({})
    shown = [{"token": t, "logprob": log(p)} for t, p in (("x", 2**-10), ("a", 0.5), ("b", 0.125))]
    content = [{"token": "x", "logprob": log(2**-10), "top_logprobs": shown}]
    server.more = {"choices": [{"index": 0, "logprobs": {"content": content}}]}
    assert probabilities(serve(server), "a", "c") == pytest.approx([0.5, 0.125])


def test_a_token_without_its_probability_hides_no_other(serve):
    """Null is -inf in some servers' JSON, but may be any number: "x" and what is not shown have at
    most the rest, 0.1875, and 0.0001 of rounding. The last one shown is no bound then."""
    server = Server({})
    shown = [
        {"token": t, "logprob": p} for t, p in (("a", log(0.75)), ("x", None), ("b", log(2**-4)))
    ]
    for logprobs in (
        {"content": [{"token": "a", "logprob": log(0.75), "top_logprobs": shown}]},
        {"top_logprobs": [{row["token"]: row["logprob"] for row in shown}]},
    ):
        server.more = {"choices": [{"index": 0, "logprobs": logprobs}]}
        lm = serve(server)
        assert probabilities(lm, "a", "b", "c", "x") == pytest.approx(
            [0.75, 0.0625, 0.1876, 0.1876]
        )
        assert hows(lm, "a", "b", "c", "x") == ["", "", "unseen", "unseen"]


def test_a_shorter_token_is_not_taken_for_one_that_is_hidden(serve):
    """ "Neutral" is "Ne" and "utral"; where "N" alone is shown, it has 0.0625 or less."""
    language = {"": {"Ent": 0.5, "N": 0.125, "x": 0.0625, "Ne": 0.03125}, "N": {"eutral": 0.5}}
    language["Ent"] = {"ailment": 1.0}
    lm = serve(Server(language), top_logprobs=3)
    assert probabilities(lm, "Entailment", "Neutral") == pytest.approx([0.5, 0.0625])
    assert hows(lm, "Entailment", "Neutral") == ["", "unseen"]


def test_a_server_that_gives_the_likelihood_of_a_turn_hides_nothing(serve):
    server = Server(LABELS, whole=True)
    lm = serve(server, top_logprobs=1)
    answers = lm.loglikelihood(requests("Entailment", "Neutral", questions=2))
    expected = [(log(0.5 * 0.5 * 0.75), True), (log(0.25 * 0.5), False)] * 2
    assert [(pytest.approx(value), greedy) for value, greedy in expected] == answers
    assert {value.how for value, _ in answers} == {""}
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


def test_a_choice_of_several_tokens_is_asked_on_where_the_server_continues(serve):
    server = Server(LABELS)
    lm = serve(server)
    found = probabilities(lm, "Entailment", "Neutral")
    assert found == pytest.approx([0.5 * 0.5 * 0.75, 0.25 * 0.5])
    # the question, "Ent", "Entail" and "Ne"; once, whether the server continues, and whether a
    # token goes on into "ailment", "ment" or "utral", letter by letter
    assert len(server.bodies) == 4 + 1 + 7 + 4 + 5
    lm.loglikelihood(requests("Entailment", "Neutral", questions=2))
    assert len(server.bodies) == 21 + 2 * 4
    server = Server(LABELS, continues=False)
    lm = serve(server)
    assert probabilities(lm, "Entailment", "Neutral") == pytest.approx([0.5, 0.25])
    assert hows(lm, "Entailment", "Neutral") == ["first token"] * 2
    assert len(server.bodies) == 4  # and two ways to let it continue, tried once


def test_a_shared_beginning_needs_a_server_that_continues(serve):
    language = {"": {"Mar": 0.5, "x": 0.25}, "Mar": {"ia": 0.5, "ta": 0.25}}
    assert probabilities(serve(Server(language)), "Maria", "Marta") == pytest.approx([0.25, 0.125])
    with pytest.raises(UsageError, match="'Maria', 'Marta' begin with the same token"):
        probabilities(serve(Server(language, continues=False)), "Maria", "Marta")


def test_a_number_does_not_have_the_probability_of_longer_ones(serve):
    digits = {"": {"8": 0.5, "9": 0.25}, "8": {"5": 0.25, "\n": 0.5}}
    numbers = {"": {"8": 0.5, "85": 0.125}}
    for language, of_eight in ((digits, 0.5 - 0.5 * 0.25), (numbers, 0.5)):
        lm = serve(Server(language))
        answers = lm.loglikelihood(requests("8", "85"))
        exclusive = apart(answers, Nesting(lm)("", ["8", "85"]))
        assert [exp(v) for v, _ in exclusive] == pytest.approx([of_eight, 0.125])


def test_a_number_may_have_what_a_hidden_longer_one_has_not(serve):
    """Behind "8", 0.5, the server shows "." and "4"; "5" has at most 0.125, as "4"."""
    language = {"": {"8": 0.5, "9": 0.25}, "8": {".": 0.5, "4": 0.125, "5": 0.0625}}
    lm, choices = serve(Server(language), top_logprobs=2), ["8", "84", "85"]
    likelihoods = lm.loglikelihood(requests(*choices))
    answers = [value for value, _ in apart(likelihoods, Nesting(lm)("", choices))]
    assert [exp(v) for v in answers] == pytest.approx([0.5 - 0.0625 - 0.0625, 0.0625, 0.0625])
    assert [exp(v) for v in Read.without_unseen(answers)] == pytest.approx([0.4375, 0.0625, 0])


def test_numbers_that_share_their_first_token_may_have_all_of_it(serve):
    """The server does not go on behind "8", which has 0.5; the rest of the tokens has less."""
    lm = serve(Server({"": {"8": 0.5, "9": 0.25}}, continues=False))
    assert probabilities(lm, "8", "84", "85", "7") == pytest.approx([0.5, 0.5, 0.5, 0.25])
    assert hows(lm, "8", "84", "85", "7") == ["", *["unseen"] * 3]


def test_pieces_of_a_letter_are_joined_by_their_bytes(serve):
    lm = serve(Server({"": {"é".encode()[:1]: 0.5, "n": 0.25}}))
    assert probabilities(lm, "été", "n") == pytest.approx([0.5, 0.25])
    assert hows(lm, "été", "n") == ["first token", ""]  # no JSON holds half a letter


# ---- What cannot be asked


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (requests("a", "b", chat=False), "needs --apply_chat_template"),
        (requests("A long sentence. " * 5, "Another one. " * 8), "a_task: the choices of a"),
    ],
)
def test_a_task_that_cannot_be_asked_says_so_before_the_first_call(serve, asked, sentence):
    server = Server({"": LETTERS})
    lm = serve(server)
    with pytest.raises(UsageError, match=sentence):
        lm.loglikelihood([*requests("a", "b"), *asked])
    with pytest.raises(UsageError, match="chat-logprobs gives no likelihood of a text"):
        lm.loglikelihood_rolling(asked)
    assert not server.bodies


def test_a_task_that_cannot_be_asked_is_refused_before_the_first_request_of_a_run(serve):
    lm = serve(Server({}))
    names = ("bistereo_pairs_ci", "hbb_ci", "mist_wabt_likelihood_ci", "mist_wabt")
    tasks = load(*names)["tasks"]
    chat = {"apply_chat_template": True, "chat_template": lm.apply_chat_template, "limit": 2}
    for name, why in (
        ("bistereo_pairs_ci", "it scores texts as they stand"),
        ("mist_wabt_likelihood_ci", "the choices of a question have 236 characters"),
    ):
        message = f"{name}: --model chat-logprobs cannot be asked this: {why}"
        with pytest.raises(UsageError, match=message):
            tasks[name].build_all_requests(**chat)
    for name in ("hbb_ci", "mist_wabt"):
        tasks[name].build_all_requests(**chat)


def test_arguments_that_are_wrong_or_secret_are_refused():
    for name, sentence in (("num_concurent", "'num_concurrent'"), ("header", "OPENAI_API_KEY")):
        with pytest.raises(UsageError, match=sentence):
            ChatLogprobs(model="m", **{name: 1})


# ---- Servers that fail


def hanging():
    time.sleep(1.5)


@pytest.mark.parametrize(
    "fault",
    [
        Raw(500, b"down"),
        Raw(200, b'{"choices": [{"ind'),
        Raw(200, b'{"error": "no provider"}'),
        Raw(429, b"slow down", {"Retry-After": "1"}),
        hanging,
    ],
)
def test_a_call_that_failed_is_made_again(serve, fault):
    server, begun = Server({"": LETTERS}), time.monotonic()
    server.faults = [fault, fault]
    lm = serve(server, timeout=1 if fault is hanging else 60)
    assert probabilities(lm, "a", "b") == pytest.approx([0.5, 0.25])
    assert len(server.bodies) == 3
    if getattr(fault, "headers", None):
        assert time.monotonic() - begun >= 2


def test_what_goes_on_failing_ends_in_a_sentence_without_the_key(serve, caplog):
    caplog.set_level(logging.DEBUG)
    for fault, sentence in (
        (Raw(500, f"bad Authorization: {KEY}".encode()), "asked 2 times in vain: status 500"),
        (Raw(401, f"wrong key {KEY}".encode()), "status 401: wrong key"),
        ({"choices": [{"message": {"content": "a"}}]}, "no top_logprobs"),
    ):
        server = Server({"": LETTERS})
        server.faults = [fault] * 3
        with pytest.raises(UsageError, match=sentence) as error:
            probabilities(serve(server, max_retries=2), "a", "b")
        assert KEY not in str(error.value) + caplog.text
    questions = [request.args[0] for request in requests("a", questions=2)]
    written = [Instance("generate_until", {}, (q, {"until": ["x"]}), 0) for q in questions]
    server.faults = [Raw(401, b"no")] * 2
    with pytest.raises(UsageError, match="status 401"):
        serve(server, max_retries=2).generate_until(written)
    gc.collect()  # asyncio tells of errors that nobody took when their tasks are dropped
    assert KEY not in caplog.text and "never retrieved" not in caplog.text


@pytest.mark.parametrize(
    ("language", "choices", "before"),
    [
        ({"": LETTERS}, ("a", "b"), 1),
        # the second question's call behind "Ent" or "Ne"; the first took 21 calls
        (LABELS, ("Entailment", "Neutral"), 22),
    ],
)
def test_a_question_held_back_by_a_filter_is_unanswered(serve, language, choices, before):
    server = Server(language)
    server.faults = [None] * before + [Raw(400, b"content_filter")]
    answers = serve(server, num_concurrent=1).loglikelihood(requests(*choices, questions=3))
    assert [isnan(value) for value, _ in answers] == [False, False, True, True, False, False]


class Gateway(Server):
    """A server in front of others that refuses a field, or two. says: its sentence."""

    def __init__(self, *refused, says=""):
        super().__init__({"": LETTERS})
        self.refused, self.says = refused, says

    def answer(self, body):
        reply = super().answer(body)
        wrong = [field for field in self.refused if field in body]
        return Raw(400, (self.says or f"unknown field {wrong[0]}").encode()) if wrong else reply

    def limits(self):
        names = ("max_tokens", "max_completion_tokens")
        return [[name for name in names if name in body] for body in self.bodies]


SHORT, LONG = ["max_tokens"], ["max_completion_tokens"]
OPENAI_SAYS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)


@pytest.mark.parametrize(
    ("refused", "other", "says"),
    [
        (SHORT, LONG, ""),
        (SHORT, LONG, OPENAI_SAYS),
        (SHORT, LONG, '{"input": "' + "x" * 500 + '"} max_tokens'),
        (LONG, SHORT, ""),  # a gateway of an older server
    ],
)
def test_a_server_that_refuses_the_name_of_the_limit_gets_the_other_one_from_then_on(
    serve, refused, other, says, monkeypatch
):
    gateway = Gateway(*refused, says=says)
    lm = serve(gateway, max_retries=1)
    monkeypatch.setattr(lm, "_limits", (*refused, *other))  # the second of openai.com
    assert probabilities(lm, "a", "b") == pytest.approx([0.5, 0.25])
    lm.loglikelihood(requests("a", "b", questions=3))
    assert gateway.limits() == [refused, *[other] * 4]


def test_written_answers_asked_side_by_side_switch_too(serve):
    gateway = Gateway("max_tokens")
    lm = serve(gateway, num_concurrent=3)
    questions = [request.args[0] for request in requests("a", questions=9)]
    asked = [
        Instance("generate_until", {}, (q, {"until": [], "max_gen_toks": 7}), 0) for q in questions
    ]
    assert lm.generate_until(asked) == ["x"] * 9
    sent = [body for body in gateway.bodies if "max_tokens" not in body]
    assert [body["max_completion_tokens"] for body in sent] == [7] * 9
    lm.generate_until(asked)
    assert gateway.limits()[-9:] == [LONG] * 9


def test_what_neither_name_mends_ends_in_the_first_sentence(serve):
    gateway = Gateway("max_tokens", "max_completion_tokens")
    with pytest.raises(UsageError, match="unknown field max_tokens"):
        probabilities(serve(gateway), "a", "b")
    assert gateway.limits() == [SHORT, LONG]
    server = Server({"": LETTERS})
    server.faults = [Raw(400, OPENAI_SAYS.encode()), Raw(400, b"this model gives no logprobs")]
    with pytest.raises(UsageError, match="this model gives no logprobs"):
        probabilities(serve(server), "a", "b")
    other = Gateway("logprobs")  # which has nothing to do with the limit
    with pytest.raises(UsageError, match="unknown field logprobs"):
        probabilities(serve(other), "a", "b")
    assert other.limits() == [SHORT]


def test_null_in_extra_body_leaves_a_field_out(serve):
    gateway = Gateway("max_tokens", "temperature")
    extra = {"max_tokens": None, "max_completion_tokens": 1, "temperature": None}
    assert probabilities(serve(gateway, extra_body=extra), "a", "b") == pytest.approx([0.5, 0.25])
    assert gateway.limits() == [LONG]


def test_another_model_in_the_middle_of_a_run_ends_it(serve):
    server = Server({"": LETTERS})
    lm = serve(server)
    assert probabilities(lm, "a", "b") == pytest.approx([0.5, 0.25])
    server.more = {"model": "cheaper"}
    with pytest.raises(UsageError, match="m answered before, now cheaper does"):
        probabilities(lm, "a", "b")


def test_a_refusal_in_the_middle_of_a_run_ends_it_and_keeps_the_answers(
    serve, tmp_path, capfd, caplog
):
    server = Server({"": LETTERS})
    lm = CachingLM(serve(server), str(tmp_path / "cache"))
    server.faults = [None] * 5 + [Raw(402, b"no credit")] * 9
    with pytest.raises(UsageError, match="status 402: no credit"):
        lm.loglikelihood(requests("a", "b", questions=20))
    gc.collect()
    assert "never retrieved" not in capfd.readouterr().err + caplog.text
    server.bodies.clear()
    server.faults.clear()
    values = [v for v, _ in lm.loglikelihood(requests("a", "b", questions=20))]
    assert values == pytest.approx([log(0.5), log(0.25)] * 20)
    assert len(server.bodies) < 20  # an answer that arrives with the refusal may be lost


def test_requests_keep_to_their_pace(serve):
    lm, begun = serve(Server({"": LETTERS}), requests_per_minute=600), time.monotonic()
    lm.loglikelihood(requests("a", "b", questions=6))
    assert time.monotonic() - begun >= 0.5  # a tenth of a second between two


def test_a_budget_ends_the_run_and_the_cache_goes_on(serve, tmp_path, caplog):
    server = Server({"": LETTERS})  # a call reads 10 tokens and writes 1
    asked = requests("a", "b", questions=10)
    prices = {"input_price": 100_000, "output_price": 1_000_000, "num_concurrent": 1}  # $2
    first = CachingLM(serve(server, max_cost=7, **prices), str(tmp_path / "cache"))
    values = [value for value, _ in first.loglikelihood(asked)]
    assert [isnan(value) for value in values] == [False] * 8 + [True] * 12  # four calls
    assert "max_cost is reached (4 calls, 44 tokens, $8.0000); 6 of 10" in caplog.text
    lm = first.lm
    lm.spending._most = None
    again = CachingLM(lm, str(tmp_path / "cache"))
    assert [v for v, _ in again.loglikelihood(asked)] == pytest.approx([log(0.5), log(0.25)] * 10)
    assert len(server.bodies) == 10
    with pytest.raises(UsageError, match="add input_price and output_price"):
        probabilities(serve(server, max_cost=1), "a", "b")
    assert len(server.bodies) == 11


# ---- Through the harness


def test_the_record_and_the_report_say_what_was_not_seen(serve, tmp_path):
    from lm_eval.loggers import EvaluationTracker

    server = Server({"": {"a": 0.5, "x": 0.125}})  # b is not shown: at most 0.125
    lm = serve(server)
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

    def __init__(self, folder):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

        self.torch, self.lock = torch, threading.Lock()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.read, self.cache = [], DynamicCache()  # the tokens before, which most calls share

    def answer(self, body):
        begun = body["messages"][-1]["role"] == "assistant"
        ways = {"continue_final_message": True} if begun else {"add_generation_prompt": True}
        text = self.tokenizer.apply_chat_template(body["messages"], tokenize=False, **ways)
        ids = self.tokenizer(text, add_special_tokens=False).input_ids
        with self.lock, self.torch.no_grad():
            both = zip(self.read, ids[:-1], strict=False)
            same = len(list(takewhile(lambda pair: pair[0] == pair[1], both)))
            if same < len(self.read):
                self.cache.crop(same - len(self.read))
            self.read = ids
            given = self.torch.tensor([ids[same:]])
            logits = self.model(given, past_key_values=self.cache).logits[0, -1]
            values, tokens = logits.log_softmax(-1).topk(body["top_logprobs"])
        shown = [
            {"token": self.tokenizer.decode([t]), "logprob": v}
            for v, t in zip(values.tolist(), tokens.tolist(), strict=True)
        ]
        choice = {"index": 0, "logprobs": {"content": [{"top_logprobs": shown}]}}
        return {"choices": [choice], "usage": {"prompt_tokens": len(ids)}}


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
            for request in task.instances:
                request.request_type = "loglikelihood"
            answers.append(model.loglikelihood(task.instances))
        for (ours, greedy), (theirs, is_greedy) in zip(*answers, strict=True):
            if ours.how:
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
            with pytest.raises(UsageError, match="no top_logprobs, so this model gives no"):
                lm.loglikelihood(requests("a", "b"))
            hf = HFLM(str(model_folder), device="cpu", dtype="float32")
            texts = [written(model, "Which is the capital of France?") for model in (lm, hf)]
        finally:
            server.terminate()
    assert texts[0].strip() == texts[1].strip() != ""


def answers_at(address):
    try:
        return urllib.request.urlopen(address).status == 200
    except OSError:
        return False


def written(lm, question):
    prompt = lm.apply_chat_template([{"role": "user", "content": question}])
    settings = {"until": ["\n\n"], "max_gen_toks": 12, "do_sample": False}
    [text] = lm.generate_until([Instance("generate_until", {}, (prompt, settings), 0)])
    return text
