"""Tasks on a data set of the hub, or with `--metadata data=FILE` on a file of its columns."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lm_eval_bias.data.rows import Row, rows
from lm_eval_bias.data.schema import located
from lm_eval_bias.harness.compat import brief
from lm_eval_bias.harness.dataset import Document, Documents
from lm_eval_bias.harness.task import MeasureTask
from lm_eval_bias.harness.templates import Config
from lm_eval_bias.harness.token_counts import CountedTask
from lm_eval_bias.usage import UsageError, read_options


class HubTask(MeasureTask):
    """A `MeasureTask` on a data set of the hub. In a YAML: `class: !function
    lm_eval_bias.harness.hub_data.HubTask`.

    It reads `process_docs`, which turns rows into documents. The option `data` names a file.
    """

    def __init__(self, config: Config) -> None:
        config = dict(config)
        metadata = config.get("metadata") or {}
        metadata = located(metadata, metadata.get("config_source"))
        options = read_options(config["task"], metadata, config.get("options"))
        named = ", ".join(filter(None, (config["task"], options.get("data"))))
        config["process_docs"] = Processed(named, config["process_docs"])
        if options.get("data"):
            config["custom_dataset"] = partial(
                _split, config["test_split"], options["data"], config.get("dataset_name")
            )
        super().__init__(config)

    def download(self, *args: Any, **kwargs: Any) -> None:
        """Raises UsageError if the data set cannot be loaded."""
        try:
            super().download(*args, **kwargs)
        except UsageError:
            raise
        except Exception as error:
            name = " ".join(filter(None, (self.config.dataset_path, self.config.dataset_name)))
            raise UsageError(
                f"{self.config.task}: cannot load the data set {name}: fetch it with network, or "
                f"give a file of the same columns with --metadata data=FILE ({brief(error)})"
            ) from error


def _split(split: str, path: str, part: str | None, /, **_: Any) -> dict[str, list[Row]]:
    return {split: rows(path, part)}


class Processed:
    """A task's `process_docs`; the harness calls it at every access."""

    def __init__(self, named: str, process: Callable[..., Sequence[Document]]) -> None:
        self.named, self.process = named, process
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
    """A `HubTask` on plain texts, with token counts: no examples, system message or chat template.
    Needs `output_type: multiple_choice`.
    """

    PLAIN = True

    def fewshot_context(self, doc: Any, num_fewshot: int, **kwargs: Any) -> Any:
        return self.doc_to_text(doc)

    def construct_requests(self, doc: Any, ctx: Any, **kwargs: Any) -> Any:
        # Under a chat template the harness leaves out the blank behind a context.
        return super().construct_requests(doc, ctx, **{**kwargs, "apply_chat_template": False})
