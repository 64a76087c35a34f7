"""A task's templates, compiled once: the harness itself compiles them for every document."""

from functools import cache
from typing import Any

from lm_eval.utils import env

from lm_eval_bias.harness.dataset import Document

Config = dict[str, Any]
"""What a task's YAML holds."""
ENVIRONMENT = env
env.from_string = cache(env.from_string)


def render(text: str, doc: Document) -> Any:
    """A field of a task's YAML: a column's value, or a rendered text."""
    return doc[text] if text in doc else env.from_string(text).render(**doc)
