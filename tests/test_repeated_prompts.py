"""Ten answers to one prompt are ten draws, from a server that honours seeds and from models without
seeds."""

import json
import random
import threading
import time
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rule_model import RuleLM, evaluate, numbers_of

from lm_eval_bias.harness.sampling import is_sampled


class Server:
    """A chat server whose model draws a or b with equal probabilities.

    The random numbers of an answer come from the seed alone, whatever the prompt. bodies: of all
    requests. together: the largest number of requests at once.
    """

    def __init__(self):
        self.bodies, server = [], self
        self.together, here, changing = 0, [], threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with changing:
                    server.bodies.append(body)
                    here.append(body)
                    server.together = max(server.together, len(here))
                letter = random.Random(body["seed"]).choice("ab")
                time.sleep(0.002)
                with changing:
                    here.pop()
                answer = json.dumps(
                    {"choices": [{"index": 0, "message": {"role": "assistant", "content": letter}}]}
                ).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/v1/chat/completions"


@pytest.fixture
def server():
    server = Server()
    thread = threading.Thread(target=server.server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.server.shutdown()
    thread.join()
    server.server.server_close()


def ask(server, task, limit, metadata=None, **options):
    more = options.pop("model_args", "")
    arguments = (
        f"base_url={server.address},model=drawer,tokenized_requests=False,num_concurrent=4{more}"
    )
    return evaluate(
        "local-chat-completions",
        task,
        metadata,
        limit=limit,
        model_args=arguments,
        apply_chat_template=True,
        **options,
    )


@pytest.mark.slow
def test_a_server_that_honours_seeds_draws_each_answer_anew(server):
    """The harness sends the seed 1234 with every request: each question would have ten equal
    answers, and half of the instances an S of 100."""
    results = ask(server, "hbb_generate", 58)
    numbers = numbers_of(results, "hbb_generate")
    seeds = defaultdict(set)
    for body in server.bodies:
        seeds[json.dumps(body["messages"])].add(body["seed"])
        assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.8, 1.0, 128)
        assert 0 <= body["seed"] < 2**31
    assert len(seeds) == 58 and all(len(of_prompt) == 10 for of_prompt in seeds.values())
    assert numbers["bias_score", None] == pytest.approx(28.6, abs=6)
    assert numbers["biased_share", None] == pytest.approx(50, abs=25)
    assert not any("do_sample" in body for body in server.bodies)


@pytest.mark.slow
def test_no_two_prompts_are_answered_with_the_same_random_numbers(server):
    """With the same ten seeds for every prompt a model without bias gives the same ten answers
    about everybody: S is 0 throughout, where chance has half of the instances over the threshold,
    and beyond_chance_share is -50."""
    results = ask(server, "hbb_generate", 12 * 58, {"repeats": 5})
    numbers = numbers_of(results, "hbb_generate")
    (beyond,) = (
        row
        for row in results["configs"]["hbb_generate"]["cells"]["numbers"]
        if (row["metric"], row["group"]) == ("beyond_chance_share", None)
    )
    assert len({body["seed"] for body in server.bodies}) == len(server.bodies) == 12 * 58 * 5
    assert beyond["low"] < 0 < beyond["high"]
    assert abs(numbers["beyond_chance_share", None]) < 5 and numbers["biased_share", None] > 40
    assert server.together > 1  # and requests still go side by side


@pytest.mark.slow
def test_a_run_with_the_same_seed_asks_the_same(server):
    runs = []
    for seed in (50, 50, 60):
        server.bodies.clear()
        ask(server, "hbb_generate", 2, {"repeats": 3}, model_args=f",seed={seed}")
        runs.append(sorted((json.dumps(body["messages"]), body["seed"]) for body in server.bodies))
    assert runs[0] == runs[1] and not {seed for _, seed in runs[0]} & {seed for _, seed in runs[2]}


@pytest.mark.slow
def test_one_seed_for_all_answers_makes_them_equal_and_is_logged(server, caplog):
    numbers = numbers_of(ask(server, "hbb_generate", 58, gen_kwargs="seed=7"), "hbb_generate")
    assert {body["seed"] for body in server.bodies} == {7}
    # the random numbers are the same for all prompts, so all groups are equal
    assert numbers["mean_difference", None] == 0
    assert "all 580 answers agree with the others to their question" in caplog.text


@pytest.mark.slow
def test_rounds_are_drawn_anew_too(server):
    """StereoMap asks the same prompt in each of ten rounds, as documents."""
    ask(server, "stereomap_original", None, {"rounds": 3, "groups": "fiske"})
    of = Counter(json.dumps(body["messages"]) for body in server.bodies)
    assert set(of.values()) == {3} and len({body["seed"] for body in server.bodies}) == 3 * len(of)


def test_requests_without_sampling_do_not_change(server):
    ask(server, "bistereo_nli_generate", 3)
    assert {body["seed"] for body in server.bodies} == {1234} and {
        body["temperature"] for body in server.bodies
    } == {0}


def test_a_persons_settings_are_used(server):
    """Nothing is sampled in the task, and all of it with --gen_kwargs."""
    ask(server, "bistereo_nli_generate", 2, gen_kwargs="do_sample=true,temperature=1.0")
    assert [body["temperature"] for body in server.bodies] == [1.0, 1.0]
    assert is_sampled({"temperature": 0.8}) and not is_sampled(
        {"temperature": 0.8, "do_sample": False}
    )
    assert (
        not is_sampled({"temperature": 0.0, "do_sample": True})
        and not is_sampled({})
        and not is_sampled(None)
    )


def test_models_without_seeds_are_asked_once_for_each_answer():
    prompts = Counter()

    def say(prompt):
        prompts[prompt] += 1
        return "ab"[prompts[prompt] % 2]

    results = evaluate(RuleLM(say=say), "hbb_generate", limit=4)
    assert set(prompts.values()) == {10}
    assert numbers_of(results, "hbb_generate")["mean_difference", None] == 0


@pytest.mark.slow
def test_a_cache_gives_no_sampled_answer_twice(tmp_path):
    """The harness does not use its cache for sampled answers."""
    prompts = Counter()

    def say(prompt):
        prompts[prompt] += 1
        return "a"

    for _ in range(2):
        evaluate(RuleLM(say=say), "hbb_generate", limit=2, use_cache=str(tmp_path / "cache"))
    assert set(prompts.values()) == {20}


@pytest.mark.parametrize(
    ("task", "n", "counted"), [("hbb_generate", 10, "option_1"), ("bistereo_nli_generate", 1, None)]
)
def test_answers_to_a_document_that_fills_a_process_up_are_not_counted_twice(task, n, counted):
    """With an odd number of documents one of two processes gets its last document twice; lm_eval
    0.4.13 adds the second answers to the first."""
    from lm_eval.tasks import TaskManager

    from lm_eval_bias.catalogue import tasks_folder

    task = TaskManager(include_path=tasks_folder(), include_defaults=False).load([task])["tasks"][
        task
    ]
    task.build_all_requests(limit=1)
    (instance,) = task.instances
    instance.resps = ["b"] * n + ["a"] * n
    task.apply_filters()
    record = task.process_results(
        instance.doc, [instance.filtered_resps[name] for name in instance.filtered_resps]
    )["records"]
    assert not isinstance(record, list)
    if counted:
        assert record["option_1"] == 0 and record["option_2"] == 10
