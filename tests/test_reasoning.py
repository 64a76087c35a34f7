"""`--metadata reasoning=true`: a model that thinks first, behind a chat server and in `hf`."""

import pytest
import torch
from lm_eval.models.huggingface import HFLM
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel
from transformers.modeling_outputs import CausalLMOutput

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


class Thinker(GPT2LMHeadModel):
    """After the header of its turn it writes a text, then the end."""

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        return {"input_ids": input_ids}

    def forward(self, input_ids, attention_mask=None, **_):
        logits = torch.zeros(*input_ids.shape, self.config.vocab_size)
        for row, ids in enumerate(input_ids.tolist()):
            size = len(self.header)
            turn = max(i for i in range(len(ids)) if ids[i : i + size] == self.header) + size
            logits[row, -1, self.script[len(ids) - turn]] = 1
        return CausalLMOutput(logits=logits)


@pytest.mark.model
@pytest.mark.parametrize("task", ANSWERS)
def test_a_thinking_model_in_hf(model_folder, task):
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    model = Thinker(GPT2Config(vocab_size=len(tokenizer), n_embd=2, n_layer=1, n_head=1))
    model.header = tokenizer("<|im_start|>assistant\n")["input_ids"]
    model.script = [*tokenizer(THOUGHTS + ANSWERS[task][0])["input_ids"], tokenizer.eos_token_id]
    lm = HFLM(model, tokenizer=tokenizer, batch_size=2, max_length=8192)
    assert all(ANSWERS[task][1] in read for read in answers(task, lm, True))
