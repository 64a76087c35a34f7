"""Tiny random encoders of many architectures, and tokenizers of three kinds that were trained on
the items of this repository."""

from __future__ import annotations

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

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
}
RELATIVE = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 16,
    "max_relative_positions": 64,
}

# Name -> the config, and the tokenizer that the real models of the architecture have the like of.
CONFIGS = {
    "BERT": (lambda **k: transformers.BertConfig(**{**SIZES, **k}), "wordpiece"),
    "RoBERTa": (lambda **k: transformers.RobertaConfig(**SIZES, type_vocab_size=1, **k), "bytes"),
    "XLM-R": (
        lambda **k: transformers.XLMRobertaConfig(**SIZES, type_vocab_size=1, **k),
        "unigram",
    ),
    "ALBERT": (lambda **k: transformers.AlbertConfig(**SIZES, embedding_size=16, **k), "unigram"),
    "DeBERTa": (
        lambda **k: transformers.DebertaConfig(
            **SIZES, relative_attention=True, pos_att_type=["p2c", "c2p"], **k
        ),
        "bytes",
    ),
    "DeBERTa v2": (
        lambda **k: transformers.DebertaV2Config(
            **SIZES, **RELATIVE, position_biased_input=False, **k
        ),
        "unigram",
    ),
    "DeBERTa v2, its own head": (
        lambda **k: transformers.DebertaV2Config(**SIZES, **RELATIVE, legacy=False, **k),
        "unigram",
    ),
    "DistilBERT": (
        lambda **k: transformers.DistilBertConfig(
            dim=32, hidden_dim=48, n_layers=2, n_heads=4, max_position_embeddings=64, **k
        ),
        "wordpiece",
    ),
    "ModernBERT": (
        lambda **k: transformers.ModernBertConfig(
            **SIZES,
            local_attention=8,
            global_attn_every_n_layers=2,
            cls_token_id=1,
            sep_token_id=2,
            bos_token_id=1,
            eos_token_id=2,
            **k,
        ),
        "bytes",
    ),
    "ELECTRA's generator": (
        lambda **k: transformers.ElectraConfig(**SIZES, embedding_size=16, **k),
        "wordpiece",
    ),
}
# As these stand in the vocabulary; the numbers of RoBERTa's padding and BERT's are those of the
# configs.
SPECIAL = {
    "pad_token": "<pad>",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}


@cache
def texts() -> tuple[str, ...]:
    rows = table("hbb_concepts")
    return tuple(
        row[key].replace("[[X]]", "a neighbour")
        for row in rows
        for key in ("option_1", "option_2", "context")
        if key in row
    )


@cache
def tokenizer(kind: str) -> transformers.PreTrainedTokenizerFast:
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
    ids = {token: made.token_to_id(token) for token in special}
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B </s>",
        special_tokens=[(t, ids[t]) for t in ("<s>", "</s>")],
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **SPECIAL)


def model(name: str, **changes) -> transformers.PreTrainedModel:
    """A random encoder whose attention matters: its weights are ten times larger than usual."""
    config, kind = CONFIGS[name]
    torch.manual_seed(0)
    words = tokenizer(kind)
    made = transformers.AutoModelForMaskedLM.from_config(
        config(
            **{
                "vocab_size": len(words),
                "pad_token_id": words.pad_token_id,
                "initializer_range": 0.2,
                **changes,
            }
        )
    )
    return made.eval()


def saved(folder, name: str, **changes) -> str:
    """The model and its tokenizer in a folder, as a person has them."""
    model(name, **changes).save_pretrained(folder)
    tokenizer(CONFIGS[name][1]).save_pretrained(folder)
    return str(folder)
