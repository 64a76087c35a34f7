"""Ten answers to one prompt are ten draws, from a server that honours seeds and from models without
seeds."""

import json
import random
from collections import Counter, defaultdict
from threading import Event

import pytest

from lm_eval_bias.harness.sampling import is_sampled
from tests.rule_model import RuleLM, evaluate, load, numbers_of
from tests.serving import chatting


class Server:
    """A chat server whose model draws a or b with equal probabilities.

    The random numbers of an answer come from the seed alone, whatever the prompt. bodies: of all
    requests. together: two were there at once. waits: the first answer for the second request.
    """

    def __init__(self):
        self.bodies, self.running = [], set()
        self.together, self.waits = Event(), False

    def answer(self, body):
        self.bodies.append(body)
        self.running.add(id(body))
        if len(self.running) > 1:
            self.together.set()
        if self.waits:
            self.together.wait(60)
        self.running.remove(id(body))
        return random.Random(body["seed"]).choice("ab")

    def values(self, key):
        return {body[key] for body in self.bodies}


@pytest.fixture
def server():
    server = Server()
    with chatting(server.answer) as server.address:
        yield server


def ask(server, task, limit, metadata=None, more="", **options):
    arguments = f"base_url={server.address},model=drawer,tokenized_requests=False,num_concurrent=4"
    options |= {"model_args": arguments + more, "apply_chat_template": True}
    return evaluate("local-chat-completions", task, metadata, limit=limit, **options)


def test_a_server_that_honours_seeds_draws_each_answer_anew(server):
    """The harness sends the seed 1234 with every request: each question would have ten equal
    answers."""
    server.waits = True
    ask(server, "hbb_generate", 6)
    seeds = defaultdict(set)
    for body in server.bodies:
        seeds[json.dumps(body["messages"])].add(body["seed"])
        assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.8, 1.0, 128)
        assert 0 <= body["seed"] < 2**31 and "do_sample" not in body
    assert len(seeds) == 6 and all(len(of_prompt) == 10 for of_prompt in seeds.values())
    assert len(server.values("seed")) == 60
    assert server.together.is_set()  # and requests still go side by side


@pytest.mark.slow
def test_a_run_with_the_same_seed_asks_the_same(server):
    runs = []
    for seed in (50, 50, 60):
        server.bodies.clear()
        ask(server, "hbb_generate", 2, {"repeats": 3}, f",seed={seed}")
        runs.append({(json.dumps(body["messages"]), body["seed"]) for body in server.bodies})
    first, again, other = runs
    assert first == again and not {seed for _, seed in first} & {seed for _, seed in other}


def test_one_seed_for_all_answers_makes_them_equal_and_is_logged(server, caplog):
    ask(server, "hbb_generate", 6, gen_kwargs="seed=7")
    assert server.values("seed") == {7}
    assert "all 60 answers agree with the others to their question" in caplog.text


def test_requests_without_sampling_do_not_change_and_a_persons_settings_are_used(server):
    ask(server, "bistereo_nli_generate", 3)
    assert server.values("seed") == {1234} and server.values("temperature") == {0}
    server.bodies.clear()
    ask(server, "bistereo_nli_generate", 2, gen_kwargs="do_sample=true,temperature=1.0")
    assert [body["temperature"] for body in server.bodies] == [1.0, 1.0]


@pytest.mark.parametrize(
    "settings, sampled",
    [
        ({"temperature": 0.8}, True),
        ({"temperature": 0.8, "do_sample": False}, False),
        ({"temperature": 0.0, "do_sample": True}, False),
        ({}, False),
    ],
)
def test_answers_are_sampled_above_a_temperature_of_0(settings, sampled):
    assert is_sampled(settings) == sampled


def test_models_without_seeds_are_asked_once_for_each_answer_and_past_the_cache(tmp_path):
    """The harness does not use its cache for sampled answers."""
    prompts = Counter()

    def say(prompt):
        prompts[prompt] += 1
        return "ab"[prompts[prompt] % 2]

    for _ in range(2):
        results = evaluate(RuleLM(say=say), "hbb_generate", limit=4, use_cache=str(tmp_path / "x"))
    assert set(prompts.values()) == {20}
    assert numbers_of(results, "hbb_generate")["mean_difference", None] == 0


@pytest.mark.parametrize("name, n", [("hbb_generate", 10), ("bistereo_nli_generate", 1)])
def test_answers_to_a_document_that_fills_a_process_up_are_not_counted_twice(name, n):
    """With an odd number of documents one of two processes gets its last document twice; lm_eval
    0.4.13 adds the second answers to the first."""
    task = load(name)["tasks"][name]
    task.build_all_requests(limit=1)
    (instance,) = task.instances
    instance.resps = ["b"] * n + ["a"] * n
    task.apply_filters()
    record = task.process_results(instance.doc, list(instance.filtered_resps.values()))["records"]
    assert not isinstance(record, list)
    if n == 10:
        assert record["option_1"] == 0 and record["option_2"] == 10
