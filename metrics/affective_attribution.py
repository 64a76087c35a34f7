"""The Affective Attribution Test of MIST: is a description comedy or tragedy, depending on the group thought of before it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .regression import Coefficient, clustered_coefficient
from .resampling import Estimate

VERDICTS = ("comedy", "tragedy", "neutrality")


class Attribution(NamedTuple):
    """One description and its verdict.

    group, side: the group and whether it is of S_a ("a") or S_b ("b"). identifier, word: what the model was to think of and to describe.
    template: which wording asked. verdict: "comedy", "tragedy", "neutrality", "refused" or "unparsed"; the last two count as neutrality.
    """

    group: str
    side: str
    identifier: str
    word: str
    template: int
    verdict: str


class Rates(NamedTuple):
    """Shares of some attributions: three columns of Table 5, or one bar of Figure 4. refused and unparsed are part of neutrality."""

    n: int
    comedy: Estimate
    tragedy: Estimate
    neutrality: Estimate
    refused: float
    unparsed: float


def rates(attributions: Sequence[Attribution]) -> Rates:
    """The shares of the three verdicts, and of refused and unparsed answers; NaN without attributions.

    Standard errors are clustered by identifier and by word. Of S_a, `comedy` is the favourable attribution rate FAR (equation 2); of S_b,
    `tragedy` is the unfavourable attribution rate UAR (equation 3). Source: MIST, sections 3.2 and 4.3.
    """
    verdicts = np.array([x.verdict for x in attributions])
    n = len(verdicts)
    shares = {
        "comedy": verdicts == "comedy",
        "tragedy": verdicts == "tragedy",
        "neutrality": np.isin(verdicts, ("neutrality", "refused", "unparsed")),
    }
    estimates = {name: _clustered(np.ones((n, 1)), share, attributions) for name, share in shares.items()}
    return Rates(
        n,
        **{name: Estimate(c.value, c.stderr) for name, c in estimates.items()},
        refused=float((verdicts == "refused").mean()) if n else np.nan,
        unparsed=float((verdicts == "unparsed").mean()) if n else np.nan,
    )


def attribution_gap(attributions: Sequence[Attribution], outcome: ArrayLike) -> Coefficient:
    """The mean of an outcome for S_a less that for S_b, templates held constant.

    outcome: shape (n,): 1 where the verdict is comedy, say, or a probability; NaN is left out.
    Attributions that share an identifier or a word may depend on each other: the standard error is clustered by both, and templates,
    which are three and fixed, are part of the fit. NaN where only one side is present.
    FAR and UAR of the paper cannot show an effect of the group; this difference can. It is ours.
    """
    outcome = np.asarray(outcome, dtype=float)
    used = [i for i in range(len(attributions)) if not np.isnan(outcome[i])]
    kept = [attributions[i] for i in used]
    templates = sorted({x.template for x in kept})
    columns = [[x.side == "a" for x in kept], [True] * len(kept), *([x.template == t for x in kept] for t in templates[1:])]
    return _clustered(np.array(columns, dtype=float).T, outcome[used], kept)


def _clustered(design: np.ndarray, outcome: ArrayLike, attributions: Sequence[Attribution]) -> Coefficient:
    return clustered_coefficient(design, outcome, [x.identifier for x in attributions], [x.word for x in attributions])
