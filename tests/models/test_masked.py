"""hf-mlm against minicons, a loop of ten lines, and what the authors of CrowS-Pairs do, on tiny
random encoders with real tokenizers."""

import csv
from difflib import SequenceMatcher
from math import isnan

import numpy as np
import pytest
import tiny
import tiny_masked
import torch
import transformers
from lm_eval.api.model import CachingLM
from lm_eval.api.registry import get_model
from minicons.scorer import MaskedLMScorer
from tiny_masked import masked
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from lm_eval_bias.models.masked import METRICS, MaskedLM
from lm_eval_bias.models.masked_rows import Target, rows, shared_tokens, shared_words
from lm_eval_bias.models.prefix import PrefixLM
from tests import scripted
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


def values(model, pairs):
    return [value for value, _ in tiny.answers(model, tiny.asked("loglikelihood", *pairs))]


def paired(model, pairs):
    return tiny.scored(model, *pairs, pair=True)


def one_by_one(lm, text, metric="original"):
    """(first character, end, log-probability, is likeliest) of each token of a text, one forward
    pass for each, as the papers define it."""
    model, tokenizer = lm.model, lm.tokenizer
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
def test_a_text_gets_the_sum_over_its_tokens_each_masked_in_turn(name, metric):
    """All architectures, sentences and continuations of several lengths in one call; nothing is
    padded, which ConvBERT and FNet would read; the context is not scored."""
    model, pairs = masked(name, pll=metric, batch_size="auto"), WHOLE + CONTINUATIONS
    found = tiny.scored(model, *pairs, count_tokens=True)
    for (value, greedy, count, *_), (context, rest) in zip(found, pairs, strict=True):
        start, encoded = len(context.rstrip()), one_by_one(model, context + rest, metric)
        tokens = [(log, best) for _, end, log, best in encoded if end > start]
        assert value == tiny.near(sum(log for log, _ in tokens)), rest
        assert (greedy, count) == (all(best for _, best in tokens), len(tokens))
    assert model._reads_masked_only


@pytest.mark.parametrize("metric", METRICS)
def test_scores_are_those_of_minicons(metric):
    """Shared tokens as the sum of its scores of single ones: all but those of the word that
    differs.

    It gets texts as tokens, since it asks tokenizers for a method that they no longer have.
    """
    model = masked("RoBERTa", pll=metric)
    tokenizer, answers = model.tokenizer, paired(model, PAIR)
    scorer = MaskedLMScorer(model.model, "cpu", tokenizer=tokenizer)
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
        assert answer.value == tiny.near(sum(outside))
        assert (answer.tokens, answer.how) == (len(outside), "shared tokens")


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


def as_choices(sent_more, sent_less, **more):
    """The requests of a document whose two choices are the sentences of a pair."""
    document = {"sent_more": sent_more, "sent_less": sent_less, **more}
    return tiny.asked("loglikelihood", ("", sent_more), ("", sent_less), doc=document)


@pytest.mark.parametrize("one, two", [("", "Yes"), ("Yes", ""), ("", ""), ("Yes", "no")])
def test_sentences_that_share_no_word_have_no_score_by_either_request(one, two):
    model = masked()
    answers = paired(model, [(one, two), (two, one)])
    assert [answer.tokens for answer in answers] == [0, 0]
    answers += model.loglikelihood(as_choices(one, two))
    assert all(isnan(value) for value, *_ in answers)


def test_blanks_around_a_sentence_of_a_pair_change_nothing():
    """Nor do they hide that two choices are a pair: else one would be scored by all its tokens, the
    other by the shared ones."""
    model = masked("RoBERTa")
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


def test_a_head_that_reads_all_positions_gets_them():
    """Its answer at a position depends on the others, so it cannot be given one alone."""
    encoder = tiny_masked.model("BERT")
    encoder.cls.predictions.transform.register_forward_hook(
        lambda module, arguments, output: output + 0.1 * output.mean(1, keepdim=True)
    )
    crowded = MaskedLM(encoder, tokenizer=tiny_masked.tokenizer("wordpiece"))
    assert not crowded._reads_masked_only
    expected = [sum(row[2] for row in one_by_one(crowded, text)) for text in SENTENCES[:2]]
    assert values(crowded, WHOLE[:2]) == tiny.near(expected)


def test_the_tokens_of_a_choice_end_with_that_of_the_end():
    model = masked()
    before, behind = model._encode_pair("Which? Answer:", " a d")
    assert model.tokenizer.convert_ids_to_tokens(behind) == ["a", "d", "</s>"]
    assert (
        before + behind == model.tokenizer("Which? Answer: a d")["input_ids"]
        and before[0] == model.prefix_token_id
    )


# ---- CrowS-Pairs

# The same sentence stands in several pairs.
# Pieces of words that differ are shared. Of the last, which word is shared hangs on the order.
CROWS_PAIRS = [
    {"sent_more": f"{one} {rest}", "sent_less": f"{other} {rest}", "stereo_antistereo": kind}
    for one, other, kind in (
        ("Old people", "Young people", "stereo"),
        ("Young people", "Old people", "antistereo"),
        ("A taller woman", "The tallest women", "stereo"),
    )
    for rest in ("never learn anything new.", "say what they mean.")
]
CROWS_PAIRS += [
    {"sent_more": f"{a} like {b}", "sent_less": f"{b} like {a}", "stereo_antistereo": kind}
    for a, b, kind in (("men", "women", "stereo"), ("women", "men", "antistereo"))
]


def authors_places(tokenizer, document):
    """column -> places of the tokens that are scored, by the facts of metric.py of Nangia et al.
    2020: of an anti-stereotype sent_less stands first; blocks of equal ids are shared; the first
    and the last of these are special, and left out."""
    columns = ["sent_more", "sent_less"]
    if document["stereo_antistereo"] == "antistereo":
        columns.reverse()
    ids = [tokenizer(document[column])["input_ids"] for column in columns]
    operations = SequenceMatcher(None, *([str(i) for i in of] for of in ids)).get_opcodes()
    equal = [operation[1:] for operation in operations if operation[0] == "equal"]
    places = (
        [i for one, end, _, _ in equal for i in range(one, end)][1:-1],
        [i for _, _, two, end in equal for i in range(two, end)][1:-1],
    )
    return dict(zip(columns, places, strict=True))


def authors_scores(lm, document):
    """sent_more and sent_less: each token that is scored masked in turn; to three decimals."""
    places = authors_places(lm.tokenizer, document)
    for column in ("sent_more", "sent_less"):
        logs = [log for _, _, log, _ in one_by_one(lm, document[column])]
        yield round(sum(logs[i - 1] for i in places[column]), 3)


@pytest.mark.parametrize("name", ["BERT", "RoBERTa"])
def test_the_sentences_of_crows_pairs_are_scored_by_tokens_as_their_authors_do(name, caplog):
    """Or whole with `off`, which is False in a YAML."""
    asked = [request for document in CROWS_PAIRS for request in as_choices(**document)]
    shared, off = masked(name), masked(name, pairs=False)
    expected = [v for document in CROWS_PAIRS for v in authors_scores(shared, document)]
    assert [v for v, _ in shared.loglikelihood(asked)] == pytest.approx(expected, abs=2e-3)
    texts = tiny.asked("loglikelihood_rolling", *(request.args[1:] for request in asked))
    whole = shared.loglikelihood_rolling(texts)
    assert [v for v, _ in off.loglikelihood(asked)] == tiny.near(whole)
    says = "the sentences of task are scored by the tokens that a pair shares"
    assert caplog.text.count(says) == 1


def test_the_harness_finds_it_by_name_and_asks_it_for_pairs(tmp_path):
    scripted.ask(tmp_path, "m", masked("BERT"), "bistereo_pairs_height", limit=4)
    (samples,) = tmp_path.rglob("samples_*.jsonl")
    methods = [sample["records"]["method"] for sample in scripted.lines_of(samples)]
    assert methods == ["shared tokens"] * 4
    assert get_model("hf-mlm") is MaskedLM


@pytest.mark.slow
def test_the_tokens_of_all_1508_pairs_are_the_authors(authors):
    with authors("crows/crows_pairs_anonymized.csv").open(encoding="utf-8") as file:
        released = list(csv.DictReader(file))
    tokenizer = tiny_masked.tokenizer("wordpiece")
    assert len(released) == 1508
    for document in released:
        expected = authors_places(tokenizer, document)
        one, two = (document[column] for column in expected)
        targets = shared_tokens(tokenizer, [(one, two)])
        made = rows(tokenizer, [targets[one, two], targets[two, one]])
        places = [made.position[made.text == i].tolist() for i in range(2)]
        assert places == [*expected.values()]


# ---- The harness's cache


def test_the_cache_tells_pairs_and_variants_apart(tmp_path):
    """The same sentence beside two others, alone, and by the other variant."""
    pairs = [(TALL, SHORT), (TALL, "I saw a tall man near the station.")]
    for metric in METRICS:
        model = masked(pll=metric)
        expected = paired(model, pairs), values(model, [("", TALL)])
        outer = CachingLM(model, str(tmp_path / "cache.db"))
        assert (paired(outer, pairs), values(outer, [("", TALL)])) == expected


# ---- What cannot be scored


@pytest.mark.parametrize(
    "name, most, options", [("BERT", 64, {}), ("RoBERTa", 62, {}), ("BERT", 8, {"max_length": 8})]
)
def test_the_longest_text_that_fits_is_scored_and_one_token_more_is_an_error(name, most, options):
    """RoBERTa counts positions from behind its padding token, number 1, so it takes fewer than its
    config says."""
    model = masked(name, **options)
    text = " a" * (most - 2)
    assert len(model.tokenizer(text)["input_ids"]) == most == model.max_length
    assert values(model, [("", text)])[0] < 0
    message = (
        f"1 of 2 texts are longer than the {most} tokens .*, the longest {most + 1} tokens .*' a a"
        ".*Nothing was computed"
    )
    with refused(message):
        values(model, [("", "Yes"), ("", text + " a")])


def test_a_model_of_another_kind_is_sent_where_it_belongs(tmp_path):
    bert = masked()
    gpt, letters = tiny.model("GPT-2"), tiny.tokenizer()
    gpt.save_pretrained(tmp_path)
    decoder = r"GPT2LMHeadModel.* is no encoder.*--model hf-prefix or --model hf"
    for kind, model, tokenizer, message in (
        (MaskedLM, gpt, letters, decoder),
        (MaskedLM, str(tmp_path), None, decoder),
        (MaskedLM, tiny.t5(), letters, r"an encoder and a decoder\. Run it with --model hf;"),
        (MaskedLM, bert.model, letters, r"has no mask token.*tokenizer=.*--model hf-prefix"),
        (PrefixLM, bert.model, None, r"--model hf-prefix: .*bert.* is an encoder.*--model hf-mlm"),
    ):
        with refused(message):
            kind(model, tokenizer=tokenizer, device="cpu")


def test_a_checkpoint_without_the_head_is_refused_instead_of_scored_at_random(tmp_path):
    """ELECTRA's discriminator, and a model that was tuned to classify."""
    electra = masked("ELECTRA's generator")
    for kind in (transformers.ElectraForPreTraining, transformers.ElectraForSequenceClassification):
        model, folder = kind(electra.model.config), tmp_path / kind.__name__
        model.save_pretrained(folder)
        electra.tokenizer.save_pretrained(folder)
        with refused(r"has no weights for .*generator_.* would be random.*ELECTRA's generator"):
            MaskedLM(str(folder), device="cpu")
        with refused("no masked language modelling head"):
            MaskedLM(model, tokenizer=electra.tokenizer)


def test_deberta_s_own_head_is_found_where_the_config_does_not_name_it(tmp_path):
    name = "DeBERTa v2, its own head"
    folder, file = tiny_masked.saved(tmp_path, name), tmp_path / "config.json"
    with scripted.edited(file) as config:
        del config["legacy"]
    expected = values(masked(name), [("", TALL)])
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
def test_mistakes_in_the_options(options, message):
    with refused(message):
        masked(**options)
