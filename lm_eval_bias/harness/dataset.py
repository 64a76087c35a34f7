"""Documents -> what the harness's `custom_dataset` returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from lm_eval_bias.data.schema import ItemFile
from lm_eval_bias.usage import UsageError

FIRST = "first_documents"
"""In the `dataset_kwargs` of a task's YAML: how many of its documents a task of a fixed size asks.
"""


class Documents(list):
    """Documents as the harness reads a split of a data set: in order, by number, with `features`.

    A `datasets.Dataset` makes a dict anew at each access, which takes longer than all else that is
    done with a document beside the model.
    """

    @property
    def features(self) -> dict[str, None]:
        """The names of the columns."""
        return dict.fromkeys(self[0])

    def unique(self, column: str) -> list[Any]:
        """The distinct values of a column, in order of appearance."""
        return list(dict.fromkeys(document[column] for document in self))


class CustomDataset:
    """Makes a function of documents into a task's `custom_dataset`.

    documents: returns a list of dicts with equal keys. Of the metadata and arguments that the
    harness hands over, it gets those that it has parameters for. count: says how many there are
    without making them; left out where making them is quick. files: option -> the file of items or
    groups that a person may put in place of ours, for `lm-eval-bias check`. checksums: the sha256
    of fetched files of which none is known beforehand, by the names under which the results tell
    them; asked when the documents are made. `FIRST` among the arguments leaves that many, which are
    those that `--limit` takes of the whole; all where a person's file makes fewer.
    """

    def __init__(
        self,
        documents: Callable[..., list[dict[str, Any]]],
        count: Callable[..., int] | None = None,
        files: Mapping[str, ItemFile] | None = None,
        checksums: Callable[..., dict[str, str]] | None = None,
    ) -> None:
        self.documents = documents
        self._checksums = checksums
        self.files = dict(files or {})
        self._count = count
        self.__name__ = getattr(documents, "__name__", "documents")

    def count(self, **metadata: Any) -> int:
        """How many documents there are, for what the harness would hand over."""
        known = self._known(metadata)
        whole = len(self.documents(**known)) if self._count is None else self._count(**known)
        return min(whole, metadata.get(FIRST, whole))

    def checksums(self, **metadata: Any) -> dict[str, str]:
        """What the results tell of the files that the documents were made of, for what the harness
        would hand over."""
        return self._checksums(**self._known(metadata)) if self._checksums else {}

    def __call__(self, **metadata: Any) -> dict[str, Any]:
        """{"test": `Documents`}, as the harness wants it."""
        documents = self.documents(**self._known(metadata))
        if not documents:
            raise UsageError(f"no documents: the items hold none for {self._known(metadata)}")
        return {"test": Documents(documents[: metadata.get(FIRST)])}

    def _known(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        known = inspect.signature(self.documents).parameters
        return {key: value for key, value in metadata.items() if key in known}
