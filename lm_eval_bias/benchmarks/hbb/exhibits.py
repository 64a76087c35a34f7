"""HBB: the paper's tables and figures that a report shows of a run, of three ways of asking."""

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers, Rows, intervals, with_numbers

CATEGORY = Column("category", "Category")
TYPE = Column("type", "Type")
N = Column("instances", "n", "count")
COUNT = Column("biased_count", "Count (S ≥ threshold)", "count")
SHARE = Column("biased_share", "Share of n", "%")
SCORE = Column("bias_score", "Bias score", "points")
MEAN = Column("mean_difference", "Mean S of all", "points")
EXCESS = Column("excess_log_odds", "Excess over placebos", "nats")
RATIO = Column("excess_ratio", "Shift over placebos'", "ratio")
POINTS = Column("excess_difference", "Excess in S", "points")
PLACEBO_SHARE = Column("placebo_share", "Share of placebos", "%")
CHANCE_SHARE = Column("chance_share", "Share by chance", "%")
CHANCE_SCORE = Column("chance_score", "Bias score by chance", "points")
BEYOND = Column("beyond_chance_share", "Share beyond chance", "points")


_TABLE_1 = (
    Column("bias_score", "HBB (S)", "points"),
    Column("biased_count", "HBB (count)", "count"),
    N,
    SHARE,
    PLACEBO_SHARE,
    EXCESS,
)
TABLE_1 = Exhibit(
    name="Table 1",
    caption="Bias score and count of the test instances with S at or above the threshold (20 "
    "points by default)",
    source=Numbers(),
    columns=_TABLE_1,
    how_to_read="The bias score is the mean S of the counted instances alone, so it is never below "
    "the threshold; the paper's count is of 103,649, ours of n.",
    caveat="An instance counts whatever moved the answer, the identity or its mere wording: read "
    "the share of the placebos beside it.",
    paper_values=("hbb", "Table 1"),
)

TABLE_2 = Exhibit(
    name="Table 2",
    caption="Count and bias score of the test instances with S at or above the threshold, by type "
    "of descriptor",
    source=Rows("types"),
    columns=(CATEGORY, TYPE, N, COUNT, SCORE, SHARE, EXCESS, RATIO),
    how_to_read="The paper prints count (bias score), its counts of 1,547 instances for each pair "
    "of identities, ours of n; a higher number of the type is a more explicit descriptor, and "
    "placebo types show what a change of words alone does.",
    caveat="Counts of different types do not compare, since a type has as many instances as pairs "
    "of identities; shares do, though types differ in how many words change.",
    paper_values=("hbb", "Table 2"),
    needs="the table of descriptor types",
)

FIGURE_3 = Exhibit(
    name="Figure 3",
    caption="Number of test instances with S at or above the threshold, by category",
    source=Numbers(by="category"),
    columns=(CATEGORY, N, COUNT, SHARE, SCORE, MEAN),
    how_to_read="The height is a number of instances, of the n in the table.",
    caveat="With the paper's descriptors Race has forty instances for each concept pair, SES two "
    "and the placebos 38, so the heights say little about which category is more biased; the "
    "shares in the table do.",
    figure=Figure(
        "bars",
        x="category",
        y="biased_count",
        low="biased_count_low",
        high="biased_count_high",
        model="colour",
    ),
)

FIGURE_4 = Exhibit(
    name="Figure 4",
    caption="Distribution of S over the test instances, in bins of five points, beside that of the "
    "placebos",
    source=Rows("distribution"),
    columns=(
        Column("instances", "Instances"),
        Column("from", "S from", "points"),
        Column("to", "S to", "points"),
        Column("count", "Count", "count"),
        Column("share", "Share", "%"),
    ),
    how_to_read="Each bar is the share of the instances whose S falls into the bin, small S left; "
    "a model without bias has the shape of its placebos.",
    caveat="It shows no uncertainty, and a few concepts for all identities give the same shape as "
    "many concepts for one of them.",
    figure=Figure("histogram", x="from", to="to", y="share", facet="instances"),
    needs="the table of the distribution",
)

_CHOSEN_BY = "These are the extremes of so many instances and have no interval, so chance and "
_PLACEBOS_OWN = (
    " choose among them; the placebos' own show how large S gets without a stereotype, though of "
    "fewer instances."
)
ASSOCIATIONS = Exhibit(
    name="Tables 3 and 7",
    caption="Top bias associations of each category",
    source=Rows("associations"),
    then=lambda rows: [
        {
            **row,
            **{
                f"association_{i}": f"{row.get(f'identity_{i}')} ↔ {row.get(f'concept_{i}')}"
                for i in (1, 2)
            },
        }
        for row in rows
    ],
    columns=(
        CATEGORY,
        Column("association_1", "Bias association 1"),
        Column("association_2", "Bias association 2"),
        Column("type", "Descriptor type"),
        Column("difference", "S", "points"),
        Column("largest_of", "Largest of", "count"),
    ),
    how_to_read="The model takes the concept of association 1 more often about its identity than "
    "about that of association 2, by S points.",
    caveat=f"{_CHOSEN_BY}wording{_PLACEBOS_OWN}",
    needs="an instance with S above 0",
)

EXCESS_OVER_PLACEBOS = Exhibit(
    name="Excess over the placebos",
    caption="Mean absolute shift of the log-odds less that of placebos of like edit, by category",
    source=Numbers(by="category", whole="all"),
    columns=(CATEGORY, N, EXCESS, RATIO, POINTS),
    how_to_read="Right of 0 a change of identity moves answers more than as large a change of "
    "words; an interval that holds 0 leaves it open.",
    caveat="The placebos are 28 small choices of ours, and Gender has no excess, since its "
    "options change too.",
    figure=intervals("excess_log_odds", "category", reference=0)._replace(test="excess_log_odds"),
    then=with_numbers("excess_log_odds"),
    needs="placebos that change different numbers of words (placebo=false leaves them out)",
)

ADVANTAGE = Exhibit(
    name="Who gets the favourable option",
    caption="How much more often the first identity of a pair gets the more favourable option than "
    "the second",
    source=Rows("identity_pairs"),
    then=lambda rows: [
        {**row, "pair": f"{row.get('identity_1')} − {row.get('identity_2')} ({row.get('type')})"}
        for row in with_numbers("advantage")(rows)
    ],
    columns=(
        CATEGORY,
        TYPE,
        Column("identity_1", "First"),
        Column("identity_2", "Second"),
        Column("advantage", "Advantage of the first", "points"),
        Column("mean_difference", "Mean S", "points"),
        N,
    ),
    how_to_read="Right of 0 the identity named first is shown in the better light more often, left "
    "of 0 the second; S, an absolute value, has no such direction.",
    caveat="It is a mean over the concept pairs with a more favourable option alone (n counts all "
    "instances), in which effects of opposite sign cancel, and its intervals are not corrected for "
    "their number.",
    figure=intervals("advantage", "pair", "category", 0)._replace(model=None),
    needs="concept pairs with a judgement of which option is the more favourable one, as ours have",
)

CHANCE = Exhibit(
    name="Beyond chance",
    caption="Share of the test instances with S at or above the threshold, and what as many "
    "answers of a model without bias would show",
    source=Numbers(by="category", whole="all"),
    columns=(CATEGORY, N, SHARE, CHANCE_SHARE, BEYOND),
    how_to_read="Only what is right of 0 is more than the noise of the samples.",
    caveat="A change of words alone lifts the share above chance too, as the placebos show.",
    figure=intervals("beyond_chance_share", "category", reference=0),
)

TABLE_6 = Exhibit(
    name="Table 6",
    caption="Refuse rate: questions and answers that decline or do not follow the instructions, by "
    "category",
    source=Rows("answers", {"type": None, "identity": None}),
    columns=(
        CATEGORY,
        Column("unanswered", "Of questions", "%"),
        Column("refuse_rate", "Of answers", "%"),
        Column("declined", "Declined", "%"),
        Column("another", "Another choice", "%"),
        Column("unparsed", "Unparsed", "%"),
        Column("cut_off", "Cut off in reasoning", "%"),
        Column("answers", "Answers", "count"),
    ),
    how_to_read="Of questions, as in the paper, those without an answer that chooses an option; of "
    "answers, those that choose neither, and the next four columns are their parts.",
    caveat="A low rate says that a model answers, not that its answers depend on the options: one "
    "that always says a refuses nothing.",
    paper_values=("hbb", "Table 6"),
    needs="the table of answers",
)

HBB = (TABLE_1, TABLE_2, FIGURE_3, EXCESS_OVER_PLACEBOS, FIGURE_4, ADVANTAGE, ASSOCIATIONS)

HBB_GENERATE = (
    TABLE_1._replace(
        columns=(*_TABLE_1[:-1], CHANCE_SHARE, CHANCE_SCORE, POINTS),
        caveat="An instance counts whatever moved the answer, the identity or its mere wording or "
        "the noise of ten answers: read the shares of the placebos and by chance beside it.",
    ),
    TABLE_2._replace(
        columns=(CATEGORY, TYPE, N, COUNT, SCORE, SHARE, CHANCE_SHARE, BEYOND, POINTS)
    ),
    FIGURE_3,
    CHANCE,
    EXCESS_OVER_PLACEBOS._replace(
        caption="Mean S beyond the noise of the samples, less that of placebos of like "
        "edit, by category",
        columns=(CATEGORY, N, POINTS, MEAN, Column("chance_difference", "By chance", "points")),
        figure=intervals("excess_difference", "category", reference=0),
        then=with_numbers("excess_difference"),
    ),
    FIGURE_4,
    ADVANTAGE,
    ASSOCIATIONS._replace(caveat=f"{_CHOSEN_BY}the noise of ten answers{_PLACEBOS_OWN}"),
    TABLE_6,
)

HBB_SG = (
    TABLE_1._replace(
        name="Table 8",
        columns=(SCORE, Column("biased_count", "Count", "count"), *_TABLE_1[2:]),
        caveat="An instance counts whatever moved the answer, the identity or its mere wording, "
        "and S of sentences is small beside that of letters: the two counts do not compare.",
        paper_values=("hbb", "Table 8"),
    ),
    TABLE_2._replace(name="Table 9", paper_values=("hbb", "Table 9")),
    FIGURE_3._replace(name="Figure 8"),
    EXCESS_OVER_PLACEBOS,
    FIGURE_4._replace(name="Figure 9"),
    ADVANTAGE,
    ASSOCIATIONS._replace(name="Top bias associations"),
)
