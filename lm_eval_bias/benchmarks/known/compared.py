"""How the groups of a document differ from one of them, or from all others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lm_eval_bias.metrics.errors import Total, Values, contrasts, share_interval, t_interval


def compared(rows: Any, column: str, within: Sequence[str] = (), reference: Any = None) -> Any:
    """The rows of each group of a column, and under its name those of the reference, by default all
    others. own: whether a row is of the group. cell: what is compared within."""
    x = rows.merge(rows[column].drop_duplicates().rename("group"), how="cross")
    x["own"] = x[column] == x["group"]
    there = x["own"] | (reference is None) | (x[column] == reference)
    x = x[there & (x["group"] != reference)].drop(columns=column)
    x = x.rename(columns={"group": column})
    return x.assign(cell=x.groupby([column, *within], dropna=False).ngroup())


def gaps(**outcomes: str) -> Callable[..., Values]:
    """Of `compared` rows, the mean of a column in a group less that in the reference; cells count
    alike, and n are rows of the groups. outcomes: metric -> column."""

    def values(x: Any, total: Total) -> Values:
        columns = [x[column] for column in outcomes.values()]
        cells, own = x["cell"].to_numpy(), x["own"].to_numpy(dtype=int)
        differences = contrasts(total, columns, cells, own, (-1, 1))
        return dict(zip(outcomes, ((*d, total(own)) for d in differences), strict=True))

    return values


def agreeing(**ends: float) -> Callable[..., dict[str, Any]]:
    """Where all clusters agree, the interval of Clopper and Pearson of a share of 0: so many
    clusters that nobody wrote may lie at either end of the scale. ends: metric -> the upper one,
    which is as far above 0 as the lower one is below."""

    def widened(x: Any, sample: Any, by: Any, numbers: dict[str, Any]) -> dict[str, Any]:
        result = {}
        for name, end in ends.items():
            known, nothing = numbers[name], np.zeros_like(numbers[name].value)
            unseen = share_interval(nothing, nothing, known.clusters)[1]
            low, high = t_interval(known.value, np.sqrt(known.variance), known.df)
            agree = known.variance == 0
            low = np.where(agree, known.value - unseen * (known.value + end), low)
            high = np.where(agree, known.value + unseen * (end - known.value), high)
            result[name] = known._replace(ends=(low, high))
        return result

    return widened
