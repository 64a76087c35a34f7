"""The templates of a task, compiled once; the harness compiles them anew for every document, which
takes a millisecond each."""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2

from lm_eval_bias.harness.compat import asking, environment, task_base


@cache
def template(text: str) -> jinja2.Template:
    """A jinja template as the harness reads it."""
    return environment().from_string(text)


def render(text: str | None, doc: dict[str, Any]) -> Any:
    """What a field of a task's YAML says for a document: the column of that name, else the text as
    a template; None for an empty text."""
    if not text:
        return None
    return doc[text] if text in doc else template(text).render(**doc)


class CompiledTask(task_base()):
    """The harness's task, with the same questions and targets in less time."""

    def __new__(cls, config=None, **kwargs):
        return super().__new__(asking(cls, (config or {}).get("output_type", "generate_until")))

    @staticmethod
    def resolve_field(doc, field=None):
        return render(field, doc)

    _resolve_field = resolve_field  # its name in 0.5

    def override_metric(self, metric_name: str) -> None:
        """For --predict_only. The harness looks metrics up by output type, and knows none for
        requests of a type of our own."""
        requests, self.OUTPUT_TYPE = self.OUTPUT_TYPE, self.config.output_type
        super().override_metric(metric_name)
        self.OUTPUT_TYPE = requests

    def doc_to_text(self, doc, doc_to_text=None):
        text = self.config.doc_to_text
        if doc_to_text is None and isinstance(text, str) and text not in doc:
            return template(text).render(**doc)
        return super().doc_to_text(doc, doc_to_text)

    def doc_to_target(self, doc, doc_to_target=None):
        text = self.config.doc_to_target
        if (
            doc_to_target is None
            and isinstance(text, str)
            and text not in doc
            and (not text or text.isalpha())
        ):
            return text  # no template, number or list
        return super().doc_to_target(doc, doc_to_target)
