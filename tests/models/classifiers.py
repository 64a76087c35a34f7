"""Tiny random classifiers of entailment, of several architectures."""

import copy

import tiny_masked
import torch
import transformers

from lm_eval_bias.models.nli import EntailmentLM

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
ARCHITECTURES = ("BERT", "RoBERTa", "XLM-R", "BART", "DeBERTa v2", "DistilBERT", "GPT-2")
MOST = 130
"""Positions of each architecture."""


def random_classifier(name, labels=None):
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


def entailment(name="BERT", head=None, **options):
    model, tokenizer = random_classifier(name, head)
    return EntailmentLM(model, **{"tokenizer": tokenizer, **options})
