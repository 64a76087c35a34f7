"""What the comparisons of this folder share: a clock, and sentences to score."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch

from lm_eval_bias.data.lexicons import table


def seconds(
    run: Callable[[], object], device: torch.device, clock: Callable[[], float] = time.perf_counter
) -> float:
    def now() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return clock()

    start = now()
    run()
    return now() - start


def sentences() -> list[str]:
    rows = table("hbb_concepts")
    return [
        row[key].replace("[[X]]", "a neighbour") for row in rows for key in ("option_1", "option_2")
    ]
