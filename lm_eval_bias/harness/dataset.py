"""Documents as the harness's `custom_dataset` returns them."""

import inspect
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from lm_eval_bias.usage import Options, UsageError

Document = dict[str, Any]
T = TypeVar("T")
FIRST = "first_documents"
"""Key in `dataset_kwargs`: a task of a fixed size asks that many documents."""


class Documents(list):
    """A split of a data set: a list with `features`, since a `datasets.Dataset` is slow."""

    @property
    def features(self) -> dict[str, None]:
        return dict.fromkeys(self[0])

    def unique(self, column: str) -> list[Any]:
        return list(dict.fromkeys(document[column] for document in self))


class CustomDataset:
    """A task's `custom_dataset` from a function that makes documents.

    documents: returns dicts with equal keys; gets those metadata and arguments that it has
    parameters for. count: their number, if cheaper. checksums: name -> sha256 of fetched files
    without a pinned one.
    """

    def __init__(
        self,
        documents: Callable[..., list[Document]],
        count: Callable[..., int] | None = None,
        checksums: Callable[..., dict[str, str]] | None = None,
    ) -> None:
        self.documents = documents
        self._checksums = checksums
        self._count = count
        self.__name__ = getattr(documents, "__name__", "documents")

    def count(self, **metadata: Any) -> int:
        arguments = self._arguments(metadata)
        whole = (self._count or (lambda **_: len(self.documents(**arguments))))(**arguments)
        return min(whole, metadata.get(FIRST, whole))

    def checksums(self, **metadata: Any) -> dict[str, str]:
        return self._checksums(**self._arguments(metadata)) if self._checksums else {}

    def __call__(self, **metadata: Any) -> dict[str, Any]:
        """{"test": `Documents`}. Raises UsageError if there are none."""
        arguments = self._arguments(metadata)
        documents = self.documents(**arguments)
        if not documents:
            raise UsageError(f"no documents match {arguments}")
        return {"test": Documents(documents[: metadata.get(FIRST)])}

    def _arguments(self, metadata: Options) -> dict[str, Any]:
        parameters = inspect.signature(self.documents).parameters
        return {key: value for key, value in metadata.items() if key in parameters}


def in_turns(columns: Sequence[Sequence[T]]) -> list[T]:
    """The first entry of each column, then the second of each, as far as each goes."""
    return [entry for turn in zip_longest(*columns) for entry in turn if entry is not None]


def in_proportion(streams: Sequence[Sequence[Sequence[T]]]) -> list[T]:
    """The entries of all streams of blocks; each first part has the streams' shares."""
    placed = sorted(
        ((k + 0.5) / len(stream), i, k)
        for i, stream in enumerate(streams)
        for k in range(len(stream))
    )
    return [entry for _, i, k in placed for entry in streams[i][k]]
