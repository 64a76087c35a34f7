"""When Python need not look for garbage: hundreds of thousands of objects are made and none is
thrown away.

Python goes through all objects each time a quarter as many new ones have come, which takes longer
than to make them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search() -> Iterator[None]:
    """No search at all, for the time of making objects that all are kept."""
    searching = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searching:
            gc.enable()


@contextmanager
def no_search_of_old() -> Iterator[None]:
    """No search among the objects that are there already, such as requests and the modules of the
    harness."""
    if gc.get_freeze_count():  # someone else keeps them, and is to end it
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
