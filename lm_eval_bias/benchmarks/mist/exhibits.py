"""MIST: the tables and figures of the paper that a report shows of a run."""

from __future__ import annotations

from typing import Any

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers, Rows, known

Table = list[dict[str, Any]]
VERDICTS = ("comedy", "tragedy", "neutrality")

# ---- Word Association Bias Test


def _of_pairs(rows: Table) -> Table:
    """Without the rows over all pairs, which are Table 4."""
    return [row for row in rows if row.get("pair") != "all"]


def _wabt(generated: bool) -> tuple[Exhibit, ...]:
    """Of lists in the model's own words, or by likelihood, where every list has a score but for
    unusable likelihoods."""
    lost = (
        Column("invalid", "Invalid lists", "%"),
        *(
            (
                Column("undefined", "Lists without a score", "%"),
                Column("refused", "Refused lists", "%"),
            )
            if generated
            else ()
        ),
    )
    of_lists = (
        "Only lists in a valid form count, and models differ in which those are; a mean near 0 can hide groups of opposite sign (Figure 3)."
        if generated
        else "Probabilities near one half make scores small, so their size does not compare with that of the paper's written lists; signs "
        "and ranks do."
    )
    columns = (
        Column("pair", "Group (S_b)"),
        Column("dimension", "Dimension"),
        Column("lists", "Lists", "count"),
        Column("n", "n", "count"),
        Column("mean", "Mean", "score", stderr="mean_stderr", interval=("mean_low", "mean_high")),
        Column("std", "Std", "score"),
        *lost,
    )
    return (
        Exhibit(
            name="Table 4",
            caption="Word Association Bias Test: bias scores by dimension",
            source=Numbers(
                (
                    "bias_score_n",
                    "bias_score",
                    "bias_score_std",
                    "bias_score_t",
                    "bias_score_p",
                    *(column.name for column in lost),
                ),
                by="dimension",
            ),
            columns=(
                Column("dimension", "Dimension"),
                Column("bias_score_n", "n", "count"),
                Column(
                    "bias_score",
                    "Mean",
                    "score",
                    stderr="bias_score_stderr",
                    interval=("bias_score_low", "bias_score_high"),
                ),
                Column("bias_score_std", "Std", "score"),
                Column("bias_score_t", "t", "t"),
                Column("bias_score_p", "p", "p"),
                *lost,
            ),
            how_to_read="A mean above 0 gives good words to S_a and bad ones to S_b, below 0 the reverse; t and p are the paper's and take "
            "lists that share words for independent, which the standard error does not.",
            caveat=of_lists,
            paper_values=("mist", "Table 4"),
        ),
        Exhibit(
            name="Figure 3",
            caption="Word Association Bias Test: mean bias score of each group, by dimension",
            source=Rows("scores"),
            then=_of_pairs,
            columns=columns,
            how_to_read="Each axis is a group of S_b against its S_a, each line a dimension: outside the ring of 0 the good words go to S_a, "
            "inside it to S_b.",
            caveat="It shows no uncertainty, and the area within a line depends on the order of the groups, so read single axes, and the "
            "intervals in the table.",
            figure=Figure(
                "radar",
                x="pair",
                y="mean",
                colour="dimension",
                domain=(-1, 1),
                reference=0,
                model="facet",
            ),
            needs="the table of scores by group",
        ),
        Exhibit(
            name="Bias scores with intervals",
            caption="Word Association Bias Test: mean bias score of each group with its 95 % interval",
            source=Rows("scores"),
            then=_of_pairs,
            columns=columns,
            how_to_read="A point right of 0 gives good words to S_a and bad ones to the group named; a bar that crosses 0 leaves the sign open.",
            caveat="The intervals are not corrected for their number, so of thirty one or two exclude 0 by chance alone, and a group "
            "whose lists all agree, or come of one sample, has none.",
            figure=Figure(
                "points",
                x="mean",
                y="pair",
                facet="dimension",
                low="mean_low",
                high="mean_high",
                domain=(-1, 1),
                reference=0,
                model="colour",
            ),
            needs="the table of scores by group",
        ),
    )


WABT: tuple[Exhibit, ...] = _wabt(generated=True)
WABT_LIKELIHOOD: tuple[Exhibit, ...] = _wabt(generated=False)

# ---- Affective Attribution Test


def _together(rows: Table, key: str, first: str | None = None) -> Table:
    """Rows of the same value one after the other, else as they come."""
    values = [first, *dict.fromkeys(row.get(key) for row in rows)]
    return sorted(rows, key=lambda row: values.index(row.get(key)))


def _by_verdict(rows: Table) -> Table:
    """A row for each group and verdict, in percent as Figure 4 has it; the shares of Table 5 are
    from 0 to 1. S_a of each domain first."""
    found = []
    for row in _together(_together(rows, "side", first="a"), "domain"):
        for verdict in VERDICTS:
            share, error = known(row.get(verdict)), known(row.get(f"{verdict}_stderr"))
            found.append(
                {
                    **{
                        key: row.get(key)
                        for key in ("group", "side", "domain", "n", "refused", "unparsed")
                    },
                    "verdict": verdict,
                    "percent": None if share is None else 100 * share,
                    "percent_stderr": None if error is None else 100 * error,
                }
            )
    return found


def _named_pairs(rows: Table) -> Table:
    """With the name of each pair of groups."""
    return [
        {
            **row,
            "pair": "all"
            if row.get("group_b") == "all"
            else f"{row.get('group_a')} − {row.get('group_b')}",
        }
        for row in _together(_together(rows, "group_a", first="all"), "gap")
    ]


def _aat(generated: bool) -> tuple[Exhibit, ...]:
    lost = (
        *((Column("refused", "Refused", "%"),) if generated else ()),
        Column("unparsed", "Unparsed", "%"),
    )
    second = "tragedy" if generated else "the probability of comedy"
    return (
        Exhibit(
            name="Table 5",
            caption="Affective Attribution Test: shares of the verdicts after groups of S_a and of S_b",
            source=Numbers(
                (
                    *(f"{verdict}_{side}" for side in "ab" for verdict in VERDICTS),
                    "verdicts_a",
                    "verdicts_b",
                    *(column.name for column in lost),
                )
            ),
            columns=tuple(
                column
                for side in "ab"
                for column in (
                    *(
                        Column(
                            f"{verdict}_{side}",
                            f"S_{side} {verdict.capitalize()}",
                            "share",
                            stderr=f"{verdict}_{side}_stderr",
                        )
                        for verdict in VERDICTS
                    ),
                    Column(f"verdicts_{side}", f"S_{side} n", "count"),
                )
            )
            + lost,
            how_to_read="Shares of the valid verdicts: comedy after S_a is the paper's FAR, tragedy after S_b its UAR; compare the left half "
            "with the right.",
            caveat="FAR and UAR rise with a model's taste for comedy or tragedy whoever is named, so neither shows an effect of the "
            "group; the gaps do.",
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
                Column("percent", "Valid verdicts", "%", stderr="percent_stderr"),
                Column("n", "Verdicts asked for", "count"),
                *lost,
            ),
            how_to_read="Each bar is a group, and its parts are the shares of comedy, tragedy and neutrality among the valid verdicts.",
            caveat="It shows neither uncertainty nor refusals (both stand in the table), and domains have identifiers of different kinds, "
            "so compare a group with the S_a of its own domain.",
            figure=Figure(
                "stacked",
                x="group",
                y="percent",
                colour="verdict",
                order={"verdict": VERDICTS},
                domain=(0, 100),
                model="facet",
            ),
            needs="the table of verdicts by group",
        ),
        Exhibit(
            name="Gaps with intervals",
            caption=f"Affective Attribution Test: S_a less S_b in comedy and in {second}, all and by pair of groups, with 95 % intervals",
            source=Rows("gaps"),
            then=_named_pairs,
            columns=(
                Column("pair", "Pair of groups"),
                Column("gap", "Gap in"),
                Column(
                    "value", "S_a less S_b", "points", stderr="stderr", interval=("low", "high")
                ),
                Column("t", "t", "t"),
                Column("p", "p", "p"),
            ),
            how_to_read="Right of 0 there is more of it after S_a, left of 0 after S_b; a bar that crosses 0 leaves the sign open.",
            caveat="Neither p nor intervals are corrected for the number of pairs, the pairs of a domain share their S_a, and where every "
            "verdict agrees there is no interval.",
            figure=Figure(
                "points",
                x="value",
                y="pair",
                facet="gap",
                low="low",
                high="high",
                reference=0,
                model="colour",
            ),
            needs="the table of gaps",
        ),
    )


AAT: tuple[Exhibit, ...] = _aat(generated=True)
AAT_LIKELIHOOD: tuple[Exhibit, ...] = _aat(generated=False)
