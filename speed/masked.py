"""Compare hf-mlm with minicons in tokens per second, on sentences with one token masked.

Both run in turns on one model with random weights; the table has the ratio of the medians. minicons
runs at its fastest batch size and gets tokens; hf-mlm also tokenizes.

    python speed/masked.py
    python speed/masked.py --only BERT --sentences 500 --device cuda --dtype bfloat16
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
import transformers
from lm_eval.api.instance import Instance
from minicons.scorer import MaskedLMScorer
from timing import seconds, sentences
from tokenizers.implementations import BertWordPieceTokenizer
from tokenizers.processors import BertProcessing

from lm_eval_bias.models.masked import MaskedLM

# The shapes of the base models.
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
        vocab_size=128_100,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
        position_buckets=256,
        **k,
    ),
}


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    trained = BertWordPieceTokenizer()
    trained.train_from_iterator(sentences(), vocab_size=8_000, show_progress=False)
    trained.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {
        f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")
    }
    return transformers.PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, **special)


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
    words, texts = tokenizer(), sentences()
    texts = texts[:: max(1, len(texts) // args.sentences)][: args.sentences]
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

        def mlm_call(lm: MaskedLM = lm, requests: list[Instance] = requests) -> list[float]:
            return [value for value, _ in lm.loglikelihood(requests, disable_tqdm=True)]

        def timed(run: Callable[[], object], device: torch.device = lm.device) -> float:
            # on a CPU that is shared, processor seconds
            clock = time.process_time if device.type == "cpu" else time.perf_counter
            return seconds(run, device, clock)

        mlm_call()  # the first run of a model is slower
        calls = {n: minicons_call(scorer, texts, n) for n in args.batch_sizes}
        best = min(calls, key=lambda n: timed(calls[n]))
        pairs = zip(mlm_call(), calls[best](), strict=True)
        difference = max(abs(a - b) for a, b in pairs)
        measured = [(timed(calls[best]), timed(mlm_call)) for _ in range(args.rounds)]
        slow, fast = (median(times) for times in zip(*measured, strict=True))
        print(
            f"| {name} | {computed / slow:,.0f} ({best}) | {computed / fast:,.0f} "
            f"| {slow / fast:.2f} | {difference:.1g} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
