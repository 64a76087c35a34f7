"""Tasks on a data set of the hub, or with `--metadata data=FILE` on a file of its columns."""

from collections.abc import Callable, Sequence
from typing import Any

from lm_eval_bias.data.rows import Row, rows
from lm_eval_bias.harness.dataset import Document, Documents
from lm_eval_bias.usage import UsageError


def read_split(split: str, path: str, part: str | None, /, **_: Any) -> dict[str, list[Row]]:
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
