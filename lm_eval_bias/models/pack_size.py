"""How much to compute at a time: less when memory runs out, more again when there is enough."""

import logging
import re
import sys
from collections.abc import Callable
from typing import TypeVar

import torch
from accelerate.utils.memory import clear_device_cache

from lm_eval_bias.harness.compat import brief
from lm_eval_bias.usage import UsageError

logger = logging.getLogger(__name__)

T = TypeVar("T")

# In messages of CUDA, cuBLAS, cuDNN, ROCm, XPU, MPS, HPU and the CPU's allocators.
_SHORTAGE = re.compile(
    r"out.?of.?(\w+.)?memory|out_of_resources|alloc_failed|allocation failed|bad.alloc|"
    r"can.?t allocate|cannot allocate|not enough memory|CUDNN_STATUS_NOT_SUPPORTED",
    re.IGNORECASE,
)
PATIENCE = 4
"""Packs without a shortage before they grow."""


def is_shortage(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, is about memory."""
    if error is None:
        return False
    return (
        isinstance(error, MemoryError | torch.OutOfMemoryError)
        or (isinstance(error, RuntimeError) and _SHORTAGE.search(str(error)) is not None)
        or is_shortage(error.__cause__ or error.__context__)
    )


class PackSize:
    """usual: tokens, rows or pairs at a time without a shortage. model, unit, remedy: for
    messages."""

    def __init__(self, usual: int, unit: str, model: str, remedy: str):
        self.size = self.usual = usual
        self._unit, self._model, self._remedy = unit, model, remedy
        self._successes, self._patience, self._grown = 0, PATIENCE, False

    def fit(self, compute: Callable[[int], T], left: int = sys.maxsize, smallest: int = 1) -> T:
        """`compute(size)`, with half the size after each shortage of memory.

        compute: may be called again. left: the largest size of use. Raises UsageError if the
        smallest size fails twice.
        """
        size, again = max(min(self.size, left), smallest), False
        while True:
            try:
                result = compute(size)
            except Exception as error:
                if not is_shortage(error):
                    raise
                if again:
                    raise UsageError(
                        f"--model {self._model}: out of memory even with as few {self._unit} at a "
                        f"time as possible ({size}); try {self._remedy}"
                    ) from error
                reason = brief(error)
            else:
                self._succeeded()
                return result
            # The tensors of the failed attempt are free only now, with the error's traceback.
            clear_device_cache(garbage_collection=True)
            again, failed = size <= smallest, size
            size = self.size = max(size // 2, smallest)
            self._patience *= 1 + self._grown
            self._grown, self._successes = False, 0
            logger.warning(
                "%s: out of memory with %d %s at a time; going on with %d. (%s)",
                *(self._model, failed, self._unit, size, reason),
            )

    def _succeeded(self) -> None:
        if self._grown:
            self._patience = PATIENCE
        self._successes += 1
        self._grown = self.size < self.usual and self._successes >= self._patience
        if self._grown:
            self.size, self._successes = min(2 * self.size, self.usual), 0
