"""Halo and horn gaps from labels of premise-hypothesis pairs (BIStereo-NLI, sections 3.2, 4.2)."""

from collections.abc import Sequence

import pandas as pd

LABELS = ("entailment", "contradiction", "neutral")
EFFECTS = ("halo", "horn")


def entailed(labels: pd.Series) -> pd.Series:
    """100 for Entailment, -100 for Contradiction, else 0."""
    return labels.map({"entailment": 100.0, "contradiction": -100.0}).fillna(0.0)


def twins(pairs: pd.DataFrame, keys: Sequence[str]) -> tuple[pd.DataFrame, pd.Series]:
    """Pairs in twos, which differ in the descriptor alone, and which pairs have a twin.

    pairs: columns entailed (of `entailed`, or from -100 to 100), favoured (whether the stereotype
    favours the descriptor), effect, and keys, which twins share. Adds gap, and that of either
    effect, in percentage points: the mean of %E(favoured) - %E(other) and %C(other) - %C(favoured)
    for a good attribute, the reverse for a bad one. Source: BIStereo, section 4.2 and appendix I.
    """
    code = pairs.groupby(list(keys), dropna=False).ngroup()
    favoured = pairs["favoured"].astype(bool)
    one, other = (
        pairs["entailed"][side].groupby(code[side]).mean() for side in (favoured, ~favoured)
    )
    own = code.map((one - other) / 2)
    x = pairs.assign(gap=own * pairs["effect"].map({"halo": 1, "horn": -1}))
    for effect in EFFECTS:
        x[f"{effect}_gap"] = x["gap"].where(x["effect"] == effect)
    return x[own.notna() & ~code.duplicated()], own.notna()
