"""The intergroup empathy gap: the tables and figures of the paper that a report shows of a run,
which asks one category in one setting.

So a run has one cell of Tables 2, 3, 6 and 7, and one panel of Figure 2; Figures 3, 5 and 6 are its
default setting of race, nationality and religion.
"""

from __future__ import annotations

from typing import Any

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers, Rows, Tables, is_number

EMPATHY = "empathy"
"""The paper, as `published` names it."""
PAIRED = "an event of which every pair has a number"
PLACES = 2
"""Decimals of a place on a map whose axes have no unit."""

EVENTS = Column("events", "Events", "count")
DELTA = Column("delta", "Gap δ", "SD", stderr="delta_stderr")
CORRECTED = Column(
    "delta_corrected", "δ with unlimited events", "SD", interval=("delta_low", "delta_high")
)
POINTS = Column(
    "gap_points",
    "Gap in points",
    "points",
    stderr="gap_points_stderr",
    interval=("gap_points_low", "gap_points_high"),
)

ALL = "all events"
GAPS = (
    "delta",
    "delta_stderr",
    "delta_corrected",
    "delta_low",
    "delta_high",
    "gap_points",
    "gap_points_stderr",
    "gap_points_low",
    "gap_points_high",
)


def _by_emotion(tables: Tables) -> list[dict[str, Any]]:
    """The gap over all events, over those of either valence, and over those of each emotion, as far
    as there is one."""
    whole: dict[str, Any] = {}
    for row in tables.get("numbers", ()):
        if row.get("group") is None:
            whole |= {row["metric"]: row.get("value"), f"{row['metric']}_stderr": row.get("stderr")}
    rows = (
        [{"emotion": ALL, **{key: whole.get(key) for key in ("events", *GAPS)}}]
        if "delta" in whole
        else []
    )
    rows += [{**row, "emotion": f"{row['valence']} emotions"} for row in tables.get("valences", ())]
    rows += [dict(row) for row in tables.get("emotions", ())]
    return [row for row in rows if is_number(row.get("delta"))]


def _defined(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """M as a whole; none of it where no event was answered by every pair."""
    return rows if any(is_number(row.get("z")) for row in rows) else []


def _on_map(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Perceivers with a place, coloured by their cultures where they have some, else by their
    groups; nations under their short names."""
    cultures = any(row.get("perceiver_culture") for row in rows)
    groups = [row.get("perceiver_group") for row in rows]
    short = len(set(groups)) == len(groups)
    return [
        {
            **row,
            "colour": (row.get("perceiver_culture") or "none")
            if cultures
            else row.get("perceiver_group"),
            "label": row.get("perceiver_group") if short else row.get("perceiver"),
            "x": round(row["x"], PLACES),
            "y": round(row["y"], PLACES),
        }
        for row in rows
        if is_number(row.get("x")) and is_number(row.get("y"))
    ]


TABLE_2 = Exhibit(
    name="Table 2",
    caption="The gap between in-group and out-group, beside what it is where there is none",
    source=Numbers(
        (
            "delta",
            "delta_null_low",
            "delta_null_high",
            "delta_p",
            "delta_corrected",
            "gap_points",
            "events",
        )
    ),
    columns=(
        DELTA,
        Column("delta_null_low", "No gap, lower bound", "SD"),
        Column("delta_null_high", "No gap, upper bound", "SD"),
        Column("delta_p", "p", "p"),
        CORRECTED,
        POINTS,
        EVENTS,
    ),
    how_to_read="δ is how many standard deviations of M0 more emotion a persona predicts for its own group than for others; between the two "
    "bounds lie 95 of 100 permutations that know no groups.",
    caveat="δ is divided by how much the cells of M0 differ, so it may be large where the gap is a tenth of a point of the scale: read "
    "the gap in points beside it.",
    paper_values=(EMPATHY, "Table 2"),
)

TABLE_3 = Exhibit(
    name="Table 3",
    caption="Mean and standard deviation of M0, the mean intensity of each pair of perceiver and experiencer",
    source=Numbers(("mean_intensity", "std_intensity", "events_m0")),
    columns=(
        Column("mean_intensity", "Mean μ", "points"),
        Column("std_intensity", "Standard deviation σ", "points"),
        Column("events_m0", "Events", "count"),
    ),
    how_to_read="The mean says how much emotion the model predicts at all, the standard deviation how much that depends on who asks of whom.",
    caveat="The standard deviation is no uncertainty: it is over pairs, and part of it is chance; a scale from 0 to 10 has a tenth of it.",
    paper_values=(EMPATHY, "Table 3", "Table 8", "Table 10", "Table 12"),
)

_MISSING = (
    Column("unanswered_events", "Events without an answer of some pair", "%"),
    Column("unanswered", "Answers without a number", "%"),
)


def _table_6(*more: str) -> Exhibit:
    """more: the metrics that written answers have beside."""
    return Exhibit(
        name="Table 6",
        caption="Refusal rate: events that some pair left without a number",
        source=Numbers(("unanswered_events", "unanswered", *more, "events_m0")),
        columns=(
            *_MISSING,
            *(Column(name, "Answers that decline", "%") for name in more),
            Column("events_m0", "Events left", "count"),
        ),
        how_to_read="An event counts as missing as soon as one pair has no number, so this is far above the rate of single answers.",
        caveat="It does not show which pairs the model declines to rate, nor that the events left are like those that are missing.",
        paper_values=(EMPATHY, "Table 6"),
    )


TABLE_7 = Exhibit(
    name="Table 7",
    caption="The least and the greatest cell of M",
    source=Numbers(("min_z", "max_z", "events_m0")),
    columns=(
        Column("min_z", "Minimum", "SD"),
        Column("max_z", "Maximum", "SD"),
        Column("events_m0", "Events", "count"),
    ),
    how_to_read="How far the pair with the least and the one with the most predicted emotion lie from the mean of all pairs.",
    caveat="Extremes of more pairs lie further out whatever the model does, so categories of different size do not compare.",
    paper_values=(EMPATHY, "Table 7", "Table 9", "Table 11", "Table 13"),
)

HEAT_MAP = Exhibit(
    name="Figures 2, 3, 5 and 6",
    caption="The matrix M: emotion that each perceiver predicts for each experiencer (Figure 3: race or ethnicity, 5: nationality, 6: "
    "religion; a panel of Figure 2 for each prompt setting)",
    source=Rows("pairs"),
    columns=(
        Column("perceiver", "Perceiver"),
        Column("experiencer", "Experiencer"),
        Column("z", "M", "SD"),
        Column("mean_intensity", "M0", "points"),
        Column("p_against_perceiver", "p against the perceiver's in-group (Bonferroni)", "p"),
        Column("p_against_experiencer", "p against the experiencer's in-group (Bonferroni)", "p"),
        Column("masked", "Masked (white in the paper)"),
    ),
    how_to_read="A row is a persona, a column the person who felt something; a block on the diagonal that stands out is the empathy gap, and "
    "masked cells are those that the paper leaves white: by one of two paired t tests they are not told from the in-group.",
    caveat="Colours are standard deviations of this matrix, not points of the scale, so a matrix of mere chance may look as strong; a "
    "masked cell is not shown to be equal, and with few events most are masked.",
    figure=Figure(
        "heatmap", x="experiencer", y="perceiver", colour="z", mask="masked", model="facet"
    ),
    then=_defined,
    needs=PAIRED,
)

TABLE_4 = Exhibit(
    name="Table 4",
    caption="Nations by culture, and what their personas predict for other nations",
    source=Rows("cultures"),
    columns=(
        Column("culture", "Category"),
        Column("groups", "Country"),
        Column("n", "n", "count"),
        Column("z_own_culture", "M of other nations of the culture", "SD"),
        Column("z_other_cultures", "M of nations of other cultures", "SD"),
    ),
    how_to_read="Where the first number is above the second, the personas of a culture predict more emotion for its other nations than for "
    "those of other cultures.",
    caveat="The paper's table has the nations alone; the two means are ours and have no interval, and a culture of one nation has but one.",
    needs="the task empathy_nationality",
)

FIGURE_4 = Exhibit(
    name="Figure 4",
    caption="t-SNE of the perceivers' rows of M; the colours are the cultures of Table 4 (nationality), else the groups",
    source=Rows("perceivers"),
    columns=(
        Column("perceiver", "Perceiver"),
        Column("perceiver_group", "Group"),
        Column("colour", "Culture, or group"),
        Column("x", "x"),
        Column("y", "y"),
    ),
    how_to_read="Personas that lie together predict alike for the same experiencers.",
    caveat="t-SNE keeps neighbours only: distances between clumps, their sizes and the axes mean nothing; another seed makes another map.",
    figure=Figure("scatter", x="x", y="y", colour="colour", label="label", model="facet"),
    then=_on_map,
    needs="more than five perceivers (empathy_nationality, empathy_race), an event of which every pair has a number, and scikit-learn",
)

BY_EMOTION = Exhibit(
    name="The gap by emotion",
    caption="δ with its 95 % interval: over all events, over those of either valence, and over those of each emotion",
    source=_by_emotion,
    columns=(Column("emotion", "Emotion"), EVENTS, DELTA, CORRECTED, POINTS),
    how_to_read="An interval right of 0 is more emotion for one's own group, one left of it less; it holds for other events of the kind.",
    caveat="An emotion has few events, and twelve intervals are looked at: one of twenty misses by chance; the valences are ours.",
    figure=Figure(
        "points",
        x="delta_corrected",
        y="emotion",
        low="delta_low",
        high="delta_high",
        reference=0,
        model="colour",
    ),
    needs=PAIRED,
)


def _exhibits(*refused: str) -> tuple[Exhibit, ...]:
    return (TABLE_2, BY_EMOTION, TABLE_3, HEAT_MAP, TABLE_4, FIGURE_4, _table_6(*refused), TABLE_7)


GENERATED: tuple[Exhibit, ...] = _exhibits("refused")
LIKELIHOOD: tuple[Exhibit, ...] = _exhibits()
