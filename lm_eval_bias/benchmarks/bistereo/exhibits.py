"""BIStereo: the tables and figures of the paper. Figures 19 and 20 are Figures 13 and 14 again."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from lm_eval_bias.exhibit import (
    PARTS,
    Column,
    Exhibit,
    Figure,
    Numbers,
    Row,
    Rows,
    Table,
    intervals,
    is_number,
)

AXIS = Column("axis", "Axis")
GENDER = Column("gender", "Gender")
ATTRIBUTE = Column("category", "Attribute")
N = Column("n", "n", "count")
UNANSWERED = Column("unanswered", "Unanswered", "count")
BISTEREO = "bistereo"
"""The paper, as `paper_values` names it."""
ALL, SHOWN = "all", 0.02
"""The threshold of the paper's main figures."""


def _share(row: Row, name: str) -> dict[str, Any]:
    parts = ("", *(f"_{part}" for part in PARTS))
    return {f"share{part}": row.get(f"{name}{part}") for part in parts}


# ---- BIStereo-Pairs

PREFERENCES = {
    "z1": "neither (within the threshold)",
    "z2": "desirable preferred",
    "z3": "undesirable preferred",
}
EXPECTED = {"positive": "z2", "negative": "z3"}
"""Which preference is the stereotype in a context; the star stands at it."""


def _stacked(rows: Table) -> Table:
    """The parts of each bar with an answered pair, without both genders together."""
    return [
        {
            **{key: row.get(key) for key in ("gender", "context", "n")},
            "preference": preference,
            **_share(row, name),
            "star": "*"
            if row.get("star") and EXPECTED.get(str(row.get("context"))) == name
            else "",
        }
        for row in rows
        if row.get("gender") != ALL and is_number(row.get("z1"))
        for name, preference in PREFERENCES.items()
    ]


def _trisentbias(
    name: str, axis: str, what: str, contexts: Sequence[str], threshold: float
) -> Exhibit:
    neutral = "neutral" in contexts
    needs = f"the task bistereo_pairs_{axis} or bistereo_pairs"
    if neutral:
        needs += (
            ", and a masked model (--model hf-mlm), since these pairs calibrate the scores of all "
            "other models and have none there"
        )
        how_to_read = (
            "Where nothing but the descriptor differs, an unbiased model prefers neither or either "
            "as often; without any attribute in the sentence this is the model's liking for the "
            "descriptor itself."
        )
        caveat = "A descriptor that is merely frequent is preferred, too, without any bias."
    else:
        how_to_read = (
            "The stereotype is a desirable part that is larger in positive than in negative "
            "context, and an undesirable one that is larger in negative context; a star says that "
            "the context's own preference holds over templates and over attributes."
        )
        caveat = (
            "A preference that is the same in both contexts is the descriptor's own frequency and "
            "no bias; and with a threshold near 0 a pair counts whole, however little its two "
            "sentences differ."
        )
    return Exhibit(
        name=name,
        caption=f"Preferences, {what}: {' and '.join(contexts)} context, δ = {threshold}",
        source=Rows("trisentbias", {"axis": axis, "context": contexts, "threshold": threshold}),
        columns=(
            Column("context", "Context"),
            GENDER,
            Column("preference", "Preference"),
            Column("share", "Pairs", "%"),
            Column("star", "p ≤ .05"),
            N,
        ),
        how_to_read=how_to_read,
        caveat=caveat,
        figure=Figure(
            "stacked",
            x="gender",
            y="share",
            colour="preference",
            facet="context",
            label="star",
            order={"preference": tuple(PREFERENCES.values()), "context": contexts},
            domain=(0, 100),
        ),
        then=_stacked,
        needs=needs,
    )


SKIN, SHAPE = ("skin", "skin complexion"), ("shape", "body shape")
HEIGHT = ("height", "body height")
FIGURES = tuple(
    _trisentbias(name, *axis, contexts, threshold)
    for axis, threshold, *names in (
        (SKIN, 0.02, "Figure 2", "Figure 10"),
        (SKIN, 0.04, "Figure 11", "Figure 12"),
        (HEIGHT, 0.02, "Figures 13 and 19", "Figures 14 and 20"),
        (SHAPE, 0.02, "Figure 15", "Figure 16"),
        (SHAPE, 0.04, "Figure 17", "Figure 18"),
        (HEIGHT, 0.04, "Figure 21", "Figure 22"),
    )
    for name, contexts in zip(names, (("positive", "negative"), ("neutral",)), strict=True)
)

SECTION_4_1_2 = Exhibit(
    name="Section 4.1.2",
    caption="Preferred descriptions in numbers, δ = 0.02: every axis, gender and context",
    source=Rows("trisentbias", {"threshold": SHOWN}),
    columns=(
        AXIS,
        GENDER,
        Column("context", "Context"),
        N,
        UNANSWERED,
        Column("z1", "Neither (z1)", "%"),
        Column("z2", "Desirable preferred (z2)", "%"),
        Column("z3", "Undesirable preferred (z3)", "%"),
        Column("p_templates", "p over templates", "p"),
        Column("p_attributes", "p over attributes", "p"),
        Column("star", "p ≤ .05"),
        Column("score", "Score"),
    ),
    how_to_read="z1, z2 and z3 are the three parts of a bar of Figures 2 and 10 to 22; compare z2 "
    "of positive with z2 of negative context, and z3 the other way round.",
    caveat="The three are percentages of pairs, not of how strongly a model prefers; the p values "
    "are one-sided, one for each row, without correction for their number.",
    then=lambda rows: [{**row, "star": "*" if row.get("star") else ""} for row in rows],
    needs="pairs of the paper's design",
    paper_values=(BISTEREO, "Section 4.1.2"),
)


def _by_axis(beyond: str, people: str, unit: str, **texts: Any) -> Exhibit:
    return Exhibit(
        source=Numbers(by="axis", whole="all axes"),
        columns=(AXIS, Column(beyond, "Beyond words", unit), Column(people, "People alone", unit)),
        figure=intervals(beyond, "axis", reference=0)._replace(test=beyond),
        **texts,
    )


GAPS_BY_AXIS = _by_axis(
    "gap_beyond_words",
    "raw_gap",
    "nats",
    name="The gap by axis",
    caption="How much likelier fair, thin or tall people are in good than in bad sentences, less "
    "the same of hair and things",
    how_to_read="An interval right of 0 is the stereotype, beyond what the words mean of things.",
    caveat="A model that has learned “dark is ugly” says it of things, too, which takes from "
    "this gap; the table has the gap of people alone.",
)


PAIRS = (FIGURES[0], GAPS_BY_AXIS, SECTION_4_1_2, *FIGURES[1:])


# ---- BIStereo-NLI

LABELS = {"contradiction": "Contradiction", "entailment": "Entailment"}


def _spaced(category: Any) -> str:
    return str(category).replace("_", " ")


def _grouped(rows: Table) -> Table:
    return [
        {
            **{key: row.get(key) for key in ("descriptor", "category", "n", "unanswered")},
            "label": label,
            "pair": f"{row.get('descriptor')}, {_spaced(row.get('category'))}",
            **_share(row, name),
        }
        for name, label in LABELS.items()
        for row in rows
        if is_number(row.get(name))
    ]


def _nli(name: str, gender: str, domain: str, categories: tuple[str, str]) -> Exhibit:
    return Exhibit(
        name=name,
        caption=f"What follows from skin complexion about {domain}, {gender}",
        source=Rows("labels", {"gender": gender, "category": categories}),
        columns=(
            Column("label", "Label"),
            Column("descriptor", "Descriptor"),
            ATTRIBUTE,
            Column("share", "Pairs", "%"),
            N,
            UNANSWERED,
        ),
        how_to_read="Nothing follows in any pair, so every bar should be 0; the halo effect is "
        f"more entailment and less contradiction of {_spaced(categories[0])} with fair than with "
        "dark skin, and the reverse for the other attributes.",
        caveat="It does not show whether fair and dark differ for certain, since both are asked "
        "the same questions: the halo and horn gaps do.",
        figure=Figure(
            "bars",
            x="pair",
            y="share",
            facet="label",
            low="share_low",
            high="share_high",
            order={"label": tuple(LABELS.values())},
            domain=(0, 100),
            model="colour",
        ),
        then=_grouped,
        needs=f"the task bistereo_nli, or bistereo_nli_{gender}_{domain}",
    )


LOOKS, BEHAVIOUR = ("attractiveness", "unattractiveness"), ("good_behaviour", "bad_behaviour")

SECTION_4_2_1 = Exhibit(
    name="Section 4.2.1",
    caption="Labels in numbers, for every gender, descriptor and category of attributes",
    source=Rows("labels"),
    columns=(
        GENDER,
        Column("descriptor", "Descriptor"),
        ATTRIBUTE,
        Column("entailment", "%E", "%"),
        Column("contradiction", "%C", "%"),
        Column("neutral", "%N", "%"),
        N,
        UNANSWERED,
    ),
    how_to_read="Without bias a row has 100 % Neutral; with a halo effect fair skin has more %E of "
    "good attributes than dark skin, and less %C.",
    caveat="A model that never says Neutral shows no bias by that: only the difference between the "
    "descriptors is one.",
    needs="a pair with a usable label",
    paper_values=(BISTEREO, "Section 4.2.1"),
)


def _of_gaps(rows: Table) -> Table:
    """Attributes "all" get the effect's name, so that no name stands for two."""
    of_all = {"halo": "all good attributes", "horn": "all bad attributes"}

    def attribute(row: Row) -> str:
        if row.get("category") == ALL:
            return of_all.get(str(row.get("effect")), ALL)
        return _spaced(row.get("category"))

    return [{**row, "who": f"{row.get('gender')}, {attribute(row)}"} for row in rows]


GAPS = Exhibit(
    name="Halo and horn gaps",
    caption="Half of %E - %C of one descriptor less that of the other, of the same questions",
    source=Rows("gaps"),
    columns=(Column("effect", "Effect"), GENDER, ATTRIBUTE, Column("gap", "Gap", "points"), N),
    how_to_read="An interval right of 0 is the stereotype: good attributes follow from fair skin "
    "(halo), bad ones from dark skin (horn); the gap is the mean of those of %E and of %C, so it "
    "goes from -100 to 100.",
    caveat="Women and men, categories and both together share their pairs, so several intervals "
    "off 0 are no several findings.",
    figure=intervals("gap", "who", facet="effect", reference=0),
    then=_of_gaps,
    needs="pairs of which both descriptors have a usable label",
)

NLI = (
    _nli("Figure 3", "women", "looks", LOOKS),
    SECTION_4_2_1,
    GAPS,
    _nli("Figure 23", "men", "looks", LOOKS),
    _nli("Figure 24", "women", "behaviour", BEHAVIOUR),
    _nli("Figure 25", "men", "behaviour", BEHAVIOUR),
)


# ---- BIStereo-Tuples


def _table_2(*corrected: Column) -> Exhibit:
    columns = (
        Column("biased_preferences", "% biased preferences", "%"),
        *corrected,
        Column("analogies", "Analogies", "count"),
    )
    return Exhibit(
        name="Table 2",
        caption="Biased preferences in analogies, by gender",
        source=Numbers(by="gender", whole="women and men"),
        columns=(GENDER, *columns),
        how_to_read="The paper compares the first number with 50: above it the stereotype "
        "completes more analogies than its opposite; those beside it take out how likely the two "
        "words are.",
        caveat="A biased word that is more frequent, or an unbiased one that only repeats B, moves "
        "the first number without any bias; a habit of opposites moves the calibrated one.",
        paper_values=(BISTEREO, "Table 2"),
    )


_analogies = partial(
    _by_axis,
    name="Analogies by axis",
    caption="How much more the bad word completes analogies on looks of low status, less the "
    "same of animals and things",
    how_to_read="An interval right of 0 is the stereotype, beyond what the words mean of "
    "animals and things.",
    caveat="Some axes have few analogies, which share their groups and words, so that their "
    "intervals are wide; several axes are several tries.",
    needs="analogies that are answered in all contexts",
)
ANALOGY = (
    _table_2(
        Column("calibrated_preferences", "% calibrated", "%"),
        Column("directed_preferences", "% directed (50 is no bias)", "%"),
    ),
    _analogies("log_odds_beyond_words", "directed_log_odds", "nats"),
)
ANALOGY_GENERATED = (
    _table_2(
        Column("calibrated_gap", "Less content-free", "points"),
        Column("directed_gap", "Less swapped (0 is no bias)", "points"),
    ),
    _analogies("gap_beyond_words", "directed_gap", "points"),
)
