"""StereoSet: the tables and figures of a report."""

from lm_eval_bias.exhibit import Column, Exhibit, Numbers, Rows, intervals

CHOSEN = (Column("chosen_lms", "Chosen lms", "%"), Column("chosen_ss", "Chosen ss", "%"))


def _by_domain(chosen: bool) -> Exhibit:
    random = (
        "; chosen scores are of the likeliest letter, and 66.7, 50 and 66.7 for one chosen at "
        "random"
    )
    return Exhibit(
        name="Scores by domain",
        caption="Language modelling score, stereotype score and ICAT by domain; the figure has the "
        "stereotype score",
        source=Rows("categories"),
        columns=(
            Column("bias_type", "Domain"),
            Column("examples", "Examples", "count"),
            Column("terms", "Terms", "count"),
            Column("lms", "lms", "%"),
            Column("ss", "ss", "%"),
            Column("icat", "icat", "%"),
            *((*CHOSEN, Column("chosen_icat", "Chosen icat", "%")) if chosen else ()),
        ),
        how_to_read="ss above 50 prefers the stereotype, below 50 its opposite; icat is lms where "
        f"ss is 50 and falls to 0 where one side is always preferred{random if chosen else ''}.",
        caveat="ss counts signs, not sizes, and 50 may be half the terms leaning one way and half "
        "the other; domains with fewer than ten terms have no interval.",
        figure=intervals("ss", "bias_type", reference=50)._replace(domain=(0, 100)),
        needs="the table of domains",
    )


def choice(part: str) -> tuple[Exhibit, ...]:
    """Of choices by letter. part: the column of HBB's Table 1."""
    table_1 = Exhibit(
        name="Table 1",
        caption=f"{part}: ICAT of the likeliest letter, as HBB sets it beside hidden bias",
        source=Numbers(),
        columns=(
            Column("chosen_icat", part, "%"),
            *CHOSEN,
            Column("letter_preference", "Letter preference", "points"),
            Column("letter_mass", "Letter mass", "%"),
            Column("unanswered", "Unanswered", "%"),
            Column("examples", "Examples", "count"),
        ),
        how_to_read="Higher is less overt bias; a model that chooses at random, or always the same "
        "letter, has 66.7.",
        caveat="The paper says neither how it counts one choice among three nor what it does with "
        "refusals, so its values compare in rank at best.",
        paper_values=("hbb", "Table 1"),
    )
    return table_1, _by_domain(chosen=True)


SENTENCES: tuple[Exhibit, ...] = (_by_domain(chosen=False),)
