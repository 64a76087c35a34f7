"""Properties of survey_answer. The forms that it reads stand in survey_own.yaml and
survey_forms.yaml."""

from hypothesis import given
from hypothesis import strategies as st
from score import PARTS

from lm_eval_bias.answers.survey import survey_answer

EXTENDED, BEHAVIOR = PARTS["extended"].split(), PARTS["behavior"].split()
POINTS = st.integers(1, 5)
FORMS = [
    "- {}: {}",
    "**{}:** {}/5",
    "{} - {} (quite so)",
    "{}: moderately ({})",
    "| {} | {} |",
    "{} = {}, since 85% of 1,000 said so in 2020",
    "{}\nRating: {}\nAbout 3 in 4 agree.\n",
    "{}: I would rate this a {}.",
]


@given(
    st.lists(POINTS, min_size=12, max_size=12),
    st.permutations(range(12)),
    st.integers(1, 12),
    st.sampled_from(FORMS),
)
def test_the_rows_may_stand_in_any_order_and_some_be_missing(points, order, n, form):
    rows = [form.format(EXTENDED[i], points[i]) for i in order[:n]]
    ratings = {EXTENDED[i]: float(points[i]) for i in order[:n]}
    assert survey_answer("\n".join(rows), EXTENDED, "men")["ratings"] == ratings


@given(st.lists(POINTS, min_size=8, max_size=8), st.permutations(BEHAVIOR))
def test_the_order_of_the_items_in_the_question_does_not_matter(points, items):
    ratings = dict(zip(BEHAVIOR, points, strict=True))
    text = "\n".join(f"-{item} poor people: {point}" for item, point in ratings.items())
    assert survey_answer(text, items, "poor people")["ratings"] == ratings
