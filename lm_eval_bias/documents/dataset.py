"""Documents -> what the harness's `custom_dataset` returns."""

from __future__ import annotations

from typing import Any


def test_split(documents: list[dict[str, Any]]) -> dict[str, Any]:
    """{"test": a datasets.Dataset of the documents}, built by columns, which is ten times faster than by rows."""
    from datasets import Dataset

    return {"test": Dataset.from_dict({key: [d[key] for d in documents] for key in documents[0]})}
