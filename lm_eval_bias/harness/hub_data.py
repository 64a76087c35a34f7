"""Tasks on a data set of the hub, which a person can put a file in place of.

The data set stands in the task's YAML as in the harness's own (`dataset_path`, `dataset_name`), so
nothing is fetched before the task is run, and neither are its documents counted. `--metadata
data=FILE` reads rows of the same columns from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

from lm_eval_bias.data.rows import Row, rows
from lm_eval_bias.data.schema import located
from lm_eval_bias.harness.compat import brief
from lm_eval_bias.harness.dataset import Documents
from lm_eval_bias.harness.task import MeasureTask
from lm_eval_bias.harness.token_counts import CountedTask
from lm_eval_bias.usage import UsageError, read_options


class HubTask(MeasureTask):
    """A `MeasureTask` whose YAML names a data set of the hub. Named there by `class: !function
    lm_eval_bias.harness.hub_data.HubTask`.

    Beside what `MeasureTask` reads: `process_docs`, which makes a list of documents of the rows; of
    the task's options it gets those that it has parameters for. The option `data`, if the task has
    it, is a file in place of the data set.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        config = dict(config)
        metadata = located(
            config.get("metadata") or {}, (config.get("metadata") or {}).get("config_source")
        )
        options = read_options(config["task"], metadata, config.get("options"))
        config["process_docs"] = Processed(config["task"], config["process_docs"], options)
        if options.get("data"):
            config["custom_dataset"] = partial(
                _split, config["test_split"], options["data"], config.get("dataset_name")
            )
        super().__init__(config)

    def download(self, *args: Any, **kwargs: Any) -> None:
        """As the harness does it; raises UsageError, which says what else can be done, where the
        data set cannot be had."""
        try:
            super().download(*args, **kwargs)
        except UsageError:
            raise
        except Exception as error:
            name = " ".join(filter(None, (self.config.dataset_path, self.config.dataset_name)))
            instead = "fetch it with network, or give a file of the same columns with --metadata data=FILE"
            raise UsageError(
                f"{self.config.task}: cannot load the data set {name}: {instead} ({brief(error)})"
            ) from error


def _split(split: str, path: str, part: str | None, **_: Any) -> dict[str, list[Row]]:
    """What the harness wants of a `custom_dataset`."""
    return {split: rows(path, part)}


class Processed:
    """A task's `process_docs` with the task's options. It is called at every access to the
    documents, and makes them once."""

    def __init__(
        self,
        task: str,
        process: Callable[..., Sequence[dict[str, Any]]],
        options: Mapping[str, Any],
    ) -> None:
        known = signature(process).parameters
        self.named = ", ".join(filter(None, (task, options.get("data"))))
        self.process = partial(
            process, **{key: value for key, value in options.items() if key in known}
        )
        self._of: Any = None
        self._made = Documents()

    def __call__(self, data: Any) -> Documents:
        if self._of is not data:
            try:
                self._of, self._made = data, Documents(self.process(data))
            except UsageError as error:
                raise UsageError(f"{self.named}: {error}") from error
        return self._made


class PlainTextTask(HubTask, CountedTask):
    """A `HubTask` that asks how likely texts are as they stand, each with its number of tokens;
    with `output_type: multiple_choice`.

    There are no examples, and neither a system message nor a chat template is put around them.
    """

    def fewshot_context(self, doc, num_fewshot, **kwargs):
        return self.doc_to_text(doc)

    def construct_requests(self, doc, ctx, **kwargs):
        # Under a chat template the harness leaves out the blank between a context and what follows.
        return super().construct_requests(doc, ctx, **{**kwargs, "apply_chat_template": False})
