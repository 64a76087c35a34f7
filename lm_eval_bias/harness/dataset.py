"""Documents as the harness's `custom_dataset` returns them."""

import inspect
from collections.abc import Callable, Sequence
from itertools import product, zip_longest
from typing import Any, TypeVar

from lm_eval_bias.data.lexicons import lexicon
from lm_eval_bias.measure import BEFORE_CHECKS, CHECK
from lm_eval_bias.usage import Options, UsageError

Document = dict[str, Any]
T = TypeVar("T")
FIRST = "first_documents"
"""Key in `dataset_kwargs`: a task of a fixed size asks that many documents."""


class Documents(list):
    """A split: the harness asks for its `features`, and a `datasets.Dataset` is slow."""

    @property
    def features(self) -> dict[str, None]:
        return dict.fromkeys(self[0])


class CustomDataset:
    """A task's `custom_dataset` from a function that makes documents.

    documents: returns dicts with equal keys; gets those metadata and arguments that it has
    parameters for. count: their number, if cheaper. checks: attention checks (`measure.CHECK`) that
    stand behind the first of our own documents; made by a function of the same kind.
    """

    def __init__(
        self,
        documents: Callable[..., list[Document]],
        count: Callable[..., int] | None = None,
        checks: Callable[..., list[Document]] | None = None,
    ):
        self.documents = documents
        self._checks = checks
        self._count = count

    def count(self, **metadata: Any) -> int:
        arguments = _arguments(self.documents, metadata)
        whole = self._count(**arguments) if self._count else len(self.documents(**arguments))
        return min(whole, metadata.get(FIRST, whole)) + len(self.checks(metadata))

    def checks(self, metadata: Options) -> list[Document]:
        """None of a person's own files, which may be in any language."""
        if self._checks is None or metadata.get("items") or metadata.get("groups"):
            return []
        return self._checks(**_arguments(self._checks, metadata))

    def __call__(self, **metadata: Any) -> dict[str, Any]:
        """{"test": `Documents`}. Raises UsageError if there are none."""
        arguments = _arguments(self.documents, metadata)
        documents = self.documents(**arguments)
        if not documents:
            raise UsageError(f"no documents match {arguments}")
        empty = dict.fromkeys(documents[0])
        checks = [{**empty, **check} for check in self.checks(metadata)]
        asked = documents[: metadata.get(FIRST)]
        return {"test": Documents([*asked[:BEFORE_CHECKS], *checks, *asked[BEFORE_CHECKS:]])}


def _arguments(function: Callable[..., Any], metadata: Options) -> dict[str, Any]:
    """Those that it has parameters for."""
    parameters = inspect.signature(function).parameters
    return {key: value for key, value in metadata.items() if key in parameters}


def checks(
    file: str, values: Sequence[Sequence[float]], section: str = "", **columns: Any
) -> list[Document]:
    """Attention checks, each in all combinations of the first or second form of its parts.

    file: in items/, whole or a section: name -> parts: column -> its two forms, or one for both.
    values: those of the answers in the first forms; with each part in its second form their signs
    change. columns: of all.
    """
    content = lexicon(file)[section] if section else lexicon(file)
    return [
        {
            **columns,
            **{
                column: forms if isinstance(forms, str) else _plain(forms[place])
                for part, place in zip(parts, places, strict=True)
                for column, forms in part.items()
            },
            CHECK: [name, [[v * (-1) ** sum(places) for v in answers] for answers in values]],
        }
        for name, parts in content.items()
        for places in product((0, 1), repeat=len(parts))
    ]


def _plain(form: Any) -> Any:
    return list(form) if isinstance(form, tuple) else form


def in_turns(columns: Sequence[Sequence[T]]) -> list[T]:
    """The first entry of each column, then the second of each, as far as each goes."""
    return [entry for turn in zip_longest(*columns) for entry in turn if entry is not None]


def in_proportion(streams: Sequence[Sequence[T]]) -> list[T]:
    """The entries of all streams; each first part has the streams' shares."""
    placed = sorted(
        ((k + 0.5) / len(stream), i, k)
        for i, stream in enumerate(streams)
        for k in range(len(stream))
    )
    return [streams[i][k] for _, i, k in placed]
