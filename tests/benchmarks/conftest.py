from collections.abc import Callable
from functools import cache

import pytest


@pytest.fixture(scope="session")
def built() -> Callable[[Callable[[], list]], list]:
    """The documents of a function, made once for all tests, which must not change them."""
    return cache(lambda documents: documents())
