"""MIST: the paper's tables and figures of a run."""

from typing import Any

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers, Rows, Table, intervals, known
from lm_eval_bias.metrics.affective_attribution import VERDICTS

UNPARSED = Column("unparsed", "Unparsed", "%")

# ---- Word Association Bias Test


_SCORES = (
    Column("bias_score_n", "n", "count"),
    Column("bias_score", "Mean", "score"),
    Column("bias_score_std", "Std", "score"),
)
_P = Column("bias_score_p", "p", "p")
_TEST = (Column("bias_score_t", "Paper's t", "t"), Column("bias_score_paper_p", "Paper's p", "p"))


def _wabt(lost: tuple[Column, ...], caveat: str) -> tuple[Exhibit, ...]:
    """lost: how many lists have no score. caveat: of Table 4."""
    totals = (*_SCORES, _P, *_TEST, *lost)
    return (
        Exhibit(
            name="Table 4",
            caption="Word Association Bias Test: bias scores by dimension",
            source=Numbers(by="dimension"),
            columns=(Column("dimension", "Dimension"), *totals),
            how_to_read="A mean above 0 gives good words to S_a and bad ones to S_b, below 0 the "
            "reverse; p is that of the interval, and the paper's t and p, which take lists that "
            "share words for independent, are there to compare with the paper's rows alone.",
            caveat=caveat,
            paper_values=("mist", "Table 4"),
        ),
        Exhibit(
            name="Figure 3",
            caption="Word Association Bias Test: mean bias score of each group",
            source=Rows("scores"),
            then=lambda rows: [row for row in rows if row.get("pair") != "all"],
            columns=(
                Column("pair", "Group (S_b)"),
                Column("dimension", "Dimension"),
                Column("lists", "Lists", "count"),
                *_SCORES,
                *lost,
            ),
            how_to_read="A point right of 0 gives good words to S_a and bad ones to the group "
            "named, and a bar that crosses 0 leaves the sign open; the paper has "
            "radar charts of the same numbers, without intervals.",
            caveat="The intervals are not corrected for their number, so of thirty one or two "
            "exclude 0 by chance alone, and a group whose lists all agree, or come of one sample, "
            "has none.",
            figure=intervals("bias_score", "pair", "dimension", 0)._replace(domain=(-1, 1)),
            needs="the table of scores by group",
        ),
    )


_INVALID = Column("invalid", "Invalid lists", "%")
WABT = _wabt(
    (
        _INVALID,
        Column("undefined", "Lists without a score", "%"),
        Column("refused", "Refused lists", "%"),
    ),
    "Only lists in a valid form count, and models differ in which those are; a mean near 0 can "
    "hide groups of opposite sign (Figure 3).",
)
WABT_LIKELIHOOD = _wabt(
    (_INVALID,),
    "Probabilities near one half make scores small, so their size does not compare with that of "
    "the paper's written lists; signs and ranks do.",
)

# ---- Affective Attribution Test


def _by_verdict(rows: Table) -> Table:
    """A row for each group and verdict, in percent (Figure 4); S_a of each domain first."""

    def percent(share: Any) -> float | None:
        return None if known(share) is None else 100 * share

    by_side = sorted(rows, key=lambda row: str(row.get("side")))
    domains = [row.get("domain") for row in by_side]
    keys = ("group", "side", "domain", "n", "refused", "unparsed")
    ends = ("", "_stderr", "_low", "_high")
    return [
        {
            **{key: row.get(key) for key in keys},
            "verdict": verdict,
            **{f"percent{end}": percent(row.get(f"{verdict}{end}")) for end in ends},
            "percent_n": row.get(f"{verdict}_n"),
        }
        for row in sorted(by_side, key=lambda row: domains.index(row.get("domain")))
        for verdict in VERDICTS
    ]


def _aat(lost: tuple[Column, ...]) -> tuple[Exhibit, ...]:
    """lost: how many verdicts are no valid ones."""
    sides = tuple(
        column
        for side in "ab"
        for column in (
            *(
                Column(f"{verdict}_{side}", f"S_{side} {verdict.capitalize()}", "share")
                for verdict in VERDICTS
            ),
            Column(f"verdicts_{side}", f"S_{side} n", "count"),
        )
    )
    return (
        Exhibit(
            name="Table 5",
            caption="Affective Attribution Test: shares of the verdicts after groups of S_a and of "
            "S_b",
            source=Numbers(),
            columns=(*sides, *lost),
            how_to_read="Shares of the valid verdicts: comedy after S_a is the paper's FAR, "
            "tragedy after S_b its UAR; compare the left half with the right.",
            caveat="FAR and UAR rise with a model's taste for comedy or tragedy whoever is named, "
            "so neither shows an effect of the group; the gaps do.",
            paper_values=("mist", "Table 5"),
        ),
        Exhibit(
            name="Figure 4",
            caption="Affective Attribution Test: verdicts after each group",
            source=Rows("groups"),
            then=_by_verdict,
            columns=(
                Column("group", "Group"),
                Column("side", "Side"),
                Column("domain", "Domain"),
                Column("verdict", "Verdict"),
                Column("percent", "Valid verdicts", "%"),
                Column("n", "All verdicts", "count"),
                *lost,
            ),
            how_to_read="Each bar is a group, and its parts are the shares of comedy, tragedy and "
            "neutrality among the valid verdicts.",
            caveat="It shows neither uncertainty nor refusals (both stand in the table), and "
            "domains have identifiers of different kinds, so compare a group with the S_a of its "
            "own domain.",
            figure=Figure(
                "stacked",
                x="group",
                y="percent",
                colour="verdict",
                order={"verdict": VERDICTS},
                domain=(0, 100),
            ),
            needs="the table of verdicts by group",
        ),
    )


AAT = _aat((Column("refused", "Refused", "%"), UNPARSED))
AAT_LIKELIHOOD = _aat((UNPARSED,))
