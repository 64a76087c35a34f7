"""Tiny classifiers of entailment: random ones of several architectures, each with a tokenizer
trained here, and one in which a word decides."""

from __future__ import annotations

import copy
from functools import cache

import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEXTS = [
    "A man in a red coat waits for the night bus.",
    "Somebody is waiting, though the bus has gone.",
    "The bakery on the corner closes at noon on Saturdays.",
    "Two girls are flying a kite above the harbour!",
    "Nobody has ever seen the harbour from up there.",
    "It rained for three days, and the cellar stood under water.",
    "The cellar was dry all week; it was the roof that leaked.",
    "Wer zuletzt lacht, lacht am besten.",
] * 4
MNLI = {0: "contradiction", 1: "neutral", 2: "entailment"}
RTE = {0: "entailment", 1: "not_entailment"}
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.2,
}


def _trained(model, trainer, splits, pair, special, **options) -> PreTrainedTokenizerFast:
    made = Tokenizer(model)
    made.pre_tokenizer = splits
    made.train_from_iterator(TEXTS, trainer)
    begin, end = special["cls_token"], special["sep_token"]
    known = [(token, made.token_to_id(token)) for token in (begin, end)]
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", pair=pair, special_tokens=known
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, **special, **options)


def wordpiece() -> PreTrainedTokenizerFast:
    """As BERT's: [CLS] premise [SEP] hypothesis [SEP], the second with token type 1."""
    special = {
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
    }
    trainer = trainers.WordPieceTrainer(
        vocab_size=200, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
    )
    model = models.WordPiece(unk_token="[UNK]")
    return _trained(
        model, trainer, pre_tokenizers.BertPreTokenizer(), "[CLS] $A [SEP] $B:1 [SEP]:1", special
    )


MARKS = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
}
PAIR = "<s> $A </s> </s> $B </s>"
INPUTS = {"model_input_names": ["input_ids", "attention_mask"]}


def byte_level() -> PreTrainedTokenizerFast:
    """As RoBERTa's and BART's: bytes, and no token types."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    return _trained(
        models.BPE(),
        trainer,
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        PAIR,
        MARKS,
        **INPUTS,
    )


def unigram(pair=PAIR, marks=MARKS, **options) -> PreTrainedTokenizerFast:
    """As XLM-R's."""
    special = [marks["cls_token"], marks["pad_token"], marks["sep_token"], marks["unk_token"]]
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=special, unk_token=marks["unk_token"], show_progress=False
    )
    return _trained(
        models.Unigram(), trainer, pre_tokenizers.Metaspace(), pair, marks, **(options or INPUTS)
    )


def deberta() -> PreTrainedTokenizerFast:
    marks = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    return unigram(
        "[CLS] $A [SEP] $B:1 [SEP]:1",
        marks,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def _bart(**options):
    sizes = {
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "init_std": 0.2,
    }
    return transformers.BartConfig(
        **sizes,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        max_position_embeddings=130,
        forced_eos_token_id=None,
        **options,
    )


ARCHITECTURES = {
    "BERT": (
        wordpiece,
        lambda **o: transformers.BertConfig(**SIZES, max_position_embeddings=130, **o),
    ),
    "RoBERTa": (
        byte_level,
        lambda **o: transformers.RobertaConfig(
            **SIZES, max_position_embeddings=130, type_vocab_size=1, **o
        ),
    ),
    "XLM-R": (
        unigram,
        lambda **o: transformers.XLMRobertaConfig(
            **SIZES, max_position_embeddings=130, type_vocab_size=1, **o
        ),
    ),
    "BART": (byte_level, _bart),
    "DeBERTa-v2": (
        deberta,
        lambda **o: transformers.DebertaV2Config(
            **SIZES,
            max_position_embeddings=130,
            type_vocab_size=0,
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
            **o,
        ),
    ),
    "DistilBERT": (
        byte_level,
        lambda **o: transformers.DistilBertConfig(
            dim=32,
            hidden_dim=48,
            n_layers=2,
            n_heads=4,
            max_position_embeddings=130,
            initializer_range=0.2,
            **o,
        ),
    ),
    "GPT-2": (
        byte_level,
        lambda **o: transformers.GPT2Config(
            n_embd=32, n_layer=2, n_head=4, n_positions=130, initializer_range=0.2, **o
        ),
    ),
}


@cache
def _tokenizer(name: str) -> PreTrainedTokenizerFast:
    """Trained once: among pieces that are equally good the trainers choose by chance."""
    return ARCHITECTURES[name][0]()


def random_classifier(name: str, labels=None, seed: int = 0):
    """A random classifier of an architecture and its tokenizer."""
    tokenizer, make_config = copy.deepcopy(_tokenizer(name)), ARCHITECTURES[name][1]
    labels = MNLI if labels is None else labels
    config = make_config(
        vocab_size=len(tokenizer), id2label=labels, label2id={v: k for k, v in labels.items()}
    )
    config.bos_token_id, config.eos_token_id = tokenizer.bos_token_id, tokenizer.eos_token_id
    config.pad_token_id = tokenizer.pad_token_id if name != "GPT-2" else None
    torch.manual_seed(seed)
    return transformers.AutoModelForSequenceClassification.from_config(config).eval(), tokenizer


def word_classifier(deciding: dict[str, str], labels: dict[int, str]):
    """A BERT in which words decide, and its tokenizer: word -> the label that it makes likeliest;
    "neutral" or what stands last without any.

    Its one layer takes the mean of what all tokens say (queries and keys are zero), and the head
    reads one dimension for each label. Every word says +1 in one dimension and -1 in the next, so
    that the layer norm, which takes the mean away, only scales.
    """
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *deciding])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\w-]+"), "removed")
    special = [(word, vocabulary[word]) for word in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(
        pair="[CLS] $A [SEP] $B:1 [SEP]:1", single="[CLS] $A [SEP]", special_tokens=special
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
    )
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        id2label=labels,
        label2id={v: k for k, v in labels.items()},
    )
    model = transformers.BertForSequenceClassification(config).eval()
    names = list(labels.values())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0 if "LayerNorm.weight" in name else 0.0)
        layer = model.bert.encoder.layer[0].attention
        for weight in (
            layer.self.value.weight,
            layer.output.dense.weight,
            model.bert.pooler.dense.weight,
        ):
            weight.copy_(torch.eye(8))
        for word, label in deciding.items():
            at = 2 * names.index(label)
            model.bert.embeddings.word_embeddings.weight[vocabulary[word], at : at + 2] = (
                torch.tensor([1.0, -1.0])
            )
        for i, label in enumerate(names):
            model.classifier.weight[i, 2 * i] = 5.0
            model.classifier.bias[i] = 0.5 if label in ("neutral", "not_entailment") else 0.0
    return model, tokenizer
