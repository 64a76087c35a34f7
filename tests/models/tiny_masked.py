"""Tiny random encoders of many architectures, and tokenizers of three kinds that were trained on
the items of this repository."""

from functools import cache

import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from lm_eval_bias.data.lexicons import table
from lm_eval_bias.models.masked import MaskedLM

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "initializer_range": 0.2,
}
ATTENTION = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
RELATIVE = {
    **ATTENTION,
    "position_buckets": 16,
    "max_relative_positions": 64,
    "position_biased_input": False,
}
LOCAL = {"local_attention": 8, "global_attn_every_n_layers": 2}
MARKS = {"cls_token_id": 0, "sep_token_id": 2, "bos_token_id": 0, "eos_token_id": 2}
ONE_TYPE = {"type_vocab_size": 1}
DISTIL = {"dim": 32, "hidden_dim": 48, "n_layers": 2, "n_heads": 4}

# Name -> the config, its own options, and the tokenizer that the real models have the like of.
CONFIGS = {
    "BERT": (transformers.BertConfig, {}, "wordpiece"),
    "RoBERTa": (transformers.RobertaConfig, ONE_TYPE, "bytes"),
    "XLM-R": (transformers.XLMRobertaConfig, ONE_TYPE, "unigram"),
    "ALBERT": (transformers.AlbertConfig, {"embedding_size": 16}, "unigram"),
    "DeBERTa": (transformers.DebertaConfig, ATTENTION, "bytes"),
    "DeBERTa v2": (transformers.DebertaV2Config, RELATIVE, "unigram"),
    "DeBERTa v2, its own head": (
        transformers.DebertaV2Config,
        {**RELATIVE, "position_biased_input": True, "legacy": False},
        "unigram",
    ),
    "DistilBERT": (transformers.DistilBertConfig, DISTIL, "bytes"),
    "ModernBERT": (transformers.ModernBertConfig, {**LOCAL, **MARKS}, "bytes"),
    # A convolution and a Fourier transform look past the attention mask.
    "ConvBERT": (transformers.ConvBertConfig, {"embedding_size": 16}, "wordpiece"),
    "FNet": (transformers.FNetConfig, {}, "unigram"),
    "ELECTRA's generator": (transformers.ElectraConfig, {"embedding_size": 16}, "wordpiece"),
}
# As these stand in the vocabulary.
SPECIAL = {
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


@cache
def texts():
    rows = table("hbb_concepts")
    return tuple(
        row[key].replace("[[X]]", "a neighbour")
        for row in rows
        for key in ("option_1", "option_2", "context")
        if key in row
    )


@cache
def tokenizer(kind):
    """Some hundred tokens, so that most words are of several."""
    special = list(SPECIAL.values())
    if kind == "wordpiece":
        made = Tokenizer(models.WordPiece(unk_token="<unk>"))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=special)
    elif kind == "bytes":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=500,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
    else:
        made = Tokenizer(models.Unigram())
        made.normalizer = normalizers.NFKC()
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=special, unk_token="<unk>")
    made.train_from_iterator(texts(), trainer)
    # BERT's second text has token type 1; the other architectures have no types.
    inputs = ["input_ids", "attention_mask"]
    second = "$B </s>"
    if kind == "wordpiece":
        inputs.append("token_type_ids")
        second = "$B:1 </s>:1"
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair=f"<s> $A </s> {second}",
        special_tokens=[(token, made.token_to_id(token)) for token in ("<s>", "</s>")],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, model_input_names=inputs, **SPECIAL
    )


def config(name, **changes):
    kind, options, words = CONFIGS[name]
    known = {"vocab_size": len(tokenizer(words)), "pad_token_id": tokenizer(words).pad_token_id}
    return kind(**{**SIZES, **known, **options, **changes})


def model(name, **changes):
    """A random encoder whose attention matters: its weights are ten times larger than usual."""
    torch.manual_seed(0)
    return transformers.AutoModelForMaskedLM.from_config(config(name, **changes)).eval()


def masked(name="BERT", **options):
    words = tokenizer(CONFIGS[name][-1])
    return MaskedLM(model(name), **{"tokenizer": words, **options})


def saved(folder, name, **changes):
    """The model and its tokenizer in a folder, as a person has them."""
    model(name, **changes).save_pretrained(folder)
    tokenizer(CONFIGS[name][-1]).save_pretrained(folder)
    return str(folder)
