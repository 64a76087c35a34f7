"""What the scripts of this folder share: a clock, a watch on memory, sentences to score."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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


@contextmanager
def memory_watched(process: int | None, note: Callable[[int], None]) -> Iterator[None]:
    """Call `note` with the resident bytes of a process (None: this one) and its children, every
    20 ms.
    """
    import psutil

    watched, ended = psutil.Process(process), threading.Event()

    def sample() -> None:
        while not ended.wait(0.02):
            with suppress(psutil.NoSuchProcess):
                family = (watched, *watched.children(recursive=True))
                note(sum(member.memory_info().rss for member in family))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def sentences() -> list[str]:
    from lm_eval_bias.data.lexicons import table

    rows = table("hbb_concepts")
    return [
        row[key].replace("[[X]]", "a neighbour") for row in rows for key in ("option_1", "option_2")
    ]
