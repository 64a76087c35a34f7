"""hf-mlm beside minicons: tokens per second for the same rows, each a sentence with one token
masked.

Both run in one process on one model with random weights, in turns; printed is the ratio of the
medians. minicons runs at the batch size that is fastest for it, and gets its sentences as tokens,
since it asks tokenizers for a method that they no longer have; hf-mlm makes its tokens itself. On a
CPU the seconds are those of the processor, so that other work on the machine does not count.

    python speed/masked.py
    python speed/masked.py --only BERT --sentences 500 --device cuda --dtype bfloat16
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from statistics import median

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
import transformers
from lm_eval.api.instance import Instance
from minicons.scorer import MaskedLMScorer
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

SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# The shapes of the base models; the vocabulary is what the head projects to.
CONFIGS = {
    "BERT": lambda **k: transformers.BertConfig(vocab_size=30_522, **k),
    "DistilBERT": lambda **k: transformers.DistilBertConfig(vocab_size=30_522, **k),
    "RoBERTa": lambda **k: transformers.RobertaConfig(
        vocab_size=50_265, max_position_embeddings=514, type_vocab_size=1, **k
    ),
    "XLM-R": lambda **k: transformers.XLMRobertaConfig(
        vocab_size=250_002, max_position_embeddings=514, type_vocab_size=1, **k
    ),
    "DeBERTa v2": lambda **k: transformers.DebertaV2Config(
        vocab_size=128_100, hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
        intermediate_size=3072, relative_attention=True,
        pos_att_type=["p2c", "c2p"], position_buckets=256, **k,
    ),
}  # fmt: skip


def sentences(count: int) -> list[str]:
    rows = table("hbb_concepts")
    found = [
        row[key].replace("[[X]]", "a neighbour") for row in rows for key in ("option_1", "option_2")
    ]
    return found[:: max(1, len(found) // count)][:count]


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Word pieces of the sentences, fewer than the models have: which number a token bears changes
    no time."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = (
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
    )
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(
        sentences(10**6),
        trainers.WordPieceTrainer(vocab_size=8_000, special_tokens=list(SPECIAL.values())),
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, **SPECIAL)


def seconds(run: Callable[[], object], device: torch.device) -> float:
    """Of the processor, if that computes; else of the clock."""
    if device.type == "cpu":
        start = time.process_time()
        run()
        return time.process_time() - start
    torch.cuda.synchronize(device)
    start = time.perf_counter()
    run()
    torch.cuda.synchronize(device)
    return time.perf_counter() - start


def minicons_call(scorer: MaskedLMScorer, texts: list[str], size: int) -> Callable[[], list[float]]:
    words = scorer.tokenizer
    batches = [words(texts[i : i + size], padding=True) for i in range(0, len(texts), size)]
    return lambda: [
        score
        for batch in batches
        for score in scorer.sequence_score(batch, reduction=lambda scores: scores.sum().item())
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=CONFIGS, help="one architecture")
    parser.add_argument("--sentences", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1, help="of a CPU")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument(
        "--batch-sizes",
        type=int,
        nargs="+",
        default=[1, 2, 4, 12],
        help="of sentences, for minicons, to choose from",
    )
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    logging.disable(logging.WARNING)
    words, texts = tokenizer(), sentences(args.sentences)
    lengths = [len(ids) for ids in words(texts)["input_ids"]]
    masked, computed = sum(n - 2 for n in lengths), sum((n - 2) * n for n in lengths)
    print(
        f"{len(texts)} sentences of {min(lengths)} to {max(lengths)} tokens: "
        f"{masked} rows of {computed} tokens",
        file=sys.stderr,
    )
    print(
        "| model | `minicons`, tokens/s (sentences at a time) | `hf-mlm`, tokens/s | ratio "
        "| largest difference |\n|---|---|---|---|---|"
    )
    for name in [args.only] if args.only else CONFIGS:
        torch.manual_seed(0)
        config = CONFIGS[name](pad_token_id=words.pad_token_id)
        model = (
            transformers.AutoModelForMaskedLM.from_config(config, dtype=getattr(torch, args.dtype))
            .to(args.device)
            .eval()
        )
        lm = MaskedLM(model, tokenizer=words, batch_size="auto")
        scorer = MaskedLMScorer(model, args.device, tokenizer=words)
        requests = [Instance("loglikelihood", {}, ("", text), i) for i, text in enumerate(texts)]

        def ours(lm: MaskedLM = lm, requests: list[Instance] = requests) -> list[float]:
            return [value for value, _ in lm.loglikelihood(requests, disable_tqdm=True)]

        ours()  # the first run of a model is slower
        times = {n: seconds(minicons_call(scorer, texts, n), lm.device) for n in args.batch_sizes}
        best = min(times, key=times.__getitem__)
        theirs = minicons_call(scorer, texts, best)
        difference = max(abs(a - b) for a, b in zip(ours(), theirs(), strict=True))
        measured = [
            (seconds(theirs, lm.device), seconds(ours, lm.device)) for _ in range(args.rounds)
        ]
        slow, fast = (median(times) for times in zip(*measured, strict=True))
        print(
            f"| {name} | {computed / slow:,.0f} ({best}) | {computed / fast:,.0f} "
            f"| {slow / fast:.2f} | {difference:.1g} |",
            flush=True,
        )
        del model, lm, scorer, theirs, ours


if __name__ == "__main__":
    main()
