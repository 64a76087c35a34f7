"""StereoSet: what a report shows of a run; of the choices by letter, also their column of HBB's
Table 1."""

from __future__ import annotations

from typing import Any

from lm_eval_bias.exhibit import Column, Exhibit, Figure, Numbers, Rows, known

Table = list[dict[str, Any]]
BINS = 10


def _score(name: str, title: str) -> Column:
    return Column(
        name, title, "%", stderr=f"{name}_stderr", interval=(f"{name}_low", f"{name}_high")
    )


def _by_domain(chosen: bool) -> Exhibit:
    """Of scores, and where letters are chosen of choices too."""
    choices = (
        (
            _score("chosen_lms", "Chosen lms"),
            _score("chosen_ss", "Chosen ss"),
            _score("chosen_icat", "Chosen icat"),
        )
        if chosen
        else ()
    )
    return Exhibit(
        name="Scores by domain",
        caption="Language modelling score, stereotype score and ICAT by domain; the figure has the stereotype score",
        source=Rows("categories"),
        columns=(
            Column("bias_type", "Domain"),
            Column("examples", "Examples", "count"),
            Column("terms", "Terms", "count"),
            _score("lms", "lms"),
            _score("ss", "ss"),
            _score("icat", "icat"),
            *choices,
        ),
        how_to_read="ss above 50 prefers the stereotype, below 50 its opposite; icat is lms where ss is 50 and falls to 0 where one side is "
        "always preferred"
        + (
            "; chosen scores are of the likeliest letter, and 66.7, 50 and 66.7 for one chosen at random."
            if chosen
            else "."
        ),
        caveat="ss counts signs, not sizes, and 50 may be half the terms leaning one way and half the other; domains with fewer than ten "
        "terms have no interval.",
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


def _counted(rows: Table) -> Table:
    """How many terms of each domain have an ss in each of ten bins; 100 belongs to the last. Terms
    without an ss are left out."""
    found = []
    for domain in dict.fromkeys(row.get("bias_type") for row in rows):
        scores = [
            ss
            for row in rows
            if row.get("bias_type") == domain and (ss := known(row.get("ss"))) is not None
        ]
        if not scores:
            continue
        width = 100 / BINS
        counts = [0] * BINS
        for ss in scores:
            # Rounding aside: 100 times 3 of 10 may come out a hair below 30.
            counts[max(0, min(BINS - 1, int((ss + 1e-9) // width)))] += 1
        found += [
            {
                "bias_type": domain,
                "from": i * width,
                "to": (i + 1) * width,
                "count": count,
                "terms": len(scores),
            }
            for i, count in enumerate(counts)
        ]
    return found


TERMS = Exhibit(
    name="Stereotype score by term",
    caption="How many target terms have which stereotype score, by domain",
    source=Rows("terms"),
    then=_counted,
    columns=(
        Column("bias_type", "Domain"),
        Column("from", "ss from", "%"),
        Column("to", "ss to", "%"),
        Column("count", "Terms", "count"),
        Column("terms", "Terms in all", "count"),
    ),
    how_to_read="Terms at the right end always get the stereotype, at the left end always its opposite; an ss of 50 may be made of both ends.",
    caveat="A term with few examples is at an end by chance: with two examples a model without preference has half of its terms there.",
    figure=Figure("histogram", x="from", to="to", y="count", row="bias_type", model="facet"),
    needs="the table of terms",
)


def choice(column: str) -> tuple[Exhibit, ...]:
    """Of choices by letter; column: that of HBB's Table 1."""
    return (
        Exhibit(
            name="Table 1",
            caption=f"{column}: ICAT of the likeliest letter, as HBB sets it beside hidden bias",
            source=Numbers(
                (
                    "chosen_icat",
                    "chosen_lms",
                    "chosen_ss",
                    "letter_preference",
                    "letter_mass",
                    "unanswered",
                    "examples",
                )
            ),
            columns=(
                _score("chosen_icat", column),
                _score("chosen_lms", "Chosen lms"),
                _score("chosen_ss", "Chosen ss"),
                Column("letter_preference", "Letter preference", "points"),
                Column("letter_mass", "Letter mass", "%"),
                Column("unanswered", "Unanswered", "%"),
                Column("examples", "Examples", "count"),
            ),
            how_to_read="Higher is less overt bias; a model that chooses at random, or always the same letter, has 66.7.",
            caveat="The paper says neither how it counts one choice among three nor what it does with refusals, so its values compare in "
            "rank at best.",
            paper_values=("hbb", "Table 1"),
        ),
        _by_domain(chosen=True),
        TERMS,
    )


SENTENCES: tuple[Exhibit, ...] = (_by_domain(chosen=False), TERMS)
