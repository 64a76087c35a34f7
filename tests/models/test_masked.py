"""hf-mlm against minicons and against a loop of ten lines, on tiny random encoders with real
tokenizers."""

import json
from functools import cache
from math import isnan

import numpy as np
import pytest
import tiny
import tiny_masked
import torch
import transformers
from lm_eval.api.model import CachingLM
from minicons.scorer import MaskedLMScorer
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from lm_eval_bias.harness.choices import nesting
from lm_eval_bias.harness.sentence_pairs import REQUEST
from lm_eval_bias.harness.token_counts import REQUEST as COUNTED
from lm_eval_bias.models.masked import METRICS, MaskedLM
from lm_eval_bias.models.masked_rows import Target, rows, shared_words
from lm_eval_bias.models.prefix import PrefixLM
from tests.mistakes import refused

SENTENCES = [
    "I saw a beautiful dark-skinned woman standing near the bus stop.",
    "She was kind to me.",
    "Everybody in the neighbourhood says that the teacher's brother never apologises; he doesn't!",
    "Yes",
    "A café 中 with  two spaces",  # a token that no tokenizer here knows
]
CONTINUATIONS = [
    ("The neighbour was", " patient with everybody."),
    ("The neighbour was ", "patient with everybody."),  # the blank belongs to what follows
    ("Once upon", " a time"),
    (
        "un",
        "happy people",
    ),  # what overlaps the continuation is scored, also where a token begins before it
]
TALL = "I saw a tall woman near the station."
SHORT = "I saw a short woman near the station."


@pytest.fixture(scope="module")
def encoders():
    return cache(
        lambda name: (tiny_masked.model(name), tiny_masked.tokenizer(tiny_masked.CONFIGS[name][-1]))
    )


def lm(encoder, **options):
    return MaskedLM(encoder[0], tokenizer=encoder[1], **options)


def values(model, pairs):
    return [value for value, _ in tiny.answers(model, tiny.asked("loglikelihood", *pairs))]


def paired(model, pairs):
    return getattr(model, REQUEST)(tiny.asked(REQUEST, *pairs))


def one_by_one(encoder, text, metric="original"):
    """(first character, end, log-probability, is likeliest) of each token of a text, one forward
    pass for each, as the papers define it."""
    model, tokenizer = encoder
    encoded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    (ids,), words = encoded["input_ids"], encoded.word_ids(0)
    for i in range(1, len(ids) - 1):
        masked = ids.clone()
        masked[i] = tokenizer.mask_token_id
        if metric == "within_word_l2r":
            right = [j for j in range(i + 1, len(ids) - 1) if words[j] == words[i]]
            masked[right] = tokenizer.mask_token_id
        with torch.no_grad():
            logs = model(input_ids=masked[None]).logits[0, i].log_softmax(-1)
        best = int(logs.argmax()) == int(ids[i])
        yield *encoded["offset_mapping"][0][i].tolist(), logs[ids[i]].item(), best


WHOLE = [("", text) for text in SENTENCES]
PAIR = [(TALL, SHORT), (SHORT, TALL)]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", tiny.slow_but(("BERT", "ConvBERT"), tiny_masked.CONFIGS))
def test_a_text_gets_the_sum_over_its_tokens_each_masked_in_turn(name, metric, encoders):
    """All architectures, sentences and continuations of several lengths in one call; nothing is
    padded, which ConvBERT and FNet would read; the context is not scored."""
    model, pairs = lm(encoders(name), pll=metric, batch_size="auto"), WHOLE + CONTINUATIONS
    found = getattr(model, COUNTED)(tiny.asked(COUNTED, *pairs))
    for (value, greedy, count, _), (context, rest) in zip(found, pairs, strict=True):
        start, encoded = len(context.rstrip()), one_by_one(encoders(name), context + rest, metric)
        tokens = [(log, best) for _, end, log, best in encoded if end > start]
        assert value == tiny.near(sum(log for log, _ in tokens)), rest
        assert (greedy, count) == (all(best for _, best in tokens), len(tokens))
    assert model._reads_masked_only


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_those_of_minicons(metric, encoders):
    """Whole sentences, and shared tokens as the sum of its scores of single ones: all but those of
    the word that differs.

    It gets texts as tokens, since it asks tokenizers for a method that they no longer have.
    """
    model, tokenizer = encoders("RoBERTa")
    scorer = MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
    whole = scorer.sequence_score(
        tokenizer(SENTENCES, padding=True),
        reduction=lambda scores: scores.sum().item(),
        PLL_metric=metric,
    )
    asked = lm(encoders("RoBERTa"), pll=metric, batch_size=64)
    assert values(asked, WHOLE) == tiny.near(whole)
    answers = paired(asked, PAIR)
    for (sentence, _), word, answer in zip(PAIR, (" tall", " short"), answers, strict=True):
        encoded = tokenizer([sentence], return_offsets_mapping=True)
        (scores,) = scorer.token_score(encoded, PLL_metric=metric)
        first, last = sentence.index(word), sentence.index(word) + len(word)
        places = encoded["offset_mapping"][0][1:-1]
        outside = [
            score
            for (_, score), (start, end) in zip(scores, places, strict=True)
            if end <= first or start >= last
        ]
        assert answer == (tiny.near(sum(outside)), len(outside), "shared tokens")


def pieces(*longer):
    """A tokenizer whose tokens are these, and all other characters one by one."""
    made = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("|".join([*longer, "."])), "isolated")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, unk_token="?")


@pytest.mark.parametrize(
    "longer, one, two, both",
    [
        ([], "A tall, b", "A old, b", ["A", ",", " ", "b"]),
        # The comma is in one token with the end of "tall", so it is not scored behind "old" either.
        (["l,"], "A tall, b", "A old, b", ["A", " ", "b"]),
        # The first sentence loses its second character to the one that differs, the other then its
        # third, which stands with the second.
        (["他很", "很高"], "他很高兴。", "她很高兴。", ["兴", "。"]),
        (["他很高兴。"], "他很高兴。", "她很高兴。", []),
    ],
)
def test_both_sentences_are_scored_over_the_same_words_whatever_the_tokens_hold(
    longer, one, two, both
):
    tokenizer = pieces(*longer)
    for ask in shared_words(tokenizer, [(one, two), (two, one)]).values():
        made = rows(tokenizer, [ask], False)
        offsets = tokenizer(ask.text, return_offsets_mapping=True)["offset_mapping"]
        assert [ask.text[slice(*offsets[i])] for i in made.position] == both


def as_choices(one, two):
    """The requests of a document whose two choices are the sentences of a pair."""
    document = {"sent_more": one, "sent_less": two}
    return tiny.asked("loglikelihood", ("", one), ("", two), doc=document)


@pytest.mark.parametrize("one, two", [("", "Yes"), ("Yes", ""), ("", ""), ("Yes", "no")])
def test_sentences_that_share_no_word_have_no_score_by_either_request(one, two, encoders):
    model = lm(encoders("BERT"))
    answers = paired(model, [(one, two), (two, one)])
    assert [count for _, count, _ in answers] == [0, 0]
    answers += model.loglikelihood(as_choices(one, two))
    assert all(isnan(value) for value, *_ in answers)


def test_blanks_around_a_sentence_of_a_pair_change_nothing(encoders):
    """Nor do they hide that two choices are a pair: else one would be scored by all its tokens, the
    other by the shared ones."""
    model = lm(encoders("RoBERTa"))
    expected = paired(model, PAIR)
    assert paired(model, [(TALL + " ", SHORT), (SHORT, TALL + " ")]) == expected
    choices = [value for value, _ in model.loglikelihood(as_choices(TALL + " ", SHORT))]
    assert choices == tiny.near([value for value, *_ in expected])


def test_a_word_ends_before_a_blank_where_the_tokenizer_makes_one_word_of_a_text():
    """As Gemma's does: its blanks are letters before it looks for words."""
    made = Tokenizer(models.BPE({letter: i for i, letter in enumerate("_abc▁")}, []))
    made.normalizer, made.pre_tokenizer = (
        normalizers.Replace(" ", "▁"),
        pre_tokenizers.Split(" ", "merged_with_previous"),
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made)
    assert set(tokenizer(["ab bc a"]).encodings[0].word_ids) == {0}
    batch = rows(tokenizer, [Target("ab bc a")], True).batch(np.arange(7), 0)
    assert ["".join("_abc▁"[i] for i in row) for row in batch.ids] == [
        "__▁bc▁a",
        "a_▁bc▁a",
        "ab___▁a",
        "ab▁__▁a",
        "ab▁b_▁a",
        "ab▁bc__",
        "ab▁bc▁_",
    ]


def test_a_head_that_reads_all_positions_gets_them(encoders):
    """Its answer at a position depends on the others, so it cannot be given one alone."""
    encoder = tiny_masked.model("BERT"), encoders("BERT")[1]
    head = encoder[0].cls.predictions.transform
    head.register_forward_hook(
        lambda module, arguments, output: output + 0.1 * output.mean(1, keepdim=True)
    )
    crowded = lm(encoder)
    assert not crowded._reads_masked_only
    expected = [sum(row[2] for row in one_by_one(encoder, text)) for text in SENTENCES[:2]]
    assert values(crowded, WHOLE[:2]) == tiny.near(expected)


def test_no_choice_is_the_beginning_of_another(encoders):
    """The end of the text is seen: "a" and "a d" exclude one another, so no probability is taken
    from either."""
    model, tokenizer = lm(encoders("BERT")), encoders("BERT")[1]
    assert nesting(model)("Which? Answer:", [" a", " a d", " d"]) == [[], [], []]
    before, behind = model._encode_pair("Which? Answer:", " a d")
    assert tokenizer.convert_ids_to_tokens(behind) == ["a", "d", "</s>"]
    assert (
        before + behind == tokenizer("Which? Answer: a d")["input_ids"]
        and before[0] == model.prefix_token_id
    )


# ---- The harness's cache


def test_the_cache_tells_pairs_and_variants_apart(encoders, tmp_path):
    """The same sentence beside two others, alone, and by the other variant."""
    pairs = [(TALL, SHORT), (TALL, "I saw a tall man near the station.")]
    for metric in METRICS:
        model = lm(encoders("BERT"), pll=metric)
        expected = paired(model, pairs), values(model, [("", TALL)])
        outer = CachingLM(model, str(tmp_path / "cache.db"))
        assert (paired(outer, pairs), values(outer, [("", TALL)])) == expected


# ---- What cannot be scored


@pytest.mark.parametrize(
    "name, most, options", [("BERT", 64, {}), ("RoBERTa", 62, {}), ("BERT", 8, {"max_length": 8})]
)
def test_the_longest_text_that_fits_is_scored_and_one_token_more_is_an_error(
    name, most, options, encoders
):
    """RoBERTa counts positions from behind its padding token, number 1, so it takes fewer than its
    config says."""
    model, tokenizer = lm(encoders(name), **options), encoders(name)[1]
    text = " a" * (most - 2)
    assert len(tokenizer(text)["input_ids"]) == most == model.max_length
    assert values(model, [("", text)])[0] < 0
    message = (
        f"1 of 2 texts are longer than the {most} tokens .*, the longest {most + 1} tokens .*' a a"
        ".*Nothing was computed"
    )
    with refused(message):
        values(model, [("", "Yes"), ("", text + " a")])


def test_a_model_of_another_kind_is_sent_where_it_belongs(encoders, tmp_path):
    bert, words = encoders("BERT")
    gpt, letters = tiny.model("GPT-2"), tiny.tokenizer()
    gpt.save_pretrained(tmp_path)
    sizes = {"vocab_size": 20, "d_model": 8, "num_layers": 1, "num_heads": 1, "d_ff": 8, "d_kv": 8}
    t5 = transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes))
    decoder = r"GPT2LMHeadModel.* is no encoder.*--model hf-prefix or --model hf"
    for kind, model, tokenizer, message in (
        (MaskedLM, gpt, letters, decoder),
        (MaskedLM, str(tmp_path), None, decoder),
        (MaskedLM, t5, letters, r"an encoder and a decoder\. Run it with --model hf;"),
        (MaskedLM, bert, letters, r"has no mask token.*tokenizer=.*--model hf-prefix"),
        (PrefixLM, bert, words, r"--model hf-prefix: .*bert.* is an encoder.*--model hf-mlm"),
    ):
        with refused(message):
            kind(model, tokenizer=tokenizer, device="cpu")


def test_a_checkpoint_without_the_head_is_refused_instead_of_scored_at_random(encoders, tmp_path):
    """ELECTRA's discriminator, and a model that was tuned to classify."""
    encoder, tokenizer = encoders("ELECTRA's generator")
    for kind in (transformers.ElectraForPreTraining, transformers.ElectraForSequenceClassification):
        model, folder = kind(encoder.config), tmp_path / kind.__name__
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        with refused(r"has no weights for .*generator_.* would be random.*ELECTRA's generator"):
            MaskedLM(str(folder), device="cpu")
        with refused("no masked language modelling head"):
            MaskedLM(model, tokenizer=tokenizer)


def test_deberta_s_own_head_is_found_where_the_config_does_not_name_it(encoders, tmp_path):
    name = "DeBERTa v2, its own head"
    folder, file = tiny_masked.saved(tmp_path, name), tmp_path / "config.json"
    config = json.loads(file.read_text())
    del config["legacy"]
    file.write_text(json.dumps(config))
    expected = values(lm(encoders(name)), [("", TALL)])
    assert values(MaskedLM(folder, device="cpu"), [("", TALL)]) == tiny.near(expected)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"pll": "left"}, "pll='left'.*original, within_word_l2r"),
        ({"pairs": "auto"}, "pairs='auto'.*tokens, off"),
        ({"pair": "off"}, "unknown option 'pair'.*'pairs'"),
        ({"max_length": 65}, "max_length=65 .* positions for 64 tokens"),
    ],
)
def test_mistakes_in_the_options(options, message, encoders):
    with refused(message):
        lm(encoders("BERT"), **options)
