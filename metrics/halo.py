"""Halo and horn gaps from labels of premise-hypothesis pairs (BIStereo-NLI, sections 3.2, 4.2)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from .errors import Total, Value, contrasts, ratio

LABELS = ("entailment", "contradiction", "neutral")
EFFECTS = ("halo", "horn")


def twins(pairs: pd.DataFrame, keys: Sequence[str]) -> tuple[pd.DataFrame, pd.Series]:
    """Labelled pairs in twos, which differ in the descriptor alone, and which pairs have a twin.

    pairs: columns label, favoured (whether the stereotype favours the descriptor), effect, and
    keys, which twins share. Adds gap, in percentage points: the mean of %E(favoured) - %E(other)
    and %C(other) - %C(favoured) where the attribute is good, and the reverse where it is bad.
    Source: BIStereo, section 4.2 and appendix I.
    """
    code = pairs.groupby(list(keys), dropna=False).ngroup().to_numpy()
    size = code.max(initial=-1) + 1
    favoured = pairs["favoured"].to_numpy(dtype=bool)
    entailed = (pairs["label"] == "entailment").to_numpy() * 100.0
    entailed -= (pairs["label"] == "contradiction").to_numpy() * 100.0
    n, sums = (
        np.stack([np.bincount(code[side], counted[side], size) for side in (favoured, ~favoured)])
        for counted in (np.ones(len(code)), entailed)
    )
    both = np.asarray(n.all(axis=0))
    means = ratio(sums, n)
    rows = pairs[~pd.Series(code, pairs.index).duplicated() & both[code]]
    good = np.where(rows["effect"] == "halo", 1, -1)
    own = (means[0] - means[1])[pd.Series(code, pairs.index)[rows.index]] / 2
    return rows.assign(gap=good * own), pd.Series(both[code], pairs.index)


def shares(x: pd.DataFrame, total: Total) -> dict[str, Value]:
    """Of labels among labelled pairs, in percent."""
    n = total(x["label"].notna())
    values: dict[str, Value] = {
        label: (100 * ratio(total(x["label"] == label), n), n) for label in LABELS
    }
    return {**values, "non_neutral": (100 * ratio(n - total(x["label"] == "neutral"), n), n)}


def gaps(x: pd.DataFrame, total: Total) -> dict[str, Value]:
    """Means over twins: of either effect, and of all."""
    numbers: dict[str, Value] = {"gap": (ratio(total(x["gap"]), total(1)), total(1))}
    for effect in EFFECTS:
        chosen = x["effect"] == effect
        n = total(chosen)
        numbers[f"{effect}_gap"] = ratio(total(x["gap"] * chosen), n), n
    return numbers


def gap_beyond_words(x: pd.DataFrame, total: Total) -> tuple[Value, Value]:
    """The mean of the halo and the horn gap, less that of the placebos with the same words, and the
    former alone. Words, genders and domains count alike."""
    cells = x.groupby(["words", "gender", "domain"], dropna=False).ngroup().to_numpy()
    part = 2 * x["placebo"].astype(int) + (x["effect"] == "horn")
    signs = (0.5, 0.5, -0.5, -0.5), (0.5, 0.5, 0, 0)
    less, alone = contrasts(total, [x["gap"]], cells, part.to_numpy(), *signs)
    return less, alone
