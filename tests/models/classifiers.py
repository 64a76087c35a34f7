"""Tiny classifiers of entailment: random ones of several architectures, and one in which a word
decides."""

from __future__ import annotations

import copy

import tiny_masked
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
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
]
MNLI = {0: "contradiction", 1: "neutral", 2: "entailment"}
RTE = {0: "entailment", 1: "not_entailment"}
ARCHITECTURES = ("BERT", "RoBERTa", "XLM-R", "BART", "DeBERTa v2", "DistilBERT", "GPT-2")
MOST = 130
"""Positions of each architecture."""


def random_classifier(name: str, labels=None):
    """A random classifier of an architecture and its tokenizer."""
    labels = MNLI if labels is None else labels
    head = {"id2label": labels, "label2id": {label: i for i, label in labels.items()}}
    if name in tiny_masked.CONFIGS:
        tokenizer = tiny_masked.tokenizer(tiny_masked.CONFIGS[name][-1])
        config = tiny_masked.config(name, max_position_embeddings=MOST, **head)
    else:
        tokenizer = tiny_masked.tokenizer("bytes")
        head |= {"vocab_size": len(tokenizer), "eos_token_id": tokenizer.sep_token_id}
        if name == "GPT-2":
            config = transformers.GPT2Config(
                n_embd=32, n_layer=2, n_head=4, n_positions=MOST, initializer_range=0.2, **head
            )
        else:
            config = transformers.BartConfig(
                d_model=32,
                encoder_layers=2,
                decoder_layers=2,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                encoder_attention_heads=4,
                decoder_attention_heads=4,
                max_position_embeddings=MOST,
                forced_eos_token_id=None,
                init_std=0.2,
                pad_token_id=tokenizer.pad_token_id,
                bos_token_id=tokenizer.cls_token_id,
                **head,
            )
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    return model.eval(), copy.deepcopy(tokenizer)


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
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
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
