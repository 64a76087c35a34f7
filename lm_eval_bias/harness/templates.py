"""Compile a task's templates once. The harness compiles them for every document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import jinja2

from lm_eval_bias.harness import compat
from lm_eval_bias.harness.dataset import Document
from lm_eval_bias.usage import UsageError

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


class CompiledTask(compat.task_base()):  # type: ignore[misc]
    """The harness's task with compiled templates, and common parts of our request types."""

    OUTPUT_TYPE: Any
    PLAIN = False
    """Whether its texts are asked without system message and chat template."""

    @staticmethod
    def resolve_field(doc: Document, field: str | None = None) -> Any:
        return render(field, doc)

    def reword(self, texts: Mapping[str, Any]) -> None:
        """Ask in another wording. texts: in the place of those of the YAML."""
        for key, text in texts.items():
            setattr(self.config, key, text)

    @contextmanager
    def known_output_type(self) -> Iterator[None]:
        """Inside the block, OUTPUT_TYPE is the harness's type in the YAML instead of ours."""
        own, self.OUTPUT_TYPE = self.OUTPUT_TYPE, self.config.output_type
        try:
            yield
        finally:
            self.OUTPUT_TYPE = own

    def override_metric(self, metric_name: str) -> None:
        """For --predict_only: the harness looks metrics up by output type."""
        with self.known_output_type():
            super().override_metric(metric_name)

    def download(self, dataset_kwargs: Config | None = None, **kwargs: Any) -> None:
        """The harness's, without its notice about `--metadata`, one for each task."""
        build = self.config.custom_dataset
        if callable(build):
            metadata, settings = self.config.metadata or {}, self.config.dataset_kwargs or {}
            self.dataset = build(**metadata, **settings)
        else:
            super().download(dataset_kwargs, **kwargs)

    def doc_to_text(self, doc: Document, doc_to_text: Any = None) -> Any:
        text = self.config.doc_to_text
        if doc_to_text is None and isinstance(text, str) and text not in doc:
            return template(text).render(**doc)
        return super().doc_to_text(doc, doc_to_text)

    def doc_to_target(self, doc: Document, doc_to_target: Any = None) -> Any:
        text = self.config.doc_to_target
        plain = isinstance(text, str) and text not in doc and (not text or text.isalpha())
        if doc_to_target is None and plain:  # no template, number or list
            return text
        return super().doc_to_target(doc, doc_to_target)


compat.check_runs()


def without_examples(config: Config) -> None:
    """Raise UsageError if a task's YAML asks for few-shot examples."""
    if config["num_fewshot"]:
        raise UsageError(
            f"{config.get('task')}: it takes no few-shot examples, found num_fewshot="
            f"{config['num_fewshot']}"
        )
