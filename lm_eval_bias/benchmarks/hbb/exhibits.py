"""HBB: the tables and figures of the paper that a report shows of a run.

Each is declared for the three ways of asking: letters by likelihood, sampled letters (the paper's),
sentences by likelihood (its semi-generation). Placebos, which the paper has not, stand wherever a
table or figure has a place for them.
"""

from __future__ import annotations

from typing import Any

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers, Rows, Tables, known

Table = list[dict[str, Any]]
PLACEBO = "Placebo"
"""The category of our placebos, for results that do not say which one it is."""

EXCESS = Column(
    "excess",
    "Excess over placebos",
    "points",
    stderr="excess_stderr",
    interval=("excess_low", "excess_high"),
)
BEYOND = Column(
    "beyond_chance_share",
    "Share beyond chance",
    "points",
    stderr="beyond_chance_share_stderr",
    interval=("beyond_chance_share_low", "beyond_chance_share_high"),
)


def _bounded(name: str, title: str, unit: str) -> Column:
    return Column(
        name, title, unit, stderr=f"{name}_stderr", interval=(f"{name}_low", f"{name}_high")
    )


COUNT, SHARE, SCORE, MEAN = (
    _bounded("biased", "Count (S ≥ threshold)", "count"),
    _bounded("share", "Share of n", "%"),
    _bounded("score", "Bias score", "points"),
    _bounded("mean", "Mean S of all", "points"),
)


def _split(rows: Table) -> Table:
    """Without the row of all."""
    return [row for row in rows if row.get("category") != "all"]


def _all_and_placebos(rows: Table) -> Table:
    found = []
    for row in rows:
        category = row.get("category")
        placebo = row.get("placebo", category == PLACEBO)
        if placebo or category == "all":
            found.append({**row, "instances": category if placebo else "all but placebos"})
    return found


def _associations(tables: Tables) -> Table:
    """As Table 7 writes them: who gets which concept more often, and who its opposite. of: how many
    instances they are the largest of."""
    instances = {row.get("category"): row.get("n") for row in tables.get("categories", ())}
    return [
        {
            **row,
            **{
                f"association_{i}": f"{row.get(f'identity_{i}')} ↔ {row.get(f'concept_{i}')}"
                for i in (1, 2)
            },
            "of": instances.get(row.get("category")),
        }
        for row in tables.get("associations", ())
    ]


def _first_of_each(rows: Table) -> Table:
    first: dict[str, dict[str, Any]] = {}
    for row in rows:
        first.setdefault(row.get("category"), row)
    return list(first.values())


def _favourable(rows: Table) -> Table:
    """Pairs of identities whose instances have a more favourable option."""
    return [
        {**row, "pair": f"{row.get('identity_1')} − {row.get('identity_2')} ({row.get('type')})"}
        for row in rows
        if known(row.get("advantage")) is not None
    ]


def _headline(name: str, score: str, count: str, generated: bool, scale: str) -> Exhibit:
    """Table 1 or 8."""
    chance = ("chance_share", "chance_score") if generated else ()
    return Exhibit(
        name=name,
        caption="Bias score and count of the test instances with S at or above the threshold (20 points by default)",
        source=Numbers(
            (
                "bias_score",
                "biased_count",
                "instances",
                "biased_share",
                "placebo_share",
                *chance,
                "excess_difference",
            )
        ),
        columns=(
            Column("bias_score", score, "points", stderr="bias_score_stderr"),
            Column("biased_count", count, "count", stderr="biased_count_stderr"),
            Column("instances", "n", "count"),
            Column("biased_share", "Share of n", "%", stderr="biased_share_stderr"),
            Column("placebo_share", "Share of placebos", "%", stderr="placebo_share_stderr"),
            *(
                (
                    Column("chance_share", "Share by chance", "%", stderr="chance_share_stderr"),
                    Column(
                        "chance_score",
                        "Bias score by chance",
                        "points",
                        stderr="chance_score_stderr",
                    ),
                )
                if generated
                else ()
            ),
            Column(
                "excess_difference",
                "Excess over placebos",
                "points",
                stderr="excess_difference_stderr",
                interval=("excess_difference_low", "excess_difference_high"),
            ),
        ),
        how_to_read="The bias score is the mean S of the counted instances alone, so it is never below the threshold; the paper's count is of "
        "103,649, ours of n.",
        caveat="An instance counts whatever moved the answer, the identity or its mere wording"
        + (
            " or the noise of ten answers: read the shares of the placebos and by chance beside it."
            if generated
            else scale
        ),
        paper_values=("hbb", name),
    )


def _by_type(name: str, generated: bool) -> Exhibit:
    """Table 2 or 9."""
    return Exhibit(
        name=name,
        caption="Count and bias score of the test instances with S at or above the threshold, by type of descriptor",
        source=Rows("types"),
        columns=(
            Column("category", "Category"),
            Column("type", "Type"),
            Column("n", "n", "count"),
            COUNT,
            SCORE,
            SHARE,
            *(
                (
                    Column("chance_share", "Share by chance", "%", stderr="chance_share_stderr"),
                    BEYOND,
                )
                if generated
                else (MEAN,)
            ),
            EXCESS,
        ),
        how_to_read="The paper prints count (bias score), its counts of 1,547 instances for each pair of identities, ours of n; a higher number "
        "of the type is a more explicit descriptor, and placebo types show what a change of words alone does.",
        caveat="Counts of different types do not compare, since a type has as many instances as pairs of identities; shares do, though "
        "types differ in how many words change.",
        paper_values=("hbb", name),
        needs="the table of descriptor types",
    )


def _bars(name: str) -> Exhibit:
    """Figure 3 or 8."""
    return Exhibit(
        name=name,
        caption="Number of test instances with S at or above the threshold, by category",
        source=Rows("categories"),
        then=_split,
        columns=(
            Column("category", "Category"),
            Column("n", "n", "count"),
            COUNT,
            SHARE,
            SCORE,
            MEAN,
            EXCESS,
        ),
        how_to_read="The height is a number of instances, of the n that the table has.",
        caveat="With the paper's descriptors Race has forty instances for each concept pair, SES two and the placebos four, so the "
        "heights say little about which category is more biased; the shares in the table do.",
        figure=Figure(
            "bars", x="category", y="biased", low="biased_low", high="biased_high", model="colour"
        ),
        needs="the table of categories",
    )


def _distribution(name: str) -> Exhibit:
    """Figure 4 or 9."""
    return Exhibit(
        name=name,
        caption="Distribution of S over the test instances, in bins of five points, beside that of the placebos",
        source=Rows("distribution"),
        then=_all_and_placebos,
        columns=(
            Column("instances", "Instances"),
            Column("from", "S from", "points"),
            Column("to", "S to", "points"),
            Column("count", "Count", "count"),
            Column("share", "Share", "%"),
        ),
        how_to_read="Each bar is the share of the instances whose S falls into the bin, small S left; a model without bias has the shape of its "
        "placebos.",
        caveat="It shows no uncertainty, and the same shape can come of a few concepts for all identities or of many concepts for one of "
        "them.",
        figure=Figure("histogram", x="from", to="to", y="share", row="instances", model="facet"),
        needs="the table of the distribution",
    )


def _strongest(generated: bool) -> tuple[Exhibit, Exhibit]:
    """Tables 3 and 7, which the paper has of letters alone."""
    columns = (
        Column("category", "Category"),
        Column("association_1", "Bias association 1"),
        Column("association_2", "Bias association 2"),
        Column("type", "Descriptor type"),
        Column("score", "S", "points"),
        Column("of", "Largest of", "count"),
    )
    how_to_read = "About the identity of association 1 the model takes its concept more often than about that of association 2, by S points."
    caveat = "These are the extremes of so many instances and have no interval, so chance " + (
        "and the noise of ten answers choose among them"
        if generated
        else "and wording choose among them"
    )
    return (
        Exhibit(
            name="Table 3",
            caption="Top bias association of each category",
            source=_associations,
            then=_first_of_each,
            columns=columns,
            how_to_read=how_to_read,
            caveat=f"{caveat}; the placebos' own shows how large S gets without a stereotype, though of fewer instances.",
            needs="an instance with S above 0",
        ),
        Exhibit(
            name="Table 7",
            caption="Top bias associations of each category",
            source=_associations,
            columns=columns,
            how_to_read=how_to_read,
            caveat=f"{caveat}; the placebos' own show how large S gets without a stereotype, though of fewer instances.",
            needs="an instance with S above 0",
        ),
    )


def _excess(generated: bool) -> Exhibit:
    taken = (
        "what the noise of the samples explains, and what placebos have beyond that"
        if generated
        else "the mean S of the placebos"
    )
    return Exhibit(
        name="Excess over the placebos",
        caption=f"Mean S less {taken}, by category, with 95 % intervals",
        source=Rows("categories"),
        columns=(
            Column("category", "Category"),
            Column("n", "n", "count"),
            EXCESS,
            MEAN,
            *(
                (
                    Column(
                        "chance_difference",
                        "Mean S by chance",
                        "points",
                        stderr="chance_difference_stderr",
                    ),
                )
                if generated
                else ()
            ),
        ),
        how_to_read="Right of 0 a change of identity moves answers more than a change of words alone; an interval that holds 0 leaves it open.",
        caveat="Ours are four placebos that change fewer words than some descriptors do, and an excess near 0 is no proof of no effect, "
        "since S is an absolute value.",
        figure=Figure(
            "points",
            x="excess",
            y="category",
            low="excess_low",
            high="excess_high",
            reference=0,
            model="colour",
        ),
        then=lambda rows: [row for row in rows if known(row.get("excess")) is not None],
        needs="placebos (placebo=false leaves them out)",
    )


ADVANTAGE = Exhibit(
    name="Who gets the favourable option",
    caption="How much more often the first identity of a pair gets the more favourable option than the second, with 95 % intervals",
    source=Rows("identity_pairs"),
    then=_favourable,
    columns=(
        Column("category", "Category"),
        Column("type", "Type"),
        Column("identity_1", "First"),
        Column("identity_2", "Second"),
        _bounded("advantage", "Advantage of the first", "points"),
        _bounded("mean", "Mean S", "points"),
        Column("n", "n", "count"),
    ),
    how_to_read="Right of 0 the identity named first is shown in the better light more often, left of 0 the second; S, an absolute value, has "
    "no such direction.",
    caveat="It is a mean over the concept pairs with a more favourable option alone (n counts all instances), in which effects of "
    "opposite sign cancel, and its intervals are not corrected for their number.",
    figure=Figure(
        "points",
        x="advantage",
        y="pair",
        facet="category",
        low="advantage_low",
        high="advantage_high",
        reference=0,
        model=None,
    ),
    needs="concept pairs with a judgement of which option is the more favourable one, as ours have",
)

CHANCE = Exhibit(
    name="Found and expected by chance",
    caption="Share of the test instances with S at or above the threshold, and what as many answers of a model without bias would show",
    source=Rows("categories"),
    then=lambda rows: [
        {
            "category": row.get("category"),
            "n": row.get("n"),
            "which": which,
            **{f"share{end}": row.get(f"{name}{end}") for end in ("", "_stderr")},
            "significant_share": row.get("significant_share") if which == "found" else None,
        }
        for row in rows
        for which, name in (("found", "share"), ("by chance", "chance_share"))
    ],
    columns=(
        Column("category", "Category"),
        Column("n", "n", "count"),
        Column("which", "Which"),
        Column("share", "Share", "%", stderr="share_stderr"),
        Column("significant_share", "Significant", "%"),
    ),
    how_to_read="Only what stands above the bar by chance is more than the noise of the samples; significant is the share of single instances "
    "that pass an exact test after Benjamini and Hochberg.",
    caveat="A change of words alone lifts the found share above chance too, as the placebos show, and with ten answers few single "
    "instances can be significant.",
    figure=Figure(
        "bars",
        x="category",
        y="share",
        colour="which",
        order={"which": ("found", "by chance")},
        model="facet",
    ),
    needs="sampled answers",
)

REFUSALS = Exhibit(
    name="Table 6",
    caption="Refuse rate: answers that decline or do not follow the instructions, by category",
    source=Rows("answers", {"type": None, "identity": None}),
    columns=(
        Column("category", "Category"),
        Column("refused", "HBB", "%"),
        Column("declined", "Declined", "%"),
        Column("another", "Another choice", "%"),
        Column("unparsed", "Unparsed", "%"),
        Column("cut_off", "Cut off in reasoning", "%"),
        Column("answers", "Answers", "count"),
    ),
    how_to_read="Of all answers, in percent, those that choose neither option; the next four columns are its parts.",
    caveat="A low rate says that a model answers, not that its answers depend on the options: one that always says a refuses nothing.",
    paper_values=("hbb", "Table 6"),
    needs="the table of answers",
)

LETTERS = Exhibit(
    name="Neither letter",
    caption="What likelihoods can say in place of a refuse rate (Table 6): the probability of writing neither letter, by category",
    source=Rows("answers"),
    columns=(
        Column("category", "Category"),
        Column("other", "Neither letter", "%"),
        Column("unanswered", "Without a usable likelihood", "%"),
        Column("questions", "Questions", "count"),
    ),
    how_to_read="Where it is high, the model would write something else than a letter, and S is about its two letters all the same.",
    caveat="It is no refuse rate: a model may begin with another word and still choose, or with the letter and then decline.",
    needs="the table of answers",
)

SENTENCES = Exhibit(
    name="Unanswered",
    caption="Questions without usable likelihoods of their sentences, by category",
    source=Rows("answers"),
    columns=(
        Column("category", "Category"),
        Column("unanswered", "Without a usable likelihood", "%"),
        Column("questions", "Questions", "count"),
    ),
    how_to_read="Their instances are left out of every other table.",
    caveat="A refusal cannot be seen here: the model is never asked to write.",
    needs="the table of answers",
)

_OF_LETTERS = ": read the share of the placebos beside it."
_OF_SENTENCES = (
    ", and S of sentences is small beside that of letters: the two counts do not compare."
)

HBB: tuple[Exhibit, ...] = (
    _headline("Table 1", "HBB (S)", "HBB (count)", False, _OF_LETTERS),
    _by_type("Table 2", False),
    _bars("Figure 3"),
    _excess(False),
    _distribution("Figure 4"),
    ADVANTAGE,
    *_strongest(False),
    LETTERS,
)
HBB_GENERATE: tuple[Exhibit, ...] = (
    _headline("Table 1", "HBB (S)", "HBB (count)", True, ""),
    _by_type("Table 2", True),
    _bars("Figure 3"),
    CHANCE,
    _excess(True),
    _distribution("Figure 4"),
    ADVANTAGE,
    *_strongest(True),
    REFUSALS,
)
HBB_SG: tuple[Exhibit, ...] = (
    _headline("Table 8", "Bias score", "Count", False, _OF_SENTENCES),
    _by_type("Table 9", False),
    _bars("Figure 8"),
    _excess(False),
    _distribution("Figure 9"),
    ADVANTAGE,
    _strongest(False)[1]._replace(
        name="Top bias associations",
        caption="Top bias associations of each category, as Table 7 has them of letters",
    ),
    SENTENCES,
)
