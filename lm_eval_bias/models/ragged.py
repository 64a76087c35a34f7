"""Rows of different lengths in one array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Ragged:
    """Rows one after the other: row i is `values[offsets[i]:offsets[i + 1]]`.

    values: shape (total,). offsets: shape (rows + 1,).
    """

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def empty(cls, lengths: np.ndarray, dtype: type) -> Ragged:
        """Rows of some lengths, shape (rows,), whose values are not set yet."""
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(np.empty(offsets[-1], dtype), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Shape (rows,)."""
        return np.diff(self.offsets)

    def ends(self, rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The last `lengths` values of each of `rows`, both of shape (n,), one after the other."""
        first = self.offsets[1:][rows] - lengths
        before = np.cumsum(lengths) - lengths
        return self.values[np.repeat(first - before, lengths) + np.arange(lengths.sum())]
