"""StereoMap: the tables and figures of the paper that each task's answers allow."""

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Row, Rows, Table, is_number, with_numbers

STEREOMAP = "stereomap"
"""The paper, as `paper_values` names it."""
TEN, FIVE = 10, 5
"""Groups at either end of Table 9, and in Figure 5; dimensions of a cluster in Figures 4 and 8."""
BEYOND = ("Traditional", "Conservative", "Wealthy", "High-Status")
"""The dimensions of Table 9."""
EXAMPLES = ("Nurses", "Doctors", "Women", "Men", "Democrats", "Republicans")
"""The groups of Figure 7."""
ENDS = (1, 5)
"""Of the scale."""
QUARTILES = ("least", "lower_quartile", "median", "upper_quartile", "greatest")
CLUSTERED = "five groups or more that differ in warmth or competence, each with a rating of both"
CLUSTER = Column("cluster", "Cluster (C-W)")
GROUP = Column("group", "Group")
ANSWERS = Column("answers", "Answers", "count")
COMPETENCE = Column("competence", "Competence", "points")
WARMTH = Column("warmth", "Warmth", "points")
DIMENSION = Column("dimension", "Dimension")
GROUPS = Column("groups", "Groups", "count")
RANK = Column("rank", "Rank", "count")
P = Column("p", "p", "p")
REFUSED = Column("refused", "Declined", "share")


# ---- Warmth and competence


def _clusters(name: str, prompts: str, *paper_values: str) -> Exhibit:
    return Exhibit(
        name=name,
        caption=f"Warmth and competence of the five clusters, {prompts} prompts",
        source=Rows("clusters"),
        columns=(
            CLUSTER,
            Column("members", "Group"),
            GROUPS,
            COMPETENCE,
            Column("sign", "C, W"),
            WARMTH,
            Column("t", "t", "t"),
            P,
        ),
        how_to_read="> is a cluster seen as more competent than warm, < the reverse, by a paired t "
        "test of the groups' means at .001, = neither; clusters are named by their competence and "
        "warmth among these groups, from the lowest to the highest.",
        caveat="k-means finds five clusters in noise, too, and the test is of the very scores that "
        "made them.",
        needs=CLUSTERED,
        paper_values=paper_values,
    )


def _map(name: str, prompts: str) -> Exhibit:
    return Exhibit(
        name=name,
        caption=f"Warmth-competence map of the groups, {prompts} prompts; the colours are the "
        "clusters",
        source=Rows("groups"),
        columns=(
            GROUP,
            CLUSTER,
            COMPETENCE,
            WARMTH,
            Column("left_its_cluster", "Leaves its cluster", "share"),
            Column("unstable", "Unstable"),
            ANSWERS,
        ),
        how_to_read="To the right are groups that society is said to see as competent, above those "
        "that it is said to see as warm; a group that leaves its cluster in a fifth of resamples "
        "is unstable.",
        caveat="A point has an interval, which stands in the table; groups that a model hardly "
        "tells apart lie on one spot and have five clusters all the same.",
        figure=Figure(
            "scatter", x="competence", y="warmth", colour="cluster", label="group", domain=ENDS
        ),
        then=with_numbers("competence", "warmth"),
        needs="a group with a rating of warmth and one of competence",
    )


AGREEMENT = Exhibit(
    name="Agreement with people and models",
    caption="Our clusters and scores against those in print",
    source=Rows("agreement"),
    columns=(
        Column("source", "Against"),
        GROUPS,
        Column("agreement", "Adjusted Rand index", "score"),
        Column("chance_95", "95 % of chance below", "score"),
        Column("agreement_p", "p", "p"),
        Column("agreement_competence", "ρ of competence", "score"),
        Column("agreement_warmth", "ρ of warmth", "score"),
    ),
    how_to_read="1 is the same clusters and 0 what chance gives; an index above what 95 of 100 "
    "permutations have is no chance.",
    caveat="To agree with people is no virtue: it says that the model knows what society is said "
    "to think, and the paper prints some groups of its extended clusters only.",
    then=with_numbers("agreement", "agreement_competence", "agreement_warmth", enough=any),
    needs="groups with a cluster here and one in print",
)


# ---- Emotions and behaviours


def _figure_3(what: str, part: str) -> Exhibit:
    return Exhibit(
        name="Figure 3",
        caption=f"Distribution of the groups' {what} in each cluster",
        source=Rows("by_cluster"),
        columns=(
            DIMENSION,
            CLUSTER,
            GROUPS,
            *(
                Column(name, name.replace("_", " ").capitalize(), "points")
                for name in ("mean", *QUARTILES)
            ),
        ),
        how_to_read="A box holds the middle half of a cluster's groups, its line the median, "
        "whiskers reach to the least and the greatest; clusters stand from the lowest to the "
        "highest competence and warmth.",
        caveat="A box is how groups differ and no uncertainty: of a cluster with few groups it "
        "says little of others, and each model has clusters of its own.",
        figure=Figure(
            "boxes",
            x="cluster",
            y="median",
            colour="cluster",
            facet="dimension",
            five=QUARTILES,
            domain=ENDS,
        ),
        then=with_numbers("median"),
        needs=f"the task stereomap_{part}, and {CLUSTERED}",
    )


TABLE_8 = Exhibit(
    name="Table 8",
    caption="Correlations of behavioural tendencies with stereotypes and emotions, over groups",
    source=Rows("tendencies"),
    columns=(
        Column("stereotype_or_emotion", "Stereotype or emotion"),
        Column("tendency", "Behavioural tendency"),
        Column("rho", "Spearman's ρ", "score"),
        Column("stars", "Stars"),
        P,
        GROUPS,
        Column("rho_of_people", "ρ of people (Cuddy et al. 2007)", "score"),
        Column("stars_of_people", "Their stars"),
        Column("same_sign", "Same sign"),
    ),
    how_to_read="Positive: groups of which the model says more of the row are said to be treated "
    "more as the column says; * p < .05, ** p < .01, *** p < .001.",
    caveat="A model that says of each group only how much it is liked has the sign of people in 19 "
    "of 24, and chance in 12; 24 tests at .05 have a star by chance, and one of the printed values "
    "of people must be wrong.",
    figure=Figure(
        "heatmap",
        x="tendency",
        y="stereotype_or_emotion",
        colour="rho",
        label="text",
        domain=(-1, 1),
    ),
    then=lambda rows: [
        {
            **row,
            "text": f"{row['rho']:.2f}{row.get('stars') or ''}"
            if is_number(row.get("rho"))
            else "",
        }
        for row in rows
    ],
    needs="the task stereomap_behavior",
    paper_values=(STEREOMAP, "Table 8", "Table 8, people"),
)


# ---- Other dimensions


def _ends(rows: Table) -> Table:
    """The groups with the highest and lowest ratings of each dimension; of few, half at either end.
    rows: from high to low."""
    table = []
    for dimension in BEYOND:
        ranked = [row for row in with_numbers("mean")(rows) if row["dimension"] == dimension]
        most = min(TEN, len(ranked) // 2)
        for end, ordered in (("highest", ranked), ("lowest", ranked[::-1])):
            for rank, row in enumerate(ordered[:most], start=1):
                table.append({**row, "end": end, "rank": rank})
    return table


TABLE_9 = Exhibit(
    name="Table 9",
    caption="The ten groups with the highest and with the lowest ratings: traditional, "
    "conservative, wealthy, high-status",
    source=Rows("dimensions", {"dimension": BEYOND}),
    columns=(
        DIMENSION,
        Column("end", "End"),
        RANK,
        GROUP,
        Column("mean", "Mean", "points"),
        Column("variance", "Variance over rounds (points²)"),
    ),
    how_to_read="The variance (ddof 1) is over the ten rounds, as in the paper: 0 is a group that "
    "got the same rating each time.",
    caveat="Of groups with the same rating those that were asked first stand here, and ranks of "
    "groups whose intervals overlap may be chance.",
    then=_ends,
    needs="two groups with a rating of these dimensions: the task stereomap_extended",
)

STRUCTURE = Exhibit(
    name="Status and competition",
    caption="The groups by status and competition, which the stereotype content model takes for "
    "the causes of competence and warmth",
    source=Rows("groups"),
    columns=(
        GROUP,
        Column("status", "Status", "points"),
        Column("competition", "Competition", "points"),
        ANSWERS,
    ),
    how_to_read="To the right are groups of high status, above those that are said to take from "
    "others.",
    caveat="It does not show that status makes a group seem competent; and a point has an "
    "interval, which stands in the table.",
    figure=Figure("scatter", x="status", y="competition", label="group", domain=ENDS),
    then=with_numbers("status", "competition"),
    needs="a group with a rating of status and one of competition",
)

_PHRASES = (
    "the key phrases, which `lm-eval-bias reasons SAMPLES --output FILE.json` finds and writes "
    "beside the run (docs/how-to/reasons.md)"
)

TABLE_3 = Exhibit(
    name="Table 3",
    caption="The most common key phrases of the reasons",
    source=Rows("phrases", {"table": "overall"}),
    columns=(
        Column("phrase", "Reason keywords"),
        Column("key_in", "Key in", "count"),
        Column("of", "Answers", "count"),
    ),
    how_to_read="Phrases that are among the key phrases of most answers to the status questions, "
    "by sentence embeddings.",
    caveat="A phrase is words of the answers and no statement.",
    needs=_PHRASES,
)

TABLE_10 = TABLE_3._replace(
    name="Table 10",
    caption="Key phrases of the reasons, by cluster of groups",
    source=Rows("phrases", {"table": "cluster"}),
    columns=(CLUSTER, *TABLE_3.columns),
    how_to_read="Phrases that are among the key phrases of most answers about a cluster's groups.",
    caveat="A phrase is words of the answers and no statement; and clusters may be chance "
    "(Table 5).",
    needs=f"{_PHRASES}, with a run that puts the groups into clusters",
)


# ---- Refusals, keywords, prompt sensitivity


FIGURE_5 = Exhibit(
    name="Figure 5",
    caption="Refuse-to-answer rate: the ten groups that lack a rating most",
    source=Rows("groups"),
    columns=(
        GROUP,
        Column("unrated", "Refuse-to-answer rate", "share"),
        REFUSED,
        Column("unanswered", "Ratings that cannot be read", "%"),
        ANSWERS,
    ),
    how_to_read="1 is a group of which no answer has a rating: the authors count an answer without "
    "one as a refusal, whether it declines or cannot be read; Declined counts those that decline.",
    caveat="A group has few answers, so a rate of one more or less is chance; of groups with equal "
    "rates those asked first stand here.",
    figure=Figure("bars", x="group", y="unrated", domain=(0, 1)),
    then=lambda rows: sorted(with_numbers("unrated")(rows), key=lambda row: -row["unrated"])[:TEN],
    needs="answers in words",
)


_BY: dict[str, tuple[Column, Row, Row]] = {
    "cluster": (CLUSTER, {"rank": tuple(range(1, FIVE + 1))}, {}),
    "group": (GROUP, {"group": EXAMPLES}, {"group": EXAMPLES}),
}
_COUNTED = {
    "words": "Each distinct word counts once, with 1 where its dimension has no directions; the "
    "sum of a dimension is divided by the number of entries in all dimensions.",
    "keywords": "A bar above 0 is a dimension of which more keywords are at the high end than at "
    "the low one, as a share of all keywords; every mention counts.",
}


def _keywords(name: str, counted: str, by: str, caveat: str, needs: str) -> Exhibit:
    """counted: "words", each once, or "keywords". by: cluster or group."""
    column, where, order = _BY[by]
    return Exhibit(
        name=name,
        caption=f"The dimensions that the {counted} of each {by} are about, and their direction",
        source=Rows(f"{counted}_by_{by}", where),
        columns=(
            column,
            RANK,
            DIMENSION,
            Column("keywords", counted.capitalize(), "count"),
            Column("percent", "Share of them", "%"),
            Column("direction", "Direction", "score"),
        ),
        how_to_read=_COUNTED[counted],
        caveat=caveat,
        figure=Figure("bars", x="dimension", y="direction", facet=by, order=order),
        needs=needs,
    )


_OFFICIAL = "keywords looked up in the authors' dictionary: the task stereomap_extended_official"
_LISTED = "keywords of these groups: the task stereomap_extended with its own list of groups"
ABOUT_KEYWORDS = (
    _keywords(
        "Figures 4 and 8",
        "words",
        "cluster",
        "How often a word was said; a dimension without directions is always above 0, keywords of "
        "two words count for none, and there is no interval.",
        f"{_OFFICIAL}; and {CLUSTERED}",
    ),
    _keywords(
        "Figure 7",
        "words",
        "group",
        "The Venn diagrams of the words, which are in the samples; no program of the authors makes "
        "this figure, so it is counted as Figure 4.",
        f"{_OFFICIAL}, with its own list of groups",
    ),
    _keywords(
        "Keywords of clusters",
        "keywords",
        "cluster",
        "A bar near 0 may be a dimension with as many keywords at either end; keywords that the "
        "dictionary does not know count for none (Table 15), and there is no interval.",
        f"keywords (the task stereomap_extended), and {CLUSTERED}",
    ),
    _keywords(
        "Keywords of groups", "keywords", "group", "A group has fifty keywords at most.", _LISTED
    ),
)

TABLE_15 = Exhibit(
    name="Table 15",
    caption="Keywords coverage ratio: how many of the keywords the dictionary knows",
    source=Rows("keyword_coverage"),
    columns=(
        Column("found", "Found as"),
        Column("keyword_coverage", "Coverage", "%"),
        Column("known", "Keywords", "count"),
    ),
    how_to_read="The second row, on which the keywords of clusters and groups rest, adds lemmas to "
    "keywords as they are written; the paper's third, phrases mapped by hand, is not made.",
    caveat="What the unknown keywords are about, which may be what a dictionary has no word for.",
    then=with_numbers("keyword_coverage"),
    needs="a keyword that can be read: the task stereomap_extended",
    paper_values=(STEREOMAP, "Table 15"),
)

_VARIATION = (
    Column("competence_cv", "Competence CV avg", "share"),
    Column("competence_cv_max", "Competence CV max", "share"),
    Column("warmth_cv", "Warmth CV avg", "share"),
    Column("warmth_cv_max", "Warmth CV max", "share"),
)

TABLE_13 = Exhibit(
    name="Table 13",
    caption="Prompt sensitivity: coefficient of variation of the groups' scores over rounds",
    source=Rows("styles", {"style": "paper"}),
    columns=(*_VARIATION, ANSWERS),
    how_to_read="The standard deviation (ddof 0) of a group's score over rounds by its mean, as a "
    "mean over groups and of the group where it is greatest.",
    caveat="It is the chance of sampling at one prompt and not what another prompt would change: "
    "it hangs on the temperature, and at 0 it is 0.",
    then=with_numbers("competence_cv", "warmth_cv", enough=any),
    needs="two rounds of which ratings can be read",
    paper_values=(STEREOMAP, "Table 13"),
)

TABLE_14 = Exhibit(
    name="Table 14",
    caption="Ablation of the prompt style",
    source=Rows("styles"),
    columns=(
        Column("style", "Prompt type"),
        *_VARIATION,
        Column("competence_cv_with_paper", "Competence CV with the paper's style", "share"),
        Column("warmth_cv_with_paper", "Warmth CV with the paper's style", "share"),
        REFUSED,
        ANSWERS,
    ),
    how_to_read="Where the coefficient of a style together with the paper's is no greater than its "
    "own, the style changes no scores.",
    caveat="The diversity of reasons (Self-BLEU, entropy), which `lm-eval-bias reasons "
    "--diversity` prints; and the sentences that a style leaves out are ours to choose, since the "
    "paper names the styles only.",
    then=lambda rows: rows if len(rows) > 1 else [],
    needs="the option style=all of stereomap_extended",
    paper_values=(STEREOMAP, "Table 14"),
)


# ---- What each task has

# The prompts of emotions and behaviours ask for warmth and competence as the extended ones do, and
# for more beside them.
_EXTENDED = (_clusters("Table 5", "extended"), _map("Figure 6", "extended"))
_BOTH_WAYS = {
    "original": (
        _clusters("Table 2", "original", STEREOMAP, "Table 2"),
        _map("Figure 2", "original"),
        AGREEMENT,
        STRUCTURE,
    ),
    "extended": (
        _clusters("Table 5", "extended", STEREOMAP, "Table 5"),
        _EXTENDED[1],
        AGREEMENT,
        TABLE_9,
    ),
    "structure": (STRUCTURE,),
    "emotion": (_figure_3("emotions", "emotion"), *_EXTENDED),
    "behavior": (TABLE_8, _figure_3("behavioural tendencies", "behavior"), *_EXTENDED),
}
_IN_WORDS = {
    "original": (TABLE_13,),
    "extended": (*ABOUT_KEYWORDS, TABLE_15, TABLE_13, TABLE_14),
    "structure": (TABLE_3, TABLE_10),
}


def generated(part: str) -> tuple[Exhibit, ...]:
    return (*_BOTH_WAYS[part], *_IN_WORDS.get(part, ()), FIGURE_5)


def likelihood(part: str) -> tuple[Exhibit, ...]:
    return _BOTH_WAYS[part]
