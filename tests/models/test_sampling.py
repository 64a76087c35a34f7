"""Sampled answers of hf-prefix: the distribution is that of the harness's hf, each answer has
random numbers of its own."""

from collections import Counter

import numpy as np
import pytest
import tiny
import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from scipy.stats import binomtest, chisquare, kstest
from tiny import hf, prefix

from lm_eval_bias.models.decoding import drawn
from lm_eval_bias.models.prefix import PrefixLM

PLAIN = {"until": [], "do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}


class Tokens:
    """Answers as tokens: bytes that make no letter are one and the same text."""

    def tok_decode(self, tokens, skip_special_tokens=True):
        if isinstance(tokens, int):
            return super().tok_decode(tokens, skip_special_tokens)
        return " ".join(map(str, tokens))


class TokensOfPrefix(Tokens, PrefixLM):
    pass


class TokensOfHF(Tokens, HFLM):
    pass


def answers(model, requests, seed=1):
    torch.manual_seed(seed)
    return model.generate_until(requests, disable_tqdm=True)


def request(prompt, **settings):
    return Instance("generate_until", {}, (prompt, {"until": [], **settings}), 0)


def repeated(prompt, settings, count=10, doc=0, task="task"):
    """The same object several times, as the harness hands repeats over."""
    return [Instance("generate_until", {}, (prompt, settings), 0, (task, doc, count))] * count


@pytest.fixture(scope="module")
def llama():
    return tiny.model("Llama")


# ---- The distribution


def test_tokens_are_drawn_with_their_exact_probabilities():
    """Of the first token, and of the second behind the most frequent first one, among the six
    likeliest of few letters; the seed is fixed."""
    tokenizer = tiny.tokenizer("abcdefghijklmnop")
    model = tiny.model("Llama", vocab_size=19)
    model.generation_config.update(eos_token_id=18, bos_token_id=16, pad_token_id=17)
    settings = {**PLAIN, "max_gen_toks": 2, "temperature": 1.5, "top_k": 6}
    requests = repeated("abcab", settings, 4000)
    made = [
        list(map(int, a.split()))
        for a in answers(prefix(model, TokensOfPrefix, tokenizer=tokenizer), requests)
    ]
    ids, (most, _) = tokenizer.encode("abcab"), *Counter(a[0] for a in made).most_common(1)
    for before, tokens in (
        (ids, [a[0] for a in made]),
        ([*ids, most], [a[1] for a in made if a[0] == most]),
    ):
        with torch.no_grad():
            weights = (model(torch.tensor([before])).logits[0, -1].double() / 1.5).exp().numpy()
        likeliest = np.argsort(-weights)[:6]
        counts = np.bincount(tokens, minlength=19)[likeliest]
        assert counts.sum() == len(tokens), "no other token"
        shares = weights[likeliest] / weights[likeliest].sum()
        assert chisquare(counts, len(tokens) * shares).pvalue > 0.001


WARPED = [
    {"temperature": 0.7},
    {"top_k": 0},
    {"top_k": 7, "top_p": 0.6},
    {"min_p": 0.1},
    {"top_k": 0, "typical_p": 0.6},
    {"top_k": 0, "epsilon_cutoff": 0.005},
    {"top_k": 0, "eta_cutoff": 0.02},
    {"repetition_penalty": 1.7, "renormalize_logits": True},
]


@pytest.mark.parametrize("given", WARPED, ids=str)
def test_scores_are_those_of_generate(given, llama, monkeypatch):
    """Of a request, and of the model's own settings where the request leaves them open."""
    model, ids = llama, tiny.tokenizer().encode("sun and ")
    monkeypatch.setattr(model.generation_config, "typical_p", 0.9)
    given = {"do_sample": True, "temperature": 1.5, **given}
    kept = {"output_scores": True, "return_dict_in_generate": True}
    made = model.generate(torch.tensor([ids]), max_new_tokens=1, **kept, **given)
    strategy = prefix(model)._strategy(given)
    found = strategy.scores(model(torch.tensor([ids])).logits[0, -1:].detach(), [ids])
    assert strategy.sampled and torch.allclose(found, made.scores[0], rtol=1e-5, atol=1e-4)
    assert (found > float("-inf")).sum() > 1


@pytest.mark.parametrize(
    "given",
    [
        {"num_beams": 2},
        {"no_repeat_ngram_size": 2},
        {"min_new_tokens": 2},
        {"temperature": "hot"},
        {"temperature": 0.0},
    ],
    ids=str,
)
def test_other_settings_go_the_way_of_hf(given, llama):
    asked = {"do_sample": True, "temperature": 1.0, **given}
    assert prefix(llama)._strategy(asked) is None


def test_a_model_whose_own_settings_go_the_way_of_hf_is_told(caplog):
    """Once: ten repeats take ten times as long then."""
    model = tiny.model("Llama")
    model.generation_config.no_repeat_ngram_size = 2
    shared = prefix(model)
    for _ in range(2):
        answers(shared, repeated("sun ", {**PLAIN, "max_gen_toks": 2}))
    assert caplog.text.count("with this model's generation_config.json") == 1


@pytest.mark.parametrize("head", [256, 3, 2, 1])
def test_tokens_are_drawn_by_their_probabilities(head, monkeypatch):
    """Probabilities 1/2, 1/8, 0, 1/8, 1/4, whether a token has a number of its own or is one of the
    rest; two rows, drawn from in turns."""
    monkeypatch.setattr("lm_eval_bias.models.decoding.HEAD", head)
    probabilities = np.array([0.5, 0.125, 0.0, 0.125, 0.25])
    scores = torch.tensor(np.stack([probabilities, probabilities[::-1]])).log()
    keys = np.random.default_rng(0).integers(0, 2**64, 8000, dtype=np.uint64)
    tokens = drawn(scores, np.arange(8000) % 2, keys)
    for found in (tokens[::2], 4 - tokens[1::2]):
        counts = np.bincount(found, minlength=5)
        assert counts[2] == 0
        assert chisquare(counts[[0, 1, 3, 4]], 4000 * probabilities[[0, 1, 3, 4]]).pvalue > 0.01
    with pytest.raises(ValueError, match="not numbers"):
        drawn(torch.tensor([[0.0, float("nan")]]), np.zeros(1, np.int64), keys[:1])


def test_unlikely_tokens_of_a_large_vocabulary_keep_their_share():
    """One token has half of the weight, 200,000 share the rest evenly, by a Kolmogorov-Smirnov
    test."""
    scores = torch.zeros(1, 200_001)
    scores[0, 0] = np.log(200_000)
    tokens = drawn(
        scores,
        np.zeros(2000, np.int64),
        np.random.default_rng(0).integers(0, 2**64, 2000, dtype=np.uint64),
    )
    assert binomtest(int((tokens == 0).sum()), 2000, 0.5).pvalue > 0.01
    assert kstest(tokens[tokens > 0] / 200_001, "uniform").pvalue > 0.01


# ---- Seeds


def documents():
    """Several lengths and settings, some greedy, two documents that are alike; five repeats."""
    settings = [
        {**PLAIN, "max_gen_toks": 9},
        {**PLAIN, "max_gen_toks": 5, "until": ["e", "a"], "temperature": 2.0},
        {"until": [], "max_gen_toks": 7},
    ]
    prompts = ["sun", "rain tree", "stone sun rain", "sun", "tree rain rain stone", "stone"]
    return [repeated("Say: " + p, settings[i % 3], 5, i) for i, p in enumerate(prompts)]


def flat(lists):
    return [one for many in lists for one in many]


def test_a_seed_gives_the_same_answers_whatever_the_packs_are_and_is_asked_beside_them(llama):
    """Also in another order, and where the harness divides the documents among processes."""
    asked = documents()
    found = answers(prefix(llama), flat(asked))
    assert answers(prefix(llama), flat(asked), seed=2) != found
    for options in (
        {},
        {"pack_tokens": 1},
        {"pack_tokens": 7, "held": 0},
        {"pack_tokens": 37},
        {"batch_size": "auto"},
    ):
        assert answers(prefix(llama, **options), flat(asked)) == found, options
    for order in (range(0, 6, 2), range(1, 6, 2), range(5, -1, -1)):
        others = answers(prefix(llama), flat(asked[i] for i in order))
        assert others == flat(found[5 * i : 5 * i + 5] for i in order)


def test_every_repeat_and_every_document_has_numbers_of_its_own(llama):
    """Two documents with one prompt, five repeats each, and the same again in another task; four
    requests that do not say where they come from: no answer twice."""
    settings = {**PLAIN, "max_gen_toks": 9}
    requests = flat(
        repeated("sun ", settings, 5, doc, task) for doc in (0, 1) for task in ("one", "two")
    )
    without_place = [request("sun ", **settings) for _ in range(4)]
    assert len(set(answers(prefix(llama, TokensOfPrefix), requests + without_place))) == 24


def test_greedy_requests_leave_the_generator_alone(llama):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    prefix(llama).generate_until([request("sun ", max_gen_toks=3)], disable_tqdm=True)
    assert torch.equal(torch.get_rng_state(), before)


# ---- Answers


def certain(greedy):
    """The same request, drawn, but among one token: what must come out is certain."""
    prompt, settings = greedy.args
    return request(prompt, **{**settings, "do_sample": True, "temperature": 0.7, "top_k": 1})


@pytest.mark.parametrize("name", tiny.slow_but(["Llama"], ("Llama", "Gemma3", "Bloom", "Mamba")))
def test_answers_end_where_those_of_hf_end(name):
    """Stop strings, lengths, prompts that are cut: all of the greedy requests, drawn among one
    token, and between them some greedy ones, and beams, which go the way of hf."""
    model = tiny.model(name)
    requests = flat(
        (certain(r), r) if i % 2 else (certain(r),) for i, r in enumerate(tiny.prompts())
    )
    requests.insert(3, request("sun ", max_gen_toks=5, num_beams=3))
    expected = answers(hf(model), requests)
    for options in ({}, {"pack_tokens": 37}):
        assert answers(prefix(model, **options), requests) == expected


def test_each_of_several_end_tokens_ends_an_answer():
    """A token that is written second somewhere becomes an end token; generation_config.json of chat
    models has more than one."""
    model = tiny.model("Llama")
    requests = [certain(r) for r in tiny.prompts()]
    longest = max(answers(hf(model, TokensOfHF), requests), key=len).split()
    second = int(next(token for token in longest if token != longest[0]))
    model.generation_config.eos_token_id = [258, second]
    found = answers(prefix(model, TokensOfPrefix), requests)
    assert found == answers(hf(model, TokensOfHF), requests)
    assert any(a.endswith(f" {second}") for a in found)
    assert not any(str(second) in a.split()[:-1] for a in found)


def test_a_length_in_the_model_s_own_settings_goes_before_that_of_a_request():
    """As in hf; also as here, where it is the length of what `generate` is asked about the
    settings."""
    model = tiny.model("Llama")
    model.generation_config.max_new_tokens = 2
    requests = [certain(r) for r in tiny.prompts()]
    assert answers(prefix(model), requests) == answers(hf(model), requests)
