"""Compile a task's templates once. The harness compiles them for every document."""

from functools import cache
from typing import Any

import jinja2

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.dataset import Document

Config = dict[str, Any]
"""What a task's YAML holds."""


@cache
def template(text: str) -> jinja2.Template:
    return compat.environment().from_string(text)


def render(text: str | None, doc: Document) -> Any:
    """A field of a task's YAML: a column's value, a rendered text, or None for an empty one."""
    if not text:
        return None
    return doc[text] if text in doc else template(text).render(**doc)
