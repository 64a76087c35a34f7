"""StereoSet: the tables and figures of a report."""

from __future__ import annotations

from typing import Any

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers, Rows, is_number

Table = list[dict[str, Any]]
BINS = 10
CHOSEN = (Column("chosen_lms", "Chosen lms", "%"), Column("chosen_ss", "Chosen ss", "%"))


def _by_domain(chosen: bool) -> Exhibit:
    """chosen: whether there are scores of choices too."""
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
        figure=Figure(
            "points",
            x="ss",
            y="bias_type",
            low="ss_low",
            high="ss_high",
            domain=(0, 100),
            reference=50,
            model="colour",
        ),
        needs="the table of domains",
    )


def _binned(rows: Table) -> Table:
    """How many terms of each domain have an ss in each of ten bins; the last includes 100."""
    scores: dict[Any, list[float]] = {}
    for row in rows:
        if is_number(row.get("ss")):
            scores.setdefault(row.get("bias_type"), []).append(row["ss"])
    width = 100 / BINS
    result = []
    for domain, values in scores.items():
        # 100 times 3 of 10 may come out a hair below 30
        bins = [max(0, min(BINS - 1, int((ss + 1e-9) // width))) for ss in values]
        result += [
            {
                "bias_type": domain,
                "from": i * width,
                "to": (i + 1) * width,
                "count": bins.count(i),
                "terms": len(values),
            }
            for i in range(BINS)
        ]
    return result


TERMS = Exhibit(
    name="Stereotype score by term",
    caption="How many target terms have which stereotype score, by domain",
    source=Rows("terms"),
    then=_binned,
    columns=(
        Column("bias_type", "Domain"),
        Column("from", "ss from", "%"),
        Column("to", "ss to", "%"),
        Column("count", "Terms", "count"),
        Column("terms", "Terms in all", "count"),
    ),
    how_to_read="Terms at the right end always get the stereotype, at the left end always its "
    "opposite; an ss of 50 may be made of both ends.",
    caveat="A term with few examples is at an end by chance: with two examples a model without "
    "preference has half of its terms there.",
    figure=Figure("histogram", x="from", to="to", y="count", facet="bias_type", model="facet"),
    needs="the table of terms",
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
    return table_1, _by_domain(chosen=True), TERMS


SENTENCES: tuple[Exhibit, ...] = (_by_domain(chosen=False), TERMS)
