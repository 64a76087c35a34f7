"""Several processes on a CPU, as `torchrun` and `accelerate launch` start them."""

from __future__ import annotations

from typing import Any


def share_documents(lm: Any) -> None:
    """Let the processes of an `HFLM` on a CPU share the documents, as those on several GPUs do.

    `HFLM` joins them by an accelerator, but leaves its world size at 1 there: every process would
    do everything, and write the results. Nothing changes for one process, or where `HFLM` has set a
    world size.
    """
    accelerator = getattr(lm, "accelerator", None)
    if accelerator is not None and lm.world_size == 1:
        lm._rank, lm._world_size = accelerator.process_index, accelerator.num_processes
