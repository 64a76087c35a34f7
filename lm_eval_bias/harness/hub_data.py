"""Tasks on a data set of the hub, or with `--metadata data=FILE` on a file of its columns."""

from collections.abc import Callable, Sequence
from typing import Any

from lm_eval_bias.data.rows import rows
from lm_eval_bias.harness.compat import brief
from lm_eval_bias.harness.dataset import Document, Documents
from lm_eval_bias.usage import UsageError


def documents(
    process: Callable[..., Sequence[Document]],
    task: str,
    name: str,
    part: str | None,
    split: str,
    data: str | None,
    /,
    **_: Any,
) -> dict[str, Documents]:
    """A task's `custom_dataset`. name, part: of the data set. data: a file in its place."""
    try:
        if data:
            given = rows(data, part)
        else:
            import datasets

            given = datasets.load_dataset(name, part, split=split)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(
            f"{task}: cannot load the data set {' '.join(filter(None, (name, part)))}: fetch it "
            "with network, or give a file of the same columns with --metadata data=FILE "
            f"({brief(error)})"
        ) from error
    try:
        return {split: Documents(process(given))}
    except UsageError as error:
        raise UsageError(f"{', '.join(filter(None, (task, data)))}: {error}") from error
