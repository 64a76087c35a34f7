"""Rows of different lengths in one array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass
class Ragged:
    """Rows behind each other: row i is `values[offsets[i]:offsets[i + 1]]`.

    values: shape (total,). offsets: shape (n + 1,).
    """

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def empty(cls, lengths: np.ndarray, dtype: type) -> Ragged:
        """Rows of the given lengths, shape (n,), their values not set yet."""
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(np.empty(offsets[-1], dtype), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[row] for row in range(len(self)))

    @property
    def lengths(self) -> np.ndarray:
        """Shape (n,)."""
        return np.diff(self.offsets)

    def ends(self, rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The last `lengths` values of each of `rows`, both of shape (n,), behind each other."""
        first = self.offsets[1:][rows] - lengths
        before = np.cumsum(lengths) - lengths
        return self.values[np.repeat(first - before, lengths) + np.arange(lengths.sum())]
