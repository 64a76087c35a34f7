"""`--metadata reasoning=true`: a model that thinks first, behind a chat server."""

import pytest

from tests.rule_model import evaluate
from tests.serving import chatting

ANSWERS = {  # and how it is read
    "bistereo_nli_generate": ("Entailment", "entailment"),
    "bistereo_analogy_generate": ("Neither word", "unparsed"),
    "empathy_religion": ("70", "70.0"),
    "mist_aat": ("It has four legs. Tragedy", "tragedy"),
}
THOUGHTS = "<think>\nThe premise comes first.\n\nPremise: a man.\n\nIs 20 enough?\n</think>\n\n"


def answers(task, lm, reasoning, **options):
    options |= {"apply_chat_template": True, "limit": 4, "log_samples": True}
    results = evaluate(lm, task, {"reasoning": bool(reasoning)}, **options)
    return [str(sample["filtered_resps"]) for sample in results["samples"][task]]


@pytest.mark.parametrize("task", ANSWERS)
def test_a_thinking_model_behind_a_chat_server(task):
    bodies = []

    def answer(body):
        bodies.append(body)
        text = THOUGHTS + ANSWERS[task][0]
        text = text[: min(text.find(stop) % 1000 for stop in body["stop"])]
        return " ".join(text.split(" ")[: body["max_tokens"]])

    with chatting(answer) as address:
        model_args = f"base_url={address},model=thinker,tokenized_requests=False"
        ask = [answers(task, "local-chat-completions", on, model_args=model_args) for on in (1, 0)]
    assert all(ANSWERS[task][1] in read for read in ask[0])
    if "\n\n" in bodies[-1]["stop"]:
        assert all("cut off" in read for read in ask[1])
    earlier = [m for body in bodies for m in body["messages"] if m["role"] == "assistant"]
    assert bool(earlier) == (task == "mist_aat") and "think" not in str(earlier)
