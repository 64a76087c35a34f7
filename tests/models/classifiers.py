"""Tiny classifiers of entailment: random ones of several architectures, and one in which a word
decides."""

import copy

import tiny_masked
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast
from transformers.modeling_outputs import SequenceClassifierOutput

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


class WordClassifier(transformers.BertForSequenceClassification):
    """Adds up the votes of a text's tokens for each label, shape (vocabulary, labels)."""

    votes: torch.Tensor

    def forward(self, input_ids, **_):
        return SequenceClassifierOutput(logits=self.votes[input_ids].sum(1))


def word_classifier(deciding, labels):
    """A BERT in which words decide, and its tokenizer: word -> the label that it makes likeliest;
    "neutral" or what stands last without any.

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
    model = WordClassifier(config).eval()
    model.votes = torch.zeros(len(vocabulary), len(labels))
    for i, label in labels.items():
        model.votes[vocabulary["[CLS]"], i] = 0.5 * (label in ("neutral", "not_entailment"))
        for word in deciding:
            model.votes[vocabulary[word], i] = 5.0 * (deciding[word] == label)
    return model, tokenizer
