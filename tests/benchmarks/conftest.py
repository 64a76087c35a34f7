import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from lm_eval_bias.benchmarks.hbb.official_documents import QUESTIONS


@pytest.fixture(scope="session")
def built() -> Callable[[Callable[[], list]], list]:
    """The documents of a function, made once for all tests, which must not change them."""
    return cache(lambda documents: documents())


@pytest.fixture(scope="session")
def questions(shared: Path) -> list[dict[str, str]]:
    """The rows of HBB's authors."""
    path = shared / "official" / "hbb" / QUESTIONS
    if not path.is_file():
        pytest.skip("the authors' questions are not beside this checkout")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
