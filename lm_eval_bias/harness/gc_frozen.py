"""Garbage collection during long work on hundreds of thousands of requests."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_frozen() -> Iterator[None]:
    """Exclude existing objects from collection inside the block."""
    if gc.get_freeze_count():  # frozen by someone else, who will unfreeze
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
