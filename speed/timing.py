"""What the scripts of this folder share: a clock, sentences to score."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def seconds(
    run: Callable[[], object], device: Any, clock: Callable[[], float] = time.perf_counter
) -> float:
    def now() -> float:
        if device.type == "cuda":
            import torch

            torch.cuda.synchronize(device)
        return clock()

    start = now()
    run()
    return now() - start


def sentences() -> list[str]:
    from lm_eval_bias.data.lexicons import table

    rows = table("hbb_concepts")
    return [
        row[key].replace("[[X]]", "a neighbour") for row in rows for key in ("option_1", "option_2")
    ]
