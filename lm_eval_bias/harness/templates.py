"""Compile a task's templates once. The harness compiles them for every document."""

from functools import cache
from typing import Any

import jinja2
from lm_eval.utils import env

from lm_eval_bias.harness.dataset import Document

Config = dict[str, Any]
"""What a task's YAML holds."""
ENVIRONMENT = env


@cache
def template(text: str) -> jinja2.Template:
    return env.from_string(text)


def render(text: str | None, doc: Document) -> Any:
    """A field of a task's YAML: a column's value, or a rendered text."""
    if not text:
        return ""
    return doc[text] if text in doc else template(text).render(**doc)


class Text:
    """A field that the harness calls: it would compile a text for every document."""

    def __init__(self, text: str):
        self.text = text

    def __call__(self, doc: Document) -> Any:
        return render(self.text, doc)

    def __str__(self) -> str:
        return self.text
