"""Rows of different lengths in one array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Ragged:
    """Row i is `values[offsets[i]:offsets[i + 1]]`.

    values: shape (total,). offsets: shape (rows + 1,).
    """

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def empty(cls, lengths: np.ndarray, dtype: type) -> Ragged:
        """Rows of the given lengths, values not set."""
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(np.empty(offsets[-1], dtype), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> np.ndarray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def ends(self, rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The last `lengths` values of each of `rows`, concatenated. Both have shape (n,)."""
        first = self.offsets[1:][rows] - lengths
        before = np.cumsum(lengths) - lengths
        return self.values[np.repeat(first - before, lengths) + np.arange(lengths.sum())]
