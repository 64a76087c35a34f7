"""The empathy gap: the paper's tables and figures of a run, which asks one category in one setting:
one cell of Tables 2, 3, 6 and 7, one panel of Figure 2."""

from typing import Any

from lm_eval_bias.exhibit import (
    PARTS,
    Column,
    Exhibit,
    Figure,
    Numbers,
    Rows,
    Table,
    Tables,
    intervals,
    is_number,
    with_numbers,
)

EMPATHY = "empathy"
"""The paper, as `data.paper_values` names it."""
PAIRED = "an event of which every pair has a number"
PLACES = 2
"""Decimals of a place on a map whose axes have no unit."""

EVENTS = Column("events", "Events", "count")
EVENTS_M0 = Column("events_m0", "Events", "count")
DELTA = Column("delta", "Gap δ", "SD")
POINTS = Column("gap_points", "Gap in points", "points")
BEYOND = Column("gap_beyond_repetition", "Gap beyond repetition", "points")


def _by_emotion(tables: Tables) -> Table:
    whole: dict[str, Any] = {"emotion": "all events"}
    for row in tables.get("numbers", ()):
        whole[row["metric"]] = row.get("value")
        for part in PARTS:
            whole[f"{row['metric']}_{part}"] = row.get(part)
    rows = [
        whole,
        *({**row, "emotion": f"{row['valence']} emotions"} for row in tables.get("valences", ())),
        *(dict(row) for row in tables.get("emotions", ())),
    ]
    return with_numbers("delta")(rows)


def _on_map(rows: Table) -> Table:
    """Perceivers with a place, coloured by culture, else group; nations by short names."""
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


def _of_numbers(*columns: Column, **about: Any) -> Exhibit:
    return Exhibit(source=Numbers(), columns=columns, **about)


TABLE_2 = _of_numbers(
    DELTA,
    Column("delta_null_low", "No gap, lower bound", "SD"),
    Column("delta_null_high", "No gap, upper bound", "SD"),
    Column("delta_p", "p", "p"),
    POINTS,
    BEYOND,
    EVENTS,
    name="Table 2",
    caption="The gap between in-group and out-group, beside what it is where there is none",
    how_to_read="δ is how many standard deviations of M0 more emotion a persona predicts for its "
    "own group than for others; between the two bounds lie 95 of 100 permutations that know no "
    "groups.",
    caveat="δ is divided by how much the cells of M0 differ, so it may be large where the gap is a "
    "tenth of a point of the scale, and a name that stands twice moves it too: only the gap "
    "beyond repetition is evidence of a preference.",
    paper_values=(EMPATHY, "Table 2"),
)

TABLE_3 = _of_numbers(
    Column("mean_intensity", "Mean μ", "points"),
    Column("std_intensity", "Standard deviation σ", "points"),
    EVENTS_M0,
    name="Table 3",
    caption="Mean and standard deviation of M0, the mean intensity of each pair of perceiver and "
    "experiencer",
    how_to_read="The mean says how much emotion the model predicts at all, the standard deviation "
    "how much that depends on perceiver and experiencer.",
    caveat="The standard deviation is no uncertainty: it is over pairs, and part of it is chance; "
    "a scale from 0 to 10 has a tenth of it.",
    paper_values=(EMPATHY, "Table 3", "Table 8", "Table 10", "Table 12"),
)


def _table_6(*refused: Column) -> Exhibit:
    return _of_numbers(
        Column("unanswered_events", "Events without an answer of some pair", "%"),
        Column("unanswered", "Answers without a number", "%"),
        *refused,
        EVENTS_M0._replace(title="Events left"),
        name="Table 6",
        caption="Refusal rate: events that some pair left without a number",
        how_to_read="An event counts as missing as soon as one pair has no number, so this is far "
        "above the rate of single answers.",
        caveat="It does not show which pairs the model declines to rate, nor that the events left "
        "are like those that are missing.",
        paper_values=(EMPATHY, "Table 6"),
    )


TABLE_7 = _of_numbers(
    Column("min_z", "Minimum", "SD"),
    Column("max_z", "Maximum", "SD"),
    EVENTS_M0,
    name="Table 7",
    caption="The least and the greatest cell of M",
    how_to_read="How far the pair with the least and the one with the most predicted emotion lie "
    "from the mean of all pairs.",
    caveat="Extremes of more pairs lie further out whatever the model does, so categories of "
    "different size do not compare.",
    paper_values=(EMPATHY, "Table 7", "Table 9", "Table 11", "Table 13"),
)

HEAT_MAP = Exhibit(
    name="Figures 2, 3, 5 and 6",
    caption="Emotion that each perceiver predicts for each experiencer: the matrix M",
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
    how_to_read="A row is a persona, a column the person who felt something; a block on the "
    "diagonal that stands out is the empathy gap, and masked cells, which the paper leaves white, "
    "do not differ significantly from the in-group in one of two paired t tests.",
    caveat="Colours are standard deviations of this matrix, not points of the scale, so a matrix "
    "of mere chance may look as strong; a masked cell is not shown to be equal, and with few "
    "events most are masked.",
    figure=Figure("heatmap", x="experiencer", y="perceiver", colour="z", mask="masked"),
    then=with_numbers("z"),
    needs=PAIRED,
)

FIGURE_4 = Exhibit(
    name="Figure 4",
    caption="Which perceivers predict alike: t-SNE of their rows of M, by culture or group",
    source=Rows("perceivers"),
    columns=(
        Column("perceiver", "Perceiver"),
        Column("perceiver_group", "Group"),
        Column("colour", "Culture, or group"),
        Column("x", "x"),
        Column("y", "y"),
    ),
    how_to_read="Personas that lie together predict alike for the same experiencers.",
    caveat="t-SNE keeps neighbours only: distances between clumps, their sizes and the axes mean "
    "nothing; another seed makes another map.",
    figure=Figure("scatter", x="x", y="y", colour="colour", label="label"),
    then=_on_map,
    needs="more than five perceivers (empathy_nationality, empathy_race), and an event of which "
    "every pair has a number",
)

BY_EMOTION = Exhibit(
    name="The gap by emotion",
    caption="The gap beyond repetition over all events, and over those of each emotion",
    source=_by_emotion,
    columns=(Column("emotion", "Emotion"), EVENTS, DELTA, POINTS, BEYOND),
    how_to_read="An interval right of 0 is more emotion for one's own group, one left of it less; "
    "it holds for other events and groups of the kind.",
    caveat="An emotion has few events, and of twelve intervals at 95 % one may well miss by "
    "chance; which emotions are positive or negative is our judgement.",
    figure=intervals("gap_beyond_repetition", "emotion", reference=0)._replace(
        test="gap_beyond_repetition"
    ),
    needs=PAIRED,
)


def _exhibits(*refused: Column) -> tuple[Exhibit, ...]:
    return (TABLE_2, BY_EMOTION, TABLE_3, HEAT_MAP, FIGURE_4, _table_6(*refused), TABLE_7)


GENERATED = _exhibits(Column("refused", "Answers that decline", "%"))
LIKELIHOOD = _exhibits()
