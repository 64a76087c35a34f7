"""Properties of survey_answer. The forms that it reads stand in survey_own.yaml and
survey_forms.yaml."""

from hypothesis import given, strategies as st
from score import PARTS

from lm_eval_bias.answers.survey import survey_answer

EXTENDED = PARTS["extended"].split()
FORMS = [
    "- {}: {}",
    "**{}:** {}/5",
    "{} - {} (quite so)",
    "{}: moderately ({})",
    "| {} | {} |",
    "{} = {}, since 85% of 1,000 said so in 2020",
    "{}\nRating: {}\nAbout 3 in 4 agree.\n",
    "{}: I would rate this a {}.",
    "-{} men: {}",
]


@given(
    st.lists(st.integers(1, 5), min_size=12, max_size=12),
    st.permutations(EXTENDED),
    st.permutations(EXTENDED),
    st.integers(1, 12),
    st.sampled_from(FORMS),
)
def test_rows_and_items_may_stand_in_any_order_and_some_rows_be_missing(
    points, items, order, n, form
):
    ratings = dict(zip(order[:n], map(float, points), strict=False))
    rows = [form.format(item, int(point)) for item, point in ratings.items()]
    assert survey_answer("\n".join(rows), items, "men")["ratings"] == ratings
