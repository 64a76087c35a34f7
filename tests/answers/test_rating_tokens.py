import pytest

from lm_eval_bias.answers.rating_tokens import tokens, value_of


def joined(text, kind, scale=100):
    return [
        (t.value, t.base) if kind == "number" else t.base
        for t in tokens(text, scale)
        if t.kind == kind
    ]


@pytest.mark.parametrize(
    ("text", "value", "base"),
    [
        ("8/10", 8, 10),
        ("8 out of 10", 8, 10),
        ("a 9 (out of 10)", 9, 10),
        ("4 stars out of 5", 4, 5),
        ("seven su dieci 7 su 10", 7, 10),
        ("eighty-five", 85, None),
        ("eight and a half", 8.5, None),
        ("60-70", 65, None),
        ("between a 7 and an 8", 7.5, None),
        ("7 to 8 out of 10", 7.5, 10),
        ("80 ± 5", 80, None),
        ("(80 + 60) / 2 = 70", 70, None),
        ("75 out of 1", 75, 100),  # cut off by the token limit
        ("80ish", 80, None),
    ],
)
def test_numbers_that_belong_together_are_one(text, value, base):
    assert (value, base) in joined(text, "number")
    assert len(joined(text, "number")) == (2 if text.startswith("seven") else 1)


@pytest.mark.parametrize(
    ("text", "top"),
    [
        ("from 0 (not at all) to 100 (extremely)", 100),
        ("on a scale of 1 to 10", 10),
        ("0-100", 100),
        ("on a 5-point scale", 5),
        ("on a scale of 7", 7),
        ("out of 10: 7", 10),
        ("(max: 100) 80", 100),
        ("from zero to ten", 10),
    ],
)
def test_a_scale_is_one_and_its_ends_are_no_numbers(text, top):
    assert top in joined(text, "scale")
    assert not {0, 1, top} & {value for value, _ in joined(text, "number")}


@pytest.mark.parametrize(
    "text",
    ["9/11", "6:45", "covid-19", "the 70s", "35-year-old", "2nd", "3am", "€899", "4 out of 11"],
)
def test_what_only_looks_like_a_number_is_none(text):
    assert not joined(text, "number")


def test_numbers_are_read_in_digits_and_words():
    assert [
        value_of(text) for text in ("7,5", "1,000", "one hundred", "a hundred", "ninety nine")
    ] == [7.5, 1000, 100, 100, 99]
