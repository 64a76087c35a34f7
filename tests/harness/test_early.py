"""A task whose first eight answers are of no use asks no more."""

import json
import re

import pytest
import torch

from lm_eval_bias.harness import compat, early
from lm_eval_bias.likelihoods import Thought
from tests.rule_model import ChatLM, RuleLM, evaluate
from tests.serving import chatting
from tests.started import run_lm_eval
from tests.templates import TEMPLATES

TASK, LETTERS = "bistereo_nli_generate", "hbb"
OPEN = "<think>Okay, the premise is a man,"
APART = {"role": "assistant", "content": None, "reasoning_content": "Okay, the premise"}


def reply(message, *tokens):
    shown = [{"token": token, "logprob": -1.0 - i} for i, token in enumerate(tokens)]
    logprobs = {"content": [{"top_logprobs": shown}]}
    return {"choices": [{"index": 0, "message": message, "logprobs": logprobs}]}


@pytest.fixture
def ask(monkeypatch):
    """(model type, what its server answers, task, metadata) -> calls, how it stopped, results."""
    endings, calls, says = [], [], []
    monkeypatch.setattr(compat, "fail_at_end", lambda *ending: endings.append(ending))

    def answer(body):
        calls.append(body)
        return says[-1](len(calls)) if callable(says[-1]) else says[-1]

    def ask(kind, answer, task=TASK, metadata=None, limit=12, **options):
        calls.clear()
        says.append(answer)
        options |= {"model_args": f"base_url={address},model=m", "apply_chat_template": True}
        results = evaluate(kind, task, metadata, limit=limit, log_samples=True, **options)
        return len(calls), endings, results

    with chatting(answer) as address:
        yield ask


HARNESS, OURS = "local-chat-completions", "chat-logprobs"
USELESS = [
    (HARNESS, reply(APART), TASK, "empty.*reasoning_content.*reasoning=true"),
    (OURS, reply(APART), TASK, "within a thought: add --metadata reasoning=true"),
    (HARNESS, OPEN, TASK, "within a thought: add --metadata reasoning=true"),
    (HARNESS, OPEN, "mist_aat", "within a thought"),
    (HARNESS, "I cannot answer that.", TASK, "declines"),
    (HARNESS, "Well, well.", TASK, "no answers: add --apply_chat_template"),
    # the letters stand among the tokens of a thought, too
    (OURS, reply(APART, "Okay", "a", "b"), LETTERS, "with a thought.*reasoning_content"),
    (OURS, reply({"content": "<think>"}, "<think>", "a", "b"), LETTERS, "with a thought.*enable_"),
    (OURS, reply({"content": "It"}, "It", "The"), LETTERS, "shows none of the choices.*top_log"),
]


@pytest.mark.parametrize("kind, answer, task, why", USELESS)
def test_a_task_asks_no_more_after_eight_answers_without_use(ask, kind, answer, task, why):
    calls, [(sentence, status)], results = ask(kind, answer, task)
    turns = 1 + (task == "mist_aat")
    # chat-logprobs tries twice whether a server continues a turn, if a choice is hidden
    assert calls in (8 * turns, 10)
    assert status == 76 and re.match(f"{task}: .*{why}.*anyway=true", sentence), sentence
    config, samples = results["configs"][task], results["samples"][task]
    assert config["stopped"] == sentence and "cells" not in config
    assert samples[-1]["records"] == {"error": sentence}
    assert ask(kind, answer, task, {"anyway": True})[0] >= 12 * turns


def test_one_answer_of_use_among_eight_is_enough_and_seven_are_no_first_eight(ask):
    calls, endings, results = ask(HARNESS, lambda n: "Neutral" if n == 8 else OPEN)
    assert (calls, endings) == (12, []) and "cells" in results["configs"][TASK]
    assert ask(HARNESS, OPEN, limit=7)[:2] == (7, [])


@pytest.mark.parametrize("closed, kind", [(True, ""), (False, "cut off")])
def test_choices_behind_an_empty_thought_are_of_use(closed, kind):
    answer = [Thought("", 0, closed), [(-1.0, True), (-2.0, False)]]
    assert early._kind(None, {}, answer) == kind


def test_what_a_cache_has_is_not_asked_again_before_a_task_stops(ask, tmp_path):
    cache = {"use_cache": str(tmp_path / "cache")}
    answer = reply({"content": "<think>"}, "<think>", "a", "b")
    for metadata, expected in ((None, 8), (None, 0), ({"anyway": True}, 4)):
        assert ask(HARNESS, OPEN, TASK, metadata, **cache)[0] == expected
        assert ask(OURS, answer, LETTERS, metadata, **cache)[0] == expected


class OneOfTwo(RuleLM):
    """A process of two. other: whether the other one would stop."""

    world_size, device = 2, "cpu"

    def all_gather(self, flags):
        return torch.cat([flags, torch.full_like(flags, self.other)])


@pytest.mark.parametrize("other", [True, False])
def test_processes_stop_together(other, monkeypatch):
    monkeypatch.setattr(compat, "fail_at_end", lambda *_: None)
    lm = OneOfTwo(say=lambda _: OPEN)
    lm.other = other
    early.watched[other] = None
    answers = lm.conversation(
        [compat.request("conversation", {}, (str(i), {}), 0, other, i) for i in range(20)]
    )
    assert answers.count(OPEN) == (8 if other else 20)


def test_a_run_that_stops_a_task_keeps_the_others_and_has_a_status_of_its_own(tmp_path, command):
    other = "bistereo_analogy_generate"

    def answer(body):
        return "Neutral" if "Inference" in str(body) else "<think>Okay"

    with chatting(answer) as address:
        arguments = f"--model {HARNESS} --model_args base_url={address},model=m --limit 10"
        arguments += f" --apply_chat_template --log_samples --output_path {tmp_path}"
        done = run_lm_eval([*arguments.split(), "--tasks", f"{TASK},{other}"], tmp_path)
    assert done.returncode == 76 and f"lm-eval-bias: {other}: no answer" in done.stderr
    (path,) = tmp_path.rglob("results_*.json")
    configs = json.loads(path.read_text())["configs"]
    assert "cells" in configs[TASK] and configs[other]["stopped"] in done.stderr
    (samples,) = tmp_path.rglob(f"samples_{other}_*")
    report = "report", tmp_path, "-o", tmp_path / "r", "--no_figures"
    for shown in (command(*report), command("merge", other, samples)):
        assert configs[other]["stopped"] in shown[2]


def test_a_chat_template_that_nobody_asked_for_is_named_once(tmp_path, caplog):
    settings = json.dumps({"chat_template": TEMPLATES["chat"]})
    (tmp_path / "tokenizer_config.json").write_text(settings)
    known, lm = {"pretrained": str(tmp_path)}, ChatLM(lambda *_: -1.0)

    def marked(task, **options):
        results = evaluate(lm, task, known, limit=2, **options)
        return "unused_chat_template" in results["configs"][task]["metadata"]

    assert not marked("bistereo_pairs_height")  # scores texts as they stand
    assert not marked(LETTERS, apply_chat_template=True)
    assert marked(LETTERS) and marked("bistereo_analogy")
    (line,) = [text for text in caplog.text.splitlines() if str(tmp_path) in text]
    assert "right for a base model; an instruction-tuned one needs --apply_chat_template" in line
